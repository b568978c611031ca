"""How vectors in Postgres get their index beside those who put and search: ``make services`` runs what needs the servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs
from tests.storage import postgres_stores
from tests.storage.postgres_server import PostgresServer
from tests.storage.postgres_stores import schema_of
from tests.storage.vector_stores import ids, item

from procession.errors import StoreError

psycopg = pytest.importorskip("psycopg", reason="pip install 'procession[postgres]'")
pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]

MANY = [item(f"m{at}", [1.0, at / 100, 0.5]) for at in range(100)]
BUILDS = "SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database()"


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fifty vectors be many."""
    monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 50)


@pytest.fixture
def url(pgvector_server: PostgresServer) -> str:
    """Return the url of a database in which nobody else's transactions are waited for."""
    return postgres_stores.fresh_database(pgvector_server)


@pytest.fixture
async def store(url: str) -> AsyncIterator[Any]:
    """Yield an empty store whose calls may take few seconds."""
    from procession.storage.postgres.store import PostgresStore

    async with PostgresStore(url, schema="Agents' own", timeout=5) as made:
        await made.upgrade()
        yield made


@pytest.fixture
def other(url: str) -> Iterator[Any]:
    """Yield another client of the database."""
    with psycopg.connect(url, autocommit=True) as made:
        yield made


def held(other: Any, store: Any) -> Any:
    """Return what holds up who builds for the index ``i``: somebody has written in a transaction that is not over."""
    from procession.storage.postgres.vector_table import VectorTable

    name = VectorTable.of("i", schema_of(store)).name
    held = other.transaction()
    held.__enter__()
    other.execute(f"LOCK TABLE {name} IN ROW EXCLUSIVE MODE")
    return held


async def builder(url: str) -> int:
    """Wait until somebody builds, and return the server's process that does."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as made:
        while (row := await (await made.execute(BUILDS)).fetchone()) is None:
            await anyio.lowlevel.checkpoint()
    number: int = row[0]
    return number


def indexes(other: Any) -> list[bool]:
    """Return for each index of the nearest whether it can be used."""
    found = "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname LIKE '%nearest'"
    return [row[0] for row in other.execute(found)]


async def test_a_put_does_not_wait_for_its_index(store: Any, other: Any, url: str) -> None:
    """The put that makes vectors many is done while the index is built, and so are searches and other puts."""
    await store.put_vectors("i", MANY[:10])
    holding = held(other, store)
    await store.put_vectors("i", MANY)
    await builder(url)
    assert ids(await store.search("i", [1.0, 0.0, 0.5], top_k=2, resource_id="ada")) == ["m0", "m1"]
    await store.put_vectors("i", [item("late", [1.0, 0.0, 0.5])])
    assert indexes(other) != [True]
    holding.__exit__(None, None, None)
    assert await store.build_vector_index("i")
    assert indexes(other) == [True]
    assert ids(await store.search("i", [1.0, 0.0, 0.5], top_k=2, resource_id="ada")) in (["late", "m0"], ["m0", "late"])


async def test_building_that_takes_too_long(store: Any, other: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Building that does not end in its time is broken off and told to an operator: the put stands, and a later one builds."""
    monkeypatch.setattr("procession.storage.postgres.vector_builds._LIMIT", 0.2)
    await store.put_vectors("i", MANY[:10])
    holding = held(other, store)
    with capture_logs() as told:
        await store.put_vectors("i", MANY)
        while not told:
            await anyio.lowlevel.checkpoint()
    holding.__exit__(None, None, None)
    assert [(each["event"], each["log_level"]) for each in told] == [("no index of vectors was built", "warning")]
    assert "it took too long" in told[0]["why"]
    assert len(await store.search("i", [1.0, 0.0, 0.5], top_k=200, resource_id="ada")) == 100
    assert indexes(other) == [False]
    await store.put_vectors("i", [item("soon", [1.0, 0.0, 0.5])])
    assert store._builds._going_on == {} or not any(store._builds._going_on.values())  # not again at once
    store._builds._not_before.clear()
    monkeypatch.undo()
    monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 50)
    await store.put_vectors("i", [item("later", [1.0, 0.0, 0.5])])
    assert any(store._builds._going_on.values())
    assert await store.build_vector_index("i")
    assert indexes(other) == [True]


async def test_an_index_that_a_crash_left(store: Any, other: Any, url: str) -> None:
    """What is left of building that died cannot be used, is not asked, and is made anew by whoever builds next."""
    await store.put_vectors("i", MANY[:10])
    holding = held(other, store)
    building = asyncio.create_task(store.build_vector_index("i"))
    number = await builder(url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as killer:
        await killer.execute("SELECT pg_terminate_backend(%s, 10000)", [number])
    with pytest.raises(StoreError, match="cannot be used"):
        await building
    holding.__exit__(None, None, None)
    assert indexes(other) == [False]
    assert len(await store.search("i", [1.0, 0.0, 0.5], top_k=200, resource_id="ada")) == 10
    await store.put_vectors("i", MANY)
    assert any(store._builds._going_on.values())
    assert await store.build_vector_index("i")
    assert indexes(other) == [True]


async def test_of_many_one_builds(store: Any, other: Any, url: str) -> None:
    """Of those who put and build at once, in two stores, one builds, and who waits for the index gets it."""
    from procession.storage.postgres.store import PostgresStore

    await store.put_vectors("i", MANY[:10])
    async with PostgresStore(url, schema=schema_of(store)) as second, anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(store.put_vectors, "i", MANY)
            group.start_soon(second.put_vectors, "i", MANY)
            group.start_soon((store, second)[number % 2].build_vector_index, "i")
    assert await store.build_vector_index("i")
    assert indexes(other) == [True]
    assert len(await store.search("i", [1.0, 0.0, 0.5], top_k=200, resource_id="ada")) == 100


async def test_closing_breaks_building_off(store: Any, other: Any, url: str) -> None:
    """A store that is closed does not wait for its index, and leaves nobody at it."""
    await store.put_vectors("i", MANY[:10])
    holding = held(other, store)
    await store.put_vectors("i", MANY)
    await builder(url)
    await store.aclose()
    assert not any(store._builds._going_on.values())
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as made:
        while await (await made.execute(BUILDS)).fetchone():
            await anyio.lowlevel.checkpoint()
    holding.__exit__(None, None, None)
    assert indexes(other) == [False]
    assert await store.build_vector_index("i")


async def test_there_is_nothing_to_build(store: Any) -> None:
    """An index that nothing was put into is an error, as its name may be wrong."""
    with pytest.raises(StoreError, match="no vectors to build an index of"):
        await store.build_vector_index("unknown")


async def test_who_owns_no_table_puts_and_does_not_build(store: Any, other: Any, url: str) -> None:
    """A user that may only read and write an index's table serves; that its owner has to build is told to an operator."""
    from procession.storage.postgres.store import PostgresStore
    from procession.storage.postgres.vector_table import VectorTable

    schema, role = schema_of(store), url.rpartition("/")[2] + "_server"
    await store.put_vectors("i", MANY[:1])
    other.execute(f"CREATE ROLE {role} LOGIN")
    other.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {role}')
    other.execute(f'GRANT SELECT ON "{schema}".procession_version TO {role}')
    other.execute(f"GRANT SELECT, INSERT, DELETE ON {VectorTable.of('i', schema).name} TO {role}")
    try:
        async with PostgresStore(url.replace("procession@", f"{role}@"), schema=schema) as serving:
            with capture_logs() as told:
                await serving.put_vectors("i", MANY)
                while not told:
                    await anyio.lowlevel.checkpoint()
            assert "the user may not do that" in told[0]["why"]
            assert ids(await serving.search("i", [1.0, 0.0, 0.5], top_k=1, resource_id="ada")) == ["m0"]
            assert await store.build_vector_index("i")
            assert ids(await serving.search("i", [1.0, 0.0, 0.5], top_k=1, resource_id="ada")) == ["m0"]
            assert await serving.delete_vectors(index="i") == 100
    finally:
        other.execute(f"DROP OWNED BY {role}")
        other.execute(f"DROP ROLE {role}")
