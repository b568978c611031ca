"""
``python -m tests.conformance [DIR] [--superseded DIR] [--area NAME]... [--json FILE]``

Runs every recorded scenario of DIR (``<area>/<name>.json``) and says what differs from its trace.  The exit status is
0 only if nothing differs and nothing is unknown in the areas asked for.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog
from tests.conformance.report import as_json_report, clean, text_report
from tests.conformance.runner import run_file
from tests.conformance.scenario import HERE, find_scenarios

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the scenarios, print the report and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Run recorded scenarios.")
    parser.add_argument("directory", nargs="?", type=Path, default=HERE / "golden", metavar="DIR")
    parser.add_argument("--superseded", type=Path, default=HERE / "superseded", metavar="DIR")
    parser.add_argument("--area", action="append", default=[], metavar="NAME", help="only this area; may be repeated")
    parser.add_argument("--only", default="", metavar="TEXT", help="only scenarios whose area/name contains this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file, too")
    parser.add_argument("--quiet", action="store_true", help="print the table without the differences")
    given = parser.parse_args(arguments)
    if not given.directory.is_dir():
        print(f"no directory {given.directory}", file=sys.stderr)
        return 2
    paths = [
        path for path in find_scenarios(given.directory, given.area) if given.only in f"{path.parent.name}/{path.stem}"
    ]
    missing = sorted(set(given.area) - {path.parent.name for path in paths})
    if missing or not paths:
        what = f"of area {', '.join(missing)} " if missing else ""
        print(f"no scenarios {what}in {given.directory}", file=sys.stderr)
        return 2
    # What the library logs while scenarios go wrong on purpose is no part of the report.
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        outcomes = [run_file(path, given.superseded) for path in paths]
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)
    print(text_report(outcomes, diffs=not given.quiet))
    if given.json is not None:
        report = json.dumps(as_json_report(outcomes), ensure_ascii=False, indent=1)
        given.json.write_text(report + "\n", encoding="utf-8")
    return 0 if clean(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
