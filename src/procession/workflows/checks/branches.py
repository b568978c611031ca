"""
Branches: what processors that run at the same time may do to each other, and hooks in which nothing ever runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from procession.errors import Fix
from procession.steps.budget import Budget
from procession.steps.step import Step, as_step
from procession.workflows.checks.finder import Finder
from procession.workflows.checks.names import quoted
from procession.workflows.nodes import BranchNode, MapNode, Node, ParallelNode, StepNode

__all__ = ["check_branches", "check_dropped"]


def check_branches(finder: Finder) -> None:
    """
    Find branches that may rewrite one text, without a map or a policy that decides, and arms that never take part.
    """
    before: Node | None = None
    for node in finder.workflow.nodes:
        if isinstance(before, ParallelNode) and not isinstance(node, MapNode):
            _check_mutators(finder, before)
        before = node
        for child in (node,) if isinstance(node, StepNode) else node.children:
            if child.on is not None and child.step.hooks and not child.on & child.step.hooks:
                _say_idle(finder, child, child.on)
            if child.budget is not None and child.step.hooks:
                _check_budget(finder, child, child.budget)
    if isinstance(before, ParallelNode):
        _check_mutators(finder, before)


def _check_mutators(finder: Finder, node: ParallelNode) -> None:
    if node.merge == "chain" or callable(node.merge):
        return
    mutating = [child.id for child in node.arms if child.step.mutates]
    if len(mutating) > 1:
        finder.say(
            "two-mutators-parallel",
            f"{' and '.join(mutating)} may both change the same text; {node.merge!r} has to reconcile them",
            node,
            'run them one after the other with merge="chain", or accept that different rewrites are an error',
            steps=mutating,
            severity="warning",
            fix=Fix("option", step=node.id, code='merge="chain"'),
        )


def _check_budget(finder: Finder, child: StepNode, budget: Budget) -> None:
    taking_part = child.step.hooks if child.on is None else child.step.hooks & child.on
    if budget.on_exceed == "skip":
        passes = "once its budget is used up it is skipped, and what it would have stopped passes"
    elif budget.on_exceed == "fallback" and not (
        budget.falls_back_on_step and taking_part <= as_step(budget.fallback).hooks
    ):
        passes = "once its budget is used up its fallback, which does not take part in all of its hooks, decides"
    else:
        return
    finder.say(
        "guard-skipped",
        f"{child.id!r} is a processor: {passes}",
        child,
        'leave on_exceed="block", or fall back on a cheaper processor with the same hooks',
        severity="warning",
        fix=Fix("option", step=child.id, code='on_exceed="block"'),
    )


def _say_idle(finder: Finder, child: StepNode, on: Collection[str]) -> None:
    has = sorted(child.step.hooks)
    finder.say(
        "hook-never-runs",
        f"{child.id!r} takes part only in {' and '.join(sorted(on)) or 'nothing'}, and has {' and '.join(has)}",
        child,
        "it never runs here: leave on= away, or name a hook that it has",
        severity="warning",
        fix=Fix("option", step=child.id, code=f"on=[{', '.join(map(quoted, has))}]"),
    )


def check_dropped(finder: Finder, node: MapNode, before: Node | None, picked: Collection[str]) -> None:
    """
    Find redactors among the branches *before* a map that goes on with the outputs *picked* alone.
    """
    if node.allow_drop or not isinstance(before, ParallelNode | BranchNode):
        return
    if isinstance(before, BranchNode) and before.mode == "first":
        return  # only one runs, and what did not run is not dropped
    otherwise = before.default if isinstance(before, BranchNode) else None
    dropped = [
        child for child in before.children if child is not otherwise and child.id not in picked and redacts(child.step)
    ]
    kept = " and ".join(map(repr, picked)) or "nothing"
    for child in dropped:
        finder.say(
            "redactor-dropped",
            f"{node.id!r} picks {kept} and leaves out what {child.id!r} redacts",
            node,
            f"pick {child.id!r}, leave the map away so that both are merged, or say allow_drop=True",
            steps=(*picked, child.id),
            severity="error" if isinstance(before, ParallelNode) else "warning",
            fix=Fix("pick", step=node.id, to=child.id, code=f".map(pick({quoted(child.id)}))")
            if len(dropped) == 1
            else None,
        )


def redacts(step: Step[Any, Any]) -> bool:
    """
    Return whether a processor inside *step* changes messages to remove what must not be seen.
    """
    if not step.mutates:
        return False
    if bool(getattr(step.owner, "redacts", False)):
        return True
    nodes: Sequence[Any] = getattr(step.body, "nodes", ()) if getattr(step.body, "committed", False) else ()
    return any(redacts(child.step) for node in nodes for child in node.children)
