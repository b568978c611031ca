"""
``python -m bench.guards DIR [--json FILE]``: measure the guards on labelled corpora.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.guards.measure import figures_of
from bench.guards.scores import Score
from bench.guards.streams import StreamScore

__all__ = ["main"]


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
    figures = figures_of(options.path, partial(_show, quiet=options.quiet))
    if not figures:
        parser.error(f"{options.path} has no labelled corpus")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _show(file: Path, guard: str, score: Score | StreamScore, *, quiet: bool) -> None:
    if isinstance(score, StreamScore):
        print(f"{file.name}: {score.items} streams, {score.leaks} leak, {score.wrong} wrong, {score.skipped} skipped")
    elif guard == "moderation":
        print(
            f"{file.name}: {score.items} verdicts of a judge that knows the labels, {len(score.faults)} not carried out"
        )
    elif guard == "benign":
        print(f"{file.name}: {score.items} harmless items, {score.us_per_kb:.0f} us/KB for all guards together")
        print(f"  {'tier':<6} {'guard':<16} {'items':>6} {'wrong':>6} {'rate':>9}")
        for tier, types in sorted(score.types.items()):
            for type, one in sorted(types.items()):
                print(
                    f"  {tier:<6} {type:<16} {one.wrong + one.clean:>6} {one.wrong:>6} {one.false_positive_rate:>9.3f}"
                )
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


if __name__ == "__main__":
    sys.exit(main())
