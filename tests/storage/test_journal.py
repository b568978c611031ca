"""The journal of suspended runs: one suite for every store."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from procession.errors import StoreError
from procession.storage.base import JournalRow, JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal

ROW = JournalRow(run_id="r", owner="agent", data='{"a":1}')


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the store."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[JournalStore]:
    """Yield an empty store."""
    if request.param == "memory":
        yield InMemoryJournal(clock=clock)
    else:
        async with SQLiteJournal(tmp_path / "runs.db", clock=clock) as made:
            yield made


async def test_a_run_is_kept_until_it_is_asked_for(store: JournalStore) -> None:
    """What was added is there, and nothing else is."""
    assert await store.row("r") is None
    assert await store.add(ROW)
    assert await store.row("r") == ROW
    assert await store.row("other") is None


async def test_a_run_id_is_used_once(store: JournalStore) -> None:
    """A second run of the same id is not written over the first one."""
    assert await store.add(ROW)
    assert not await store.add(ROW.replace(data="other"))
    assert await store.row("r") == ROW


async def test_one_claim_wins(store: JournalStore) -> None:
    """A run that is held is nobody else's, and it is given back by whoever holds it alone (SUS-001)."""
    await store.add(ROW)
    assert await store.claim("r", "first", 30) == ROW
    assert await store.claim("r", "second", 30) is None
    assert not await store.release("r", "second")
    assert not await store.settle("r", "second", "completed")
    assert await store.release("r", "first")
    assert await store.claim("r", "second", 30) == ROW


async def test_of_many_claims_at_once_one_wins(store: JournalStore) -> None:
    """A hundred claims at the same time have one winner (SUS-001)."""
    await store.add(ROW)
    won: list[int] = []

    async def one(number: int) -> None:
        if await store.claim("r", str(number), 30) is not None:
            won.append(number)

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(one, number)
    assert len(won) == 1


async def test_a_claim_ends_with_its_time(store: JournalStore, clock: Clock) -> None:
    """A holder that died frees the run; one that lives prolongs its claim; one that was late has lost it (SUS-001)."""
    await store.add(ROW)
    assert await store.claim("r", "first", 30)
    clock.now += 20
    assert await store.claim("r", "first", 30) == ROW
    clock.now += 20
    assert await store.claim("r", "second", 30) is None
    clock.now += 11
    assert await store.claim("r", "second", 30) == ROW
    assert await store.claim("r", "first", 30) is None
    assert not await store.settle("r", "first", "completed")


async def test_a_run_may_be_suspended_again(store: JournalStore) -> None:
    """A holder writes what the run has come to, and gives it back."""
    await store.add(ROW)
    await store.claim("r", "first", 30)
    assert await store.settle("r", "first", "suspended", "later")
    assert await store.claim("r", "second", 30) == ROW.replace(data="later")


async def test_how_far_a_run_has_come_is_noted_by_its_holder(store: JournalStore, clock: Clock) -> None:
    """A holder writes how far it has come and holds the run still; whoever comes after it finds that."""
    await store.add(ROW)
    assert not await store.note("r", "first", "never")
    await store.claim("r", "first", 30)
    assert await store.note("r", "first", "half")
    assert await store.claim("r", "second", 30) is None
    assert not await store.note("r", "second", "never")
    assert await store.row("r") == ROW.replace(data="half")
    clock.now += 31
    assert await store.claim("r", "second", 30) == ROW.replace(data="half")
    assert not await store.note("r", "first", "never")
    assert await store.release("r", "second")
    assert await store.row("r") == ROW.replace(data="half")


async def test_an_end_is_final(store: JournalStore) -> None:
    """A run that has ended cannot be claimed or begun again, and nothing of what was said stays."""
    await store.add(ROW)
    await store.claim("r", "first", 30)
    assert await store.settle("r", "first", "completed")
    assert await store.row("r") == ROW.replace(status="completed", data=None)
    assert await store.claim("r", "first", 30) is None
    assert not await store.settle("r", "first", "suspended", "x")
    assert not await store.add(ROW)


async def test_a_claim_of_nothing(store: JournalStore) -> None:
    """A run that is not known cannot be claimed, given back or ended."""
    assert await store.claim("r", "first", 30) is None
    assert not await store.release("r", "first")
    assert not await store.settle("r", "first", "completed")


async def test_memory_forgets_old_ends() -> None:
    """A journal in memory keeps no more than a thousand runs that have ended."""
    store = InMemoryJournal()
    for number in range(1001):
        await store.add(ROW.replace(run_id=str(number)))
        await store.claim(str(number), "me", 30)
        await store.settle(str(number), "me", "completed")
    assert await store.row("0") is None
    assert await store.row("1") is not None


async def test_a_file_outlives_its_store(tmp_path: Path) -> None:
    """What one store wrote, another one of the same file reads; a closed store opens again."""
    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as first:
        await first.add(ROW)
    async with SQLiteJournal(path) as second:
        assert await second.row("r") == ROW
        assert await first.row("r") == ROW
        await first.aclose()


async def test_the_file_is_private(tmp_path: Path) -> None:
    """A new file can be read by its owner alone."""
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        await store.add(ROW)
        assert stat.S_IMODE((tmp_path / "runs.db").stat().st_mode) == 0o600


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    """A file of a newer version is refused, with the versions named, and left as it is."""
    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as store:
        await store.add(ROW)
    with sqlite3.connect(path) as made:
        made.execute("UPDATE procession_schema SET version = 99")
    made.close()
    async with SQLiteJournal(path) as store:
        with pytest.raises(StoreError, match="newer version.*99"):
            await store.row("r")


async def test_a_file_that_is_none(tmp_path: Path) -> None:
    """A file that is no database, and a folder that does not exist, are named."""
    (tmp_path / "notes.txt").write_text("no database at all, but a text that is long enough")
    for path in (tmp_path / "notes.txt", tmp_path / "nowhere" / "runs.db"):
        async with SQLiteJournal(path) as store:
            with pytest.raises(StoreError, match=path.name):
                await store.add(ROW)


async def test_other_tables_may_stand_in_the_file(tmp_path: Path) -> None:
    """The journal has tables of its own and touches no others."""
    path = tmp_path / "app.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE orders (id INTEGER)")
        made.execute("INSERT INTO orders VALUES (7)")
    made.close()
    async with SQLiteJournal(path) as store:
        assert await store.add(ROW)
    with sqlite3.connect(path) as made:
        assert made.execute("SELECT id FROM orders").fetchall() == [(7,)]
    made.close()


async def test_a_store_is_not_used_across_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that a forked process has inherited is refused: two processes on one would harm the file."""
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        await store.add(ROW)
        with monkeypatch.context() as patch:
            patch.setattr("procession.storage.sqlite.connection.os.getpid", lambda: -1)
            with pytest.raises(StoreError, match="forked"):
                await store.row("r")
        assert await store.row("r") == ROW
