"""
References: steps that are named by their id, by a map or as a dependency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from procession.errors import Fix
from procession.workflows.checks.finder import Finder, near
from procession.workflows.checks.names import listed, quoted
from procession.workflows.graph import find_cycle, in_order
from procession.workflows.nodes import MapNode, Node, StepNode

__all__ = ["check_pick", "in_running_order"]


def check_pick(finder: Finder, node: MapNode, wanted: str, known: Mapping[str, object]) -> bool:
    """
    Find whether *node* may pick the output of *wanted*, of the steps *known* before it.
    """
    if wanted in known:
        return True
    later = wanted in finder.ids
    meant = near(wanted, known)
    before = listed(known)
    finder.say(
        "invalid-map-reference",
        f"{node.id!r} picks {wanted!r}, " + ("which runs later" if later else "which is no step before it"),
        node,
        f"did you mean {meant!r}?" if meant else f"there is {before or 'nothing before it'}",
        steps=(node.id, wanted),
        fix=Fix("refer", step=node.id, to=meant, code=f".map(pick({quoted(meant)}))") if meant else None,
    )
    return False


def in_running_order(finder: Finder, steps: Sequence[StepNode]) -> list[StepNode]:
    """
    Return the steps of an explicit workflow in an order in which they can run; what never can is found.
    """
    known = {node.id for node in steps}
    for node in steps:
        for name in node.after or ():
            if name not in known:
                _say_missing(finder, node, name, (each.id for each in steps if each is not node))
    reached = in_order(steps)
    if len(reached) < len(steps):
        _say_unreached(finder, steps, {node.id for node in reached})
    return reached


def _say_missing(finder: Finder, node: StepNode, name: str, ids: Iterable[str]) -> None:
    meant = near(name, ids)
    finder.say(
        "unknown-dependency",
        f"{node.id!r} is to run after {name!r}, which is no step of this workflow",
        node,
        f"did you mean {meant!r}?" if meant else "add() that step too",
        steps=(node.id, name),
        fix=Fix("refer", step=node.id, to=meant, code=f"after=[{quoted(meant)}]") if meant else None,
    )


def _say_unreached(finder: Finder, steps: Sequence[StepNode], reached: set[str]) -> None:
    rest = {node.id: tuple(node.after or ()) for node in steps if node.id not in reached}
    cycle = find_cycle(rest)
    by_id: dict[str, Node] = {node.id: node for node in steps}
    if cycle:
        shown = " -> ".join([*reversed(cycle), cycle[-1]])
        finder.say(
            "cycle",
            f"steps wait for each other: {shown}",
            by_id[cycle[0]],
            "take one of these dependencies away; to repeat steps use do_while() or do_until()",
            steps=cycle,
        )
    for id in rest:
        if id not in cycle:
            hint = "it needs, directly or not, a step that waits for itself"
            finder.say("unreachable-step", f"{id!r} can never run", by_id[id], hint)
