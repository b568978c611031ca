"""Conversations in a file when something is in the way: a full disk, cancelling, several threads and event loops."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.storage.conversations import said, texts
from tests.storage.journals import Locked, rounds
from tests.storage.small_disks import mounted, unmount

from procession.errors import StoreError
from procession.messages.message import Message
from procession.storage.notes import NoteKey
from procession.storage.sqlite.store import SQLiteStore

KEY = NoteKey(kind="working-memory", resource_id="ada", thread_id="t")


def turn(number: int, size: int = 10) -> list[Message]:
    """Return a turn of three messages."""
    return [said("x" * size, number, id=f"{number}.{part}") for part in range(3)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a disk of 600 KB; where none can be made, the tests with it are left out."""
    disk = tmp_path / "disk"
    disk.mkdir()
    assert mounted(disk, "600k")
    try:
        yield disk
    finally:
        unmount(disk)


async def saves_until_full(store: SQLiteStore) -> int:
    """Save turns until that fails, which has to be said clearly, and return how many were saved."""
    for number in range(1000):
        try:
            await store.save("t", "ada", turn(number, 5_000), metadata={"last": number}, indexes=["i"])
        except StoreError as error:
            assert "cannot be used" in str(error)
            assert "full" in str(error)
            return number
    raise AssertionError("it was never full")


async def holds(store: SQLiteStore, turns: int) -> None:
    """Check that there are so many turns, whole, with their metadata, and noted."""
    ids = [message.id for message in await store.messages("t")]
    assert ids == [f"{number}.{part}" for number in range(turns) for part in range(3)]
    thread = await store.thread("t")
    assert thread is not None
    assert thread.metadata == {"last": turns - 1}
    assert await store.waiting("i") == len(ids)


async def test_a_full_disk(small_disk: Path) -> None:
    """A disk that is full is a clear error; what was saved before is there, and with room again the same turn is saved."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * 100_000)
    async with SQLiteStore(small_disk / "memory.db") as store:
        saved = await saves_until_full(store)
        assert saved > 2
        await holds(store, saved)
        ballast.unlink()
        await store.save("t", "ada", turn(saved, 5_000), metadata={"last": saved}, indexes=["i"])
        await holds(store, saved + 1)
    async with SQLiteStore(small_disk / "memory.db") as store:
        await holds(store, saved + 1)


async def test_a_full_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite says that there is no room no part of the turn stays, and the store goes on once there is some."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    async with SQLiteStore(tmp_path / "memory.db") as store:
        await store.save("t", "ada", turn(0, 5_000), metadata={"last": 0}, indexes=["i"])
        opened[0].execute("PRAGMA max_page_count = 80")
        await store.delete_messages("t", "ada", [])
        saved = 1
        while saved < 1000:
            try:
                await store.save("t", "ada", turn(saved, 5_000), metadata={"last": saved}, indexes=["i"])
            except StoreError as error:
                assert "full" in str(error)
                break
            saved += 1
        await holds(store, saved)
        with pytest.raises(StoreError, match="full"):
            await store.put_note(KEY, "x" * 500_000, version=0)
        assert await store.note(KEY) is None
        opened[0].execute("PRAGMA max_page_count = 100000")
        await store.save("t", "ada", turn(saved, 5_000), metadata={"last": saved}, indexes=["i"])
        await holds(store, saved + 1)


async def test_the_log_is_taken_into_the_file(tmp_path: Path) -> None:
    """However many turns are saved, SQLite's log stays at some megabytes, and they are in the file."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        for number in range(400):
            await store.save(f"t{number % 50}", "ada", turn(number, 200), indexes=["i"])
        assert (tmp_path / "memory.db-wal").stat().st_size < 8_000_000
        assert (tmp_path / "memory.db").stat().st_size > 200_000


async def test_who_is_cancelled_has_saved_all_or_nothing(tmp_path: Path) -> None:
    """Cancelling somebody who saves waits for the end of the commit: the turn is whole, and others are not touched."""
    (tmp_path / "runs.db").touch()
    async with SQLiteStore(tmp_path / "runs.db") as store:
        await store.save("t", "ada", turn(0), indexes=["i"])
        other = Locked(tmp_path)
        scopes = [anyio.CancelScope() for _ in range(4)]
        ended: list[int] = []

        async def one(number: int) -> None:
            with scopes[number]:
                try:
                    await store.save("t", "ada", turn(number + 1), indexes=["i"])
                finally:
                    ended.append(number)

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(one, number)
            await rounds()
            for scope in scopes[:2]:
                scope.cancel()
            await rounds()
            assert ended == []
            other.end()
        assert sorted(ended) == [0, 1, 2, 3]
        assert [message.id for message in await store.messages("t")] == [
            f"{number}.{part}" for number in range(5) for part in range(3)
        ]
        assert await store.waiting("i") == 15


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_asyncio_cancels_has_saved(tmp_path: Path) -> None:
    """``Task.cancel()``, which no shield keeps off, does not break a turn in two either."""
    async with SQLiteStore(tmp_path / "runs.db") as store:
        await store.save("t", "ada", turn(0))
        other = Locked(tmp_path)
        task = asyncio.ensure_future(store.save("t", "ada", turn(1), indexes=["i"]))
        await rounds()
        for _ in range(3):
            task.cancel()
            await rounds(2)
        assert not task.done()
        other.end()
        await asyncio.wait([task])
        assert task.cancelled()
        assert len(await store.messages("t")) == 6


async def test_who_was_cancelled_before_saves_nothing_by_half(tmp_path: Path) -> None:
    """In a scope that is cancelled already a save is whole, or nothing is there."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        for number, metadata in enumerate((None, {"a": 1})):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await store.save(f"t{number}", "ada", turn(0), metadata=metadata, indexes=["i"])
            assert len(await store.messages(f"t{number}")) in (0, 3)
        assert await store.waiting("i") in (0, 3, 6)


def test_several_threads_and_loops_share_a_store(tmp_path: Path) -> None:
    """Four threads, two on asyncio and two on trio, save and take through one store: nothing is lost or taken twice."""
    store = SQLiteStore(tmp_path / "memory.db")
    taken: list[str] = []
    failures: list[BaseException] = []

    async def work(name: str) -> None:
        async def one(part: int) -> None:
            for number in range(10):
                id = f"{name}.{part}.{number}"
                await store.save("t", "ada", [said(id)], metadata={id: True}, indexes=["i"])
                await store.put_note(KEY.replace(thread_id=id), id, version=0)
                items = await store.take("i", limit=2, seconds=600)
                taken.extend(item.message.id for item in items)
                await store.done("i", items)

        async with anyio.create_task_group() as group:
            for part in range(3):
                group.start_soon(one, part)

    def run(name: str, backend: str) -> None:
        try:
            anyio.run(work, name, backend=backend)
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=(f"{backend}{number}", backend))
        for backend in ("asyncio", "trio")
        for number in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    names = ("asyncio0", "asyncio1", "trio0", "trio1")
    ids = {f"{name}.{part}.{number}" for name in names for part in range(3) for number in range(10)}

    async def check() -> None:
        async with store:
            assert set(texts(await store.messages("t"))) == ids
            found = await store.thread("t")
            assert found is not None
            assert found.metadata == dict.fromkeys(ids, True)
            assert len(taken) == len(set(taken))
            left = await store.take("i", limit=999, seconds=1)
            assert {item.message.id for item in left} | set(taken) == ids
            assert len(left) + len(taken) == len(ids)

    anyio.run(check)


async def test_a_store_is_not_used_across_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that a forked process has inherited is refused, and whoever made it goes on."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        await store.save("t", "ada", turn(0))
        with monkeypatch.context() as patch:
            patch.setattr("procession.storage.sqlite.connection.os.getpid", lambda: -1)
            with pytest.raises(StoreError, match="forked"):
                await store.messages("t")
            with pytest.raises(StoreError, match="forked"):
                await store.save("t", "ada", turn(1))
        assert len(await store.messages("t")) == 3
