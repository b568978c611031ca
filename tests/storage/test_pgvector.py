"""What vectors in Postgres keep to besides: ``make services`` runs what needs the servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from tests.storage import postgres_stores
from tests.storage.postgres_server import PostgresServer
from tests.storage.vector_stores import ids, item

from procession.errors import StoreError
from procession.messages.message import Message
from procession.storage.vectors import VectorStore

pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")
pytestmark = pytest.mark.service


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.fixture
async def store(pgvector_server: PostgresServer) -> AsyncIterator[Any]:
    """Yield an empty store on a server that has pgvector."""
    async with postgres_stores.made(pgvector_server) as each:
        yield each


async def ask(store: Any, statement: str) -> list[Any]:
    """Return what a statement finds."""
    from sqlalchemy import text

    async def read(made: Any) -> list[Any]:
        return [tuple(row) for row in await made.execute(text(statement))]

    found: list[Any] = await store._connection.read(read)
    return found


async def indexes(store: Any) -> list[str]:
    """Return the definitions of what looks vectors up, in the store's schema."""
    schema = store._connection.schema
    found = await ask(store, f"SELECT indexdef FROM pg_indexes WHERE schemaname = '{schema}'")
    return [row[0] for row in found if "hnsw" in row[0]]


async def test_a_server_without_pgvector_says_what_to_do(postgres_server: PostgresServer) -> None:
    """Where the server does not have the extension, vectors are refused with the fix, and all the rest works."""
    async with postgres_stores.made(postgres_server) as store:
        if await ask(store, "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
            pytest.skip("this server has pgvector")
        with pytest.raises(StoreError, match="does not have the extension pgvector") as failure:
            await store.put_vectors("i", [item("m", [1.0, 0.0])])
        assert "CREATE EXTENSION vector" in (failure.value.hint or "")
        assert await store.search("i", [1.0, 0.0], top_k=1, resource_id="ada") == []
        assert await store.delete_vectors(resource_id="ada") == 0
        await store.save("t", "ada", [Message.user("Hello")])
        assert [message.text for message in await store.messages("t")] == ["Hello"]


async def test_many_vectors_have_an_index(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEM-001: among many vectors the nearest are looked up, and ``top_k`` is filled from the own resource even then."""
    monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 200)
    assert isinstance(store, VectorStore)
    await store.put_vectors("i", [item(f"a{at}", [1.0, at / 1000, 0.5], resource_id="ada") for at in range(150)])
    assert await indexes(store) == []
    others = [item(f"b{at}", [1.0, at / 1e6, 0.0], thread_id="u", resource_id="bob") for at in range(3000)]
    await store.put_vectors("i", others)
    assert len(await indexes(store)) == 1
    hits = await store.search("i", [1.0, 0.0, 0.0], top_k=10, resource_id="ada")
    assert ids(hits) == [f"a{at}" for at in range(10)]
    hits = await store.search("i", [1.0, 0.0, 0.0], top_k=300, resource_id="bob", facts={"role": "user"})
    assert hits == []
    hits = await store.search("i", [1.0, 0.0, 0.0], top_k=5, resource_id="bob")
    assert len(set(ids(hits)) & {f"b{at}" for at in range(20)}) == 5
    hits = await store.search("i", [0.0, 0.0, 1.0], top_k=400, resource_id=None)
    assert len(hits) == 400
    assert set(ids(hits)) >= {f"a{at}" for at in range(150)}


async def test_the_index_is_what_answers(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement that is meant to be answered by the index is answered by it, as Postgres says."""
    from procession.storage.postgres.vector_table import VectorTable

    monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 200)
    for begin in range(0, 5000, 500):
        await store.put_vectors("i", [item(f"a{at}", [1.0, at / 5000, 0.5]) for at in range(begin, begin + 500)])
    table = VectorTable.of("i", store._connection.schema)
    distance = table.distance(3).replace(":sought", "'[1,0,0]'")
    plan = await ask(store, f"EXPLAIN SELECT thread_id FROM {table.name} ORDER BY {distance} LIMIT 10")
    assert any("_nearest" in row[0] for row in plan)


@pytest.mark.parametrize(("length", "kind"), [(2000, "vector_cosine_ops"), (3072, "halfvec_cosine_ops"), (4001, None)])
async def test_long_vectors(store: Any, monkeypatch: pytest.MonkeyPatch, length: int, kind: str | None) -> None:
    """Vectors that are too long for the index are looked up with fewer bits, or compared one by one."""
    monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 5)
    rest = [0.0] * (length - 2)
    await store.put_vectors("i", [item(f"m{at}", [1.0, at / 10, *rest]) for at in range(20)])
    found = await indexes(store)
    assert [kind in each for each in found if kind] == ([True] if kind else [])
    assert bool(found) == (kind is not None)
    assert ids(await store.search("i", [1.0, 0.0, *rest], top_k=2, resource_id="ada")) == ["m0", "m1"]


async def test_many_who_put_at_once(pgvector_server: PostgresServer, store: Any) -> None:
    """Whoever puts first makes the table, and of many who put the same message one's vectors are left, whole."""

    async def put(index: str, number: int) -> None:
        pieces = [item("m", [1.0, float(number)], part=part) for part in range(3)]
        await store.put_vectors(index, [*pieces, item(f"m{number}", [1.0, 0.0], thread_id=f"t{number % 4}")])

    async with anyio.create_task_group() as group:
        for number in range(12):
            for index in ("i", "j"):
                group.start_soon(put, index, number)
    for index in ("i", "j"):
        assert len(await store.search(index, [1.0, 0.0], top_k=99, resource_id="ada")) == 13
        assert await store.delete_vectors(index=index, thread_id="t") == 3


async def test_schemas_keep_vectors_apart(pgvector_server: PostgresServer, store: Any) -> None:
    """Two stores in two schemas of one database do not see each other's vectors, nor delete them."""
    await store.put_vectors("i", [item("m", [1.0, 0.0])])
    async with postgres_stores.made(pgvector_server) as other:
        assert await other.search("i", [1.0, 0.0], top_k=9, resource_id="ada") == []
        assert await other.delete_vectors(resource_id="ada") == 0
        await other.put_vectors("i", [item("m", [1.0, 0.0, 0.0])])
    assert ids(await store.search("i", [1.0, 0.0], top_k=9, resource_id="ada")) == ["m"]
