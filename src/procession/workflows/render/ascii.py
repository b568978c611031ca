"""
A graph as an indented tree, for a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from procession.messages.value import Value
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import CONTAINER, Mark, Overlay, mark_text
from procession.workflows.render.text import cell_width, clean, cut, hook_names
from procession.workflows.render.words import SUSPENDABLE, group_settings, node_settings, type_name
from procession.workflows.spec import EdgeSpec, GraphSpec, GroupSpec, NodeSpec

__all__ = ["tree"]

_UNICODE = ("├─ ", "└─ ", "│  ", "   ")
_PLAIN = ("+- ", "`- ", "|  ", "   ")

_KINDS = {"workflow", "agent", "tool", "model"}


class _Row(Value):
    """
    One line: the name with its lead, columns to its right, and the rows below it.
    """

    text: str
    columns: tuple[str, ...] = ()
    children: tuple[_Row, ...] = ()


def tree(spec: GraphSpec, marks: Overlay | None = None, options: DrawOptions | None = None) -> str:
    """
    Return *spec* as an indented tree, one line per node, ending with a line break.
    """
    options = options if options is not None else DrawOptions()
    root = _Tree(spec.workflows, marks or Overlay(), options).root(spec)
    text = "\n".join(_lines(root, options)) + "\n"
    return text if options.unicode else text.encode("ascii", "backslashreplace").decode()


class _Tree:
    def __init__(self, workflows: Mapping[str, GraphSpec], marks: Overlay, options: DrawOptions) -> None:
        self.workflows = workflows
        self.marks = marks
        self.options = options
        self.dot = "·" if options.unicode else "."

    def root(self, spec: GraphSpec) -> _Row:
        kind = "processor workflow" if spec.kind == "processor" else "workflow"
        return _Row(
            f"{clean(spec.workflow_id)} ({kind}){_in_brackets(_run_settings(spec))}",
            (),
            tuple(self.rows(spec, "", 0)),
        )

    def rows(self, spec: GraphSpec, prefix: str, level: int) -> Iterator[_Row]:
        by_id = {node.id: node for node in spec.nodes}
        entries = {group.entry: group for group in spec.groups}
        inside = {child for group in spec.groups for child in (*group.children, group.exit)}
        for node in spec.nodes:
            if node.id in entries:
                yield self.group(entries[node.id], spec, by_id, prefix, level)
            elif node.id not in inside and node.kind not in ("start", "end"):
                yield self.node(node, prefix, level, self.after(spec, node, prefix))

    def group(self, group: GroupSpec, spec: GraphSpec, by_id: Mapping[str, NodeSpec], prefix: str, level: int) -> _Row:
        into = {edge.target: edge for edge in spec.edges if edge.source == group.entry}
        arms = [(by_id[child], into.get(child)) for child in group.children]
        children = tuple(
            self.node(arm, prefix, level, self.condition(edge, group, cell_width(arm.label))) for arm, edge in arms
        )
        if group.kind == "loop":
            name = f"loop {self.short(group.label)}"
        elif group.kind == "foreach" or re.fullmatch(rf"{group.kind}-\d+", group.label):  # a name that nobody gave
            name = clean(group.label)
        else:
            name = f"{group.kind}: {clean(group.label)}"
        shown = ", ".join(group_settings(group))
        mark = self.marks.nodes.get(prefix + group.id + (CONTAINER if group.kind in ("loop", "foreach") else ""))
        text = name + (f"  [{shown}]" if shown else "")
        return _Row(text, ("", "", self.mark_of(mark)), children)

    def node(self, node: NodeSpec, prefix: str, level: int, lead: str = "") -> _Row:
        path = prefix + node.path
        name = clean(node.label)
        if node.kind == "map":
            name = f"map: {self.short(node.label)}"
        elif node.kind == "sleep":
            name = f"sleep: {self.short(node.label)}"
        elif node.kind in _KINDS:
            inner = self.workflows.get(node.ref_hash or "")
            of_processors = node.kind == "workflow" and inner is not None and inner.kind == "processor"
            name += f" ({'processor workflow' if of_processors else node.kind})"
        if node.placeholder:
            name = f"{self.dot} {name}"
        within = self.workflows.get(node.ref_hash or "")
        inner_settings = _run_settings(within) if within is not None else ()
        notes = [*dict.fromkeys((*node_settings(node), *inner_settings)), *self.pause(node), *self.types_of(node)]
        text = lead + name + _in_brackets(notes)
        hooks = hook_names(node.hooks) if self.options.show_hooks and node.kind != "workflow" else ""
        columns = (
            hooks,
            "mutates" if node.mutates and node.kind != "workflow" else "",
            self.mark_of(self.marks.nodes.get(path)),
        )
        children: tuple[_Row, ...] = ()
        if node.ref_hash is not None and self.options.opens(node.kind, level + 1):
            children = tuple(self.rows(self.workflows[node.ref_hash], f"{path}/", level + 1))
        return _Row(text, columns, children)

    def condition(self, edge: EdgeSpec | None, group: GroupSpec, name: int) -> str:
        if edge is None or group.kind != "branch":
            return ""
        arrow = "→" if self.options.unicode else "->"
        if edge.kind == "default":
            return f"otherwise {arrow} "
        # The condition gives way, so that the step's name is still there where the line is cut.
        room = self.options.max_label if self.options.width is None else max(12, self.options.width - name - 24)
        return f"when {self.short(edge.label, room)} {arrow} "

    def after(self, spec: GraphSpec, node: NodeSpec, prefix: str) -> str:
        if not spec.explicit:
            return ""
        gone = {key for key, mark in self.marks.edges.items() if mark == "removed"}
        needs = [
            clean(edge.source)
            for edge in spec.edges
            if edge.target == node.id
            and edge.source != "@start"
            and (prefix, edge.source, edge.target, edge.kind) not in gone
        ]
        return f"after {', '.join(needs)}: " if needs else ""

    def pause(self, node: NodeSpec) -> list[str]:
        return ["can suspend"] if node.can_suspend and node.kind in SUSPENDABLE else []

    def types_of(self, node: NodeSpec) -> list[str]:
        if not self.options.show_types:
            return []
        names = [type_name(ref) for ref in (node.input_schema_ref, node.output_schema_ref)]
        return [f"{names[0]} {'→' if self.options.unicode else '->'} {names[1]}"] if names != ["?", "?"] else []

    def mark_of(self, mark: Mark | None) -> str:
        return mark_text(mark, plain=not self.options.unicode) if mark is not None else ""

    def short(self, text: str, room: int = 1_000) -> str:
        return cut(clean(text), min(room, self.options.max_label), dots="…" if self.options.unicode else "...")


def _run_settings(spec: GraphSpec) -> Iterator[str]:
    """
    Yield what holds for all of a workflow: its start has it.
    """
    for node in spec.nodes:
        if node.kind == "start":
            yield from node_settings(node)


def _in_brackets(notes: Iterable[str]) -> str:
    shown = ", ".join(notes)
    return f"  [{shown}]" if shown else ""


def _lines(root: _Row, options: DrawOptions) -> list[str]:
    flat = list(_flat(root, "", "", _UNICODE if options.unicode else _PLAIN))
    dots = "…" if options.unicode else "..."
    widths = [max((cell_width(row.columns[i]) for _, row in flat if row.columns), default=0) for i in range(3)]
    room = None
    if options.width is not None:
        least = min(24, options.width)
        if widths[2]:  # what became of a node goes before what it is, and its sign before the end of a name
            least = min(24, max(12, options.width // 2))
            for i in (0, 1):
                if _together(widths) > options.width - least:
                    widths[i] = 0
        # Names make room for the columns, as long as enough of them is left to tell them apart.
        room = max(options.width - _together(widths), least)
    names = [(lead + row.text if room is None else cut(lead + row.text, room, dots=dots), row) for lead, row in flat]
    widest = max((cell_width(name) for name, row in names if any(row.columns)), default=0)
    lines: list[str] = []
    for name, row in names:
        line = name
        if any(row.columns):
            line += " " * (widest - cell_width(name))
            for width, column in zip(widths, row.columns, strict=True):
                if width:
                    line += "  " + column + " " * (width - cell_width(column))
        line = line.rstrip()
        lines.append(line if options.width is None else cut(line, options.width, dots=dots))
    return lines


def _together(widths: Iterable[int]) -> int:
    return sum(width + 2 for width in widths if width)


def _flat(row: _Row, lead: str, below: str, lines: tuple[str, str, str, str]) -> Iterable[tuple[str, _Row]]:
    yield lead, row
    for index, child in enumerate(row.children):
        last = index == len(row.children) - 1
        yield from _flat(child, below + lines[last], below + lines[2 + last], lines)
