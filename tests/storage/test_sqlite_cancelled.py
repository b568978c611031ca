"""Cancelling somebody who writes in a SQLite journal: a commit is waited for, and nobody else is touched."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest
from tests.storage.journals import RUNS, Locked, entry, rounds, write

from procession.storage.sqlite.journal import SQLiteJournal


@pytest.fixture
def store(held: SQLiteJournal) -> SQLiteJournal:
    """Return a store with five runs, each held by its own id."""
    return held


@pytest.mark.parametrize("place", [0, 1])
async def test_who_is_cancelled_waits_for_the_end_of_the_commit(
    place: int, store: SQLiteJournal, tmp_path: Path
) -> None:
    """Cancelling, of whoever leads or of one who has joined, parts nobody from a commit that goes on."""
    other = Locked(tmp_path)
    scopes = [anyio.CancelScope() for _ in RUNS]
    ended: list[str] = []

    async def one(run_id: str) -> None:
        with scopes[int(run_id)]:
            try:
                await write(store, run_id)
            finally:
                ended.append(run_id)

    async with anyio.create_task_group() as group:
        for run_id in RUNS:
            group.start_soon(one, run_id)
        await rounds()
        scopes[place].cancel()
        await rounds()
        assert ended == []
        other.end()
    assert sorted(ended) == RUNS
    for run_id in RUNS:
        assert await store.entries(run_id) == [entry(0)]


async def test_who_has_been_cancelled_before_still_writes(store: SQLiteJournal) -> None:
    """A run that is being cancelled can write that down."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await write(store, "0")
    assert await store.entries("0") == [entry(0)]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("places", [(0,), (1,), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize("log", ["short", "long"])
async def test_a_task_that_asyncio_cancels_waits_as_well(
    log: str,
    places: tuple[int, ...],
    early: bool,
    no_haste: None,
    store: SQLiteJournal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    ``Task.cancel()``, which no shield keeps off, neither breaks off a commit nor leaves anybody waiting.

    Neither does it where the log is to be taken into the file before the commit.
    """
    if log == "long":
        monkeypatch.setattr("procession.storage.sqlite.connection._CHECKPOINT", 1)
    other = Locked(tmp_path)
    tasks = [asyncio.ensure_future(write(store, run_id)) for run_id in RUNS]
    await rounds(1 if early else 20)
    for _ in range(3):
        for place in places:
            tasks[place].cancel()
        await rounds(2)
    assert not any(task.done() for task in tasks)
    other.end()
    await asyncio.wait(tasks)
    assert [task.cancelled() for task in tasks] == [place in places for place in range(5)]
    for run_id in RUNS:
        assert await store.entries(run_id) == [entry(0)]
    await write(store, "0", 1)
