"""How a SQLite journal commits: together, without making the loop wait, whoever cancels, and whole or not at all."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.storage.journals import RUN, RUNS, Locked, entry, rounds, write

from procession.errors import StoreError
from procession.storage.base import JournalRow
from procession.storage.sqlite import commits
from procession.storage.sqlite.connection import Connection
from procession.storage.sqlite.journal import SQLiteJournal


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Return the list of the connections that are made; to be asked for before the store."""
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made.append(connect(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return made


@pytest.fixture
def store(held: SQLiteJournal) -> SQLiteJournal:
    """Return a store with five runs, each held by its own id."""
    return held


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Return the list in which each commit notes where it was made, and of how many writes."""
    made: list[tuple[str, int]] = []

    def noting(where: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Connection, writes: Any) -> Any:
            done = work(self, writes)
            if done is not False:
                made.append((where, len(writes)))
            return done

        return noted

    execute_now = Connection.execute_now

    def executed(self: Connection, *one: Any) -> int | None:
        rows = execute_now(self, *one)
        if rows is not None:
            made.append(("loop", 1))
        return rows

    monkeypatch.setattr(Connection, "execute_now", executed)
    monkeypatch.setattr(Connection, "commit_now", noting("loop", Connection.commit_now))
    monkeypatch.setattr(Connection, "commit", noting("thread", Connection.commit))
    return made


async def test_one_who_writes_alone_needs_no_thread(store: SQLiteJournal, seen: list[tuple[str, int]]) -> None:
    """Each write of a chain is a commit of its own, made on the loop before the call returns."""
    for seq in range(50):
        await write(store, "0", seq)
        assert len(seen) == seq + 1
    assert set(seen) == {("loop", 1)}


async def test_many_who_write_at_once_have_one_commit(
    no_haste: None, store: SQLiteJournal, seen: list[tuple[str, int]]
) -> None:
    """Five runs that write side by side, twenty times, have far fewer commits than a hundred."""

    async def chain(run_id: str) -> None:
        for seq in range(20):
            await write(store, run_id, seq)

    async with anyio.create_task_group() as group:
        for run_id in RUNS:
            group.start_soon(chain, run_id)
    assert sum(number for _, number in seen) == 100
    assert ("loop", 5) in seen
    assert len(seen) < 60


async def test_a_chain_lets_others_have_their_turn(store: SQLiteJournal) -> None:
    """A run that does nothing but write does not keep the loop for itself."""
    stop = False

    async def other() -> None:
        nonlocal stop
        await anyio.lowlevel.checkpoint()
        stop = True

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        seq = 0
        while not stop:
            await write(store, "0", seq)
            seq += 1
            assert seq < 1_000


async def test_very_many_have_several_commits(
    no_haste: None, store: SQLiteJournal, seen: list[tuple[str, int]]
) -> None:
    """What comes at once is cut into commits that the loop can bear, and everybody is told of their own."""
    async with anyio.create_task_group() as group:
        for seq in range(180):
            group.start_soon(write, store, "0", seq)
    assert max(number for _, number in seen) == 50
    assert sum(number for _, number in seen) == 180
    assert len(await store.entries("0")) == 180


async def test_full_waits_for_the_disk_in_a_thread(
    opened: list[sqlite3.Connection], tmp_path: Path, seen: list[tuple[str, int]]
) -> None:
    """With ``synchronous="full"`` the loop makes no commit, and those who write at once still have one together."""
    async with SQLiteJournal(tmp_path / "runs.db", synchronous="full") as store:
        for run_id in RUNS:
            await store.add(RUN.replace(run_id=run_id), token=run_id, seconds=30)
        async with anyio.create_task_group() as group:
            for run_id in RUNS:
                group.start_soon(write, store, run_id)
        found = opened[0].execute("PRAGMA synchronous").fetchone()
    assert seen == [*[("thread", 1)] * 5, ("thread", 5)]
    assert found == (2,)


async def test_much_at_once_is_written_in_a_thread(
    no_haste: None, store: SQLiteJournal, seen: list[tuple[str, int]]
) -> None:
    """A megabyte does not hold up the loop, and those who write little beside it are not held up by it."""
    await write(store, "0", 0, "x" * 2_000_000)
    async with anyio.create_task_group() as group:
        for run_id in RUNS[1:]:
            group.start_soon(write, store, run_id, 1, "x" * (2_000_000 if run_id == "2" else 10))
    assert seen.count(("thread", 1)) == 2
    assert sum(number for where, number in seen if where == "loop") == 3
    assert len((await store.entries("2"))[0].data or "") == 2_000_000


async def test_a_slow_disk_is_waited_for_in_a_thread(
    no_haste: None, store: SQLiteJournal, seen: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where commits take long, one after the other, the next hundred are made in a thread, then the loop tries again."""
    monkeypatch.setattr(commits, "_SLOW", 0.0)
    for seq in range(104):
        await write(store, "0", seq)
    assert seen == [*[("loop", 1)] * 3, *[("thread", 1)] * 100, ("loop", 1)]


async def test_the_loop_goes_on_while_another_one_writes(store: SQLiteJournal, tmp_path: Path) -> None:
    """A write that has to wait for another process does so in a thread, and those who come meanwhile join."""
    other = Locked(tmp_path)
    async with anyio.create_task_group() as group:
        for run_id in RUNS:
            group.start_soon(write, store, run_id)
        await rounds()
        other.end()
    for run_id in RUNS:
        assert await store.entries(run_id) == [entry(0)]


async def test_threads_that_others_occupy_do_not_hold_it_up(tmp_path: Path) -> None:
    """Tools that block every worker thread, and may wait for a run that is written, do not keep it from that."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    tools = [object() for _ in range(int(limiter.total_tokens))]
    for each in tools:
        limiter.acquire_on_behalf_of_nowait(each)
    try:
        async with SQLiteJournal(tmp_path / "runs.db", synchronous="full") as store:
            assert await store.add(RUN)
            assert await store.row("r") is not None
    finally:
        for each in tools:
            limiter.release_on_behalf_of(each)


async def test_who_waits_too_long_is_told(
    store: SQLiteJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that never ends its write is not waited for without end, and nothing was written then."""
    monkeypatch.setattr("procession.storage.sqlite.connection.PATIENCE", 0.01)
    other = Locked(tmp_path)
    with pytest.raises(StoreError, match="locked"):
        await write(store, "0")
    other.end()
    await write(store, "0")


async def test_a_full_disk_fails_every_writer(
    opened: list[sqlite3.Connection], no_haste: None, store: SQLiteJournal
) -> None:
    """Whoever shares a commit that fails is told, nothing of it is written, and the store goes on once there is room."""
    opened[0].execute("PRAGMA max_page_count = 20")
    failed: list[str] = []

    async def one(run_id: str) -> None:
        with pytest.raises(StoreError, match="full"):
            await write(store, run_id, 0, "x" * 100_000)
        failed.append(run_id)

    async with anyio.create_task_group() as group:
        for run_id in RUNS:
            group.start_soon(one, run_id)
    assert sorted(failed) == RUNS
    with pytest.raises(StoreError, match="full"):
        await store.write("0", "0", [entry(0, "x" * 100_000), entry(1)], status="success", data=None)
    for run_id in RUNS:
        assert await store.entries(run_id) == []
    opened[0].execute("PRAGMA max_page_count = 1000000")
    for run_id in RUNS:
        await write(store, run_id, 0, "x" * 100_000)


async def test_what_cannot_be_written_fails_alone(no_haste: None, store: SQLiteJournal) -> None:
    """A text that is none, or a number that is too large, harms nobody else's commit."""
    failed: list[str] = []

    async def one(run_id: str, seq: int, data: str) -> None:
        try:
            await write(store, run_id, seq, data)
        except StoreError:
            failed.append(run_id)

    async with anyio.create_task_group() as group:
        for run_id, seq, data in zip(RUNS, [0, 0, 0, 2**70, 0], ["a", "\ud800", "b", "x", "c"], strict=True):
            group.start_soon(one, run_id, seq, data)
    assert sorted(failed) == ["1", "3"]
    assert await store.entries("4") == [entry(0, "c")]


async def test_the_log_does_not_grow_without_end(store: SQLiteJournal, tmp_path: Path) -> None:
    """What was committed is taken into the file again and again, so that the log begins anew."""
    for seq in range(3000):
        await write(store, "0", seq, "x" * 4000)
    assert os.stat(tmp_path / "runs.db-wal").st_size < 10_000_000
    assert os.stat(tmp_path / "runs.db").st_size > 11_000_000
    assert len(await store.entries("0")) == 3000


async def test_the_log_begins_anew_once_nobody_reads_in_it(
    store: SQLiteJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While somebody reads for long the log grows, and nobody who writes fails; afterwards it grows no further."""
    monkeypatch.setattr("procession.storage.sqlite.connection._CHECKPOINT", 50)
    monkeypatch.setattr("procession.storage.sqlite.connection._LONG_LOG", 200)
    monkeypatch.setattr("procession.storage.sqlite.connection._FOR_OTHERS", 0.001)
    reader = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM procession_runs").fetchone()
    for seq in range(300):
        await write(store, "0", seq, "x" * 4000)
    grown = os.stat(tmp_path / "runs.db-wal").st_size
    assert grown > 1_000_000
    reader.execute("COMMIT")
    reader.close()
    for seq in range(300, 900):
        await write(store, "0", seq, "x" * 4000)
    assert os.stat(tmp_path / "runs.db-wal").st_size < grown * 1.5
    assert len(await store.entries("0")) == 900


async def test_a_store_is_closed_while_others_write(store: SQLiteJournal) -> None:
    """Closing loses nothing: who writes then has written, and opens the file again."""

    async def chain(run_id: str) -> None:
        for seq in range(20):
            await write(store, run_id, seq)

    async with anyio.create_task_group() as group:
        for run_id in RUNS:
            group.start_soon(chain, run_id)
        for _ in range(5):
            await store.aclose()
    for run_id in RUNS:
        assert len(await store.entries(run_id)) == 20


def test_a_store_is_used_by_several_event_loops(tmp_path: Path) -> None:
    """Threads with a loop each, of both kinds, write by one store at the same time and one after the other."""
    store = SQLiteJournal(tmp_path / "runs.db")
    failures: list[BaseException] = []

    async def chain(run_id: str) -> None:
        assert await store.add(RUN.replace(run_id=run_id), token=run_id, seconds=30)
        for seq in range(50):
            await write(store, run_id, seq)

    async def some(name: str) -> None:
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(chain, f"{name}-{number}")

    def loop(name: str, backend: str) -> None:
        try:
            for turn in range(3):
                anyio.run(some, f"{name}{turn}", backend=backend)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop, args=(f"t{n}", ("asyncio", "trio")[n % 2])) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

    async def counted() -> list[int]:
        found = [len(await store.entries(row.run_id)) for row in await store.runs()]
        await store.aclose()
        return found

    assert anyio.run(counted) == [50] * 36


def test_a_loop_that_was_left_does_not_hold_up_the_next_one(no_haste: None, tmp_path: Path) -> None:
    """A loop that stops in the middle of a write, and is never gone on with, is not waited for."""
    store = SQLiteJournal(tmp_path / "runs.db")

    other: list[Locked] = []

    async def begin() -> list[asyncio.Task[None]]:
        await store.add(RUN.replace(run_id="0"), token="0", seconds=30)
        other.append(Locked(tmp_path))
        tasks: list[asyncio.Task[None]] = []
        for seq in range(3):  # the first leads, the second leads those who come after it
            tasks.append(asyncio.ensure_future(write(store, "0", seq)))
            await rounds(3)
        return tasks

    left = asyncio.new_event_loop()
    tasks = left.run_until_complete(begin())
    assert not any(task.done() for task in tasks)
    other[0].end()

    async def again() -> list[JournalRow]:
        assert await store.write("0", "0", [entry(9)])
        return await store.entries("0")

    assert anyio.run(again)[-1] == entry(9)
    left.run_until_complete(asyncio.wait(tasks))
    assert [task.result() for task in tasks] == [None] * 3
    left.run_until_complete(left.shutdown_default_executor())
    left.run_until_complete(store.aclose())
    left.close()
