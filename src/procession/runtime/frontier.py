"""
Frontier: what could run next, read from a plan and the records of a run.  Pure, for inspection and for tests.
"""

from __future__ import annotations

from collections.abc import Mapping

from procession.runtime.records import Record
from procession.workflows.plan import Capped, Choice, Dag, Each, Fork, Loop, Map, Nested, Plan, PlanNode

__all__ = ["frontier"]


def frontier(plan: Plan, records: Mapping[str, Record], prefix: str = "") -> tuple[str, ...]:
    """
    Return the paths of what is running or could begin; nothing where the run is over.

    A branch that has not chosen, and a loop or ``foreach`` between two rounds, stand for themselves: what comes next
    is for their condition or their list to say.

    >>> from procession.runtime.frontier import frontier
    >>> from procession.steps.step import Step
    >>> from procession.workflows.compile import plan_for
    >>> from procession.workflows.workflow import create_workflow
    >>> two = [Step(id="a", execute=print), Step(id="b", execute=print)]
    >>> frontier(plan_for(create_workflow("both").parallel(two).commit()), {})
    ('a', 'b')
    """
    found: list[str] = []
    _sequence(plan.nodes, records, prefix, found)
    return tuple(found)


def _sequence(nodes: tuple[PlanNode, ...], records: Mapping[str, Record], prefix: str, found: list[str]) -> bool:
    """
    Add to *found* what could run next in *nodes*; return whether all of them are done.
    """
    return all(_node(node, records, prefix, found) for node in nodes)


def _node(node: PlanNode, records: Mapping[str, Record], prefix: str, found: list[str]) -> bool:
    path = prefix + node.key
    record = records.get(path)
    if isinstance(node, Fork):
        done = [_sequence(arm.nodes, records, prefix, found) for arm in node.arms]
        return all(done) and _map(node.map, records, prefix, found)
    if isinstance(node, Capped):
        if node.marks(prefix)[0] not in records:
            return _sequence(node.nodes, records, prefix, found)
        return node.fallback is None or _sequence(node.fallback, records, node.place(prefix)[1], found)
    if isinstance(node, Dag):
        return _dag(node, records, prefix, found)
    if isinstance(node, Choice) and record is not None and record.status == "success":
        chosen = [arm for arm in node.arms if arm.id in record.output]
        done = [_sequence(arm.nodes, records, prefix, found) for arm in chosen]
        return all(done) and _map(node.map, records, prefix, found)
    if record is not None and record.status == "success":
        return True
    if record is not None and record.status in ("failed", "blocked", "bailed", "cancelled"):
        return False
    before = len(found)
    if isinstance(node, Nested):
        if _sequence(node.plan.nodes, records, path + "/", found) and len(found) == before:
            found.append(path)  # all done, and not yet noted to be
        return False
    if isinstance(node, Each | Loop):
        number = 0
        while (inner := f"{path}[{number}]") in records:
            _sequence(node.body, records, inner, found)
            number += 1
    if len(found) == before:
        found.append(path)
    return False


def _map(node: Map | None, records: Mapping[str, Record], prefix: str, found: list[str]) -> bool:
    return node is None or _node(node, records, prefix, found)


def _dag(node: Dag, records: Mapping[str, Record], prefix: str, found: list[str]) -> bool:
    done: dict[int, bool] = {}
    ready = [index for index, item in enumerate(node.items) if not item.needs]
    for index in ready:  # grows while it is read
        item = node.items[index]
        done[index] = _sequence(item.nodes, records, prefix, found)
        if done[index]:
            for fed in item.feeds:
                if fed not in ready and all(done.get(need, False) for need in node.items[fed].needs):
                    ready.append(fed)
    return len(done) == len(node.items) and all(done.values())
