"""
``python -m bench [NAME...]``: measure, print a JSON line for each benchmark, and a table at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import FULL, QUICK, Bench, Effort, Row
from bench.report import missed, table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FAMILIES", "main", "select"]

FAMILIES = (
    "workflow",
    "stream",
    "loop",
    "guards",
    "many",
    "journal",
    "records",
    "memory",
    "vectors",
    "recall",
    "imports",
)
"""The modules of this folder that hold benchmarks."""


def select(names: Sequence[str]) -> list[Bench]:
    """
    Return the benchmarks called *names*, all of them where there are none.

    A name is a family, ``family.variant`` or a bare variant, in which ``*`` and ``?`` stand for anything.  A variant
    that there is not stands for those that begin with it: ``chain`` is every ``chain_...``.  Only the families that are
    asked for are imported, for a bare variant all of them.  Raises ``ValueError`` for a name that is nothing's.
    """
    chosen: dict[tuple[str, str], Bench] = {}
    for name in names or FAMILIES:
        family, _, variant = name.partition(".")
        if family in FAMILIES:
            found = _matching([family], variant)
            if not found:
                all_of_it = ", ".join(each.variant for each in _matching([family], ""))
                raise ValueError(f"{family!r} has no benchmark {variant!r}: it has {all_of_it}")
        else:
            found = _matching(FAMILIES, name)
            if not found:
                raise ValueError(f"no benchmark is called {name!r}: there are {', '.join(FAMILIES)}, and --list")
        chosen |= {(each.bench, each.variant): each for each in found}
    return list(chosen.values())


def _matching(families: Sequence[str], variant: str) -> list[Bench]:
    found: list[Bench] = [each for family in families for each in import_module(f"bench.{family}").benches()]
    exact = [each for each in found if fnmatchcase(each.variant, variant or "*")]
    return exact or [each for each in found if fnmatchcase(each.variant, f"{variant}_*")]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run from the command line and return the exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure against hand-written asyncio loops: a JSON line each, and a table of targets at the end.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a family, a variant, or both: 'stream.*_p5'")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE too, as one JSON array")
    parser.add_argument("--quick", action="store_true", help="one short round: shows that it runs, not how fast")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds of each ({FULL.rounds} unless told)")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a target is missed")
    parser.add_argument("--list", action="store_true", help="print the names and measure nothing")
    options = parser.parse_args(arguments)
    try:
        chosen = select(options.names)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        print("\n".join(f"{each.bench}.{each.variant}" for each in chosen), flush=True)
        return 0
    effort = QUICK if options.quick else FULL
    if options.rounds is not None:
        effort = replace(effort, rounds=options.rounds)
    rows: list[Row] = []
    try:
        asyncio.run(_measure(chosen, effort, rows))
    finally:  # what was measured is shown, whatever stopped the rest
        if options.json is not None:
            options.json.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")
        print(f"\n{table(rows, targets=not options.quick)}", file=sys.stderr)
    if options.check and (late := missed(rows)):
        print(f"\nmissed: {', '.join(late)}", file=sys.stderr)
        return 1
    return 0


async def _measure(chosen: Sequence[Bench], effort: Effort, rows: list[Row]) -> None:
    for each in chosen:
        rows.append(await each.run(effort))
        print(json.dumps(rows[-1]), flush=True)


def _command() -> int:
    try:
        return main()
    except BrokenPipeError:
        # Whoever read the output has gone.  What is still in the buffer must not be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(_command())
