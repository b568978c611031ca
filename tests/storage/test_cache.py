"""What every cache keeps to, whatever it is made of."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.storage.caches import HERE, made
from tests.storage.journals import Clock

from procession.errors import DefinitionError, StoreError
from procession.storage.base import RunRow
from procession.storage.cache import CacheStore
from procession.storage.memory import InMemoryCacheStore
from procession.storage.sqlite.cache import SQLiteCacheStore
from procession.storage.sqlite.journal import SQLiteJournal


@pytest.fixture(params=HERE)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CacheStore]:
    """Yield an empty store."""
    async with made(request.param, tmp_path) as each:
        yield each


@pytest.fixture
def clock() -> Clock:
    """Return the clock of a store."""
    return Clock()


async def keeps(store: CacheStore) -> None:
    """What is kept is there, a later value takes its place, and each is under its own key only."""
    assert await store.get("k") is None
    await store.set("k", '{"a":1}', ttl=60)
    await store.set("k2", "two", ttl=60)
    assert (await store.get("k"), await store.get("k2"), await store.get("K")) == ('{"a":1}', "two", None)
    await store.set("k", "later", ttl=60)
    assert await store.get("k") == "later"
    assert (await store.delete("k"), await store.delete("k"), await store.get("k")) == (True, False, None)
    assert await store.get("k2") == "two"


async def clears(store: CacheStore) -> None:
    """Everything with a prefix is forgotten, and nothing else, also where the prefix has signs of patterns in it."""
    for key in ("a:1", "a:2", "b:1", "a*:1", "a*:2", "a[1]:x", "ab"):
        await store.set(key, key, ttl=60)
    assert await store.clear("a*:") == 2
    assert await store.clear("a[1]") == 1
    assert await store.clear("a:") == 2
    assert [await store.get(key) for key in ("a:1", "a*:1", "b:1", "ab")] == [None, None, "b:1", "ab"]
    assert await store.clear() == 2
    assert await store.get("b:1") is None


async def many(store: CacheStore) -> None:
    """Many who write and read at a time do not see each other's entries."""

    async def one(number: int) -> None:
        await store.set(f"k{number}", f"v{number}", ttl=60)
        assert await store.get(f"k{number}") == f"v{number}"

    async with anyio.create_task_group() as group:
        for number in range(60):
            group.start_soon(one, number)


async def test_what_is_kept_is_there(store: CacheStore) -> None:
    """What is kept is there until another takes its place or it is deleted."""
    await keeps(store)


async def test_a_prefix_is_cleared(store: CacheStore) -> None:
    """``clear`` takes the prefix by the letter."""
    await clears(store)


async def test_many_at_a_time(store: CacheStore) -> None:
    """Sixty writers and readers at a time each find their own."""
    await many(store)


@pytest.mark.parametrize("kind", HERE)
async def test_an_entry_lasts_for_its_time(kind: str, tmp_path: Path, clock: Clock) -> None:
    """An entry is there up to its time, and gone from then on; a later value has a time of its own."""
    store: CacheStore = (
        InMemoryCacheStore(clock=clock) if kind == "memory" else SQLiteCacheStore(tmp_path / "c.db", clock=clock)
    )
    await store.set("k", "v", ttl=10)
    clock.now += 9.9
    assert await store.get("k") == "v"
    await store.set("k", "w", ttl=10)
    clock.now += 9.9
    assert await store.get("k") == "w"
    clock.now += 0.2
    assert await store.get("k") is None
    if isinstance(store, SQLiteCacheStore):
        await store.aclose()


async def test_memory_is_bounded(clock: Clock) -> None:
    """What was not asked for the longest goes first; what is over goes as well; what is larger than all is not kept."""
    store = InMemoryCacheStore(max_entries=3, max_bytes=100, clock=clock)
    for key in "abc":
        await store.set(key, key, ttl=60)
    assert await store.get("a") == "a"
    await store.set("d", "d", ttl=60)
    assert [await store.get(key) for key in "abcd"] == ["a", None, "c", "d"]
    await store.set("e", "x" * 97, ttl=60)
    assert ([await store.get(key) for key in "acd"], len(store)) == ([None, None, "d"], 2)
    await store.set("f", "x" * 200, ttl=60)
    assert (await store.get("f"), len(store)) == (None, 2)
    await store.set("d", "y" * 200, ttl=60)
    assert await store.get("d") is None, "an older value must not stand where a newer one did not fit"
    clock.now += 100
    await store.set("g", "g", ttl=60)
    assert len(store) == 1


@pytest.mark.parametrize("bound", [{"max_entries": 0}, {"max_entries": True}, {"max_bytes": 0.5}])
def test_bounds_are_counts(bound: dict[str, Any]) -> None:
    """What is no count of at least 1 is refused, by name."""
    with pytest.raises(DefinitionError, match=next(iter(bound))):
        InMemoryCacheStore(**bound)


async def test_a_file_keeps_nothing_that_is_over(tmp_path: Path, clock: Clock) -> None:
    """Each write removes entries whose time is over, and what they said is not left in the file."""
    path = tmp_path / "cache.db"
    async with SQLiteCacheStore(path, clock=clock) as store:
        for number in range(5):
            await store.set(f"k{number}", "SECRET-OF-AN-ANSWER", ttl=10)
        clock.now += 11
        await store.set("new", "v", ttl=10)
    with sqlite3.connect(path) as read:
        assert read.execute("SELECT key FROM procession_cache").fetchall() == [("new",)]
    read.close()
    assert b"SECRET-OF-AN-ANSWER" not in path.read_bytes()


async def test_a_file_outlives_its_store_and_may_hold_runs(tmp_path: Path) -> None:
    """Another store finds what was kept in the file, in which runs are kept as well."""
    path = tmp_path / "both.db"
    async with SQLiteJournal(path) as journal:
        assert await journal.add(RunRow(run_id="r", owner="agent"))
        async with SQLiteCacheStore(path) as store:
            await store.set("k", "v", ttl=60)
        async with SQLiteCacheStore(path) as other:
            assert await other.get("k") == "v"
            assert await other.clear() == 1
        assert await journal.row("r") is not None


async def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    """Each method says so with ``StoreError``."""
    path = tmp_path / "no.db"
    path.write_bytes(b"this is no database, and long enough to be looked at" * 40)
    store = SQLiteCacheStore(path)
    put = partial(store.set, "k", "v", ttl=1)
    for work in (partial(store.get, "k"), put, partial(store.delete, "k"), store.clear):
        with pytest.raises(StoreError):
            await work()
