"""
What a run did, laid over the graph that it ran.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from procession.messages.value import Value
from procession.workflows.render.text import duration
from procession.workflows.spec import GraphSpec, GroupSpec

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


def overlay(run: Ran | None, spec: GraphSpec) -> Overlay:
    """
    Return the marks of *run*'s nodes in *spec*, the graph that it ran; none without a run.

    A branch and a parallel end as their arms did: they have the worst of the arms' marks.
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
                    _add(marks, path[: path.rfind("/") + 1] + arm.id, Mark("skipped", times=0))
    _mark_groups(marks, spec, "", spec.workflows)
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


def _mark_groups(marks: dict[str, Mark], spec: GraphSpec, prefix: str, workflows: Mapping[str, GraphSpec]) -> None:
    for group in spec.groups:
        if group.kind in ("branch", "parallel"):
            _mark_group(marks, group, prefix)
    for node in spec.nodes:
        if node.ref_hash is not None and prefix + node.path in marks:
            _mark_groups(marks, workflows[node.ref_hash], f"{prefix}{node.path}/", workflows)


def _mark_group(marks: dict[str, Mark], group: GroupSpec, prefix: str) -> None:
    own = marks.get(prefix + group.id)  # a branch's says how its conditions went; a parallel has none
    arms = [marks[prefix + child] for child in group.children if prefix + child in marks]
    ran = [mark.status for mark in (own, *arms) if mark is not None and mark.status != "skipped"]
    if ran:
        times = own.times if own is not None else max(mark.times for mark in arms)
        marks[prefix + group.id] = Mark(_worst(ran), own.seconds if own is not None else None, times)


def _worst(statuses: Sequence[str]) -> str:
    return next((status for status in _WORST if status in statuses), statuses[-1])


def _add(marks: dict[str, Mark], path: str, mark: Mark) -> None:
    place = re.sub(r"\[\d+\]", "", path)  # iterations are put together
    marks[place] = _both(marks[place], mark) if place in marks else mark


def _both(first: Mark, second: Mark) -> Mark:
    seconds = [each.seconds for each in (first, second) if each.seconds is not None]
    return Mark(_worst((first.status, second.status)), sum(seconds) if seconds else None, first.times + second.times)
