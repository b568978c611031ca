"""
Where in a list of output processors answers are cut off before a guard has seen them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from procession.processors.chain import is_workflow
from procession.processors.log import log_once
from procession.steps.step import Step

__all__ = ["warn_of_cuts"]

_BESIDE = ("parallel", "branch")


class _Found(NamedTuple):
    """
    What stands in a part of a list.
    """

    cutting: list[Any]
    guards: list[Any]


def warn_of_cuts(steps: Iterable[Step[Any, Any]]) -> None:
    """
    Say so where a processor cuts answers off before a guard, or beside one: half of what it would hide a guard may not
    know.
    """
    _in_turn([[step] for step in steps])


def _in_turn(groups: Iterable[Sequence[Step[Any, Any]]]) -> _Found:
    """
    Look at *groups* of steps, one after the other; the steps of a group stand side by side.
    """
    before = _Found([], [])
    for group in groups:
        arms = [_in_step(step) for step in group]
        for arm in arms:
            for other in arms:
                if other is not arm:
                    _warn(other.cutting, arm.guards)
            _warn(before.cutting, arm.guards)
        for arm in arms:
            before.cutting.extend(arm.cutting)
            before.guards.extend(arm.guards)
    return before


def _in_step(step: Step[Any, Any]) -> _Found:
    if step.kind == "processor":
        owner = step.owner
        if getattr(owner, "cuts_answers", False):
            return _Found([owner], [])
        return _Found([], [] if getattr(owner, "passes", True) else [owner])
    if not is_workflow(step.body):
        return _Found([], [])
    groups: list[list[Step[Any, Any]]] = []
    for node in step.body.nodes:
        steps = [child.step for child in node.children]
        groups += [steps] if node.kind in _BESIDE else [[one] for one in steps]
    return _in_turn(groups)


def _warn(cutting: Iterable[Any], guards: Iterable[Any]) -> None:
    for one in cutting:
        for guard in guards:
            log_once(one.id, f"cuts answers off before {guard.id!r} has seen them: list it behind all guards")
