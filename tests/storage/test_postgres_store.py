"""A store in Postgres, beyond what every store promises: ``make services`` runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from tests.storage import postgres_stores
from tests.storage.conversations import said, texts
from tests.storage.postgres_program import turn
from tests.storage.postgres_server import PostgresServer
from tests.storage.postgres_stores import Other
from tests.storage.test_records import files
from tests.storage.test_sqlite_store_records import Sink
from tests.storage.test_unsafe_revival import payloads

from procession.errors import InputError, StoreError
from procession.messages.message import Message
from procession.storage.file_sink import FileSink
from procession.storage.notes import NoteKey
from procession.storage.records import Records
from procession.storage.threads import MessageRef

pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")

from sqlalchemy import event

if TYPE_CHECKING:
    from procession.storage.postgres.store import PostgresStore

pytestmark = pytest.mark.service


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.fixture
async def store(postgres_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    """Yield an empty store."""
    async with postgres_stores.made(postgres_server) as made:
        yield made


@pytest.fixture
def other(postgres_server: PostgresServer, store: PostgresStore) -> Iterator[Other]:
    """Yield another client."""
    made = Other(postgres_server, store)
    yield made
    made.end()


def test_each_event_loop_has_connections_of_its_own(postgres_server: PostgresServer) -> None:
    """One store serves several event loops, one after the other."""
    from procession.storage.postgres.store import PostgresStore

    store = PostgresStore(postgres_server.url, schema=postgres_stores.fresh_schema())

    async def use(number: int) -> int:
        async with store:
            await store.upgrade()
            await store.save("t", "ada", turn(str(number), 0, 1))
            return len(await store.messages("t"))

    assert [anyio.run(use, number) for number in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("instead", "told"),
    [("/nowhere", 'database "nowhere" does not exist'), ("nobody:swordfish@", 'role "nobody" does not exist')],
)
async def test_whom_the_server_does_not_let_in_is_told_why(
    postgres_server: PostgresServer, instead: str, told: str
) -> None:
    """The error has the server's own words, and no password."""
    from procession.storage.postgres.store import PostgresStore

    url = postgres_server.url.replace("/postgres" if instead[0] == "/" else "procession@", instead)
    async with PostgresStore(url) as store:
        with pytest.raises(StoreError) as raised:
            await store.thread("t")
    assert told in raised.value.message
    assert "swordfish" not in raised.value.message


async def test_a_message_that_cannot_be_read_keeps_no_other_from_being_embedded(
    store: PostgresStore, other: Other
) -> None:
    """What else waits is taken; alone it is an error that names it; once it is saved anew or deleted it is none."""
    await store.save("t", "ada", [said("SECRET", id="m"), said("more", 1)], indexes=["i"])
    other.made.execute("UPDATE procession_messages SET body = '{\"SECRET\"}' WHERE id = 'm'")
    taken = await store.take("i", limit=9, seconds=60)
    assert [item.message.id for item in taken] == ["more"]
    assert await store.take("i", limit=9, seconds=60) == []
    await store.done("i", taken)
    assert await store.waiting("i") == 1
    other.made.execute("UPDATE procession_to_index SET taken_until = NULL")
    with pytest.raises(StoreError, match=r"m.*corrupt") as raised:
        await store.take("i", limit=9, seconds=60)
    assert "SECRET" not in str(raised.value)
    await store.save("t", "ada", [said("new", id="m")], indexes=["i"])
    assert [item.message.text for item in await store.take("i", limit=9, seconds=60)] == ["new"]


@pytest.mark.parametrize("schema", ['a"b', "it's", "two words.x", "UPPER", "a\\b", "{x}", "$1", "ü", "x" * 63])
async def test_a_schema_may_have_any_name(postgres_server: PostgresServer, schema: str) -> None:
    """Tables are made, written and read in it, vectors aside."""
    from procession.storage.postgres.store import PostgresStore

    async with PostgresStore(postgres_server.url, schema=schema) as store:
        assert (await store.table_version()).found is None
        await store.upgrade()
        await store.save("t", "ada", [said("Hi")], title="Mine", metadata={"a": 1}, indexes=["i"])
        assert texts(await store.messages("t", last=1)) == ["Hi"]
        assert len(await store.take("i", limit=1, seconds=60)) == 1
        assert await store.delete_resource("ada") == 1


async def test_many_messages_that_cannot_be_read_are_passed_over(store: PostgresStore, other: Other) -> None:
    """More of them than are taken at a time keep no other from being taken."""
    await store.save("t", "ada", [said("x", at, id=f"m{at}") for at in range(20)], indexes=["i"])
    other.made.execute("UPDATE procession_messages SET body = '{' WHERE id <> 'm19'")
    assert [item.message.id for item in await store.take("i", limit=3, seconds=0)] == ["m19"]


async def test_letters_that_postgres_cannot_keep(store: PostgresStore) -> None:
    """Texts, titles and metadata may hold any; ids may not, which is said without quoting them."""
    odd = "a\0b \ud800 \x01 'ü'"
    message = Message.user(odd, id="m").with_metadata(odd=odd)
    await store.save("t", "ada", [message], title=odd, metadata={odd: odd})
    thread = await store.thread("t")
    assert thread is not None
    assert (thread.title, thread.metadata) == (odd, {odd: odd})
    assert await store.messages("t") == [message]
    for ask in (
        store.save("t\0", "ada", [said("Hi")]),
        store.save("t", "ada", [said("Hi", id="\0")]),
        store.save("t", "ada", [said("Hi", id="\ud800")]),
        store.thread("\0"),
        store.threads("\0"),
    ):
        with pytest.raises(InputError, match="cannot keep"):
            await ask
    assert len(await store.messages("t")) == 1


@pytest.mark.parametrize("way", ["newest", "before", "around"])
async def test_some_of_a_long_thread_are_found_by_an_index(store: PostgresStore, other: Other, way: str) -> None:
    """Of two long threads so many messages are touched as are read, in whatever way they are asked for."""
    many = [said(str(number), number, id=f"m{number}") for number in range(2000)]
    for thread_id in ("t", "u"):
        await store.save(thread_id, "ada", many)
    other.made.execute("ANALYZE")
    asked = listened(store)
    if way == "around":
        found = await store.around([MessageRef("t", "m1000")], resource_id="ada", before=5, after=4)
        assert texts(found[0].messages) == [str(number) for number in range(995, 1005)]
    else:
        before = "m1000" if way == "before" else None
        read = await store.messages("t", resource_id="ada", last=10, before=before)
        end = 1000 if way == "before" else 2000
        assert texts(read) == [str(number) for number in range(end - 10, end)]
    (statement, parameters) = asked[-1]
    explained = other.made.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).fetchone()[0]
    plan = json.loads(explained) if isinstance(explained, str) else explained
    touched = [node["Actual Rows"] * node["Actual Loops"] for node in nodes(plan[0]["Plan"]) if "Relation Name" in node]
    assert touched
    assert max(touched) <= 10


@pytest.mark.parametrize("thread_id", [None, "t7"])
async def test_what_is_deleted_is_found_by_an_index(store: PostgresStore, other: Other, thread_id: str | None) -> None:
    """Among many threads and notes of others none is looked at, whether a resource is deleted or a thread."""
    other.made.execute(
        "INSERT INTO procession_threads (id, resource_id, created_at, updated_at)"
        " SELECT 't' || n, 'r' || n, now(), now() FROM generate_series(1, 5000) AS n"
    )
    other.made.execute(
        "INSERT INTO procession_messages (thread_id, id, moment, body)"
        " SELECT 't' || n, 'm', 0, '{}' FROM generate_series(1, 5000) AS n"
    )
    other.made.execute(
        "INSERT INTO procession_notes (resource_id, kind, thread_id, version, body)"
        " SELECT 'r' || n, 'k', each, 1, '\"\"' FROM generate_series(1, 5000) AS n, LATERAL (VALUES (NULL), ('t' || n)) AS t (each)"
    )
    other.made.execute("ANALYZE")
    assert await store.thread("t7") is not None
    asked = listened(store)
    assert await (store.delete_thread(thread_id, "r7") if thread_id is not None else store.delete_resource("r7")) == 1
    for statement, parameters in asked:
        plan = other.made.execute(f"EXPLAIN {statement}", parameters).fetchall()
        assert not [line for (line,) in plan if "Seq Scan" in line], statement
    left = other.made.execute("SELECT count(*) FROM procession_notes WHERE resource_id = 'r7'").fetchone()
    assert left == (0 if thread_id is None else 1,)


def listened(store: PostgresStore) -> list[tuple[str, Any]]:
    """Return the list of the statements, with what they are about, that a store makes from now on."""
    asked: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *rest: Any) -> None:
        asked.append((statement, parameters))

    engine = store._connection._engines[asyncio.get_running_loop()]  # pyright: ignore[reportPrivateUsage]
    event.listen(engine.sync_engine, "before_cursor_execute", note)
    return asked


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each node of a plan, with those below it."""
    yield plan
    for each in plan.get("Plans", []):
        yield from nodes(each)


async def test_large_records_go_with_their_rows(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """What is long stands in the sink, and is deleted there when its row is written anew, or goes."""

    def kept() -> int:
        return sum(file.is_file() for file in tmp_path.rglob("*"))

    records = Records(sink=FileSink(tmp_path), limit=400)
    async with postgres_stores.made(postgres_server, records=records) as store:
        long = "long " * 100
        key = NoteKey(kind="k", resource_id="ada", thread_id="t")
        await store.save("t", "ada", [said(long, id="m"), said("short")], title=long, metadata={"a": long})
        await store.put_note(key, long, version=0)
        assert kept() == 4
        assert texts(await store.messages("t")) == [long, "short"]
        await store.save("t", "ada", [said(long + "!", id="m")], title=long + "not this", metadata={"b": 1})
        assert await store.put_note(key, long, version=7) is None
        await store.put_note(key, long + "!", version=1)
        await store.update_thread("t", "ada", title=long + "!", metadata={})
        assert kept() == 3
        with pytest.raises(InputError, match="another resource"):
            await store.save("t", "bob", [said(long)], title=long)
        assert kept() == 3
        assert await store.delete_messages("t", "ada", ["m"]) == 1
        assert await store.delete_thread("t", "ada")
        assert kept() == 0


async def test_a_sink_that_fails_loses_nothing_and_keeps_nothing(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Of what is not saved nothing stays in the sink; what was replaced and stays there is no failure of who wrote."""
    sink = Sink(tmp_path)
    async with postgres_stores.made(postgres_server, records=Records(sink=sink, limit=400)) as store:
        long = "long " * 100
        await store.save("t", "ada", [said(long, id="m")], metadata={"a": 1})
        sink.puts = 1
        with pytest.raises(StoreError, match="no room"):
            await store.save("t", "ada", [said(long, id="n"), said(long, id="o")])
        sink.puts = 1
        with pytest.raises(StoreError, match="no room"):
            await store.save("t", "ada", [said(long, id="n")], metadata={"a": long})
        sink.puts = 1
        with pytest.raises(StoreError, match="no room"):
            await store.update_thread("t", "ada", title=long, metadata={"a": long})
        sink.puts = -1
        with pytest.raises(InputError, match="cannot keep"):
            await store.save("t", "ada", [said(long, id="\0")])
        assert len(files(tmp_path)) == 1
        sink.refusals = 1
        await store.save("t", "ada", [said(long + "!", id="m")])
        assert texts(await store.messages("t")) == [long + "!"]
        assert len(files(tmp_path)) == 2


async def test_a_sink_that_is_not_given_is_told_of(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """Who deletes without the sink that a record was written to is told that its object is still there."""
    from procession.storage.postgres.store import PostgresStore

    key = NoteKey(kind="k", resource_id="ada")
    long = "long " * 100
    async with postgres_stores.made(postgres_server, records=Records(sink=FileSink(tmp_path), limit=400)) as store:
        for thread in ("t", "u", "v"):
            await store.save(thread, "ada", [said(long, id="m")], title=long, metadata={"a": long})
        await store.put_note(key, long, version=0)
        async with PostgresStore(
            postgres_server.url, schema=postgres_stores.schema_of(store), records=Records()
        ) as bare:
            with pytest.raises(StoreError, match="1 large records are still in their sink"):
                await bare.delete_messages("t", "ada", ["m"])
            with pytest.raises(StoreError, match="3 large records are still in their sink"):
                await bare.delete_thread("u", "ada")
            with pytest.raises(StoreError, match="1 large records are still in their sink"):
                await bare.delete_note(key)
            with pytest.raises(StoreError, match="5 large records are still in their sink"):
                await bare.delete_resource("ada")
            assert (await bare.threads("ada")).threads == ()


async def test_what_is_encrypted_does_not_stand_there(postgres_server: PostgresServer) -> None:
    """With a key none of the texts can be read in the tables, and without it they are refused."""
    pytest.importorskip("cryptography", reason="pip install 'procession[encryption]'")
    from procession.storage.cipher import new_key
    from procession.storage.postgres.store import PostgresStore

    key = NoteKey(kind="k", resource_id="ada")
    async with postgres_stores.made(postgres_server, records=Records(key=new_key())) as store:
        await store.save("t", "ada", [said("swordfish", id="m")], title="swordfish", metadata={"a": "swordfish"})
        await store.put_note(key, "swordfish", version=0)
        thread = await store.thread("t")
        assert thread is not None
        assert (thread.title, thread.metadata) == ("swordfish", {"a": "swordfish"})
        assert texts(await store.messages("t")) == ["swordfish"]
        other = Other(postgres_server, store)
        for table in ("threads", "messages", "notes"):
            rows = other.made.execute(f"SELECT * FROM procession_{table}").fetchall()
            assert rows
            assert "swordfish" not in str(rows)
        other.end()
        async with PostgresStore(
            postgres_server.url, schema=postgres_stores.schema_of(store), records=Records()
        ) as bare:
            for ask in (bare.thread("t"), bare.messages("t"), bare.note(key)):
                with pytest.raises(StoreError, match="encrypted"):
                    await ask


async def test_what_others_wrote_into_the_tables_is_refused(store: PostgresStore, other: Other, tmp_path: Path) -> None:
    """
    SEC-007: a pickle, JSON that names a function, and whatever else is no message is a ``StoreError`` that names the row, and
    quotes nothing; nothing is imported or called, and the marker is not there.
    """
    marker = tmp_path / "MARKER"
    pickled, *texts = payloads(marker)
    assert isinstance(pickled, bytes)  # a column of texts takes none
    await store.save("t", "ada", [said("Hi", id="m")], title="Mine", metadata={"a": 1})
    for body in (pickled.hex(), *texts, "swordfish", '{"$type":"swordfish"}', '"swordfish"', "[1]"):
        other.made.execute("UPDATE procession_messages SET body = %s", (body,))
        with pytest.raises(StoreError, match="'m'.*'t'") as raised:
            await store.messages("t")
        assert "swordfish" not in str(raised.value)
    for body in ("{", "[1]", "7"):
        other.made.execute("UPDATE procession_threads SET title = %s", (body,))
        with pytest.raises(StoreError, match=r'\["title","t"\]'):
            await store.thread("t")
    assert not marker.exists()


async def test_many_that_write_into_threads_in_any_order_do_not_stop_each_other(store: PostgresStore) -> None:
    """What Postgres ends, as two wait for each other, is done again."""

    async def save(many: list[Message]) -> None:
        await store.save("t", "ada", many, indexes=["i"])

    async with anyio.create_task_group() as group:
        for number in range(40):
            many = [said(str(each), id=f"m{each}") for each in range(20)]
            group.start_soon(save, many if number % 2 else many[::-1])
            group.start_soon(take_and_do, store)
            if number % 10 == 0:
                group.start_soon(store.note_all, "i")
    assert len(await store.messages("t")) == 20


async def take_and_do(store: PostgresStore) -> None:
    """Take some of what is to be embedded, and say that it was."""
    taken = await store.take("i", limit=7, seconds=9)
    assert await store.done("i", taken[::-1]) == []
