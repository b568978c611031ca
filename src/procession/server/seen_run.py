"""
SeenRun: all that is known of one run that was seen: its log, its nodes, how it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from procession.agents.output import AgentResult
from procession.agents.suspended_call import APPROVAL_SCHEMA, SuspendedCall
from procession.messages.message import Message
from procession.processors.payload import HookPayload
from procession.runtime.run import Run
from procession.server.hook_input import hook_output
from procession.server.run_json import message_json, result_json, shown
from procession.server.run_log import RunLog
from procession.server.run_nodes import RunNodes
from procession.server.run_paths import RunPaths
from procession.server.stream_blocks import StreamBlocks

__all__ = ["SeenRun", "waiting_call"]

_STATUS = {"completed": "success", "aborted": "cancelled"}
"""How runs of all kinds are said to have ended, where agents say it differently."""


_ENDS = frozenset({
    "node.completed", "node.failed", "node.blocked", "node.cancelled", "node.suspended", "run.finished", "run.suspended",
})  # fmt: skip
_STREAMING = frozenset({"model-call", "tool-calls", "step"})
"""The nodes of an agent's loop in which chunks pass."""


class SeenRun:
    """
    One run, as it is shown.
    """

    def __init__(self, run_id: str, log: RunLog) -> None:
        self.run_id = run_id
        self.log = log
        self.nodes = RunNodes()
        self.paths: RunPaths | None = None
        """Of an agent's run: where its graph has what happens."""
        self.owner = ""
        """The id of the workflow or the agent."""
        self.kind: Literal["agent", "workflow"] = "workflow"
        self.status = "pending"
        self.created_at = 0.0
        self.updated_at = 0.0
        self.resource_id: str | None = None
        self.thread_id: str | None = None
        self.outer_run_id: str | None = None
        """The run inside which it goes on."""
        self.parent_run_id: str | None = None
        """The run that it was forked from."""
        self.forked_at: str | None = None
        self.graph_hash = ""
        self.went_on = False
        """Whether it goes on from what a store has of it: that is not in its log."""
        self.given: Any = None
        """What it was begun with, the object itself: of an agent's run ``{"messages", "options"}``."""
        self.asked: Mapping[str, Any] | None = None
        """What it was begun with over HTTP, if it was."""
        self.input: Any = None
        self.output: Any = None
        self.error: Any = None
        self.tripwire: Any = None
        self.result: dict[str, Any] = {}
        """Of an agent's run: what it came to."""
        self.suspended: list[dict[str, Any]] = []
        self.run: Run[Any, Any] | None = None
        """The run itself, while it goes on here."""
        self._blocks = StreamBlocks(log.redact)
        self._finish: tuple[str, float, Mapping[str, Any]] | None = None

    @property
    def ended(self) -> bool:
        """
        Whether it goes on no more; one that is suspended does not either, until it is resumed.
        """
        return self.status not in ("running", "pending")

    # -- while it goes on

    def is_agent(
        self, agent_id: str, messages: Sequence[Message], options: Mapping[str, Any], *, resumed: bool
    ) -> None:
        """
        It is a run of an agent, which answers *messages*.
        """
        self.owner, self.kind = agent_id, "agent"
        if self.paths is None:
            self.paths = RunPaths()
        if resumed:
            self.paths.resume()
        else:
            self.given = {"messages": list(messages), "options": dict(options)}
            self.input = [message_json(message) for message in messages]
        resource, thread = options.get("resource"), options.get("thread")
        self.resource_id = resource if isinstance(resource, str) else self.resource_id
        self.thread_id = thread if isinstance(thread, str) else self.thread_id

    def begin(self, workflow_id: str, time: float, given: Any) -> None:
        """
        It begins, or goes on after it was suspended.
        """
        resumed = self.log.next_seq > 0
        if self.kind == "workflow":
            self.owner = workflow_id
            if not resumed:
                self.given, self.input = given, shown(given)
        if not self.created_at:
            self.created_at = time
        self.status, self._finish = "running", None
        self.suspended = []
        payload = {"workflow": workflow_id, "kind": self.kind, "input": self.input}
        self.add("run.started", time, "", None, 1, payload | ({"resumed": True} if resumed else {}))

    def add(
        self, type: str, time: float, path: str, node_id: str | None, attempt: int, payload: Mapping[str, Any]
    ) -> None:
        """
        Note an event.
        """
        if self.paths is not None:
            path = self.paths.of(path)
        if type in _ENDS and (not path or node_id in _STREAMING):  # no more of what is held will come
            self._write(self._blocks.release())
        self._note(type, time, path, node_id, attempt, payload)

    def _note(
        self, type: str, time: float, path: str, node_id: str | None, attempt: int, payload: Mapping[str, Any]
    ) -> None:
        """
        Note an event of the node that is shown at *path*.
        """
        self.updated_at = time
        event = {
            "ts": time, "run_id": self.run_id, "type": type, "node_path": path, "node_id": node_id, "attempt": attempt,
            "payload": payload,
        }  # fmt: skip
        self.log.append(type, event)
        self.nodes.take(type, event)

    def asks(self, path: str, label: str | None, payload: Any, schema: Any) -> None:
        """
        Note that the step at *path* of a workflow waits for an answer.
        """
        self.suspended.append({"path": path, "label": label, "question_id": None, "payload": payload, "schema": schema})

    def add_passed(self, time: float, path: str, payload: dict[str, Any]) -> None:
        """
        Note what became of a chunk, now or once the text that it is part of is complete.
        """
        if self.paths is not None:
            at = payload["stages"]
            shown_at = self.paths.of(path)
            for stage in at:
                stage["node_path"] = shown_at + stage["node_path"][len(path) :]
            path = shown_at
        self.updated_at = time
        self._write(self._blocks.take((time, path), payload))

    def _write(self, released: Sequence[tuple[Any, dict[str, Any]]]) -> None:
        for (time, path), payload in released:
            event = {
                "ts": time, "run_id": self.run_id, "type": "stream.passed", "node_path": path,
                "node_id": "process_output_stream", "attempt": 1, "payload": payload,
            }  # fmt: skip
            self.log.append("stream.passed", event, masked=True)

    def finish(self, type: str, time: float, payload: Mapping[str, Any]) -> None:
        """
        It has ended, or waits; of an agent's run that is known only once its result is: see :meth:`agent_ended`.
        """
        self._finish = (type, time, payload)
        if self.kind == "agent":
            return
        self.status = payload["status"]
        output = payload.get("output")
        self.output = hook_output(output) if isinstance(output, HookPayload) else shown(output)
        self.error = shown(payload.get("error"))
        self.tripwire = shown(payload.get("tripwire"))
        self.run = None
        self.add(type, time, "", None, 1, {key: shown(value) for key, value in payload.items()})

    def agent_ended(self, time: float, result: AgentResult[Any] | None) -> None:
        """
        It has come to *result*, or was broken off.
        """
        made: dict[str, Any] = result_json(result) if result is not None else {"status": "cancelled"}
        self.result = made
        self.status = _STATUS.get(made["status"], made["status"])
        self.output = made.get("object") if made.get("object") is not None else made.get("final_text")
        self.error, self.tripwire = made.get("error"), made.get("tripwire")
        place = f"{self.paths.last_round}/tool-calls" if self.paths is not None else "tool-calls"
        self.suspended = [waiting_call(call, place) for call in result.suspended] if result is not None else []
        self.run = None
        shown_keys = ("text", "usage", "outcomes", "violations", "rejected", "warnings", "error", "tripwire")
        payload = {"status": self.status, "output": self.output} | {key: made.get(key) for key in shown_keys}
        self.add("run.suspended" if self.status == "suspended" else "run.finished", time, "", None, 1, payload)

    def give_up(self, time: float, status: str = "cancelled") -> None:
        """
        It waited, and nobody will answer any more: it was cancelled, or somebody elsewhere has brought it to its end.
        """
        if self.status != "suspended":
            return
        self.status, self.suspended = status, []
        if status == "cancelled":
            for path, node_id, attempt in self.nodes.waiting():
                self._note("node.cancelled", time, path, node_id, attempt, {"reason": "the run was cancelled"})
        self.add("run.finished", time, "", None, 1, {"status": status, "output": None})

    # -- as it is shown

    def summary(self, *, nodes: bool = True) -> dict[str, Any]:
        """
        Return how the run stands, as ``GET /api/runs/{id}`` gives it, before it is redacted.
        """
        made: dict[str, Any] = {
            "run_id": self.run_id, "owner": self.owner, "kind": self.kind, "status": self.status,
            "created_at": self.created_at, "updated_at": self.updated_at,
            "seconds": round(self.updated_at - self.created_at, 6), "parent_run_id": self.parent_run_id,
            "forked_at": self.forked_at, "outer_run_id": self.outer_run_id, "resource_id": self.resource_id,
            "thread_id": self.thread_id, "graph_hash": self.graph_hash, "last_seq": self.log.last_seq,
        }  # fmt: skip
        if nodes:
            made |= {
                "input": self.input, "output": self.output, "error": self.error, "tripwire": self.tripwire,
                "usage": self.result.get("usage"), "text": self.result.get("text"),
                "outcomes": self.result.get("outcomes"), "violations": self.result.get("violations"),
                "suspended": self.suspended, "nodes": self.nodes.as_list(), "nodes_left_out": self.nodes.left_out,
                "first_seq": self.log.first_seq,
            }  # fmt: skip
        return made


def waiting_call(call: SuspendedCall, path: str) -> dict[str, Any]:
    """
    Return what an agent's run waits for, at the node *path* of its graph.
    """
    return {
        "path": path, "label": call.label, "question_id": call.question_id, "payload": shown(call.payload),
        "schema": shown(call.resume_schema if call.kind == "suspended" else APPROVAL_SCHEMA), "kind": call.kind,
        "tool": call.tool_name, "args": shown(call.args),
    }  # fmt: skip
