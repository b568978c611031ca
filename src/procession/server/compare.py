"""
Comparison: two runs node by node, and two graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.server.tokens import spent_by_node, total
from procession.workflows.difference import differences
from procession.workflows.spec import GraphSpec

__all__ = ["compare_graphs", "compare_runs"]

_VALUES = ("input", "output", "error", "tripwire")
_HEAD = ("run_id", "owner", "kind", "status", "created_at", "seconds", "graph_hash")

Json = Mapping[str, Any]


def compare_runs(a: Json, a_events: Sequence[Json], b: Json, b_events: Sequence[Json]) -> dict[str, Any]:
    """
    Return what is different between two runs, each as ``GET /api/runs/{id}`` gives it, with its events.

    The nodes are those of both, in the order of the first; ``change`` is ``same``, ``changed``, ``only-a`` or ``only-b``.  How
    long a node took and what it cost is told, and is no change.  Values stand there only where they are different.
    """
    spent = (spent_by_node(a_events), spent_by_node(b_events))
    by_path: tuple[dict[str, Json], dict[str, Json]] = (_nodes(a), _nodes(b))
    paths = list(dict.fromkeys([*by_path[0], *by_path[1]]))
    return {
        "a": {name: a.get(name) for name in _HEAD},
        "b": {name: b.get(name) for name in _HEAD},
        "same_graph": a.get("graph_hash") == b.get("graph_hash"),
        "values": {name: [a.get(name), b.get(name)] for name in _VALUES if a.get(name) != b.get(name)},
        "spent": [total(spent[0].values()), total(spent[1].values())],
        "nodes": [_node(path, by_path, spent) for path in paths],
    }


def _nodes(run: Json) -> dict[str, Json]:
    return {str(node.get("path")): node for node in run.get("nodes") or ()}


def _node(
    path: str, by_path: tuple[dict[str, Json], dict[str, Json]], spent: tuple[dict[str, Any], dict[str, Any]]
) -> dict[str, Any]:
    a, b = by_path[0].get(path), by_path[1].get(path)
    known = a if a is not None else b
    assert known is not None
    values: dict[str, Any] = {}
    if a is None or b is None:
        change = "only-b" if a is None else "only-a"
    else:
        values = {name: [a.get(name), b.get(name)] for name in _VALUES if a.get(name) != b.get(name)}
        change = "changed" if values or a.get("status") != b.get("status") else "same"
    return {
        "path": path,
        "id": known.get("id"),
        "kind": known.get("kind"),
        "change": change,
        "status": [_of(a, "status"), _of(b, "status")],
        "seconds": [_of(a, "seconds"), _of(b, "seconds")],
        "attempts": [_of(a, "attempts"), _of(b, "attempts")],
        "spent": [spent[0].get(path), spent[1].get(path)],
        "values": values,
    }


def _of(node: Json | None, name: str) -> Any:
    return node.get(name) if node is not None else None


def compare_graphs(a: GraphSpec, b: GraphSpec) -> dict[str, Any]:
    """
    Return what has changed from *a* to *b*: sentences, each with the path, and whether it breaks who relies on *a*.

    >>> from procession.workflows.describe import graph_spec
    >>> from procession.workflows.workflow import create_workflow
    >>> old, new = (graph_spec(create_workflow("w", int).map(int, id=id).commit()) for id in ("one", "two"))
    >>> [(each["change"], each["breaking"]) for each in compare_graphs(old, new)["differences"]]
    [('removed', True), ('added', False)]
    """
    found = differences(a, b)
    return {
        "a": {"workflow_id": a.workflow_id, "graph_hash": a.graph_hash},
        "b": {"workflow_id": b.workflow_id, "graph_hash": b.graph_hash},
        "same": not found,
        "breaking": any(each.breaking for each in found),
        "differences": [
            {
                "path": each.path, "text": each.text, "change": each.change, "part": each.part,
                "breaking": each.breaking, "hashed": each.hashed,
            }
            for each in found
        ],
    }  # fmt: skip
