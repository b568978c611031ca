"""
What a run did, laid over the graph that it ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast

from procession.errors import InputError
from procession.messages.value import Value
from procession.workflows.render.text import duration
from procession.workflows.spec import EdgeKind, EdgeSpec, GraphSpec, GroupSpec, NodeSpec

__all__ = ["CONTAINER", "EdgeMark", "Mark", "Overlay", "Ran", "legend_text", "mark_text", "overlay"]


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


EdgeMark: TypeAlias = Literal["ran", "added", "removed"]
"""What is said of an edge: that a run followed it, or that it is new or gone."""


class Overlay(Value):
    """
    What is laid over a graph: marks of nodes and of edges.
    """

    nodes: Mapping[str, Mark] = {}
    """By the path of the node, iterations left out: ``loop/step`` for ``loop[3]/step``."""
    edges: Mapping[tuple[str, str, str, EdgeKind], EdgeMark] = {}
    """By the prefix of the graph's paths (``""``, ``"inner/"``), the ids of source and target, and the kind."""

    def to_dict(self) -> dict[str, Any]:
        """
        Return the marks as JSON values.
        """
        nodes = [
            {"path": path, "status": mark.status, "seconds": mark.seconds, "times": mark.times}
            for path, mark in self.nodes.items()
            if not path.endswith(CONTAINER)
        ]
        edges = [
            {"path": prefix.rstrip("/"), "source": source, "target": target, "kind": kind, "mark": mark}
            for (prefix, source, target, kind), mark in self.edges.items()
        ]
        return {"nodes": nodes, "edges": edges}


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
    "added": ("+ added", "+ added"),
    "removed": ("− removed", "- removed"),
    "changed": ("~ changed", "~ changed"),
}
# Which of several ends of one node is shown.
_WORST = ("failed", "blocked", "suspended", "running", "cancelled", "bailed", "success", "skipped")


def overlay(run: Ran | None, spec: GraphSpec) -> Overlay:
    """
    Return the marks of *run*'s nodes in *spec*, the graph that it ran; none without a run.

    A branch and a parallel end as their arms did: they have the worst of the arms' marks.

    Raises ``InputError`` for what has no records of steps by path.
    """
    marks: dict[str, Mark] = {}
    if run is None:
        return Overlay()
    for path, record in _records(run).items():
        around = CONTAINER if record.kind in ("loop", "foreach") else ""
        _add(marks, path + around, Mark(record.status, record.seconds or None))
        if record.kind == "branch" and record.output is not None:
            for arm in record.node.arms:
                if arm.id not in record.output:
                    _add(marks, path[: path.rfind("/") + 1] + arm.id, Mark("skipped", times=0))
    _mark_groups(marks, spec, "", spec.workflows)
    edges: dict[tuple[str, str, str, EdgeKind], EdgeMark] = {}
    for key in _followed(marks, spec, "", spec.workflows):
        edges[key] = "ran"
    return Overlay(marks, edges)


def _records(run: Ran) -> Mapping[str, Any]:
    records: Any = getattr(run, "steps", None)
    if isinstance(records, Mapping):
        return cast("Mapping[str, Any]", records)
    raise InputError(
        f"run= of a drawing is a run of a workflow or its result, and not {type(run).__name__!r}, which has no steps by path",
        hint="of an agent's own run no steps are kept: the Studio shows it node by node, "
        "and GET /api/workflows/{id}/graph.svg?run=ID of a server draws it",
    )


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


def legend_text(mark: Mark, *, plain: bool = False) -> str:
    """
    Return what a legend says of a mark's status.

    >>> legend_text(Mark("success")), legend_text(Mark("failed"))
    ('✓ success', '✗ failed')
    """
    sign = mark_text(Mark(mark.status), plain=plain)
    return f"{sign} success" if mark.status == "success" else sign


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


def _followed(
    marks: Mapping[str, Mark], spec: GraphSpec, prefix: str, workflows: Mapping[str, GraphSpec]
) -> Iterator[tuple[str, str, str, EdgeKind]]:
    """
    Yield the edges that a run followed: those of which the source was left and the target reached.
    """
    followed = _Followed(marks, spec, prefix)
    for edge in spec.edges:
        if followed.edge(edge):
            yield prefix, edge.source, edge.target, edge.kind
    for node in spec.nodes:
        if node.ref_hash is not None and prefix + node.path in marks:
            yield from _followed(marks, workflows[node.ref_hash], f"{prefix}{node.path}/", workflows)


class _Followed:
    def __init__(self, marks: Mapping[str, Mark], spec: GraphSpec, prefix: str) -> None:
        self.marks = marks
        self.prefix = prefix
        self.nodes = {node.id: node for node in spec.nodes}
        self.bodies = {group.children[0]: group for group in spec.groups if group.kind in ("loop", "foreach")}
        self.groups = {group.entry: group for group in spec.groups}

    def edge(self, edge: EdgeSpec) -> bool:
        source, target = self.nodes[edge.source], self.nodes[edge.target]
        if edge.kind == "back":
            return self.times(target) > self.mark_times(source, CONTAINER)
        if edge.kind == "false":  # past all arms of a branch
            group = self.groups[edge.source]
            return self.reached(target) and not any(self.reached(self.nodes[child]) for child in group.children)
        return self.left(source, target) and self.reached(target)

    def reached(self, node: NodeSpec) -> bool:
        match node.kind:
            case "start" | "end":
                return True
            case "join":
                return self.is_success(node.path)
            case "foreach":
                return self.marks.get(self.prefix + node.path + CONTAINER) is not None
            case "loop":
                return self.times(node) > 1 or self.is_success(node.path)
            case _:
                return self.times(node) > 0

    def left(self, source: NodeSpec, target: NodeSpec) -> bool:
        match source.kind:
            case "start" | "fork" | "decision" | "foreach":
                return True  # whether the target was reached says the rest
            case "loop":
                return self.is_success(source.path + CONTAINER)
            case _:
                group = self.bodies.get(source.id)
                if group is not None and group.kind == "loop":
                    return self.reached(target)
                return self.is_success(source.path + (CONTAINER if group is not None else ""))

    def times(self, node: NodeSpec) -> int:
        return self.mark_times(node, "")

    def mark_times(self, node: NodeSpec, around: str) -> int:
        mark = self.marks.get(self.prefix + node.path + around)
        return mark.times if mark is not None and mark.status != "skipped" else 0

    def is_success(self, path: str) -> bool:
        mark = self.marks.get(self.prefix + path)
        return mark is not None and mark.status == "success"


def _worst(statuses: Sequence[str]) -> str:
    return next((status for status in _WORST if status in statuses), statuses[-1])


def _add(marks: dict[str, Mark], path: str, mark: Mark) -> None:
    place = re.sub(r"\[\d+\]", "", path)  # iterations are put together
    marks[place] = _both(marks[place], mark) if place in marks else mark


def _both(first: Mark, second: Mark) -> Mark:
    seconds = [each.seconds for each in (first, second) if each.seconds is not None]
    return Mark(_worst((first.status, second.status)), sum(seconds) if seconds else None, first.times + second.times)
