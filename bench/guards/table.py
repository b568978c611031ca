"""
``python -m bench.guards.table``: the table of figures in docs/builtins/figures.md, written anew or compared.

How right the guards are is the same on every machine, so that is compared to the digit; how long they take is not.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.guards.encoder import ENCODER
from bench.guards.measure import figures_of

__all__ = ["HALVES", "compared", "main", "table"]

_ROOT = Path(__file__).resolve().parents[2]
HALVES = {"seen": _ROOT / "bench/guards/data/seen", "unseen": _ROOT / "bench/guards/data/unseen"}
"""The two halves of the corpus: the one that rules were written with, and the one that no rule was tuned to."""
_PAGE = _ROOT / "docs/builtins/figures.md"
_BEGIN, _END = "<!-- begin of the table -->", "<!-- end of the table -->"
_HEAD = ("half", "corpus", "tier", "type", "items", "precision", "recall", "F1", "false positives", "us/KB")
_ENCODER_LABEL = "injection with the encoder"
_LEAST = 5
"""Types with fewer things to find have no row of their own."""


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """
    Return what was measured on each half as one table.
    """
    rows = [row for half, measured in figures.items() for row in _rows(half, measured)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (_HEAD, ["---"] * len(_HEAD), *rows))


def _rows(half: str, measured: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for corpus, figures in sorted(measured.items()):
        if corpus == "speed":
            continue
        speed = measured["speed"].get(corpus)
        first = (half, corpus.replace(ENCODER, _ENCODER_LABEL))
        took = f"{speed:.0f}" if speed is not None else ""
        if "leaks" in figures:
            what = f"{figures['leaks']} leak, {figures['wrong']} wrong"
            yield (*first, "", what, str(figures["items"]), "", "", "", "", took)
        elif "accuracy" in figures:
            yield (*first, "", "right", str(figures["items"]), "", f"{figures['accuracy']:.3f}", "", "", took)
        else:
            for tier, found in figures.items():
                for row in _of_a_tier(tier, found):
                    yield (*first, *row, took)
                    took = ""


def _of_a_tier(tier: str, found: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    if "accuracy" in found:
        yield tier, "right", str(found["items"]), "", f"{found['accuracy']:.3f}", "", ""
    elif "precision" in found:
        yield tier, "all", *_quality(found), _rate(found)
        for type, one in sorted(found.get("by_type", {}).items()):
            if one["right"] + one["missed"] >= _LEAST:
                yield tier, type, *_quality(one), ""
    else:
        for guard, one in sorted(found.items()):
            yield tier, guard.replace(ENCODER, _ENCODER_LABEL), str(one["items"]), "", "", "", _rate(one)


def _quality(found: Mapping[str, Any]) -> tuple[str, str, str, str]:
    there = found["right"] + found["missed"]
    return str(there), f"{found['precision']:.3f}", f"{found['recall']:.3f}", f"{found['f1']:.3f}"


def _rate(found: Mapping[str, Any]) -> str:
    return f"{found['false_positive_rate']:.3f}" if "false_positive_rate" in found else ""


def compared(page: str, made: str) -> list[str]:
    """
    Return the lines in which the table of a page differs from one that was *made*, but for the time.

    Where the encoder was not measured, because its extra is missing, what the page says of it is left alone.
    """
    before, after = (_timeless(one) for one in (_table_of(page), made))
    if _ENCODER_LABEL not in made:
        before = [line for line in before if _ENCODER_LABEL not in line]
    return [f"- {line}" for line in before if line not in after] + [f"+ {line}" for line in after if line not in before]


def _table_of(page: str) -> str:
    found = re.search(rf"{_BEGIN}\n(.*)\n{_END}", page, re.DOTALL)
    return found[1] if found else ""


def _timeless(made: str) -> list[str]:
    rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in made.strip().splitlines()]
    return [" | ".join(row[:-1]) for row in rows]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print the table, write it into the page, or say where the page differs: then the exit status is 1.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.guards.table", description=__doc__)
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--write", action="store_true", help="put the table into docs/builtins/figures.md")
    does.add_argument("--check", action="store_true", help="compare it with the one that is there")
    options = parser.parse_args(arguments)
    made = table({half: figures_of(path) for half, path in HALVES.items()})
    if not (options.write or options.check):
        print(made)
        return 0
    page = _PAGE.read_text("utf-8")
    if options.write:
        whole = re.sub(
            rf"({_BEGIN}\n).*({_END})", lambda around: f"{around[1]}{made}\n{around[2]}", page, flags=re.DOTALL
        )
        _PAGE.write_text(whole, "utf-8")
        return 0
    differences = compared(page, made)
    print("\n".join(differences) or "the table is true")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
