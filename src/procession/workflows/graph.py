"""
Graph: a workflow's nodes as an acyclic graph, for analysis and drawing; and the order of an explicit one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from procession.steps.step import Definition
from procession.workflows.definition import WorkflowDefinition
from procession.workflows.nodes import BranchNode, Node, StepNode

if TYPE_CHECKING:
    import networkx

__all__ = ["Graph", "build_graph", "find_cycle", "in_order"]

Graph: TypeAlias = "networkx.DiGraph[str]"
"""Nodes are paths.  Attributes: ``kind``, ``label``, ``node`` (the builder's node) and ``parent`` (a path or ``None``)."""


def build_graph(workflow: WorkflowDefinition) -> Graph:
    """
    Return the graph of *workflow*.

    A container (parallel, branch, loop, nested workflow) is a node that leads to what it contains, and that to whatever
    follows the container.  A loop's body leads on, never back: the graph has no cycle.
    """
    import networkx

    graph: Graph = networkx.DiGraph()
    _Builder(graph).workflow(workflow, "", None, [])
    return graph


class _Builder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def workflow(self, workflow: WorkflowDefinition, prefix: str, parent: str | None, before: list[str]) -> list[str]:
        if not workflow.explicit:
            for node in workflow.nodes:
                before = self.node(node, prefix, parent, before)
            return before
        ends: dict[str, list[str]] = {}
        fed: set[str] = set()
        for node in in_order([node for node in workflow.nodes if isinstance(node, StepNode)]):
            needs = node.after or ()
            fed.update(needs)
            entry = [end for name in needs for end in ends.get(name, ())] if needs else before
            ends[node.id] = self.node(node, prefix, parent, entry)
        return [end for name, tails in ends.items() if name not in fed for end in tails]

    def node(self, node: Node, prefix: str, parent: str | None, before: list[str]) -> list[str]:
        path = prefix + node.id
        if isinstance(node, StepNode):
            return self.step(node, path, parent, before, node)
        self.add(path, node.kind, node.id, node, parent, before)
        if not node.children:
            return [path]
        ends: list[str] = []
        for child in node.children:
            inner = path if child.id == node.id else prefix + child.id
            if inner == path:  # a loop or foreach has the name of its body
                ends += self.body(child, path, [path])
            else:
                ends += self.step(child, inner, path, [path], child)
        if isinstance(node, BranchNode) and node.default is None and node.on_no_match == "skip":
            ends.append(path)
        return ends

    def step(self, node: StepNode, path: str, parent: str | None, before: list[str], origin: Node) -> list[str]:
        self.add(path, node.step.kind, node.step.id, origin, parent, before)
        return self.body(node, path, [path])

    def body(self, node: StepNode, path: str, before: list[str]) -> list[str]:
        body: Definition | None = node.step.body
        if body is None or not hasattr(body, "explicit"):
            return before
        drawn: Any = body
        return self.workflow(drawn, path + "/", path, before)

    def add(self, path: str, kind: str, label: str, node: Node, parent: str | None, before: list[str]) -> None:
        self.graph.add_node(path, kind=kind, label=label, node=node, parent=parent)
        self.graph.add_edges_from((each, path) for each in before)


def in_order(steps: Sequence[StepNode]) -> list[StepNode]:
    """
    Return the steps of an explicit workflow so that each comes after those it needs; those in a cycle are left out.
    """
    known = {node.id: node for node in steps}
    missing = {node.id: len({name for name in node.after or () if name in known}) for node in steps}
    feeds: dict[str, list[StepNode]] = {}
    for node in steps:
        for name in dict.fromkeys(node.after or ()):
            feeds.setdefault(name, []).append(node)
    ready = [node for node in steps if not missing[node.id]]
    for node in ready:  # grows while it is read
        for fed in feeds.get(node.id, ()):
            missing[fed.id] -= 1
            if not missing[fed.id]:
                ready.append(fed)
    return ready


def find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """
    Return the ids of one cycle in *needs* (the dependencies of each id), or an empty list.
    """
    done: set[str] = set()
    for start in needs:
        trail: list[str] = []
        places: dict[str, int] = {}
        todo: list[tuple[str, int]] = [(start, 0)]
        while todo:
            name, index = todo.pop()
            if index == 0:
                if name in done:
                    continue
                places[name] = len(trail)
                trail.append(name)
            following = needs.get(name, ())
            if index < len(following):
                todo.append((name, index + 1))
                after = following[index]
                if after in places:
                    return trail[places[after] :]
                if after not in done:
                    todo.append((after, 0))
            else:
                done.add(name)
                del places[trail.pop()]
    return []
