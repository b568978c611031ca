"""What vectors in Postgres keep to besides: ``make services`` runs what needs the servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.storage import postgres_stores
from tests.storage.postgres_server import PostgresServer
from tests.storage.vector_stores import ids, item

from procession.errors import InputError, StoreError
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


async def test_it_is_a_store_of_vectors(store: Any) -> None:
    """Memory takes it for one."""
    assert isinstance(store, VectorStore)


async def test_many_vectors_have_an_index(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEM-001: among many vectors the nearest are looked up, and ``top_k`` is filled from the own resource even then."""
    monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 200)
    await store.put_vectors("i", [item(f"a{at}", [1.0, at / 1000, 0.5], resource_id="ada") for at in range(150)])
    assert await indexes(store) == []
    others = [item(f"b{at}", [1.0, at / 1e6, 0.0], thread_id="u", resource_id="bob") for at in range(3000)]
    await store.put_vectors("i", others)
    assert await store.build_vector_index("i")  # waits until what the put has begun is done
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
    await store.build_vector_index("i")
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
    assert await store.build_vector_index("i") == (kind is not None)
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


async def test_many_are_put_at_once(store: Any) -> None:
    """Thousands of vectors in one call are all there, with their facts and ids in any writing, and replace what was."""
    await store.put_vectors("i", [item("früh ☂ 0", [0.0, 1.0], thread_id="täglich")])
    many = [
        item(f"früh ☂ {at}", [1.0, at / 1000], thread_id="täglich", resource_id="Адá", facts={"at": at, "Ж": "ß"})
        for at in range(3000)
    ]
    await store.put_vectors("i", many)
    hits = await store.search("i", [1.0, 2.5], top_k=2, resource_id="Адá", facts={"at": 2500})
    assert [(hit.thread_id, hit.message_id, round(hit.score, 6)) for hit in hits] == [("täglich", "früh ☂ 2500", 1.0)]
    assert await store.search("i", [0.0, 1.0], top_k=2, resource_id="ada") == []
    assert await store.delete_vectors(resource_id="Адá") == 3000


@pytest.mark.parametrize("letter", ["\0", "\ud800"])
@pytest.mark.parametrize("field", ["thread_id", "resource_id", "message_id"])
async def test_letters_that_cannot_be_kept(store: Any, field: str, letter: str) -> None:
    """An id with a letter that Postgres does not know is refused as that, nothing is put, and the store works on."""
    wrong = item("m", [1.0, 0.0]).replace(**{field: f"a{letter}"})
    with pytest.raises(InputError, match="a letter that Postgres cannot keep"):
        await store.put_vectors("i", [item("n", [1.0, 0.0]), wrong])
    assert await store.search("i", [1.0, 0.0], top_k=9, resource_id=None) == []
    await store.put_vectors("i", [item("n", [1.0, 0.0])])
    assert ids(await store.search("i", [1.0, 0.0], top_k=9, resource_id=None)) == ["n"]


async def test_a_put_that_is_refused_by_the_server_says_so(store: Any) -> None:
    """What the server does not take while it is copied is a ``StoreError`` that quotes nothing, and leaves nothing."""
    with pytest.raises(StoreError, match="cannot be used") as failure:
        await store.put_vectors("i", [item("m", [1.0, 0.0], facts={"secret": "a\0"})])
    assert "secret" not in f"{failure.value!r}{failure.value.__cause__!r}"
    assert await store.search("i", [1.0, 0.0], top_k=9, resource_id=None) == []


async def test_a_put_that_is_cancelled_leaves_nothing(store: Any, pgvector_server: PostgresServer) -> None:
    """Who is cancelled while vectors are copied has put none, and the connection is of use again."""
    from procession.storage.postgres.vector_table import VectorTable

    psycopg = pytest.importorskip("psycopg")
    await store.put_vectors("i", [item("first", [1.0, 0.0])])
    name = VectorTable.of("i", store._connection.schema).name
    with psycopg.connect(pgvector_server.url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(4711)")  # which the first row that is copied waits for
        other.execute(
            "CREATE FUNCTION pg_temp.held() RETURNS trigger LANGUAGE plpgsql"
            " AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'"
        )
        other.execute(f"CREATE TRIGGER held BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION pg_temp.held()")
        async with anyio.create_task_group() as group:
            group.start_soon(store.put_vectors, "i", [item(f"m{at}", [1.0, 0.5]) for at in range(2000)])
            while not other.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND objid = 4711").fetchone():
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        other.execute(f"DROP TRIGGER held ON {name}")
    assert ids(await store.search("i", [1.0, 0.0], top_k=9, resource_id="ada")) == ["first"]
    await store.put_vectors("i", [item("second", [1.0, 0.0])])
    assert len(await store.search("i", [1.0, 0.0], top_k=9, resource_id="ada")) == 2


async def test_upgrading_brings_the_extension(pgvector_server: PostgresServer) -> None:
    """After an upgrade who serves needs no right to bring extensions: to make tables in the schema is enough."""
    from procession.storage.postgres.store import PostgresStore

    psycopg = pytest.importorskip("psycopg")
    url = postgres_stores.fresh_database(pgvector_server)
    role = url.rpartition("/")[2] + "_server"
    async with PostgresStore(url, schema="agents") as store:
        await store.upgrade()
    with psycopg.connect(url, autocommit=True) as other:
        assert other.execute(
            "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
        ).fetchone() == ("public",)  # where the statements of every schema find it
        other.execute(f"CREATE ROLE {role} LOGIN")
        other.execute(f"GRANT USAGE, CREATE ON SCHEMA agents TO {role}")
        other.execute(f"GRANT SELECT ON agents.procession_version TO {role}")
        async with PostgresStore(url.replace("procession@", f"{role}@"), schema="agents") as serving:
            await serving.put_vectors("i", [item("m", [1.0, 0.0])])
            assert ids(await serving.search("i", [1.0, 0.0], top_k=9, resource_id="ada")) == ["m"]
            assert await serving.build_vector_index("i")
        other.execute(f"DROP OWNED BY {role}")
        other.execute(f"DROP ROLE {role}")


async def test_who_may_not_bring_the_extension(pgvector_server: PostgresServer) -> None:
    """Who may make tables and no extension upgrades all the same, and is told when vectors are put."""
    from procession.storage.postgres.store import PostgresStore

    psycopg = pytest.importorskip("psycopg")
    url = postgres_stores.fresh_database(pgvector_server)
    role = url.rpartition("/")[2] + "_server"
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"CREATE ROLE {role} LOGIN")
        other.execute(f"CREATE SCHEMA agents AUTHORIZATION {role}")
        async with PostgresStore(url.replace("procession@", f"{role}@"), schema="agents") as store:
            await store.upgrade()
            assert (await store.table_version()).is_current
            with pytest.raises(StoreError, match="this user may not bring it in"):
                await store.put_vectors("i", [item("m", [1.0, 0.0])])
        other.execute(f"DROP OWNED BY {role}")
        other.execute(f"DROP ROLE {role}")


async def test_many_bring_the_extension_at_once(pgvector_server: PostgresServer) -> None:
    """Of several schemas whose first vectors come at once into a database without the extension none is refused."""
    from procession.storage.postgres.store import PostgresStore

    psycopg = pytest.importorskip("psycopg")
    url = postgres_stores.fresh_database(pgvector_server)
    async with PostgresStore(url) as store:
        await store.upgrade()
        with psycopg.connect(url, autocommit=True) as other:
            for _ in range(3):
                other.execute("DROP EXTENSION vector CASCADE")
                await store.delete_vectors(resource_id="ada")
                for name in await ask(
                    store, "SELECT relname FROM pg_class WHERE relname ~ '^procession_vectors_[0-9a-f]+$'"
                ):
                    other.execute(f"DROP TABLE {name[0]}")
                async with anyio.create_task_group() as group:
                    for number in range(6):
                        group.start_soon(store.put_vectors, f"i{number}", [item("m", [1.0, 0.0])])
        assert len(await ask(store, "SELECT FROM pg_extension WHERE extname = 'vector'")) == 1
