"""
A graph with its nested graphs opened, ready for a diagram language: nodes with safe names, boxes and edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from procession.messages.value import Value
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import CONTAINER, Mark, Overlay, mark_text
from procession.workflows.render.text import clean, cut, hook_names
from procession.workflows.spec import EdgeKind, GraphSpec, GroupSpec, NodeSpec

__all__ = ["Box", "Dot", "Flat", "Line", "flatten"]


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


Item: TypeAlias = Dot | Box


class Line(Value, kw_only=True):
    """
    An edge between two named nodes.
    """

    source: str
    target: str
    kind: EdgeKind
    label: str


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


def flatten(spec: GraphSpec, marks: Overlay, options: DrawOptions) -> Flat:
    """
    Open the nested graphs of *spec* as far as *options* say and name its nodes ``n0``, ``n1`` and so on.
    """
    flattener = _Flattener(spec.workflows, marks, options)
    items, _, _ = flattener.graph(spec, "", 0, ends=True)
    return Flat(items=tuple(items), lines=tuple(flattener.lines))


class _Ends(Value):
    """
    Where edges arrive at a node, and where they leave it: several places for an opened workflow.
    """

    entries: tuple[str, ...]
    exits: tuple[str, ...]


class _Flattener:
    def __init__(self, workflows: Mapping[str, GraphSpec], marks: Overlay, options: DrawOptions) -> None:
        self.workflows = workflows
        self.marks = marks
        self.options = options
        self.lines: list[Line] = []
        self.count = 0

    def graph(
        self, spec: GraphSpec, prefix: str, level: int, *, ends: bool
    ) -> tuple[list[Item], tuple[str, ...], tuple[str, ...]]:
        """
        Return the items of *spec*, and where it is entered and left; with *ends*, its start and end are nodes.
        """
        made: dict[str, tuple[Item, _Ends]] = {}
        for node in spec.nodes:
            if ends or node.kind not in ("start", "end"):
                made[node.id] = self.node(node, prefix, level)
        entries: list[str] = []
        exits: list[str] = []
        for edge in spec.edges:
            source = made[edge.source][1].exits if edge.source in made else ()
            target = made[edge.target][1].entries if edge.target in made else ()
            if edge.source not in made:
                entries += target
            if edge.target not in made:
                exits += source
            label = self.short(edge.label)
            if self.options.types and not label and edge.type_ref is not None:
                label = edge.type_ref.rpartition("-")[0]
            if edge.kind == "true":
                label = f"when {label}"
            for one in source:
                for other in target:
                    self.lines.append(Line(source=one, target=other, kind=edge.kind, label=label))
        boxed: dict[str, str] = {}
        for group in spec.groups:
            for id in (group.entry, *group.children, group.exit):
                boxed[id] = group.entry
        groups = {group.entry: group for group in spec.groups}
        items: list[Item] = []
        for id, (item, _) in made.items():
            if id in groups:
                items.append(self.box(groups[id], {key: value for key, (value, _) in made.items()}))
            elif id not in boxed:
                items.append(item)
        return items, tuple(dict.fromkeys(entries)), tuple(dict.fromkeys(exits))

    def box(self, group: GroupSpec, items: Mapping[str, Item]) -> Box:
        inside = dict.fromkeys((group.entry, *group.children, group.exit))
        notes = [f"merge={group.merge}"] if group.kind == "parallel" and group.merge is not None else []
        if group.kind == "foreach":
            notes.append(f"concurrency={group.concurrency}")
        label = " · ".join([self.short(group.label), *notes])
        return Box(name=self.name(), label=label, items=tuple(items[id] for id in inside))

    def node(self, node: NodeSpec, prefix: str, level: int) -> tuple[Item, _Ends]:
        path = prefix + node.path
        if node.ref_hash is not None and self.options.opens(node.kind, level + 1):
            name = self.name()
            items, entries, exits = self.graph(self.workflows[node.ref_hash], f"{path}/", level + 1, ends=False)
            if items:
                return Box(name=name, label=self.short(node.label), items=tuple(items)), _Ends(entries, exits)
        name = self.name()
        mark = self.marks.get(path + (CONTAINER if node.kind in ("loop", "foreach") else ""))
        if node.kind in ("join", "start", "end"):
            mark = None
        label = node.kind if node.kind in ("fork", "join") else node.label  # the box round them has the name
        lines = [self.short(label), *self.badges(node)]
        if mark is not None:
            lines.append(mark_text(mark, plain=not self.options.unicode))
        return Dot(name=name, node=node, lines=tuple(lines), mark=mark), _Ends((name,), (name,))

    def badges(self, node: NodeSpec) -> Iterator[str]:
        hooks = hook_names(node.hooks) if self.options.hooks else ""
        shown = [hooks] if hooks else []
        if node.mutates:
            shown.append("mutates")
        if shown:
            yield " · ".join(shown)

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
