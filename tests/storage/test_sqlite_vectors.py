"""What vectors in a file keep to besides: memory, other processes, and who waits for whom."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from tests.storage.vector_stores import ids, item

from procession.errors import DefinitionError, StoreError
from procession.storage.sqlite import vectors
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.sqlite.vector_cache import Scope

EAST = [1.0, 0.0]

OTHER = """
import anyio, sys
from tests.storage.vector_stores import item
from procession.storage.sqlite.store import SQLiteStore

async def main():
    async with SQLiteStore(sys.argv[1]) as store:
        if sys.argv[2] == "put":
            await store.put_vectors("i", [item("theirs", [1.0, 0.0]), item("m3", [0.0, 1.0])])
        else:
            await store.delete_vectors(thread_id="t", message_ids=["theirs", "m0"])

anyio.run(main)
"""


@pytest.fixture(autouse=True)
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every scope count as a large one, and nothing but NumPy compare."""
    monkeypatch.setattr(vectors, "_SMALL", 0)
    monkeypatch.setattr("procession.storage.sqlite.vector_extension.extension", lambda: None)


def scopes(store: Any) -> list[Scope]:
    """Return what a store has in memory."""
    found: list[Scope] = store._vectors.scopes()
    return found


def other_process(*arguments: str) -> None:
    """Do what is said in another process."""
    subprocess.run([sys.executable, "-c", OTHER, *arguments], check=True)


async def test_what_another_process_writes_is_seen(tmp_path: Path) -> None:
    """What is in memory is right at the next search, whatever another process has put, replaced and deleted."""
    path = str(tmp_path / "memory.db")
    async with SQLiteStore(path) as store:
        await store.put_vectors("i", [item(f"m{at}", [1.0, 0.1 + at / 10]) for at in range(4)])
        assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) == ["m0", "m1", "m2", "m3"]
        await anyio.to_thread.run_sync(other_process, path, "put")
        hits = await store.search("i", EAST, top_k=9, resource_id="ada")
        assert ids(hits) == ["theirs", "m0", "m1", "m2", "m3"]
        assert hits[-1].score == pytest.approx(0, abs=1e-6)
        await anyio.to_thread.run_sync(other_process, path, "delete")
        assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) == ["m1", "m2", "m3"]


async def test_nobody_who_writes_waits_for_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a search goes through what is large, others write and read; it finds what was there when it began."""
    begun, go_on = anyio.Event(), threading.Event()
    module: Any = vectors
    original = module._search_file

    def slow(*arguments: Any) -> Any:
        arguments[0].execute("SELECT count(*) FROM procession_vectors").fetchone()
        anyio.from_thread.run_sync(begun.set)
        assert go_on.wait(30)
        return original(*arguments)

    monkeypatch.setattr(vectors, "_search_file", slow)
    async with SQLiteStore(tmp_path / "memory.db", vector_cache=0) as store:
        await store.put_vectors("i", [item("m", EAST)])
        found: list[str] = []

        async def search() -> None:
            found.extend(ids(await store.search("i", EAST, top_k=9, resource_id="ada")))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(search)
                await begun.wait()
                try:
                    await store.put_vectors("i", [item("later", EAST)])
                    assert await store.delete_vectors(thread_id="t", message_ids=["m"]) == 1
                finally:
                    go_on.set()
    assert found == ["m"]


async def test_each_search_sees_all_of_a_put_or_nothing(tmp_path: Path) -> None:
    """Many who put and seek at once: a message that is replaced again and again is found by each search, once."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        await store.put_vectors("i", [item("m", EAST), item("n", EAST)])

        async def put(number: int) -> None:
            for turn in range(10):
                await store.put_vectors(
                    "i", [item("m", [1.0, number + turn / 10]), item(f"{number}-{turn}", [0.0, 1.0])]
                )

        async def search() -> None:
            for _ in range(20):
                hits = await store.search("i", EAST, top_k=99, resource_id="ada")
                assert {"m", "n"} <= set(ids(hits))
                assert len(set(ids(hits))) == len(hits)

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(put, number)
                group.start_soon(search)
        assert len(await store.search("i", EAST, top_k=99, resource_id="ada")) == 32


async def test_memory_is_bounded(tmp_path: Path) -> None:
    """What was not asked for the longest leaves the memory first, and what does not fit never comes into it."""
    async with SQLiteStore(tmp_path / "memory.db", vector_cache=3 * 10 * 160) as store:
        for owner in ("ada", "bob", "eve"):
            await store.put_vectors(
                "i", [item(f"{owner}{at}", EAST, thread_id=owner, resource_id=owner) for at in range(10)]
            )

        def kept() -> list[str | None]:
            return [scope.resource_id for scope in scopes(store)]

        for owner in ("ada", "bob", "eve", "ada"):
            assert len(await store.search("i", EAST, top_k=99, resource_id=owner)) == 10
        assert kept() == ["bob", "eve", "ada"]
        await store.put_vectors("i", [item(f"more{at}", EAST, thread_id="bob", resource_id="bob") for at in range(10)])
        assert len(await store.search("i", EAST, top_k=99, resource_id="bob")) == 20
        assert kept() == ["ada", "bob"]
        assert len(await store.search("i", EAST, top_k=99, resource_id=None)) == 40
        assert kept() == ["ada", "bob"]


async def test_what_is_deleted_leaves_the_memory(tmp_path: Path) -> None:
    """Deleting a resource or an index takes it out of this process's memory at once; closing takes all."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        for owner in ("ada", "bob"):
            await store.put_vectors("i", [item("m", EAST, thread_id=owner, resource_id=owner)])
            await store.search("i", EAST, top_k=9, resource_id=owner)
        await store.search("i", EAST, top_k=9, resource_id=None)
        await store.delete_vectors(resource_id="ada")
        assert scopes(store) == [Scope("i", "bob")]
        await store.delete_vectors(index="i")
        assert scopes(store) == []
        await store.put_vectors("i", [item("m", EAST)])
        await store.search("i", EAST, top_k=9, resource_id="ada")
        await store.aclose()
        assert scopes(store) == []
        assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) == ["m"]


@pytest.mark.parametrize("cached", [0, 2**20])
@pytest.mark.parametrize(("column", "value"), [("vector", b"12345"), ("facts", "["), ("facts", "7")])
async def test_what_cannot_be_read_is_an_error(tmp_path: Path, cached: int, column: str, value: Any) -> None:
    """A vector or facts that something else has written are a StoreError, and the next search works when they are gone."""
    path = tmp_path / "memory.db"
    async with SQLiteStore(path, vector_cache=cached) as store:
        await store.put_vectors("i", [item("m", EAST, facts={"n": 1}), item("n", EAST, facts={"n": 1})])
        raw = sqlite3.connect(path)
        with raw:
            raw.execute(f"UPDATE procession_vectors SET {column} = ? WHERE message_id = 'm'", (value,))
        raw.close()
        with pytest.raises(StoreError, match="cannot be read"):
            await store.search("i", EAST, top_k=9, resource_id="ada", facts={"n": 1})
        await store.delete_vectors(thread_id="t", message_ids=["m"])
        assert ids(await store.search("i", EAST, top_k=9, resource_id="ada", facts={"n": 1})) == ["n"]


def test_a_cache_of_less_than_nothing_is_refused(tmp_path: Path) -> None:
    """``vector_cache`` is bytes."""
    with pytest.raises(DefinitionError, match="vector_cache is -1"):
        SQLiteStore(tmp_path / "memory.db", vector_cache=-1)
