"""
Events: what happened in a run, numbered.

While a run goes on only a compact log is kept: a step's record is noted once when it starts and once when it has ended.
Events are made of it when somebody reads; everyone who reads makes the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from procession.messages.value import Value
from procession.runtime.records import Record
from procession.steps.result import Bailed, Blocked, Cancelled, Failed, Suspended
from procession.workflows.plan import Choice

__all__ = ["Entry", "EventMaker", "EventType", "Gap", "Note", "WorkflowEvent"]

EventType = Literal[
    "run.started", "node.started", "node.output", "node.retrying", "node.skipped", "node.suspended", "node.completed",
    "node.failed", "node.blocked", "node.cancelled", "branch.decided", "merge.applied", "foreach.progress",
    "run.suspended", "run.finished",
]  # fmt: skip

_NOTHING: Mapping[str, Any] = {}


class WorkflowEvent(Value):
    """
    One thing that happened; ``seq`` counts from 0 without gaps, ``time`` is in seconds since the epoch.
    """

    seq: int
    time: float
    run_id: str
    type: EventType
    path: str = ""
    step_id: str | None = None
    attempt: int = 1
    payload: Mapping[str, Any] = _NOTHING

    @property
    def terminal(self) -> bool:
        """
        Whether it is the last one.
        """
        return self.type in ("run.finished", "run.suspended")


class Note:
    """
    An entry of the log for what is no start or end of a step.
    """

    __slots__ = ("attempt", "path", "payload", "step_id", "time", "type")

    def __init__(
        self,
        type: EventType,
        time: float,
        path: str = "",
        step_id: str | None = None,
        attempt: int = 1,
        payload: Mapping[str, Any] = _NOTHING,
    ) -> None:
        self.type: EventType = type
        self.time = time
        self.path = path
        self.step_id = step_id
        self.attempt = attempt
        self.payload = payload


class Gap:
    """
    An entry of the log in the place of *count* outputs that are not kept for late readers.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


Entry: TypeAlias = Record | Note | Gap


class EventMaker:
    """
    Makes events of the entries of a log, which it must be given from the first on.
    """

    __slots__ = ("_done", "_each", "_run_id", "_seen", "_seq")

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._seq = 0
        self._seen: dict[int, Record] = {}
        self._done: set[int] = set()
        self._each: dict[str, int] = {}
        """How many items of each foreach have been completed."""

    def begin(self, workflow_id: str, time: float) -> WorkflowEvent:
        """
        Make the first event.
        """
        return self._event("run.started", time, "", None, 1, {"workflow": workflow_id})

    def events_of(self, entry: Entry) -> Iterator[WorkflowEvent]:
        """
        Yield the events that *entry* stands for.
        """
        if isinstance(entry, Record):
            yield from self._record(entry)
        elif isinstance(entry, Note):
            yield self._event(entry.type, entry.time, entry.path, entry.step_id, entry.attempt, entry.payload)
        else:
            self._seq += entry.count

    def _record(self, record: Record) -> Iterator[WorkflowEvent]:
        mark = id(record)
        path, step_id = record.path, record.id
        if mark not in self._seen:
            self._seen[mark] = record  # kept alive, so that the id stays its own
            if record.kind == "branch" and record.stop is None:
                yield from self._branch(record)
                return
            if record.kind == "foreach":
                self._each[path] = 0
            if record.started:
                yield self._event("node.started", record.started, path, step_id, 1, {"kind": record.kind})
                return
        elif mark in self._done:
            return
        self._done.add(mark)
        attempt, stop = record.attempt, record.stop
        match stop:
            case Failed():
                made = self._event("node.failed", record.ended, path, step_id, attempt, {"error": stop.error})
            case Blocked():
                made = self._event("node.blocked", record.ended, path, step_id, attempt, {"tripwire": stop.tripwire})
            case Suspended():
                payload = {"payload": stop.payload, "label": stop.label}
                made = self._event("node.suspended", record.ended, path, step_id, attempt, payload)
            case Cancelled():
                made = self._event("node.cancelled", record.ended, path, step_id, attempt, {"reason": stop.reason})
            case Bailed():
                payload = {"output": stop.value, "bailed": stop.scope}
                made = self._event("node.completed", record.ended, path, step_id, attempt, payload)
            case _:
                made = self._event("node.completed", record.ended, path, step_id, attempt, {"output": record.output})
        yield made
        if path.endswith("]") and stop is None:
            yield from self._item(record)

    def _branch(self, record: Record) -> Iterator[WorkflowEvent]:
        """
        Make the events of a branch that has chosen its arms: their ids are the record's output.
        """
        chosen = record.output
        skipped = (
            [arm.id for arm in record.node.arms if arm.id not in chosen] if isinstance(record.node, Choice) else []
        )
        payload = {"chosen": chosen, "skipped": skipped}
        yield self._event("branch.decided", record.ended, record.path, record.id, 1, payload)
        prefix = record.path[: len(record.path) - len(record.id)]
        for arm in skipped:
            yield self._event("node.skipped", record.ended, prefix + arm, arm, 1, _NOTHING)

    def _item(self, record: Record) -> Iterator[WorkflowEvent]:
        """
        Make the progress event of a foreach, whose item has just been completed.
        """
        whole, _, index = record.path.rpartition("[")
        if whole in self._each:
            self._each[whole] += 1
            payload = {"index": int(index[:-1]), "completed": self._each[whole]}
            yield self._event("foreach.progress", record.ended, whole, record.id, 1, payload)

    def _event(
        self, type: EventType, time: float, path: str, step_id: str | None, attempt: int, payload: Mapping[str, Any]
    ) -> WorkflowEvent:
        seq = self._seq
        self._seq = seq + 1
        return WorkflowEvent(seq, time, self._run_id, type, path, step_id, attempt, payload)
