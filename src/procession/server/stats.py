"""
Statistics of a workflow: how long its nodes took and what they cost, over the runs that are known.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from procession.server.tokens import spent_by_node, total

__all__ = ["statistics"]

_INDEX = re.compile(r"\[\d+\]")

Json = Mapping[str, Any]


def statistics(runs: Iterable[tuple[Json, Sequence[Json]]]) -> dict[str, Any]:
    """
    Return what *runs*, each with its events, come to: ``{"runs", "statuses", "seconds": {"p50", "p95"}, "spent", "nodes":
    [{"path", "id", "kind", "count", "statuses", "p50", "p95", "spent"}]}``.

    Rounds and items of one node are counted together, as ``step[]/model``.  A run that goes on, or waits for a person, has
    no time of its own; its nodes that have ended have.
    """
    statuses: Counter[str] = Counter()
    took: list[float] = []
    nodes: dict[str, _Node] = {}
    everything: list[dict[str, Any]] = []
    for run, events in runs:
        statuses[str(run.get("status"))] += 1
        if run.get("status") not in ("running", "pending", "suspended") and _is_time(run.get("seconds")):
            took.append(run["seconds"])
        for node in run.get("nodes") or ():
            path = _INDEX.sub("[]", str(node.get("path")))
            nodes.setdefault(path, _Node(path, node)).take(node)
        for path, spent in spent_by_node(events).items():
            everything.append(spent)
            found = nodes.get(_INDEX.sub("[]", path))
            if found is not None:
                found.spent.append(spent)
    return {
        "runs": statuses.total(),
        "statuses": dict(statuses),
        "seconds": _percentiles(took),
        "spent": total(everything),
        "nodes": [node.as_json() for node in nodes.values()],
    }


class _Node:
    def __init__(self, path: str, node: Json) -> None:
        self.path = path
        self.id = node.get("id")
        self.kind = node.get("kind")
        self.statuses: Counter[str] = Counter()
        self.took: list[float] = []
        self.spent: list[dict[str, Any]] = []

    def take(self, node: Json) -> None:
        self.statuses[str(node.get("status"))] += 1
        if _is_time(node.get("seconds")):
            self.took.append(node["seconds"])

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "id": self.id,
            "kind": self.kind,
            "count": self.statuses.total(),
            "statuses": dict(self.statuses),
            **_percentiles(self.took),
            "spent": total(self.spent) if self.spent else None,
        }


def _percentiles(took: Sequence[float]) -> dict[str, float | None]:
    """
    Return the times that half of all, and 95 of 100, did not exceed: each is one that was measured.

    >>> _percentiles([1.0, 2.0, 3.0])
    {'p50': 2.0, 'p95': 3.0}
    """
    ordered = sorted(took)
    return {f"p{p}": ordered[math.ceil(p / 100 * len(ordered)) - 1] if ordered else None for p in (50, 95)}


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
