"""
GraphSpec: a workflow as data, one way.

A spec can be drawn, stored, sent and compared without the code it was made from; it cannot be turned back into a
workflow.  ``graph_spec(workflow)`` in ``workflows/describe.py`` makes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from procession.messages.value import Value

__all__ = [
    "SCHEMA_VERSION", "EdgeKind", "EdgeSpec", "GraphSpec", "GroupKind", "GroupSpec", "NodeKind", "NodeSpec",
    "canonical_json",
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
    hooks: tuple[str, ...] = ()
    """Of a processor: the hooks it takes part in, sorted in order of firing by whoever draws."""
    on: tuple[str, ...] = ()
    """The hooks that the node is restricted to by ``on=``."""
    mutates: bool = False
    placeholder: bool = False
    """Whether nothing stands here: the value passes through."""
    retry: Mapping[str, Any] | None = None
    timeout: float | None = None
    source: Mapping[str, Any] | None = None
    """``{"file": ..., "line": ...}`` of the definition."""
    ref: str | None = None
    """The id of the workflow inside."""
    ref_hash: str | None = None
    """The graph hash of the workflow inside; the root spec's ``workflows`` holds it once."""


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
    options: Mapping[str, Any] | None = None
    """The other settings: ``mode``, ``on_block``, ``concurrency``, ``max_iterations`` and so on."""


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
    schema_version: int = SCHEMA_VERSION

    @property
    def graph_hash(self) -> str:
        """
        The hash of ids, edges, kinds and schemas: what a stored run and a graph must agree on.
        """
        types = {
            node.id: [_bare(self.schemas.get(ref or "")) for ref in (node.input_schema_ref, node.output_schema_ref)]
            for node in self.nodes
            if node.input_schema_ref or node.output_schema_ref
        }
        content = {
            "schema_version": self.schema_version,
            "workflow_id": self.workflow_id,
            "kind": self.kind,
            "nodes": [_plain(node, _HASHED_NODE) for node in self.nodes],
            "edges": [_plain(edge, _HASHED_EDGE) for edge in self.edges],
            "groups": [_plain(group, _HASHED_GROUP) for group in self.groups],
            "types": types,
        }
        import hashlib  # at the first commit, not with the library

        return "sha256:" + hashlib.sha256(canonical_json(content).encode()).hexdigest()

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
        Return the spec as JSON values.  Fields that say nothing (``None``, false, empty) are left out.
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
        made["nodes"] = [_plain(node) for node in self.nodes]
        made["edges"] = [_plain(edge) for edge in self.edges]
        made["groups"] = [_plain(group) for group in self.groups]
        made["schemas"] = dict(self.schemas)
        if self.workflows:
            made["workflows"] = {key: spec.to_dict() for key, spec in self.workflows.items()}
        return made

    def to_json(self, *, indent: int | None = None) -> str:
        """
        Return the spec as JSON text: canonical without *indent*, for people to read with it.
        """
        if indent is None:
            return canonical_json(self.to_dict())
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)


def canonical_json(value: Any) -> str:
    """
    Return *value* as JSON with sorted keys and no spaces: the same value gives the same text.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Value, fields: tuple[str, ...] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field in fields or type(value).__fields__:
        content: Any = getattr(value, field)
        if content is None or content is False or content in ((), ""):
            continue
        made[field] = [*content] if isinstance(content, tuple) else content
    return made


def _bare(schema: Any, *, names: bool = False) -> Any:
    """
    Return a JSON schema without what is written for people; *names* says that the keys are names, not keywords.
    """
    if isinstance(schema, Mapping):
        keywords = cast("Mapping[str, Any]", schema)
        return {
            key: _bare(value, names=not names and key in _SCHEMA_NAMES)
            for key, value in keywords.items()
            if names or key not in _SCHEMA_LABELS
        }
    if isinstance(schema, list):
        return [_bare(item) for item in cast("Any", schema)]
    return schema
