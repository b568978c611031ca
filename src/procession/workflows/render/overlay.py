"""
What a run did, laid over the graph that it ran.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from procession.messages.value import Value
from procession.workflows.render.text import duration

__all__ = ["CONTAINER", "Mark", "Overlay", "Ran", "mark_text", "overlay"]


class Ran(Protocol):
    """
    A run or its result: anything with records of steps by path.

    Of a record its ``status``, ``seconds`` and ``kind`` are read, and of a branch's its ``output``, the ids of the arms
    that were chosen.
    """

    @property
    def steps(self) -> Mapping[str, Any]:
        """The records by path."""
        ...


class Mark(Value):
    """
    What became of one node: over all times it ran, the worst of them and the sum of the durations.
    """

    status: str
    seconds: float | None = None
    times: int = 1


Overlay: TypeAlias = Mapping[str, Mark]
"""Marks by the path of the node, iterations left out: ``loop/step`` for ``loop[3]/step``."""

CONTAINER = "[]"
"""What is added to the path of a loop or a foreach itself, which is that of its body."""

_SIGNS = {
    "success": ("✓", "ok"),
    "failed": ("✗ failed", "FAILED"),
    "blocked": ("✗ blocked", "BLOCKED"),
    "cancelled": ("⊘ cancelled", "cancelled"),
    "suspended": ("‖ suspended", "suspended"),
    "running": ("… running", "running"),
    "bailed": ("↩ bailed", "bailed"),
    "skipped": ("– skipped", "skipped"),
}
# Which of several ends of one node is shown.
_WORST = ("failed", "blocked", "suspended", "running", "cancelled", "bailed", "success", "skipped")


def overlay(run: Ran | None) -> Overlay:
    """
    Return the marks of *run*'s nodes; none without a run.
    """
    marks: dict[str, Mark] = {}
    if run is None:
        return marks
    for path, record in run.steps.items():
        around = CONTAINER if record.kind in ("loop", "foreach") else ""
        _add(marks, path + around, Mark(record.status, record.seconds or None))
        if record.kind == "branch" and record.output is not None:
            for arm in record.node.arms:
                if arm.id not in record.output:
                    _add(marks, path[: path.rfind("/") + 1] + arm.id, Mark("skipped"))
    return marks


def mark_text(mark: Mark, *, plain: bool = False) -> str:
    """
    Return a mark in words: never by colour alone.

    >>> mark_text(Mark("blocked", 0.04)), mark_text(Mark("success", 0.1, 3), plain=True)
    ('✗ blocked 40ms', 'ok 100ms x3')
    """
    signs = _SIGNS.get(mark.status)
    parts = [signs[plain] if signs is not None else mark.status]
    if mark.seconds is not None and mark.status != "skipped":
        parts.append(duration(mark.seconds, plain=plain))
    if mark.times > 1:
        parts.append(f"{'x' if plain else '×'}{mark.times}")
    return " ".join(parts)


def _add(marks: dict[str, Mark], path: str, mark: Mark) -> None:
    place = re.sub(r"\[\d+\]", "", path)  # iterations are put together
    marks[place] = _both(marks[place], mark) if place in marks else mark


def _both(first: Mark, second: Mark) -> Mark:
    known = [status for status in _WORST if status in (first.status, second.status)]
    seconds = [each.seconds for each in (first, second) if each.seconds is not None]
    return Mark(known[0] if known else second.status, sum(seconds) if seconds else None, first.times + second.times)
