"""
GraphSpec: a workflow as data, one way.

A spec can be drawn, stored, sent, read again and compared without the code it was made from; it cannot be turned back
into a workflow.  ``graph_spec(workflow)`` in ``workflows/describe.py`` makes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_type_hints

from procession.errors import InputError
from procession.messages.value import Value
from procession.steps.schema import Schema

__all__ = [
    "SCHEMA_VERSION", "EdgeKind", "EdgeSpec", "GraphSpec", "GroupKind", "GroupSpec", "NodeKind", "NodeSpec",
    "bare_schema", "canonical_json",
]  # fmt: skip

SCHEMA_VERSION = 1

NodeKind: TypeAlias = Literal[
    "step", "processor", "agent", "tool", "map", "workflow", "hook", "model", "sleep", "fork", "join", "decision",
    "loop", "foreach", "start", "end",
]  # fmt: skip

EdgeKind: TypeAlias = Literal["seq", "fork", "join", "true", "false", "default", "back"]

GroupKind: TypeAlias = Literal["parallel", "branch", "loop", "foreach"]

# What a graph hash is made of, by kind of entry.  Labels, places in files and settings of operation (retry, timeout,
# merge policy) may change without changing the graph.
_HASHED_NODE = ("id", "path", "kind", "hooks", "on", "ref", "ref_hash")
_HASHED_EDGE = ("source", "target", "kind")
_HASHED_GROUP = ("id", "kind", "children")
# Keywords of a JSON schema that are written for people, and those whose keys are names.
_SCHEMA_LABELS = frozenset({"title", "description", "examples", "deprecated"})
_SCHEMA_NAMES = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})

_ANEW = "describe the workflow anew, with graph_spec()"


class NodeSpec(Value, kw_only=True):
    """
    One node.  Its ``id`` is unique within the graph, ``path`` is where a run keeps its record.

    Nodes that no step stands for have an ``@`` in their id: ``@start``, ``guards@fork``, ``guards@join``.
    """

    id: str
    path: str
    kind: NodeKind
    label: str
    description: str = ""
    input_schema_ref: str | None = None
    output_schema_ref: str | None = None
    suspend_schema_ref: str | None = None
    """Of a step that asks: its questions."""
    resume_schema_ref: str | None = None
    """Of a step that asks: the answers that it waits for."""
    hooks: tuple[str, ...] = ()
    """Of a processor: the hooks it takes part in, sorted in order of firing by whoever draws."""
    on: tuple[str, ...] = ()
    """The hooks that the node is restricted to by ``on=``."""
    mutates: bool = False
    placeholder: bool = False
    """Whether nothing stands here: the value passes through."""
    can_suspend: bool = False
    """Whether it says that it may stop the run with a question, or is seen to: see ``workflows/suspending.py``."""
    retry: Mapping[str, Any] | None = None
    timeout: float | None = None
    """Seconds that one attempt may take."""
    budget: Mapping[str, Any] | None = None
    """What it may use, and what happens where it wants more."""
    made_of: Mapping[str, Any] | None = None
    """Of a declarative map: what each field is made of, ``{"name": {"from": "step", "steps": ["fetch"], ...}}``."""
    source: Mapping[str, Any] | None = None
    """``{"file": ..., "line": ...}`` of the definition."""
    ref: str | None = None
    """The id of the workflow inside."""
    ref_hash: str | None = None
    """The graph hash of the workflow inside; the root spec's ``workflows`` holds it once."""

    @property
    def asking_refs(self) -> tuple[str | None, str | None]:
        """
        The schemas of the step's questions and of their answers.
        """
        return self.suspend_schema_ref, self.resume_schema_ref


class EdgeSpec(Value, kw_only=True):
    """
    One edge between two nodes.
    """

    source: str
    target: str
    kind: EdgeKind = "seq"
    label: str = ""
    type_ref: str | None = None
    """The schema of what flows along the edge, where it is known."""


class GroupSpec(Value, kw_only=True):
    """
    A container: what belongs together, and by which rule.
    """

    id: str
    kind: GroupKind
    label: str
    children: tuple[str, ...]
    """Ids of the step nodes inside, in declaration order."""
    entry: str
    """Id of the node at which the group begins."""
    exit: str
    """Id of the node at which the group ends."""
    merge: str | None = None
    """How branches are put together, or ``None``: a map follows that decides, or nothing is merged."""
    concurrency: int | str | None = None
    """Of a foreach: how many items are worked on at once, or ``"function"`` where one decides."""
    options: Mapping[str, Any] | None = None
    """The other settings: ``mode``, ``on_block``, ``max_iterations`` and so on."""


class GraphSpec(Value, kw_only=True):
    """
    A workflow as data, version 1.
    """

    workflow_id: str
    kind: str
    nodes: tuple[NodeSpec, ...]
    """In declaration order, from ``@start`` to ``@end``."""
    edges: tuple[EdgeSpec, ...]
    groups: tuple[GroupSpec, ...] = ()
    schemas: Mapping[str, Any] = {}
    """JSON schemas by reference."""
    workflows: Mapping[str, GraphSpec] = {}
    """The graphs of nested workflows by their hash, each once, at the root only."""
    explicit: bool = False
    """Whether the order is given by named dependencies."""
    description: str = ""
    state_schema_ref: str | None = None
    """The schema of the run's state, where it has one."""
    schema_version: int = SCHEMA_VERSION

    @property
    def graph_hash(self) -> str:
        """
        The hash of ids, edges, kinds and schemas: what a stored run and a graph must agree on.
        """
        types = {
            node.id: [
                bare_schema(self.schemas.get(ref or "")) for ref in (node.input_schema_ref, node.output_schema_ref)
            ]
            for node in self.nodes
            if node.input_schema_ref or node.output_schema_ref
        }
        content: dict[str, Any] = {
            "schema_version": self.schema_version,
            "workflow_id": self.workflow_id,
            "kind": self.kind,
            "nodes": [_plain(node, _HASHED_NODE) for node in self.nodes],
            "edges": [_plain(edge, _HASHED_EDGE) for edge in self.edges],
            "groups": [_plain(group, _HASHED_GROUP) for group in self.groups],
            "types": types,
        }
        asking = {
            node.id: [bare_schema(self.schemas.get(ref or "")) for ref in node.asking_refs]
            for node in self.nodes
            if any(node.asking_refs)
        }
        if asking:
            content["asking"] = asking
        if self.state_schema_ref is not None:
            content["state"] = bare_schema(self.schemas.get(self.state_schema_ref))
        import hashlib  # at the first commit, not with the library

        return "sha256:" + hashlib.sha256(canonical_json(content).encode(errors="surrogatepass")).hexdigest()

    def node(self, id: str) -> NodeSpec:
        """
        Return the node with this *id*; ``KeyError`` where there is none.
        """
        for node in self.nodes:
            if node.id == id:
                return node
        raise KeyError(id)

    def to_dict(self) -> dict[str, Any]:
        """
        Return the spec as JSON values.  Fields that may be left out and say nothing (``None``, false, empty) are.
        """
        made: dict[str, Any] = {
            "schema_version": self.schema_version,
            "workflow_id": self.workflow_id,
            "kind": self.kind,
            "graph_hash": self.graph_hash,
        }
        if self.description:
            made["description"] = self.description
        if self.explicit:
            made["explicit"] = True
        if self.state_schema_ref is not None:
            made["state_schema_ref"] = self.state_schema_ref
        made["nodes"] = [_plain(node) for node in self.nodes]
        made["edges"] = [_plain(edge) for edge in self.edges]
        made["groups"] = [_plain(group) for group in self.groups]
        made["schemas"] = _in_order(self.schemas)
        if self.workflows:
            made["workflows"] = {key: self.workflows[key].to_dict() for key in sorted(self.workflows)}
        return made

    def to_json(self, *, indent: int | None = None) -> str:
        """
        Return the spec as JSON text: canonical without *indent*, for people to read with it.
        """
        if indent is None:
            return canonical_json(self.to_dict())
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> GraphSpec:
        """
        Return the spec that ``to_json()`` wrote.

        Raises ``InputError`` where *text* is no JSON, and what ``from_dict`` raises.
        """
        try:
            content = json.loads(text)
        except ValueError as error:
            raise InputError(f"a graph cannot be read: {error}", hint="give what GraphSpec.to_json() wrote") from None
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> GraphSpec:
        """
        Return the spec of which ``to_dict()`` gave *content*; what a drawing noted of a run is left out.

        Raises ``SchemaError``, which names each field at fault, where *content* is no graph of this version, and
        ``InputError`` where its parts do not belong together.
        """
        made = _from_model(Schema(_model()).validate(content, where="a graph"))
        for spec in (made, *made.workflows.values()):
            _check(spec, made.workflows)
        for key, spec in made.workflows.items():
            if key != spec.graph_hash:
                raise InputError(f"graph {spec.workflow_id!r} is not the one of hash {key}", hint=_ANEW)
        given = content.get("graph_hash")
        if given is not None and given != made.graph_hash:
            raise InputError(
                f"graph {made.workflow_id!r} says that its hash is {given}, but it is {made.graph_hash}",
                hint=f"it was changed after it was written: {_ANEW}",
            )
        return made

    @staticmethod
    def json_schema() -> Mapping[str, Any]:
        """
        Return the JSON schema of what ``to_dict()`` gives and ``from_dict`` takes, draft 2020-12.
        """
        return Schema(_model()).json_schema()


def canonical_json(value: Any) -> str:
    """
    Return *value* as JSON with sorted keys and no spaces: the same value gives the same text.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Value, fields: tuple[str, ...] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    optional = fields or type(value).__field_defaults__
    for field in fields or type(value).__fields__:
        content: Any = getattr(value, field)
        if field in optional and (content is None or content is False or content in ((), "")):
            continue
        made[field] = _in_order(content) if isinstance(content, Mapping | tuple) else content
    return made


def _in_order(content: Any) -> Any:
    """
    Return JSON values with their keys sorted, so that a spec that was read writes what it was read from.
    """
    return json.loads(canonical_json(content))


def bare_schema(schema: Any, *, names: bool = False) -> Any:
    """
    Return a JSON schema without what is written for people; *names* says that the keys are names, not keywords.
    """
    if isinstance(schema, Mapping):
        keywords = cast("Mapping[str, Any]", schema)
        return {
            key: bare_schema(value, names=not names and key in _SCHEMA_NAMES)
            for key, value in keywords.items()
            if names or key not in _SCHEMA_LABELS
        }
    if isinstance(schema, list):
        return [bare_schema(item) for item in cast("Any", schema)]
    return schema


# --- reading --------------------------------------------------------------------------------------------------------


@cache
def _model() -> Any:
    """
    Return the pydantic model of a graph as JSON, made of the annotations above.
    """
    from pydantic import ConfigDict, create_model  # where a graph is read, not with the library

    def model(cls: type[Value], **others: Any) -> Any:
        hints = get_type_hints(cls)
        fields: dict[str, Any] = {
            name: (hints[name], cls.__field_defaults__.get(name, ...)) for name in cls.__fields__ if name in hints
        }
        made: Any = create_model(cls.__name__, __config__=ConfigDict(extra="forbid"), **(fields | others))
        return made

    row, table = cast("Any", tuple), cast("Any", Mapping)  # of what no type checker can know
    parts: dict[str, Any] = {
        "nodes": (row[model(NodeSpec), ...], ...),
        "edges": (row[model(EdgeSpec), ...], ...),
        "groups": (row[model(GroupSpec), ...], ()),
        "schema_version": (Literal[1], ...),
        "graph_hash": (str, ...),
    }
    inside = model(GraphSpec, **parts, workflows=(dict[str, None], {}))  # only the root holds graphs
    return model(GraphSpec, **parts, workflows=(table[str, inside], {}), run=(Any, None))


def _from_model(read: Any) -> GraphSpec:
    fields = {name: getattr(read, name) for name in GraphSpec.__fields__}
    for name, kind in (("nodes", NodeSpec), ("edges", EdgeSpec), ("groups", GroupSpec)):
        fields[name] = tuple(kind(**{key: getattr(each, key) for key in kind.__fields__}) for each in fields[name])
    fields["workflows"] = {key: _from_model(each) for key, each in fields["workflows"].items()}
    return GraphSpec(**fields)


def _check(spec: GraphSpec, workflows: Mapping[str, GraphSpec]) -> None:
    """
    Raise ``InputError`` where something in *spec* refers to what is not there.
    """
    ids = {node.id for node in spec.nodes}
    kept = [(node.input_schema_ref, node.output_schema_ref, *node.asking_refs) for node in spec.nodes]
    refs = {ref for each in kept for ref in each if ref is not None}
    refs |= {spec.state_schema_ref} if spec.state_schema_ref is not None else set()
    named = {id for edge in spec.edges for id in (edge.source, edge.target)}
    named |= {id for group in spec.groups for id in (*group.children, group.entry, group.exit)}
    missing = [
        *(f"node {id!r}" for id in sorted(named - ids)),
        *(f"schema {ref!r}" for ref in sorted(refs - set(spec.schemas))),
        *(f"workflow {node.ref_hash!r}" for node in spec.nodes if node.ref_hash not in (None, *workflows)),
    ]
    if len(ids) < len(spec.nodes):
        missing.append("an id for every node: some share one")
    if missing:
        raise InputError(f"graph {spec.workflow_id!r} lacks {', '.join(missing)}", hint=_ANEW)
