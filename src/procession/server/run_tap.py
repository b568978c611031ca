"""
RunTap: makes what is shown of a run while it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from procession.processors.payload import HookPayload
from procession.runtime.events import Entry, EventMaker, Note
from procession.runtime.observer import Told
from procession.runtime.records import Record
from procession.server.hook_json import answered_json, asked_json, hook_json, passed_json
from procession.server.run_json import shown
from procession.steps.result import Suspended
from procession.steps.schema import schema_of

if TYPE_CHECKING:
    from procession.runtime.run import Run
    from procession.server.seen_run import SeenRun

__all__ = ["RunTap"]


class RunTap:
    """
    Is told the log of one run and writes it down as JSON at once: what it is told of changes.
    """

    __slots__ = ("_bases", "_begun", "_inside", "_maker", "_begin", "_run", "_seen")

    def __init__(self, run: Run[Any, Any], seen: SeenRun, begin: Callable[[Run[Any, Any], SeenRun], bool]) -> None:
        """
        Make the tap of *run*, which is told into *seen*; *begin* is told that it begins, and says whether it is inside of one
        that goes on already under the same id.
        """
        self._run = run
        self._begin: Callable[[Run[Any, Any], SeenRun], bool] | None = begin
        self._seen = seen
        self._maker = EventMaker(run.id)
        self._begun = False
        self._inside = False
        self._bases: dict[int, tuple[Record, HookPayload, int]] = {}
        """The payloads of hooks that go on, as they were, and how many findings there were by then."""

    def __call__(self, entry: Entry | Told) -> None:
        """
        Write down what *entry* says.
        """
        seen = self._seen
        if self._begin is not None:
            self._inside, self._begin = self._begin(self._run, seen), None
        if isinstance(entry, Told):
            self._told(seen, entry)
            return
        if not self._begun:
            self._begun = True
            broadcast = self._run.state.broadcast
            first = self._maker.begin(broadcast.workflow_id, broadcast.began, broadcast.input)
            if not self._inside:
                seen.begin(first.payload["workflow"], first.ts, first.payload["input"])
        if isinstance(entry, Note) and not entry.path and entry.type in ("run.finished", "run.suspended"):
            if not self._inside:
                seen.finish(entry.type, entry.time, entry.payload)
            self._maker = EventMaker(self._run.id)  # the records that it has seen may go
            self._bases.clear()
            return
        for event in self._maker.events_of(entry):
            payload = {key: shown(value) for key, value in event.payload.items()}
            seen.add(event.type, event.ts, event.node_path, event.node_id, event.attempt, payload)
        if isinstance(entry, Record):
            if isinstance(entry.input, HookPayload):
                self._hook(seen, entry, entry.input)
            if isinstance(entry.stop, Suspended) and entry.stop.path == entry.path:
                stop, step = entry.stop, getattr(entry.node, "step", None)
                schema = schema_of(step.resume_type) if step is not None else None
                said = schema.json_schema() if schema is not None else None
                seen.asks(entry.path, stop.label, shown(stop.payload), said)

    def _hook(self, seen: SeenRun, record: Record, payload: HookPayload) -> None:
        """
        Keep the payload of a processor that begins, and tell of the difference once it has ended.
        """
        step = getattr(record.node, "step", None)
        if step is None or step.kind != "processor":
            return
        violations = self._run.scope.violations
        if not record.ended:
            self._bases[id(record)] = (record, payload.fork(), len(violations))
            return
        _, base, found = self._bases.pop(id(record), (record, None, 0))
        if base is None or record.status == "cancelled":
            return
        now = [one for one in violations[found:] if one.processor_id == step.owner.id]
        made = hook_json(record, payload, base, step.owner.id, now)
        seen.add("hook.changed", record.ended, record.path, record.id, record.attempt, made)

    def _told(self, seen: SeenRun, told: Told) -> None:
        """
        Write down what an agent says of its run.
        """
        payload = told.payload
        if told.kind == "agent.began":
            seen.is_agent(payload["agent_id"], payload["messages"], payload["options"], resumed=payload["resumed"])
        elif told.kind == "agent.ended":
            seen.agent_ended(told.time, payload["result"])
        elif told.kind == "model.asked":
            seen.add(told.kind, told.time, told.path, "model-call", 1, asked_json(payload))
        elif told.kind == "model.answered":
            seen.add(told.kind, told.time, told.path, "model-call", 1, answered_json(payload))
        elif told.kind == "stream.passed":
            seen.add_passed(told.time, told.path, passed_json(payload["passed"], payload["number"], told.path))
