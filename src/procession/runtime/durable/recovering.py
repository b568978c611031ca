"""
Recovering: the runs that lost their process, taken up together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from procession.errors import (
    GraphChanged,
    ProcessionError,
    ResumeError,
    RunAlreadyClaimed,
    RunNotFound,
    StoreError,
    UnreadableRun,
)
from procession.runtime.durable.ledger import Ledger
from procession.runtime.observability.logging import log_unread
from procession.runtime.run import RunResult
from procession.storage.base import RunStatus

__all__ = ["recover_runs", "without_process"]

_GOING_ON: tuple[RunStatus] = ("running",)


async def without_process(ledger: Ledger, is_known: Callable[[str], bool]) -> list[str]:
    """
    Return the ids of the runs that nobody holds, though they have not ended, and whose workflow is known; the oldest first.
    """
    found: dict[str, None] = {}
    last: str | None = None
    while True:
        try:
            page = await ledger.store.runs(kind="workflow", status=_GOING_ON, after=last)
        except RunNotFound:  # the last of the page before was deleted meanwhile: begin again
            last = None
            continue
        if not page:
            return list(found)[::-1]
        last = page[-1].run_id
        found |= {row.run_id: None for row in page if not row.claimed and is_known(row.owner)}


async def recover_runs(
    ledger: Ledger, run_ids: Sequence[str], restart: Callable[[str], Awaitable[RunResult[Any]]], concurrency: int
) -> list[RunResult[Any]]:
    """
    Restart runs, so many at the same time, and return how those ended that could be; one that cannot be read is logged.

    Where this is cancelled, they are given back: nobody has asked for their end.  Raises ``StoreError`` where the store
    cannot be used, once those that were begun have ended.
    """
    ended: dict[str, RunResult[Any]] = {}
    failures: list[StoreError] = []
    left = deque(run_ids)

    async def work() -> None:
        while left and not failures:
            run_id = left.popleft()
            if run_id in ledger.recovered:  # somebody recovers it here already
                continue
            ledger.recovered.add(run_id)
            try:
                ended[run_id] = await restart(run_id)
            except (RunAlreadyClaimed, RunNotFound, GraphChanged, ResumeError):
                continue
            except ProcessionError as error:
                if isinstance(error, StoreError) and not isinstance(error, UnreadableRun):
                    failures.append(error)
                else:
                    log_unread(run_id, error)
            finally:
                ledger.recovered.discard(run_id)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(concurrency, len(left))):
            tasks.start_soon(work)
    if failures:
        raise failures[0]
    return [ended[run_id] for run_id in run_ids if run_id in ended]
