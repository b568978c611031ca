"""
One run, told: as a line of JSON, and in words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from procession.agents.output import AgentResult
from procession.agents.snapshot import read_snapshot
from procession.agents.suspended_call import APPROVAL_SCHEMA, SuspendedCall
from procession.cli.graph import speaks_unicode
from procession.cli.terminal_text import harmless
from procession.errors import MessageError
from procession.messages.shapes import is_dict, is_items
from procession.messages.tripwire import TripwireInfo
from procession.messages.value import Value
from procession.runtime.durable.reader import RunStateReader
from procession.runtime.records import StepsView
from procession.runtime.run import RunResult
from procession.steps.result import Suspended
from procession.storage.base import RunRow
from procession.workflows.render.overlay import Mark, mark_text
from procession.workflows.render.text import clean

__all__ = [
    "Told",
    "asked_calls",
    "error_data",
    "exit_status",
    "one_line",
    "row_data",
    "show",
    "tell_agent",
    "tell_kept",
    "tell_result",
    "tripwire_data",
]


class Told(Value, kw_only=True):
    """
    How one run stands.
    """

    run_id: str
    workflow: str
    kind: str = "workflow"
    status: str
    output: Any = None
    error: Mapping[str, Any] | None = None
    tripwire: Mapping[str, Any] | None = None
    waiting: Sequence[Mapping[str, Any]] = ()
    """What it waits for: ``step``, ``label``, ``payload``; of an agent's run ``question_id``, ``payload``, ``schema``."""
    steps: Sequence[Mapping[str, Any]] = ()
    row: Mapping[str, Any] | None = None
    """What a store says of it besides."""

    @property
    def as_json(self) -> str:
        """
        Return this as one line of JSON.
        """
        told = {name: getattr(self, name) for name in type(self).__fields__ if name != "row"}
        return one_line({**(self.row or {}), **told})

    def lines(self, *, plain: bool = False) -> Iterator[str]:
        """
        Yield in words what became of it, without its output.
        """
        mark = mark_text(Mark(self.status), plain=plain)
        yield f"run {clean(self.run_id)} of {clean(self.workflow)}: {mark if self.status in mark else f'{mark} {self.status}'}"
        if self.error is not None:
            yield f"  {self.error['type']}: {clean(str(self.error['message']))}"
        if self.tripwire is not None:
            by = f" by {self.tripwire['processor_id']}" if self.tripwire.get("processor_id") else ""
            yield f"  blocked{by}: {clean(str(self.tripwire['reason']))}"
        for each in self.waiting:
            where = each.get("question_id") or each.get("step")
            label = f" (label {clean(each['label'])})" if each.get("label") else ""
            calls = asked_calls(each["payload"])
            for call in calls:
                said = {"tool": call["tool_name"], "args": call["args"]}
                yield f"  waits at {clean(str(where))}, --step {clean(call['question_id'])}: {clean(one_line(said))}"
            if calls:
                if each["payload"].get("refused"):
                    yield f"  refused: {clean(str(each['payload']['refused']))}"
                continue
            asked = each["payload"] if each.get("tool") is None else {"tool": each["tool"], "args": each["args"]}
            yield f"  waits at {clean(str(where))}{label}: {clean(one_line(asked))}"


def exit_status(status: str) -> int:
    """
    Return the exit status of a run: 0 where it went well, 3 where it was blocked, 4 where it waits, else 1.
    """
    return {"success": 0, "blocked": 3, "suspended": 4}.get(status, 1)


def tell_result(result: RunResult[Any], workflow: str) -> Told:
    """
    Return how a run of here has ended.
    """
    error = result.error
    tripwire = result.tripwire
    return Told(
        run_id=result.run_id,
        workflow=workflow,
        status=result.status,
        output=result.output,
        error=None if error is None else error_data(error),
        tripwire=None if tripwire is None else tripwire_data(tripwire),
        waiting=[
            {"step": path, "label": record.stop.label, "payload": record.stop.payload}
            for path, record in result.steps.items()
            if isinstance(record.stop, Suspended) and record.stop.path == path
        ],
        steps=_steps(result.steps),
    )


def tell_kept(run: RunStateReader) -> Told:
    """
    Return how a run stands by what a store has of it.
    """
    return Told(
        run_id=run.run_id,
        workflow=run.workflow_id,
        status=run.status,
        output=run.output,
        error=run.error,
        tripwire=run.tripwire,
        waiting=[{"step": each.path, "label": each.label, "payload": each.payload} for each in run.waiting],
        steps=_steps(run.steps),
        row={**row_data(run.row), "input": run.input},
    )


def tell_agent(row: RunRow, result: AgentResult[Any] | None = None) -> Told:
    """
    Return how a run of an agent by itself stands: by what a store has of it, and the *result* that it has come to here.
    """
    waiting: Sequence[SuspendedCall] = ()
    if result is not None:
        waiting = result.suspended
    elif row.status == "suspended" and row.data is not None:
        with suppress(MessageError):  # of another version: the run is there, and what it asks is not known
            waiting = read_snapshot(row.data)["suspended"]
    return Told(
        run_id=row.run_id,
        workflow=row.owner,
        kind="agent",
        status=row.status,
        output=result.text if result is not None and result.status == "completed" else None,
        tripwire=None if result is None or result.tripwire is None else tripwire_data(result.tripwire),
        waiting=[
            {
                "question_id": each.question_id, "label": each.label, "payload": each.payload,
                "schema": APPROVAL_SCHEMA if each.kind == "approval" else each.resume_schema,
                "tool": each.tool_name, "args": each.args, "kind": each.kind,
            }
            for each in waiting
        ],
        row=row_data(row),
    )  # fmt: skip


def tripwire_data(tripwire: TripwireInfo) -> dict[str, Any]:
    """
    Return a verdict as JSON values.
    """
    return {name: getattr(tripwire, name) for name in ("reason", "retry", "processor_id", "message")}


def row_data(row: RunRow) -> dict[str, Any]:
    """
    Return what a list of runs says of one.
    """
    return {
        "run_id": row.run_id, "workflow": row.owner, "kind": row.kind, "status": row.status, "held": row.claimed,
        "created_at": row.created_at, "updated_at": row.updated_at, "resource": row.resource_id, "thread": row.thread_id,
        "parent_run_id": row.parent_run_id, "forked_at": row.forked_at,
    }  # fmt: skip


def one_line(value: Any) -> str:
    """
    Return *value* as one line of JSON; what JSON has no word for is told as text.
    """
    from pydantic_core import to_jsonable_python

    text = json.dumps(to_jsonable_python(value, fallback=str, inf_nan_mode="constants"), ensure_ascii=False)
    return harmless(text)


def error_data(error: Exception) -> dict[str, Any]:
    """
    Return an error as JSON values.
    """
    message = getattr(error, "message", None) or str(error)
    return {"type": type(error).__name__, "code": getattr(error, "code", None), "message": message}


def asked_calls(payload: Any) -> Sequence[Mapping[str, Any]]:
    """
    Return the calls that an agent asks for which runs as a step; empty where *payload* is no question of an agent.
    """
    if not is_dict(payload) or not {"agent", "run_id", "calls"} <= payload.keys() or not is_items(payload["calls"]):
        return ()
    return [call for call in payload["calls"] if is_dict(call) and _CALL <= call.keys()]


_CALL = {"question_id", "tool_name", "args", "kind", "payload"}
"""What each call of such a question says at least."""


def _steps(steps: StepsView) -> list[Mapping[str, Any]]:
    return [
        {
            "path": path, "id": record.id, "kind": record.kind, "status": record.status, "attempt": record.attempt,
            "seconds": round(record.seconds, 6),
        }
        for path, record in steps.items()
    ]  # fmt: skip


def show(told: Told, *, as_json: bool, steps: bool = False) -> None:
    """
    Write *told* to standard output as a line of JSON; else its output, and what became of it to standard error.
    """
    if as_json:
        sys.stdout.write(f"{told.as_json}\n")
    else:
        sys.stdout.flush()
        stream = sys.stdout if steps else sys.stderr
        plain = not speaks_unicode(stream.encoding)
        for line in told.lines(plain=plain):
            stream.write(f"{line}\n")
        for each in told.steps if steps else ():
            mark = mark_text(Mark(each["status"], each["seconds"] or None), plain=plain)
            stream.write(f"  {mark:<18} {clean(each['path'])}\n")
        if told.output is not None:
            text = told.output if isinstance(told.output, str) else one_line(told.output)
            sys.stdout.write(f"{harmless(text)}\n")
    sys.stdout.flush()
