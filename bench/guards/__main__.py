"""
``python -m bench.guards DIR [--json FILE]``: measure the guards on labelled corpora.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.guards import texts
from bench.guards.items import files_in, read_items
from bench.guards.scores import Score
from bench.guards.streams import StreamScore, measure_streams

__all__ = ["main"]

_MEASURES: Mapping[str, Callable[[Any], Any]] = {
    "pii": texts.measure_pii,
    "secrets": texts.measure_secrets,
    "injection": texts.measure_injection,
    "language": texts.measure_language,
    "unicode": texts.measure_unicode,
    "streams": measure_streams,
    "inbox": texts.measure_inbox,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run from the command line and return the exit status: 2 where nothing can be measured.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.guards",
        description="Measure every guard on a directory of labelled corpora (missing files are fine), or on one file.",
    )
    parser.add_argument("path", type=Path, metavar="DIR", help="a directory of .jsonl files, or one such file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--quiet", action="store_true", help="do not list the items that went wrong")
    options = parser.parse_args(arguments)
    if not options.path.exists():
        parser.error(f"there is no {options.path}")
    found = files_in(options.path)
    if not found:
        parser.error(f"{options.path} has no labelled corpus")
    figures: dict[str, Any] = {"speed": {}}
    for kind, file in found:
        measured = _MEASURES[kind](read_items(file))
        scores: dict[str, Score | StreamScore] = measured if kind == "inbox" else {kind: measured}
        for guard, score in scores.items():
            name = guard if file.stem == guard else f"{file.stem}.{guard}" if kind == "inbox" else file.stem
            _show(file, guard, score, quiet=options.quiet)
            figures[name] = _as_json(guard, score)
            if isinstance(score, Score):
                figures["speed"][name] = round(score.us_per_kb, 1)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _show(file: Path, guard: str, score: Score | StreamScore, *, quiet: bool) -> None:
    if isinstance(score, StreamScore):
        print(f"{file.name}: {score.items} streams, {score.leaks} leak, {score.wrong} wrong, {score.skipped} skipped")
    else:
        measured = "language (the bare detector)" if guard == "language" else guard
        print(f"{file.name}, {measured}: {score.items} items, {score.us_per_kb:.0f} us/KB")
        print(
            f"  {'tier':<6} {'type':<16} {'precision':>9} {'recall':>9} {'F1':>9} "
            f"{'right':>6} {'missed':>6} {'wrong':>6} {'left':>5}"
        )
        for tier in sorted(score.tiers):
            rows = [("all", score.tiers[tier]), *sorted(score.types[tier].items())]
            for type, one in rows:
                if type == "nothing" or (guard == "language" and type != "all"):
                    continue
                print(
                    f"  {tier:<6} {type:<16} {one.precision:>9.3f} {one.recall:>9.3f} {one.f1:>9.3f} "
                    f"{one.right:>6} {one.missed:>6} {one.wrong:>6} {one.left:>5}"
                )
    if not quiet:
        for fault in score.faults:
            print(f"    {fault}")
    print()


def _as_json(guard: str, score: Score | StreamScore) -> dict[str, Any]:
    if isinstance(score, StreamScore):
        return {"leaks": score.leaks, "wrong": score.wrong, "items": score.items, "skipped": score.skipped}
    if guard == "unicode":
        total = [one.precision for one in (_total(score),)]
        return {"accuracy": round(total[0], 4), "items": score.items}
    out: dict[str, Any] = {}
    for tier, count in sorted(score.tiers.items()):
        if guard == "language":
            out[tier] = {"accuracy": round(count.precision, 4), "items": count.right + count.wrong}
        elif guard == "injection":
            harmless = count.wrong + count.clean
            out[tier] = {
                **count.as_json(),
                "false_positive_rate": round(count.wrong / harmless, 4) if harmless else 0.0,
            }
        else:
            out[tier] = {
                **count.as_json(),
                "by_type": {
                    type: one.as_json() for type, one in sorted(score.types[tier].items()) if type != "nothing"
                },
            }
    return out


def _total(score: Score) -> Any:
    from bench.guards.scores import Count

    counts = list(score.tiers.values())
    return Count(sum(one.right for one in counts), sum(one.missed for one in counts), sum(one.wrong for one in counts))


if __name__ == "__main__":
    sys.exit(main())
