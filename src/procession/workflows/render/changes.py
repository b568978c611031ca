"""
What changed between two graphs, drawn: both in one, with signs at what is new, gone or other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from procession.errors import InputError
from procession.workflows.difference import Difference, differences
from procession.workflows.render.draw import draw_spec
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import CONTAINER, EdgeMark, Mark, Overlay
from procession.workflows.render.serving import serving
from procession.workflows.render.text import clean, json_text
from procession.workflows.spec import EdgeKind, GraphSpec, GroupSpec, NodeSpec

__all__ = ["CHANGE_FORMATS", "ChangeFormat", "draw_changes"]

ChangeFormat: TypeAlias = Literal["text", "json", "mermaid", "ascii", "boxes", "dot", "svg", "html"]

CHANGE_FORMATS: tuple[ChangeFormat, ...] = ("text", "json", "mermaid", "ascii", "boxes", "dot", "svg", "html")


def draw_changes(
    old: GraphSpec, new: GraphSpec, format: ChangeFormat = "text", options: DrawOptions | None = None
) -> str:
    """
    Return what changed from *old* to *new*: as sentences, as JSON, or as a drawing of both graphs in one.

    Raises ``InputError`` for a format that does not exist.

    >>> from procession.workflows.describe import graph_spec
    >>> from procession.workflows.workflow import create_workflow
    >>> def lengths(id: str) -> GraphSpec:
    ...     return graph_spec(create_workflow("lengths", str).map(len, id=id).commit())
    >>> print(draw_changes(lengths("count"), lengths("size")), end="")
    ! map 'count' is no longer there
    + map 'size' is new
    """
    if format not in CHANGE_FORMATS:
        raise InputError(f"no drawing of changes is called {format!r}", hint=f"there are {', '.join(CHANGE_FORMATS)}")
    options = options if options is not None else DrawOptions()
    found = differences(old, new)
    if format == "text":
        text = "".join(f"{line}\n" for line in _sentences(found))
        return text if options.unicode else text.encode("ascii", "backslashreplace").decode()
    if format == "json":
        return json_text(_as_json(old, new, found))
    both = _Both(old, new)
    spec = both.spec(old, new, "")
    spec = spec.replace(workflows=both.workflows)
    changed = {each.path: Mark("changed") for each in found if each.change == "changed" and each.path not in both.marks}
    marks = _both_ways(changed) | both.marks
    return draw_spec(serving(spec), format, Overlay(marks, both.edges), options)


def _sentences(found: Sequence[Difference]) -> Iterator[str]:
    """
    Yield a line for each difference: a breaking one has an exclamation mark, others say by a sign what they are.
    """
    signs = {"added": "+", "removed": "-", "changed": "~"}
    if not found:
        yield "nothing has changed"
    for each in found:
        yield f"{'!' if each.breaking else signs[each.change]} {clean(each.text)}"


def _as_json(old: GraphSpec, new: GraphSpec, found: Sequence[Difference]) -> Mapping[str, object]:
    return {
        "old": old.graph_hash,
        "new": new.graph_hash,
        "breaking": any(each.breaking for each in found),
        "differences": [{field: getattr(each, field) for field in Difference.__fields__} for each in found],
    }


class _Both:
    """
    Two graphs in one: everything of the new one, and what the old one had besides.
    """

    def __init__(self, old: GraphSpec, new: GraphSpec) -> None:
        self.old = old.workflows
        self.new = new.workflows
        self.workflows: dict[str, GraphSpec] = {}
        self.marks: dict[str, Mark] = {}
        self.edges: dict[tuple[str, str, str, EdgeKind], EdgeMark] = {}

    def spec(self, old: GraphSpec, new: GraphSpec, prefix: str) -> GraphSpec:
        was = {node.id: node for node in old.nodes}
        now = {node.id: node for node in new.nodes}
        nodes = [self.node(was.get(node.id), node, prefix) for node in _woven(old.nodes, new.nodes)]
        for id in was.keys() ^ now.keys():
            node = now.get(id) or was[id]
            self.marks |= _both_ways({prefix + node.path: Mark("added" if id in now else "removed")})
        keys = {(edge.source, edge.target, edge.kind) for edge in new.edges}
        gone = [edge for edge in old.edges if (edge.source, edge.target, edge.kind) not in keys]
        known = {(edge.source, edge.target, edge.kind) for edge in old.edges}
        for edge in new.edges:
            if (edge.source, edge.target, edge.kind) not in known:
                self.edges[prefix, edge.source, edge.target, edge.kind] = "added"
        for edge in gone:
            self.edges[prefix, edge.source, edge.target, edge.kind] = "removed"
        return new.replace(
            nodes=tuple(nodes),
            edges=(*new.edges, *gone),
            groups=_groups(old.groups, new.groups, set(now)),
            schemas={**old.schemas, **new.schemas},
        )

    def node(self, old: NodeSpec | None, node: NodeSpec, prefix: str) -> NodeSpec:
        """
        Return *node* of either graph with what is inside, also that of both in one.
        """
        if node.ref_hash is None:
            return node
        path = f"{prefix}{node.path}/"
        known = {**self.old, **self.new}
        after = known[node.ref_hash]
        before = known[old.ref_hash] if old is not None and old.ref_hash is not None else after
        key = f"{path}{node.ref_hash}"
        self.workflows[key] = self.spec(before, after, path)
        return node.replace(ref_hash=key)


def _woven(old: Sequence[NodeSpec], new: Sequence[NodeSpec]) -> list[NodeSpec]:
    """
    Return the nodes of both, those of *old* alone behind what they stood behind.
    """
    woven = list(new)
    ids = {node.id for node in new}
    for index, node in enumerate(old):
        if node.id not in ids:
            before = old[index - 1].id  # the first node of each graph is its start
            place = next(at for at, each in enumerate(woven) if each.id == before)
            woven.insert(place + 1, node)
    return woven


def _groups(old: Sequence[GroupSpec], new: Sequence[GroupSpec], now: set[str]) -> tuple[GroupSpec, ...]:
    """
    Return the groups of both, with what was in them and is gone; what moved is drawn where it is now.
    """
    was = {group.id: group for group in old}
    taken = {id for group in new for id in (group.entry, *group.children, group.exit)}
    made: list[GroupSpec] = []
    for group in new:
        before = was.pop(group.id, None)
        gone = [child for child in before.children if child not in now] if before is not None else []
        made.append(group.replace(children=(*group.children, *gone)))
    for group in was.values():
        inside = [id for id in (group.entry, *group.children, group.exit) if id not in now]
        if group.entry in inside and not taken & set(inside):
            children = tuple(id for id in group.children if id in inside)
            exit = group.exit if group.exit in inside else group.entry
            made.append(group.replace(children=children, exit=exit))
    return tuple(made)


def _both_ways(marks: Mapping[str, Mark]) -> dict[str, Mark]:
    """
    Return marks for nodes and for containers: a loop has the path of its body.
    """
    return {**marks, **{path + CONTAINER: mark for path, mark in marks.items()}}
