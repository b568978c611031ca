"""
RunNodes: what became of each node of a run, gathered from its events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["RunNodes"]

_ENDED: Final = {
    "node.completed": "success", "node.failed": "failed", "node.blocked": "blocked", "node.cancelled": "cancelled",
    "node.suspended": "suspended",
}  # fmt: skip
_MOST: Final = 5_000
"""How many nodes are told apart: rounds and items count by themselves."""


class RunNodes:
    """
    The nodes of one run by path, each as JSON: ``path, id, kind, status, attempt, attempts, started, ended, seconds,
    input, output, error, tripwire``, times in seconds since the epoch; ``attempts`` is how often it was begun.
    """

    __slots__ = ("_by_path", "left_out")

    def __init__(self) -> None:
        self._by_path: dict[str, dict[str, Any]] = {}
        self.left_out = 0
        """How many there were besides."""

    def take(self, type: str, event: Mapping[str, Any]) -> None:
        """
        Note an *event*, which is as it is shown.
        """
        path, payload = event.get("node_path", ""), event.get("payload", {})
        if not path or not type.startswith("node."):
            return
        node = self._node(path, event)
        if node is None:
            return
        status = _ENDED.get(type)
        if type == "node.started":
            node.update(
                status="running", kind=payload.get("kind"), attempt=event["attempt"], attempts=node["attempts"] + 1,
                started=event["ts"], ended=None, seconds=None, input=payload.get("input"), output=None, error=None,
                tripwire=None,
            )  # fmt: skip
        elif type == "node.retrying":
            node["attempts"] += 1
            node["error"] = payload.get("error")
        elif type == "node.skipped":
            node["status"] = "skipped"
        elif status is not None:
            node.update(
                status=status, attempt=event["attempt"], ended=event["ts"], output=payload.get("output"),
                error=payload.get("error"), tripwire=payload.get("tripwire"),
            )  # fmt: skip
            if node["started"] is not None:
                node["seconds"] = round(event["ts"] - node["started"], 6)

    def _node(self, path: str, event: Mapping[str, Any]) -> dict[str, Any] | None:
        node = self._by_path.get(path)
        if node is None:
            if len(self._by_path) >= _MOST:
                self.left_out += 1
                return None
            node = self._by_path[path] = {
                "path": path, "id": event.get("node_id"), "kind": None, "status": "pending", "attempt": 1, "attempts": 0,
                "started": None, "ended": None, "seconds": None, "input": None, "output": None, "error": None,
                "tripwire": None,
            }  # fmt: skip
        return node

    def waiting(self) -> list[tuple[str, str | None, int]]:
        """
        Return path, id and attempt of those that wait for an answer, the innermost first.
        """
        found = [node for node in self._by_path.values() if node["status"] == "suspended"]
        return [(node["path"], node["id"], node["attempt"]) for node in reversed(found)]

    def as_list(self) -> list[dict[str, Any]]:
        """
        Return them, in the order in which they began.
        """
        return [dict(node) for node in self._by_path.values()]
