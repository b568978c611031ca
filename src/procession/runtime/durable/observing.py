"""
Observing: the events of a run that may be anywhere, from the first on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import anyio

from procession.errors import RunNotFound, StepError
from procession.runtime.durable.going_on import row_of
from procession.runtime.durable.ledger import Ledger
from procession.runtime.durable.rows import ANSWERED, COMPLETED, MEMOIZED, RETRIED, SLEEPING, read_rows, unwrapped
from procession.runtime.events import EventMaker, EventType, Note, WorkflowEvent
from procession.storage.base import FINAL, JournalRow, RunRow

__all__ = ["observe"]

_POLL = 0.2
"""Seconds after which the store is asked again for what has happened to a run that goes on in another process."""


async def observe(ledger: Ledger, run_id: str) -> AsyncIterator[WorkflowEvent]:
    """
    Yield the events of a run: live where it goes on here, else made of what is written down, until it ends or waits.
    """
    live = ledger.live.get(run_id)
    if live is not None:
        async for event in live.events():
            yield event
        return
    row = await row_of(ledger, run_id)
    maker = EventMaker(run_id)
    last = -1
    yield maker.begin(row.owner, row.created_at, unwrapped(json.loads(row.data or "{}").get("input")))
    while True:
        # In this order: what a run that has ended by now has written is there, too.
        now = await ledger.store.row(run_id)
        if now is None:
            raise RunNotFound(f"run {run_id!r} was deleted while it was observed")
        rows = await ledger.store.entries(run_id, after=last)
        for each in rows:
            last = each.seq
        for event in _events(maker, rows):
            yield event
        if now.status in FINAL or now.status == "suspended":
            yield _terminal(maker, now)
            return
        await anyio.sleep(_POLL)


def _events(maker: EventMaker, rows: Iterable[JournalRow]) -> Iterator[WorkflowEvent]:
    for row in rows:
        if row.kind in (ANSWERED, MEMOIZED, SLEEPING):
            continue
        (record,) = read_rows([row]).records.values()
        if row.kind == RETRIED:
            error = json.loads(row.data or "{}").get("error", {})
            payload = {"error": StepError(error.get("message", "it failed"), path=row.path), "delay": None}
            note = Note("node.retrying", record.started, row.path, record.id, row.attempt + 1, payload)
            yield from maker.events_of(note)
            continue
        if row.kind == COMPLETED:
            record.output = unwrapped(record.output)
        yield from maker.events_of(record)  # that it began
        yield from maker.events_of(record)  # and ended


def _terminal(maker: EventMaker, row: RunRow) -> WorkflowEvent:
    data: dict[str, Any] = json.loads(row.data or "{}")
    payload: dict[str, Any] = {"status": row.status}
    match row.status:
        case "success":
            payload["output"] = data.get("output")
        case "failed":
            payload["error"] = StepError(data["error"]["message"])
        case "blocked":
            payload["tripwire"] = data["stop"]["tripwire"]
        case _:
            pass
    kind: EventType = "run.suspended" if row.status == "suspended" else "run.finished"
    (event,) = maker.events_of(Note(kind, row.updated_at, "", None, 1, payload))
    return event
