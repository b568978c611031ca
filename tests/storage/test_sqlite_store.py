"""The file of conversations: what stands in it, files of other versions, rows that somebody has tampered with, growth."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.storage.conversations import refs, said, texts
from tests.storage.journals import RUN, Clock
from tests.storage.test_sqlite_file import VERSION_1
from tests.storage.test_unsafe_revival import payloads

from procession.errors import DefinitionError, InputError, MessageError, StoreError
from procession.messages.message import Message
from procession.messages.parts import DataPart
from procession.storage.costs import CostEntry
from procession.storage.notes import NoteKey
from procession.storage.sqlite.cache import SQLiteCacheStore
from procession.storage.sqlite.connection import Connection
from procession.storage.sqlite.conversation_file import CONVERSATIONS
from procession.storage.sqlite.costs import SQLiteCosts
from procession.storage.sqlite.journal import SQLiteJournal
from procession.storage.sqlite.schema import Family
from procession.storage.sqlite.store import SQLiteStore

KEY = NoteKey(kind="working-memory", resource_id="ada", thread_id="t")

RELEASED = {
    "0.2.0": VERSION_1,
    "0.3.0": VERSION_1.with_name("file_0_3.sql"),
    "0.4.0": VERSION_1.with_name("file_0_4.sql"),
}
"""Files that released versions have written: with runs, those of 0.4.0 with a cache and costs as well."""


async def fill(path: Path) -> None:
    """Save a turn, and write a note."""
    async with SQLiteStore(path) as store:
        await store.save("t", "ada", [said("SECRET", id="m"), said("more", 1)], title="Title", indexes=["i"])
        await store.save("u", "ada", [said("kept", id="k")])
        await store.put_note(KEY, "SECRET of ada's", version=0)


def change(path: Path, statement: str, *values: Any) -> None:
    """Change rows, as somebody may who can write the file."""
    with sqlite3.connect(path) as made:
        assert made.execute(statement, values).rowcount > 0
    made.close()


async def test_a_file_outlives_its_store(tmp_path: Path) -> None:
    """What one store wrote, another one of the same file reads; a closed store opens again."""
    path = tmp_path / "memory.db"
    await fill(path)
    async with SQLiteStore(path) as first, SQLiteStore(path) as second:
        for store in (first, second, first):
            assert texts(await store.messages("t", resource_id="ada")) == ["SECRET", "more"]
            note = await store.note(KEY)
            assert note is not None
            assert note.text == "SECRET of ada's"
            await store.aclose()
        assert await second.waiting("i") == 2


async def test_the_file_is_made_at_its_first_use(tmp_path: Path) -> None:
    """A store that nobody has used leaves no file; the new file can be read by its owner alone."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        assert os.listdir(tmp_path) == []
        assert await store.messages("t") == []
        assert {os.stat(tmp_path / name).st_mode & 0o777 for name in os.listdir(tmp_path)} == {0o600}


@pytest.mark.parametrize("way", ["messages", "thread", "resource"])
async def test_what_is_deleted_is_overwritten(tmp_path: Path, way: str) -> None:
    """Once it was deleted, and the file was closed, what was said is nowhere in it."""
    path = tmp_path / "memory.db"
    await fill(path)
    assert b"SECRET" in path.read_bytes()
    async with SQLiteStore(path) as store:
        if way == "messages":
            await store.delete_messages("t", "ada", ["m"])
            await store.delete_note(KEY)
        elif way == "thread":
            await store.delete_thread("t", "ada")
        else:
            await store.delete_resource("ada")
    assert os.listdir(tmp_path) == ["memory.db"]
    assert b"SECRET" not in path.read_bytes()


async def test_what_is_replaced_is_overwritten(tmp_path: Path) -> None:
    """What a message said before it was saved anew, and a note before it was written anew, is nowhere in the file."""
    path = tmp_path / "memory.db"
    await fill(path)
    async with SQLiteStore(path) as store:
        await store.save("t", "ada", [said("masked", id="m")])
        await store.put_note(KEY, "shorter", version=1)
    assert b"SECRET" not in path.read_bytes()


@pytest.mark.parametrize("version", RELEASED)
async def test_files_of_released_versions_hold_conversations(tmp_path: Path, version: str) -> None:
    """A file that a released version has written opens, gains the tables, and everything that was in it is there."""
    path, written = tmp_path / "runs.db", RELEASED[version]
    if written.suffix == ".db":
        path.write_bytes(written.read_bytes())
    else:
        with sqlite3.connect(path) as made:
            made.executescript(written.read_text("utf-8"))
        made.close()
    for _ in range(2):
        await fill_once(path)
        async with SQLiteJournal(path) as journal:
            runs = {row.run_id: row.status for row in await journal.runs()}
            if version == "0.2.0":
                assert runs.keys() == {"held", "failed", "blocked", "aborted", "completed", "waits"}
            else:
                assert runs == {"flow-1": "success", "agent-1": "suspended"}
                assert [(row.seq, row.data) for row in await journal.entries("flow-1")] == [(0, "2"), (1, "6")]
                assert await journal.graph("sha256:x") == '{"steps":[]}'
        if version == "0.4.0":
            async with SQLiteCacheStore(path, clock=lambda: 1764500001.0) as cache:
                assert await cache.get("key") == "value"
            async with SQLiteCosts(path, clock=lambda: 1764500001.0) as costs:
                assert (await costs.balance("ada", seconds=3600)).spent == 250


async def fill_once(path: Path) -> None:
    """Save a message, and find it."""
    async with SQLiteStore(path) as store:
        await store.save("t", "ada", [said("Hi")])
        assert texts(await store.messages("t")) == ["Hi"]


async def test_all_stores_share_a_file(tmp_path: Path) -> None:
    """Conversations, runs, a cache and costs may stand in one file, whoever makes it."""
    path = tmp_path / "all.db"
    async with (
        SQLiteStore(path) as store,
        SQLiteJournal(path) as journal,
        SQLiteCacheStore(path) as cache,
        SQLiteCosts(path) as costs,
    ):
        await cache.set("k", "v", ttl=60)
        await journal.add(RUN)
        await store.save("t", "ada", [said("Hi")])
        await costs.book("ada", [CostEntry(id="c", amount=1)])
        assert texts(await store.messages("t")) == ["Hi"]
        assert await journal.row("r") is not None
        assert await cache.get("k") == "v"
        assert (await costs.balance("ada")).spent == 1


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    """Conversations of a newer version are refused, with the versions named, and left; runs beside them are read."""
    path = tmp_path / "memory.db"
    await fill(path)
    change(path, "UPDATE procession_families SET version = 99 WHERE name = 'conversations'")
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match=r"newer version: its tables of conversations.*99.*knows 1.*update"):
            await store.messages("t")
        with pytest.raises(StoreError, match="newer version"):
            await store.save("t", "ada", [said("lost", 9)])
    async with SQLiteJournal(path) as journal:
        assert await journal.add(RUN)
    change(path, "UPDATE procession_families SET version = 1 WHERE name = 'conversations'")
    async with SQLiteStore(path) as store:
        assert texts(await store.messages("t")) == ["SECRET", "more"]


async def test_tables_are_changed_step_by_step(tmp_path: Path) -> None:
    """Tables of any earlier version become those of now, all or nothing; new ones are made as they are now."""
    steps = (["ALTER TABLE pets ADD COLUMN legs INTEGER DEFAULT 4"], ["ALTER TABLE pets RENAME COLUMN legs TO feet"])
    made_first = Family(name="pets", tables=["CREATE TABLE pets (name TEXT)", "INSERT INTO pets VALUES ('Rex')"])
    now = made_first.replace(tables=["CREATE TABLE pets (name TEXT, feet INTEGER DEFAULT 4)"], upgrades=steps)
    assert (made_first.version, now.version) == (1, 3)

    async def found(path: Path, family: Family, question: str) -> Any:
        made = Connection(path, families=[CONVERSATIONS, family])
        try:
            return await made.read(lambda raw: raw.execute(question).fetchall())
        finally:
            await made.close()

    path = tmp_path / "pets.db"
    version = "SELECT version FROM procession_families WHERE name = 'pets'"
    assert await found(path, made_first, "SELECT * FROM pets") == [("Rex",)]
    broken = now.replace(upgrades=(steps[0], ["DROP TABLE nowhere"]))
    with pytest.raises(StoreError, match="nowhere"):
        await found(path, broken, "SELECT * FROM pets")
    assert await found(path, made_first, version) == [(1,)]
    assert await found(path, made_first.replace(upgrades=steps[:1]), "SELECT name, legs FROM pets") == [("Rex", 4)]
    assert await found(path, now, "SELECT name, feet FROM pets") == [("Rex", 4)]
    assert await found(path, now, version) == [(3,)]
    new = tmp_path / "new.db"
    assert await found(new, now, "SELECT name, feet FROM pets") == []
    assert await found(new, now, version) == [(3,)]


@pytest.mark.parametrize("number", range(12))
async def test_a_tampered_message_is_refused(tmp_path: Path, number: int) -> None:
    """
    SEC-007: a pickle, JSON that names a function, and whatever else is no message is refused as corrupt, naming thread
    and message and quoting nothing; nothing is imported or called, and the marker is not there.
    """
    path, marker = tmp_path / "memory.db", tmp_path / "MARKER"
    await fill(path)
    tampered: list[Any] = [
        *payloads(marker),
        '{"$type":"Message","role":"user","parts":[1,2],"id":"m","created_at":{"$time":"2026-01-01T12:00:00+00:00"}}',
        '{"$type":"Message","role":"user","parts":[],"id":"m","created_at":5}',
        '{"$type":"Message","role":"root","parts":[],"id":"m"}',
        '["SECRET"]',
        '{"$type":"TextPart","text":"SECRET"}',
        "{" * 100_000,
        b"{}",
    ]
    change(path, "UPDATE procession_messages SET data = ? WHERE message_id = 'm'", tampered[number])
    async with SQLiteStore(path) as store:
        reads: list[Callable[[], Awaitable[object]]] = [
            lambda: store.messages("t"),
            lambda: store.messages("t", last=2),
            lambda: store.around(refs("t", "m"), resource_id="ada"),
        ]
        for read in reads:
            with pytest.raises(StoreError, match=r'(m.* of thread .t|"t","m").*corrupt') as caught:
                await read()
            assert "SECRET" not in str(caught.value)
        assert texts(await store.messages("u")) == ["kept"]
        assert texts(await store.messages("t", last=1)) == ["more"]
        assert await store.delete_messages("t", "ada", ["m"]) == 1
        assert texts(await store.messages("t")) == ["more"]
    assert not marker.exists()


async def test_many_messages_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    """More of them than are taken at a time keep no other from being embedded; alone they are an error."""
    path = tmp_path / "memory.db"
    async with SQLiteStore(path) as store:
        await store.save("t", "ada", [said("x", at, id=f"m{at}") for at in range(20)], indexes=["i"])
    change(path, "UPDATE procession_messages SET data = '{' WHERE message_id <> 'm19'")
    async with SQLiteStore(path) as store:
        taken = await store.take("i", limit=3, seconds=0)
        assert [item.message.id for item in taken] == ["m19"]
        await store.done("i", taken)
        with pytest.raises(StoreError, match="corrupt"):
            await store.take("i", limit=3, seconds=60)


async def test_a_message_in_anothers_place_is_refused(tmp_path: Path) -> None:
    """SEC-007: what is a message, but not the one whose row it stands in, is refused."""
    path = tmp_path / "memory.db"
    await fill(path)
    change(
        path,
        "UPDATE procession_messages SET data = (SELECT data FROM procession_messages WHERE message_id = 'more')"
        " WHERE message_id = 'm'",
    )
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match="message 'm' of thread 't' is corrupt"):
            await store.messages("t")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", pickle.dumps("x")),
        ("metadata", '["a"]'),
        ("metadata", "nothing"),
        ("metadata", json.dumps({"$type": "os.system"})),
        ("title", b"7"),
        ("created_at", "yesterday"),
        ("updated_at", 1e300),
    ],
)
async def test_a_tampered_thread_is_refused(tmp_path: Path, column: str, value: Any) -> None:
    """SEC-007: a thread whose title, times or metadata are none is refused as corrupt; others are read."""
    path = tmp_path / "memory.db"
    await fill(path)
    change(path, f"UPDATE procession_threads SET {column} = ? WHERE thread_id = 't'", value)
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match=r"t.*corrupt"):
            await store.thread("t")
        with pytest.raises(StoreError, match=r"t.*corrupt"):
            await store.threads("ada")
        assert await store.thread("u") is not None


async def test_what_cannot_be_read_keeps_nothing_else_from_being_embedded(tmp_path: Path, clock: Clock) -> None:
    """A tampered message that waits to be embedded is passed over, and told of where nothing else is left."""
    path = tmp_path / "memory.db"
    await fill(path)
    change(path, "UPDATE procession_messages SET data = '[]' WHERE message_id = 'm'")
    async with SQLiteStore(path, clock=clock) as store:
        for _ in range(2):
            assert [item.message.text for item in await store.take("i", limit=9, seconds=30)] == ["more"]
            clock.now += 30
        await store.done("i", await store.take("i", limit=9, seconds=0))
        with pytest.raises(StoreError, match="message 'm' of thread 't' is corrupt"):
            await store.take("i", limit=9, seconds=30)
        assert await store.take("i", limit=9, seconds=30) == []
        assert await store.waiting("i") == 1


async def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A message or metadata that JSON has no words for is refused, naming it, and nothing of the turn is written."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        strange = said("2").with_parts([DataPart("x", object())])
        with pytest.raises(MessageError, match="object"):
            await store.save("t", "ada", [said("1"), strange], indexes=["i"])
        with pytest.raises(MessageError, match="object"):
            await store.save("t", "ada", [said("1")], metadata={"x": object()}, indexes=["i"])
        assert await store.thread("t") is None
        assert await store.waiting("i") == 0
        assert list(await store.indexes()) == []


async def test_ids_that_no_file_can_hold(tmp_path: Path) -> None:
    """Half a character in an id is refused, whether something is written or read, without being quoted; nothing is left."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.save("\ud800", "ada", [said("Hi")]),
            lambda: store.save("t", "ada", [said("first"), said("Hi", id="\udfff")]),
            lambda: store.messages("\ud800"),
            lambda: store.threads("\ud800"),
            lambda: store.delete_resource("\ud800"),
        ]
        for call in calls:
            with pytest.raises(InputError, match="cannot keep: half of a pair"):
                await call()
        assert await store.thread("t") is None


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    """A word that SQLite would take for something else is refused where it is given."""
    off: Any = "off"
    with pytest.raises(DefinitionError, match="'off'.*full"):
        SQLiteStore(tmp_path / "memory.db", synchronous=off)


@pytest.fixture
def raw(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Return the list of the connections that are made; to be asked for before the store."""
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made.append(connect(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return made


async def test_a_long_thread_costs_what_a_short_one_does(raw: list[sqlite3.Connection], tmp_path: Path) -> None:
    """
    Reading the newest ten, those before and around one, and saving a turn take SQLite as many steps in a thread of 20,000
    messages as in one of 100: nobody reads the history.
    """
    async with SQLiteStore(tmp_path / "memory.db") as store:

        async def steps(work: Callable[[str], Awaitable[object]], thread: str) -> int:
            counted = 0

            def count() -> int:
                nonlocal counted
                counted += 1
                return 0

            raw[0].set_progress_handler(count, 1)
            await work(thread)
            raw[0].set_progress_handler(None, 1)
            return counted

        messages = [said(str(number), number / 1000) for number in range(20_000)]
        await store.save("short", "ada", messages[:100], indexes=["i"])
        await store.save("long", "ada", messages, indexes=["i"])
        works: dict[str, Callable[[str], Awaitable[object]]] = {
            "last": lambda thread: store.messages(thread, last=10),
            "before": lambda thread: store.messages(thread, last=10, before="50"),
            "around": lambda thread: store.around(refs(thread, "50"), resource_id="ada", before=2, after=2),
            "take": lambda _: store.take("i", limit=5, seconds=60),
            "save": lambda thread: store.save(thread, "ada", [Message.user("new")], indexes=["i"]),
        }
        for name, work in works.items():
            few, many = await steps(work, "short"), await steps(work, "long")
            assert 0 < many <= few * 1.2 + 20, name
