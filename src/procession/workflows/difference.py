"""
differences(): what has changed from one graph to another, and what of it breaks those who rely on the old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeGuard

from procession.messages.value import Value
from procession.workflows.schema_fit import Misfit, describe_schema, misfit
from procession.workflows.spec import EdgeSpec, GraphSpec, GroupSpec, NodeSpec, bare_schema

__all__ = ["Change", "Difference", "Part", "differences"]

Change: TypeAlias = Literal["added", "removed", "changed"]

Part: TypeAlias = Literal["workflow", "node", "edge", "group", "type", "hooks", "setting"]


# Settings that let an output be what it could not be before.
_GIVES_MORE = frozenset({("on_error", "collect"), ("on_no_match", "skip")})


class Difference(Value, kw_only=True):
    """
    One thing that is not as it was.
    """

    path: str
    """Path of the node; empty for the workflow as a whole."""
    text: str
    """One sentence, without a stop, that names the path."""
    breaking: bool
    """Whether who relies on the old graph may find that it no longer holds."""
    change: Change
    part: Part
    hashed: bool = True
    """Whether the graph hash knows of it: settings such as a timeout may change under a run that is kept."""


def differences(old: GraphSpec, new: GraphSpec) -> tuple[Difference, ...]:
    """
    Return what has changed from *old* to *new*, in declaration order: empty where nothing has.

    Breaking are: a step, an arm or a key of an output that is gone, an input that takes less, an output that may be
    more or is that of another step, a kind, hooks or dependencies that are other ones.  Where two graph hashes differ, at least one difference
    is ``hashed``.

    >>> from procession.workflows.describe import graph_spec
    >>> from procession.workflows.workflow import create_workflow
    >>> def twice(id: str) -> GraphSpec:
    ...     return graph_spec(create_workflow("twice", int).map(lambda n: 2 * n, id=id).commit())
    >>> for each in differences(twice("double"), twice("times-two")):
    ...     print(each.breaking, each.text)
    True map 'double' is no longer there
    False map 'times-two' is new
    """
    found: list[Difference] = []
    if old.workflow_id != new.workflow_id:
        text = f"the workflow is called {new.workflow_id!r}; it was {old.workflow_id!r}"
        found.append(Difference(path="", text=text, breaking=True, change="changed", part="workflow"))
    found += _Comparison(old, new, old.workflows, new.workflows, "").all()
    if old.graph_hash != new.graph_hash and not any(each.hashed for each in found):
        text = "the order in which steps are declared is another one"
        found.append(Difference(path="", text=text, breaking=False, change="changed", part="workflow"))
    return tuple(found)


class _Comparison:
    """
    Two graphs of one place; *prefix* is the path of the node that they stand in.
    """

    def __init__(
        self,
        old: GraphSpec,
        new: GraphSpec,
        old_workflows: Mapping[str, GraphSpec],
        new_workflows: Mapping[str, GraphSpec],
        prefix: str,
    ) -> None:
        self.old = old
        self.new = new
        self.workflows = (old_workflows, new_workflows)
        self.prefix = prefix
        self.was = {node.id: node for node in old.nodes}
        self.now = {node.id: node for node in new.nodes}

    def all(self) -> Iterator[Difference]:
        if self.old.kind != self.new.kind:
            place = f"workflow {self.prefix[:-1]!r}" if self.prefix else "the workflow"
            yield self.of("", f"{place} is of kind {self.new.kind}; it was {self.old.kind}", True, "workflow")
        place = f"the state of workflow {self.prefix[:-1]!r}" if self.prefix else "the state of the workflow"
        yield from self.type(self.old.state_schema_ref, self.new.state_schema_ref, "", place, True)
        for node in self.old.nodes:
            if node.id not in self.now and not _is_drawn_only(node):
                yield self.of(node.path, f"{self.name(node)} is no longer there", True, "node", "removed")
        for node in self.new.nodes:
            if node.id in self.was:
                yield from self.node(self.was[node.id], node)
            elif not _is_drawn_only(node):
                yield self.of(node.path, f"{self.name(node)} is new", False, "node", "added")
        yield from self.groups()
        if self.old.explicit or self.new.explicit:
            yield from self.dependencies()
        else:
            yield from self.order()
        yield from self.result()

    def of(
        self, path: str, text: str, breaking: bool, part: Part, change: Change = "changed", hashed: bool = True
    ) -> Difference:
        whole = (self.prefix + path).rstrip("/")
        return Difference(path=whole, text=text, breaking=breaking, change=change, part=part, hashed=hashed)

    def name(self, node: NodeSpec) -> str:
        if node.kind in ("start", "end"):
            return f"workflow {self.prefix[:-1]!r}" if self.prefix else "the workflow"
        return f"{node.kind} {self.prefix + node.path!r}"

    # --- one node ---------------------------------------------------------------------------------------------------

    def node(self, old: NodeSpec, new: NodeSpec) -> Iterator[Difference]:
        name = self.name(new)
        if old.kind != new.kind:
            path = self.prefix + new.path
            yield self.of(new.path, f"{path!r} is a {new.kind}; it was a {old.kind}", True, "node")
        for field, verb in (("hooks", "takes part in"), ("on", "is restricted to")):
            before, after = set(getattr(old, field)), set(getattr(new, field))
            if after - before:
                text = f"{name} now {verb} {', '.join(sorted(after - before))}"
                yield self.of(new.path, text, True, "hooks")
            if before - after:
                text = f"{name} no longer {verb} {', '.join(sorted(before - after))}"
                yield self.of(new.path, text, True, "hooks")
        yield from self.types(old, new, name)
        if old.mutates != new.mutates:
            text = f"{name} {'may now change' if new.mutates else 'no longer changes'} messages"
            yield self.of(new.path, text, False, "hooks", hashed=False)
        gone = [key for key in old.made_of or {} if new.made_of is not None and key not in new.made_of]
        if gone:
            text = f"the output of {name} no longer has {', '.join(map(repr, gone))}"
            yield self.of(new.path, text, True, "type", hashed=False)
        settings = {"retry": "retry", "timeout": "timeout", "budget": "budget", "made_of": "mapping"}
        for field, said in settings.items():
            before, after = getattr(old, field), getattr(new, field)
            if before != after:
                text = f"the {said} of {name} is {_said(after)}; it was {_said(before)}"
                yield self.of(new.path, text, False, "setting", hashed=False)
        if old.kind == new.kind and old.kind in ("map", "sleep", "loop") and old.label != new.label:
            text = f"{name} says {new.label!r}; it said {old.label!r}"
            yield self.of(new.path, text, False, "setting", hashed=False)
        if old.ref_hash != new.ref_hash:
            yield from self.inside(old, new)

    def types(self, old: NodeSpec, new: NodeSpec, name: str) -> Iterator[Difference]:
        is_input = new.kind == "start"  # what leaves the start is what the workflow takes
        if not is_input:
            yield from self.type(old.input_schema_ref, new.input_schema_ref, new.path, f"the input of {name}", True)
        place = f"the {'input' if is_input else 'output'} of {name}"
        yield from self.type(old.output_schema_ref, new.output_schema_ref, new.path, place, is_input)
        yield from self.type(*_both(old, new, 0), new.path, f"what {name} asks", False)
        yield from self.type(*_both(old, new, 1), new.path, f"the answer to {name}", True)

    def type(
        self, old_ref: str | None, new_ref: str | None, path: str, place: str, is_input: bool
    ) -> Iterator[Difference]:
        old = bare_schema(self.old.schemas.get(old_ref or ""))
        new = bare_schema(self.new.schemas.get(new_ref or ""))
        if old == new:
            return
        if not is_input:
            gone = sorted(_keys(old) - _keys(new))
            if gone and _keys(new):
                text = f"{place} no longer has {', '.join(repr(key) for key in gone)}"
                yield self.of(path, text, True, "type")
                return
        found = misfit(new, old) if is_input else misfit(old, new)
        if found is not None:
            yield self.of(path, f"{place} {_misfit_text(found, is_input)}", True, "type")
        elif (misfit(old, new) if is_input else misfit(new, old)) is not None:
            yield self.of(path, f"{place} is {'wider' if is_input else 'narrower'}", False, "type")
        else:
            yield self.of(path, f"{place} is described in another way", False, "type")

    def inside(self, old: NodeSpec, new: NodeSpec) -> Iterator[Difference]:
        before = self.workflows[0].get(old.ref_hash or "")
        after = self.workflows[1].get(new.ref_hash or "")
        name = self.name(new)
        if before is None or after is None:
            text = f"{name} {'has no workflow inside any longer' if after is None else 'has a workflow inside now'}"
            yield self.of(new.path, text, True, "node")
            return
        inner = [*_Comparison(before, after, *self.workflows, f"{self.prefix}{new.path}/").all()]
        if before.workflow_id != after.workflow_id:
            text = f"the workflow inside {name} is called {after.workflow_id!r}; it was {before.workflow_id!r}"
            inner.append(self.of(new.path, text, False, "workflow"))
        if not any(each.hashed for each in inner):
            text = f"the order in which the steps inside {name} are declared is another one"
            inner.append(self.of(new.path, text, False, "workflow"))
        yield from inner

    # --- what nodes have to do with each other ----------------------------------------------------------------------

    def groups(self) -> Iterator[Difference]:
        was = {group.id: group for group in self.old.groups}
        now = {group.id: group for group in self.new.groups}
        for id, group in was.items():
            if id not in now:
                yield self.of(id, f"{group.kind} {self.prefix + id!r} is no longer there", True, "group", "removed")
        for id, group in now.items():
            if id not in was:
                yield self.of(id, f"{group.kind} {self.prefix + id!r} is new", False, "group", "added")
            else:
                yield from self.group(was[id], group)

    def group(self, old: GroupSpec, new: GroupSpec) -> Iterator[Difference]:
        name = f"{new.kind} {self.prefix + new.id!r}"
        if old.kind != new.kind:
            text = f"{self.prefix + new.id!r} is a {new.kind}; it was a {old.kind}"
            yield self.of(new.id, text, True, "group")
        for child in old.children:
            if child not in new.children and child in self.now:  # one that is gone is said to be gone
                yield self.of(child, f"{self.prefix + child!r} is no longer in {name}", True, "group")
        for child in new.children:
            if child not in old.children and child in self.was:
                yield self.of(child, f"{self.prefix + child!r} is now in {name}", False, "group")
        kept = [child for child in old.children if child in new.children]
        if kept != [child for child in new.children if child in kept]:
            yield self.of(new.id, f"the order in {name} is another one", False, "group")
        settings = [("merge", old.merge, new.merge), ("concurrency", old.concurrency, new.concurrency)]
        before, after = old.options or {}, new.options or {}
        settings += [(key, before.get(key), after.get(key)) for key in dict.fromkeys((*before, *after))]
        for key, first, second in settings:
            if first != second:
                text = f"{key} of {name} is {_said(second)}; it was {_said(first)}"
                breaking = (key, second) in _GIVES_MORE
                yield self.of(new.id, text, breaking, "setting", hashed=False)

    def dependencies(self) -> Iterator[Difference]:
        """
        Compare what the steps of an explicit workflow wait for: it is what they are given.
        """
        was, now = _sources(self.old.edges), _sources(self.new.edges)
        for node in self.new.nodes:
            before, after = was.get(node.id, ()), now.get(node.id, ())
            if node.id in self.was and before != after and node.kind not in ("start", "end"):
                text = f"{self.name(node)} comes after {_names(after)}; it came after {_names(before)}"
                yield self.of(node.path, text, True, "edge")

    def result(self) -> Iterator[Difference]:
        """
        Compare whose output is that of the workflow, unless that is promised by a type of its own.
        """
        if all(_promises(spec) for spec in (self.old, self.new)):
            return
        was, now = _last(self.old), _last(self.new)
        if was == now or not all(id in self.now for id in was):  # one that is gone is said to be gone
            return
        place = f"workflow {self.prefix[:-1]!r}" if self.prefix else "the workflow"
        new, old = (", ".join(self.name(self.now[id]) for id in ids) for ids in (now, was))
        text = f"the output of {place} is that of {new}; it was that of {old}"
        # What it comes from is hashed and said already: a step that is new, another order, other dependencies.
        yield self.of("", text, not self.gives_no_more(was, now), "edge", hashed=False)

    def gives_no_more(self, was: tuple[str, ...], now: tuple[str, ...]) -> bool:
        if len(was) != 1 or len(now) != 1:
            return False
        old = bare_schema(self.old.schemas.get(self.was[was[0]].output_schema_ref or ""))
        new = bare_schema(self.new.schemas.get(self.now[now[0]].output_schema_ref or ""))
        return old is not None and new is not None and misfit(old, new) is None

    def order(self) -> Iterator[Difference]:
        """
        Compare what comes before what: a step that is put in between, or taken away, changes nothing for the others.
        """
        was, now = _joined(self.old.edges), _joined(self.new.edges)
        for edge in self.old.edges:
            source, target = self.now.get(edge.source), self.now.get(edge.target)
            if source is None or target is None or edge.kind == "back" or (edge.source, edge.target) in now:
                continue
            if not _leads(self.new.edges, edge.source, edge.target):
                text = f"{self.name(target)} no longer comes after {self.name(source)}"
                yield self.of(target.path, text, True, "edge")
        for edge in self.new.edges:
            before = was.get((edge.source, edge.target))
            if before is not None and before.label != edge.label and edge.kind != "back":
                node = self.now[edge.target]
                text = f"the condition of {self.name(node)} is {edge.label!r}; it was {before.label!r}"
                yield self.of(node.path, text, False, "setting", hashed=False)


def _both(old: NodeSpec, new: NodeSpec, which: int) -> tuple[str | None, str | None]:
    return old.asking_refs[which], new.asking_refs[which]


def _is_drawn_only(node: NodeSpec) -> bool:
    return "@" in node.id and node.kind in ("fork", "join", "decision", "loop", "foreach", "start", "end")


def _keys(schema: Any) -> set[str]:
    return set(schema.get("properties", ())) if _is_mapping(schema) else set()


def _misfit_text(found: Misfit, is_input: bool) -> str:
    place = f" at {found.place!r}" if found.place else ""
    if found.missing:
        return f"now needs {found.place!r}" if is_input else f"may now be without {found.place!r}"
    new, old = (found.taken, found.given) if is_input else (found.given, found.taken)
    verb = "takes" if is_input else "gives"
    return f"{verb} {describe_schema(new)}{place}; it {'took' if is_input else 'gave'} {describe_schema(old)}"


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _said(value: Any) -> str:
    if _is_mapping(value):
        return ", ".join(f"{key}={_said_inside(content)}" for key, content in value.items())
    return "not set" if value is None else str(value)


def _said_inside(value: Any) -> str:
    return " ".join(str(content) for content in value.values()) if _is_mapping(value) else str(value)


def _names(ids: tuple[str, ...]) -> str:
    return ", ".join(repr(id) for id in ids) if ids else "nothing"


def _sources(edges: tuple[EdgeSpec, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for edge in edges:
        if edge.source != "@start":
            found[edge.target] = tuple(sorted((*found.get(edge.target, ()), edge.source)))
    return found


def _promises(spec: GraphSpec) -> bool:
    return any(node.kind == "end" and node.output_schema_ref is not None for node in spec.nodes)


def _last(spec: GraphSpec) -> tuple[str, ...]:
    """
    Return the nodes whose output is that of the workflow: those before its end, and before the pauses there.
    """
    sources = _sources(spec.edges)
    pauses = {node.id for node in spec.nodes if node.kind == "sleep"}
    found = sources.get("@end", ())
    while len(found) == 1 and found[0] in pauses:
        found = sources.get(found[0], ())
    return found


def _joined(edges: tuple[EdgeSpec, ...]) -> dict[tuple[str, str], EdgeSpec]:
    return {(edge.source, edge.target): edge for edge in edges}


def _leads(edges: tuple[EdgeSpec, ...], source: str, target: str) -> bool:
    """
    Return whether *target* comes after *source*, at any distance.
    """
    next_to: dict[str, list[str]] = {}
    for edge in edges:
        if edge.kind != "back":
            next_to.setdefault(edge.source, []).append(edge.target)
    todo, seen = [source], {source}
    while todo:
        for each in next_to.get(todo.pop(), ()):
            if each == target:
                return True
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return False
