"""
The report: what matches, is superseded, differs or is unknown, per area, for people and as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from tests.conformance.runner import Outcome, Status
from tests.conformance.scenario import Json

__all__ = ["as_json_report", "clean", "text_report"]

STATUSES: tuple[Status, ...] = get_args(Status)


def clean(outcomes: Iterable[Outcome]) -> bool:
    """
    Whether nothing differs and nothing is unknown.
    """
    return all(outcome.status in ("match", "superseded") for outcome in outcomes)


def _counts(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.area, Counter())[outcome.status] += 1
    return counts


def as_json_report(outcomes: Sequence[Outcome]) -> Json:
    """
    Return the report as JSON data.
    """
    return {
        "areas": {
            area: {status: count[status] for status in STATUSES} for area, count in sorted(_counts(outcomes).items())
        },
        "scenarios": {
            outcome.key: {"status": outcome.status, "decided_by": outcome.decided_by, "diff": outcome.diff}
            for outcome in outcomes
        },
    }


def text_report(outcomes: Sequence[Outcome], *, diffs: bool = True) -> str:
    """
    Return the report as text: what differs or is unknown, then a table of the areas.
    """
    lines: list[str] = []
    for outcome in outcomes if diffs else ():
        if outcome.status in ("differ", "unknown"):
            lines += ["", f"{outcome.status}: {outcome.key}"]
            lines += [f"  {line}" for each in outcome.diff for line in each.splitlines()]
    counts = _counts(outcomes)
    width = max([len("area"), *map(len, counts)])
    lines += ["", f"{'area':<{width}}" + "".join(f"{status:>12}" for status in STATUSES)]
    total: Counter[str] = Counter()
    for area, count in sorted(counts.items()):
        total += count
        lines.append(f"{area:<{width}}" + "".join(f"{count[status]:>12}" for status in STATUSES))
    if len(counts) > 1:
        lines.append(f"{'all':<{width}}" + "".join(f"{total[status]:>12}" for status in STATUSES))
    return "\n".join(lines).lstrip("\n")
