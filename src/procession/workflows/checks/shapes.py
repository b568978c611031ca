"""
Shapes: containers with nothing in them, functions that yield, and workflows inside that cannot run there.
"""

from __future__ import annotations

from typing import Any

from procession.errors import Fix
from procession.messages.shapes import yields
from procession.workflows.checks.finder import Finder
from procession.workflows.checks.names import spoken
from procession.workflows.nodes import (
    BranchNode,
    ForeachNode,
    LoopNode,
    MapNode,
    Node,
    ParallelNode,
    SleepNode,
    SleepUntilNode,
    StepNode,
)
from procession.workflows.sources import Fields

__all__ = ["check_shapes"]


def check_shapes(finder: Finder) -> bool:
    """
    Find what has the wrong shape; return whether the workflow contains itself, so that nothing may follow it down.
    """
    inside_itself = False
    for node in finder.workflow.nodes:
        if not isinstance(node, StepNode):
            _check_functions(finder, node)
            if isinstance(node, ParallelNode) and not node.arms:
                finder.say(
                    "empty-parallel",
                    f"{node.id!r} has no branches",
                    node,
                    "give parallel() at least one step",
                    fix=Fix("remove", step=node.id, code=".parallel([step])"),
                )
            elif isinstance(node, BranchNode):
                _check_branch(finder, node)
        for child in (node,) if isinstance(node, StepNode) else node.children:
            body: Any = child.step.body
            if body is not None and getattr(body, "committed", True) is False:
                inside_itself = _check_open(finder, child, body) or inside_itself
    return inside_itself


def _check_branch(finder: Finder, node: BranchNode) -> None:
    if not node.arms:
        finder.say(
            "empty-branch",
            f"{node.id!r} has no arms",
            node,
            "give branch() at least one (condition, step) pair",
            fix=Fix("remove", step=node.id, code=".branch([(condition, step)])"),
        )
    if node.mode != "first":
        return
    asked: dict[int, str] = {}
    for arm in node.arms:
        first = asked.setdefault(id(arm.condition), arm.node.id)
        if first is not arm.node.id:
            finder.say(
                "unreachable-step",
                f"{arm.node.id!r} can never run: {first!r} asks the same question before it, and the first that holds runs",
                arm.node,
                "give it a condition of its own, or let all arms run whose condition holds",
                steps=(arm.node.id, first),
                severity="warning",
                fix=Fix("option", step=node.id, code='mode="all"'),
            )


def _check_open(finder: Finder, child: StepNode, body: Any) -> bool:
    trail = _way_to(finder.workflow, body)
    if trail is not None:
        way = " -> ".join([finder.workflow.id, *trail])
        finder.say(
            "self-reference",
            f"workflow {finder.workflow.id!r} contains itself: {way}",
            child,
            "to repeat steps put them into a workflow of their own and use do_while() or do_until()",
            steps=(finder.workflow.id, child.id),
        )
        return True
    finder.say(
        "not-committed",
        f"workflow {child.id!r} is used as a step and is not committed",
        child,
        "call .commit() on it first",
        fix=Fix("add", step=child.id, code=f"{spoken(child.id)}.commit()"),
    )
    return False


def _way_to(wanted: object, body: Any) -> list[str] | None:
    """
    Return the ids that lead from *body* to the workflow *wanted*, or ``None``.  Closed workflows hold no open ones.
    """
    todo: list[tuple[Any, list[str]]] = [(body, [body.id])]
    known = {id(body)}
    for each, trail in todo:  # grows while it is read
        if each is wanted:
            return trail
        for node in getattr(each, "nodes", ()):
            for child in node.children:
                inner: Any = child.step.body
                if inner is not None and getattr(inner, "committed", True) is False and id(inner) not in known:
                    known.add(id(inner))
                    todo.append((inner, [*trail, inner.id]))
    return None


def _check_functions(finder: Finder, node: Node) -> None:
    for what, function in _functions(node):
        if yields(function):
            finder.say(
                "generator-function",
                f"the {what} of {node.id!r} is a generator function, of which a call runs nothing",
                node,
                "let it return its answer; a generator is true whatever it would give",
            )


def _functions(node: Node) -> list[tuple[str, Any]]:
    """
    Return the functions that a node is made with, and what each is.
    """
    if isinstance(node, BranchNode):
        return [*(("condition", arm.condition) for arm in node.arms), ("merge", node.merge)]
    if isinstance(node, ParallelNode):
        return [("merge", node.merge)]
    if isinstance(node, LoopNode):
        return [("condition", node.condition)]
    if isinstance(node, MapNode):
        if isinstance(node.function, Fields):
            return [(f"function of {name!r}", source) for name, source in node.function.sources]
        return [("function", node.function)]
    if isinstance(node, ForeachNode):
        return [("concurrency", node.concurrency)]
    if isinstance(node, SleepUntilNode):
        return [("time", node.until)]
    return [("time", node.seconds)] if isinstance(node, SleepNode) else []
