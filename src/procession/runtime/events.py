"""
Events: what happened in a run, numbered.

While a run goes on only a compact log is kept: a step's record is noted once when it starts and once when it has ended.
Events are made of it when somebody reads; everyone who reads makes the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from procession.errors import ConditionError, NoArmMatched, RunError
from procession.messages.shapes import is_items
from procession.messages.value import Value
from procession.runtime.records import NOTHING, Record
from procession.steps.result import Bailed, Blocked, Cancelled, Failed, Suspended
from procession.workflows.plan import Choice, Loop

__all__ = ["Entry", "EventMaker", "EventType", "Gap", "Note", "WorkflowEvent"]

EventType = Literal[
    "run.started", "node.started", "node.output", "node.retrying", "node.skipped", "node.suspended", "node.completed",
    "node.failed", "node.blocked", "node.cancelled", "branch.decided", "merge.applied", "foreach.progress",
    "run.suspended", "run.finished",
]  # fmt: skip


class WorkflowEvent(Value):
    """
    One thing that happened; ``seq`` counts from 0 without gaps, ``ts`` is in seconds since the epoch.

    ``node_path`` says where in the run, ``node_id`` which node of the definition; both are empty for the run itself.
    What ``payload`` holds depends on the ``type``: docs/runtime.md has the table.
    """

    seq: int
    ts: float
    run_id: str
    type: EventType
    node_path: str = ""
    node_id: str | None = None
    attempt: int = 1
    payload: Mapping[str, Any] = NOTHING

    @property
    def time(self) -> float:
        """
        The same as ``ts``.
        """
        return self.ts

    @property
    def path(self) -> str:
        """
        The same as ``node_path``: what records and errors call it.
        """
        return self.node_path

    @property
    def step_id(self) -> str | None:
        """
        The same as ``node_id``.
        """
        return self.node_id

    @property
    def terminal(self) -> bool:
        """
        Whether it is the last one.
        """
        return self.type in ("run.finished", "run.suspended")

    def as_dict(self, *, with_values: bool = False, with_times: bool = True) -> dict[str, Any]:
        """
        Return the event as JSON knows it, without what went in and out of steps and what errors say.

        *with_values* adds that: inputs, outputs, the texts of errors and verdicts.  Without *with_times* nothing is in
        it that a clock has said, so that two runs of one workflow with one id can be compared byte for byte.

        >>> from procession.runtime.events import WorkflowEvent
        >>> WorkflowEvent(2, 5.0, "r", "node.completed", "a", "a", 1, {"output": 1}).as_dict(with_times=False)
        {'seq': 2, 'run_id': 'r', 'type': 'node.completed', 'node_path': 'a', 'node_id': 'a', 'attempt': 1, 'payload': {}}
        """
        from procession.runtime.event_json import payload_data  # most runs write no event as JSON

        data: dict[str, Any] = {"seq": self.seq}
        if with_times:
            data["ts"] = self.ts
        return data | {
            "run_id": self.run_id,
            "type": self.type,
            "node_path": self.node_path,
            "node_id": self.node_id,
            "attempt": self.attempt,
            "payload": payload_data(self.payload, with_values=with_values, with_times=with_times),
        }


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
        payload: Mapping[str, Any] = NOTHING,
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

    def __init__(self, count: int = 0) -> None:
        self.count = count


Entry: TypeAlias = Record | Note | Gap


class EventMaker:
    """
    Makes events of the entries of a log, which it must be given from the first on.
    """

    __slots__ = ("_done", "_each", "_loops", "_run_id", "_seen", "_seq")

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._seq = 0
        self._seen: dict[int, Record] = {}
        self._done: set[int] = set()
        self._each: dict[str, tuple[int, int | None]] = {}
        """How many items of each foreach have been completed, and how many there are."""
        self._loops: dict[str, tuple[Loop, int]] = {}
        """The loops that go on, and the number of each one's next round; 0 where none was seen to begin."""

    def begin(self, workflow_id: str, time: float, input: Any = None) -> WorkflowEvent:
        """
        Make the first event.
        """
        return self._event("run.started", time, "", None, 1, {"workflow": workflow_id, "input": input})

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
        if mark not in self._seen:
            self._seen[mark] = record  # kept alive, so that the id stays its own
            if record.kind == "branch" and record.started:  # noted once: deciding takes no time
                self._done.add(mark)
                yield from self._branch(record)
                return
            if record.started:
                yield from self._start(record)
                return
        elif mark in self._done:
            return
        self._done.add(mark)
        if record.kind == "branch":
            yield from self._undecided(record)
        elif record.path in self._loops:
            yield from self._last_round(record)
        yield self._end(record)
        if record.path.endswith("]"):
            yield from self._item(record)

    def _start(self, record: Record) -> Iterator[WorkflowEvent]:
        path, node = record.path, record.node
        payload: dict[str, Any] = {"kind": record.kind, "input": record.input}
        if record.notes:
            payload |= record.notes
        if path.endswith("]"):
            whole, _, number = path[:-1].rpartition("[")
            loop, rounds = self._loops.get(whole, (None, 0))
            if loop is not None:
                if rounds:
                    yield self._round(whole, loop, record.started, rounds, not loop.until, again=True)
                self._loops[whole] = (loop, int(number) + 1)
        if isinstance(node, Loop):
            self._loops[path] = (node, 0)
        elif record.kind == "foreach":
            total = len(record.input) if is_items(record.input) else None
            self._each[path] = (payload.get("completed", 0), total)
            payload["total"] = total
        yield self._event("node.started", record.started, path, record.id, 1, payload)

    def _end(self, record: Record) -> WorkflowEvent:
        type: EventType
        payload: dict[str, Any]
        match record.stop:
            case Failed(error=error):
                type, payload = "node.failed", {"error": error}
            case Blocked(tripwire=tripwire):
                type, payload = "node.blocked", {"tripwire": tripwire}
            case Suspended(payload=said, label=label):
                type, payload = "node.suspended", {"payload": said, "label": label}
            case Cancelled(reason=reason):
                type, payload = "node.cancelled", {"reason": reason, "elapsed": record.seconds}
            case Bailed(value=output, scope=scope):
                type, payload = "node.completed", {"output": output, "bailed": scope}
            case _:
                type, payload = "node.completed", {"output": record.output}
        return self._event(type, record.ended, record.path, record.id, record.attempt, payload)

    def _branch(self, record: Record) -> Iterator[WorkflowEvent]:
        """
        Make the events of a branch that has chosen its arms: their ids are the record's output.
        """
        chosen: list[str] = record.output
        node = record.node
        asked = [arm.id for arm, _ in node.asked] if isinstance(node, Choice) else chosen
        if isinstance(node, Choice) and node.first and chosen and chosen[0] in asked:
            asked = asked[: asked.index(chosen[0]) + 1]
        arms = [arm.id for arm in node.arms] if isinstance(node, Choice) else chosen
        skipped = [arm for arm in arms if arm not in chosen]
        conditions = {arm: arm in chosen for arm in asked}
        payload = {"conditions": conditions, "chosen": chosen, "skipped": skipped}
        yield self._event("branch.decided", record.ended, record.path, record.id, 1, payload)
        prefix = record.path[: len(record.path) - len(record.id)]
        for arm in skipped:
            reason = "condition" if arm in conditions else "other-arm"
            yield self._event("node.skipped", record.ended, prefix + arm, arm, 1, {"reason": reason})

    def _undecided(self, record: Record) -> Iterator[WorkflowEvent]:
        """
        Make the event of a branch that could not choose: a condition raised, or none was true.
        """
        node = record.node
        conditions: dict[str, bool | str] = {}
        if isinstance(node, Choice) and (raised := record.notes.get("raised")) is not None:
            for arm, _ in node.asked:
                if arm.id == raised:
                    break
                conditions[arm.id] = arm.id in record.notes["chosen"]
            conditions[raised] = "error"
        elif isinstance(node, Choice) and isinstance(record.error, NoArmMatched):
            conditions = {arm.id: False for arm, _ in node.asked}
        if conditions:
            payload: dict[str, Any] = {"conditions": conditions, "chosen": [], "skipped": []}
            yield self._event("branch.decided", record.ended, record.path, record.id, 1, payload)

    def _last_round(self, record: Record) -> Iterator[WorkflowEvent]:
        """
        Make the event of a loop's last decision, if it came to one.
        """
        loop, rounds = self._loops.pop(record.path)
        error = record.error
        if not rounds:  # nothing in its body is recorded
            return
        if record.stop is None:
            yield self._round(record.path, loop, record.ended, rounds, loop.until, again=False)
        elif record.stop.path != record.path:
            return
        elif isinstance(error, ConditionError):
            yield self._round(record.path, loop, record.ended, rounds, "error", again=False)
        elif type(error) is RunError:  # it would go on, and may not
            yield self._round(record.path, loop, record.ended, rounds, not loop.until, again=False)

    def _round(
        self, path: str, loop: Loop, time: float, rounds: int, condition: bool | str, *, again: bool
    ) -> WorkflowEvent:
        payload = {"round": rounds - 1, "condition": condition, "again": again}
        return self._event("branch.decided", time, path, loop.id, 1, payload)

    def _item(self, record: Record) -> Iterator[WorkflowEvent]:
        """
        Make the progress event of a foreach, one of whose items has just ended.
        """
        whole, _, index = record.path.rpartition("[")
        if whole in self._each and record.status != "cancelled":
            completed, total = self._each[whole]
            completed += record.stop is None or isinstance(record.stop, Bailed)
            self._each[whole] = (completed, total)
            payload: dict[str, Any] = {
                "index": int(index[:-1]),
                "completed": completed,
                "total": total,
                "status": record.status,
            }
            yield self._event("foreach.progress", record.ended, whole, record.id, 1, payload)

    def _event(
        self, type: EventType, time: float, path: str, step_id: str | None, attempt: int, payload: Mapping[str, Any]
    ) -> WorkflowEvent:
        seq = self._seq
        self._seq = seq + 1
        return WorkflowEvent(seq, time, self._run_id, type, path, step_id, attempt, payload)
