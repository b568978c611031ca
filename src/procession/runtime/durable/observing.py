"""
Observing: the events of a run that may be anywhere, from the first on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import anyio

from procession.errors import RunNotFound, StepError
from procession.runtime.durable.going_on import row_of
from procession.runtime.durable.ledger import Ledger
from procession.runtime.durable.rows import (
    ANSWERED,
    COMPLETED,
    MEMOIZED,
    RETRIED,
    SLEEPING,
    from_json,
    read_rows,
    run_data,
    unwrapped,
)
from procession.runtime.events import EventMaker, EventType, Note, WorkflowEvent
from procession.runtime.records import Record
from procession.storage.base import FINAL, JournalRow, JournalStore, RunRow
from procession.workflows.plan import Spent

__all__ = ["Observation", "told_so_far"]

_POLL = 0.2
"""Seconds after which the store is asked again for what has happened to a run that goes on in another process."""


class Observation:
    """
    The events of a run: live where it goes on here, else made of what is written down, until it ends or waits.
    """

    __slots__ = ("_last", "_ledger", "_live", "_maker", "_over", "_ready", "_run_id")

    def __init__(self, ledger: Ledger, run_id: str) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._live: AsyncIterator[WorkflowEvent] | None = None
        self._maker: EventMaker | None = None
        self._ready: deque[WorkflowEvent] = deque()
        self._last = -1
        self._over = False

    def __aiter__(self) -> Observation:
        return self

    async def __anext__(self) -> WorkflowEvent:
        if self._live is None and self._maker is None:
            await self._begin()
        if self._live is not None:
            return await anext(self._live)
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            await self._read()
        return self._ready.popleft()

    async def _begin(self) -> None:
        live = self._ledger.live.get(self._run_id)
        if live is not None:
            self._live = live.events()
            return
        row = await row_of(self._ledger, self._run_id)
        self._maker = EventMaker(self._run_id)
        given = unwrapped(run_data(row).get("input"))
        self._ready.append(self._maker.begin(row.owner, row.created_at, given))
        await self._read()

    async def _read(self) -> None:
        """
        Read on, and wait a little where nothing has happened yet.
        """
        store, maker = self._ledger.store, self._maker
        assert maker is not None
        # In this order: what a run that has ended by now has written is there, too.
        row = await store.row(self._run_id)
        if row is None:
            raise RunNotFound(f"run {self._run_id!r} was deleted while it was observed")
        rows = await store.entries(self._run_id, after=self._last)
        if rows:
            self._last = rows[-1].seq
        self._ready.extend(_events(maker, rows))
        if row.status in FINAL or row.status == "suspended":
            self._ready.append(_terminal(maker, row))
            self._over = True
        elif not rows:
            await anyio.sleep(_POLL)


async def told_so_far(store: JournalStore, run_id: str) -> list[WorkflowEvent]:
    """
    Return the events of what is written down of a run by now, without waiting for more.

    Raises ``RunNotFound``.
    """
    row = await store.row(run_id)  # in this order: what a run that has ended by now has written is there, too
    if row is None:
        raise RunNotFound(f"there is no run {run_id!r}")
    maker = EventMaker(run_id)
    made = [maker.begin(row.owner, row.created_at, unwrapped(run_data(row).get("input")))]
    made += _events(maker, await store.entries(run_id))
    if row.status in FINAL or row.status == "suspended":
        made.append(_terminal(maker, row))
    return made


def _events(maker: EventMaker, rows: Iterable[JournalRow]) -> Iterator[WorkflowEvent]:
    for row in rows:
        if row.kind in (ANSWERED, MEMOIZED, SLEEPING):
            continue
        (record,) = read_rows([row]).records.values()
        if row.kind == RETRIED:
            error = from_json(row, f"row {row.seq} of its journal").get("error", {})
            payload = {"error": StepError(error.get("message", "it failed"), path=row.path), "delay": None}
            note = Note("node.retrying", record.started, row.path, record.id, row.attempt + 1, payload)
            yield from maker.events_of(note)
            continue
        if row.kind == COMPLETED:
            record.output = unwrapped(record.output)
            if record.kind == Spent.kind:
                yield from maker.events_of(_skipped(record))
                continue
        yield from maker.events_of(record)  # that it began
        yield from maker.events_of(record)  # and ended


def _skipped(record: Record) -> Note:
    """
    Return what is told of a step or a workflow whose budget was used up, and that something else stands for.
    """
    path = record.path.rpartition("/")[0]
    payload = {"reason": "budget", "budget": record.output}
    return Note("node.skipped", record.ended, path, path.rpartition("/")[2].partition("[")[0] or None, 1, payload)


def _terminal(maker: EventMaker, row: RunRow) -> WorkflowEvent:
    data = run_data(row)
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
