"""
A graph with its nested graphs opened, ready for a diagram language: nodes with safe names, boxes and edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from procession.messages.value import Value
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import CONTAINER, EdgeMark, Mark, Overlay, mark_text
from procession.workflows.render.text import clean, cut, hook_names
from procession.workflows.render.words import SUSPENDABLE, group_settings, type_name
from procession.workflows.spec import EdgeKind, EdgeSpec, GraphSpec, GroupSpec, NodeSpec

__all__ = ["Box", "Dot", "Flat", "Item", "Line", "flatten", "legend_of"]


class Dot(Value, kw_only=True):
    """
    One node: ``name`` is safe in any diagram language, ``lines`` are what it says.
    """

    name: str
    node: NodeSpec
    lines: tuple[str, ...]
    mark: Mark | None = None


class Box(Value, kw_only=True):
    """
    A frame round nodes and other boxes.
    """

    name: str
    label: str
    items: tuple[Item, ...]
    kind: str
    """``workflow``, ``agent``, or the kind of a group."""
    mark: Mark | None = None
    """Of a group, whose first node shows it as well; that of a workflow is in its label."""


Item: TypeAlias = Dot | Box


class Line(Value, kw_only=True):
    """
    An edge between two named nodes.
    """

    source: str
    target: str
    kind: EdgeKind
    label: str
    mark: EdgeMark | None = None


class Flat(Value, kw_only=True):
    """
    Everything that a diagram shows, in a stable order.
    """

    items: tuple[Item, ...]
    lines: tuple[Line, ...]

    def dots(self) -> Iterator[Dot]:
        """
        Yield every node, at any depth.
        """
        yield from _dots(self.items)


def flatten(spec: GraphSpec, overlay: Overlay, options: DrawOptions) -> Flat:
    """
    Open the nested graphs of *spec* as far as *options* say and name its nodes ``n0``, ``n1`` and so on.
    """
    flattener = _Flattener(spec.workflows, overlay, options)
    items, _ = flattener.graph(spec, "", 0, ends=True)
    return Flat(items=tuple(items), lines=tuple(flattener.lines))


def legend_of(flat: Flat) -> tuple[Mark, ...]:
    """
    Return the marks that *flat* has, one of each status, for a legend; times are left out.
    """
    found = {dot.mark.status for dot in flat.dots() if dot.mark is not None}
    order = (
        "success", "failed", "blocked", "cancelled", "suspended", "running", "bailed", "skipped",
        "added", "removed", "changed",
    )  # fmt: skip
    return tuple(Mark(status) for status in (*order, *sorted(found - set(order))) if status in found)


class _End(Value):
    """
    Where edges arrive at a node or leave it, and what is said of the edge inside an opened workflow that leads on.
    """

    name: str
    marks: tuple[EdgeMark | None, ...] = ()


class _Ends(Value):
    """
    Where edges arrive at a node, and where they leave it: several places for an opened workflow.
    """

    entries: tuple[_End, ...]
    exits: tuple[_End, ...]


class _Flattener:
    def __init__(self, workflows: Mapping[str, GraphSpec], overlay: Overlay, options: DrawOptions) -> None:
        self.workflows = workflows
        self.overlay = overlay
        self.options = options
        self.lines: list[Line] = []
        self.count = 0

    def graph(self, spec: GraphSpec, prefix: str, level: int, *, ends: bool) -> tuple[list[Item], _Ends]:
        """
        Return the items of *spec*, and where it is entered and left; with *ends*, its start and end are nodes.
        """
        made: dict[str, tuple[Item, _Ends]] = {}
        for node in spec.nodes:
            if ends or node.kind not in ("start", "end"):
                made[node.id] = self.node(node, prefix, level)
        entries: dict[str, _End] = {}
        exits: dict[str, _End] = {}
        for edge in spec.edges:
            mark = self.overlay.edges.get((prefix, edge.source, edge.target, edge.kind))
            sources = made[edge.source][1].exits if edge.source in made else ()
            targets = made[edge.target][1].entries if edge.target in made else ()
            if edge.source not in made:
                entries |= {end.name: _End(end.name, (*end.marks, mark)) for end in targets}
            elif edge.target not in made:
                exits |= {end.name: _End(end.name, (*end.marks, mark)) for end in sources}
            for source in sources:
                for target in targets:
                    marks = (*source.marks, mark, *target.marks)
                    self.lines.append(
                        Line(
                            source=source.name,
                            target=target.name,
                            kind=edge.kind,
                            label=self.label(edge),
                            mark=mark if mark != "ran" or None not in marks else None,
                        )
                    )
        items = {id: item for id, (item, _) in made.items()}
        boxed = {id for group in spec.groups for id in (group.entry, *group.children, group.exit)}
        groups = {group.entry: group for group in spec.groups}
        shown: list[Item] = []
        for id, item in items.items():
            if id in groups:
                shown.append(self.box(groups[id], items, prefix))
            elif id not in boxed:
                shown.append(item)
        return shown, _Ends(tuple(entries.values()), tuple(exits.values()))

    def label(self, edge: EdgeSpec) -> str:
        label = self.short(edge.label)
        if self.options.show_types and not label and edge.type_ref is not None:
            label = self.short(type_name(edge.type_ref))
        return f"when {label}" if edge.kind == "true" else label

    def box(self, group: GroupSpec, items: Mapping[str, Item], prefix: str) -> Box:
        inside = dict.fromkeys((group.entry, *group.children, group.exit))
        return Box(
            name=self.name(),
            label=" · ".join([self.short(group.label), *group_settings(group)]),
            items=tuple(items[id] for id in inside),
            kind=group.kind,
            mark=self.overlay.nodes.get(prefix + group.id + (CONTAINER if group.kind in ("loop", "foreach") else "")),
        )

    def node(self, node: NodeSpec, prefix: str, level: int) -> tuple[Item, _Ends]:
        path = prefix + node.path
        mark = self.overlay.nodes.get(path + (CONTAINER if node.kind in ("loop", "foreach") else ""))
        if node.ref_hash is not None and self.options.opens(node.kind, level + 1):
            name = self.name()
            items, ends = self.graph(self.workflows[node.ref_hash], f"{path}/", level + 1, ends=False)
            if items:
                label = self.short(node.label)
                if mark is not None:
                    label += f" · {mark_text(mark, plain=not self.options.unicode)}"
                return Box(name=name, label=label, items=tuple(items), kind=node.kind), ends
        name = self.name()
        if node.kind in ("join", "start", "end"):
            mark = None
        label = node.kind if node.kind in ("fork", "join") else node.label  # the box round them has the name
        lines = [self.short(label), *self.badges(node)]
        if mark is not None:
            lines.append(mark_text(mark, plain=not self.options.unicode))
        end = (_End(name),)
        return Dot(name=name, node=node, lines=tuple(lines), mark=mark), _Ends(end, end)

    def badges(self, node: NodeSpec) -> Iterator[str]:
        hooks = hook_names(node.hooks) if self.options.show_hooks and node.kind != "workflow" else ""
        shown = [hooks] if hooks else []
        if node.mutates:
            shown.append("mutates")
        if shown:
            yield " · ".join(shown)
        if node.can_suspend and node.kind in SUSPENDABLE:
            yield "‖ can suspend" if self.options.unicode else "can suspend"

    def short(self, text: str) -> str:
        return cut(clean(text), self.options.max_label)

    def name(self) -> str:
        name = f"n{self.count}"
        self.count += 1
        return name


def _dots(items: tuple[Item, ...]) -> Iterator[Dot]:
    for item in items:
        if isinstance(item, Dot):
            yield item
        else:
            yield from _dots(item.items)
