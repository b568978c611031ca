"""Conversations in a file whose long texts stand elsewhere: nothing is left behind there, whatever becomes of a call."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs
from tests.storage.conversations import passages, refs, said, texts
from tests.storage.test_records import files

from procession.errors import InputError, MessageError, StoreError
from procession.messages.message import Message
from procession.storage.file_sink import FileSink
from procession.storage.notes import Note, NoteKey
from procession.storage.records import Records
from procession.storage.sqlite.store import SQLiteStore

KEY = NoteKey(kind="working-memory", resource_id="ada", thread_id="t")


class Sink(FileSink):
    """A sink that may fail."""

    puts = -1
    """How many texts it still takes; as many as there are below nought."""
    can_delete = True
    refusals = 0
    """How many deletions fail before they work."""

    async def put(self, data: bytes, *, media_type: str, name: str | None, scope: str | None) -> str:
        """Keep it, or fail."""
        if self.puts == 0:
            raise StoreError("no room")
        self.puts -= 1
        return await super().put(data, media_type=media_type, name=name, scope=scope)

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """Delete it, or fail."""
        self.refusals -= 1
        if not self.can_delete or self.refusals >= 0:
            raise StoreError("not now")
        return await super().delete(reference, scope=scope)


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    """Return an empty sink."""
    return Sink(tmp_path / "sink")


@pytest.fixture
def records(sink: Sink) -> Records:
    """Return records that stand elsewhere from 1000 bytes on."""
    return Records(sink=sink, limit=1_000)


def long(id: str, letter: str = "x", minute: int = 0) -> Message:
    """Return a message that is too long for the file."""
    return said(letter * 2_000, minute, id=id)


async def test_long_texts_stand_elsewhere_and_go_with_their_rows(tmp_path: Path, sink: Sink, records: Records) -> None:
    """A long message, title, note and metadata have an object each, which goes when they are replaced or deleted."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:

        async def objects(number: int) -> None:
            assert len(files(sink.directory)) == number

        await store.save("t", "ada", [long("m"), said("short")], title="T" * 2_000, metadata={"a": "M" * 2_000})
        await store.put_note(KEY, "N" * 2_000, version=0)
        await objects(4)
        assert texts(await store.messages("t")) == ["x" * 2_000, "short"]
        thread = await store.thread("t")
        assert thread is not None
        assert (thread.title, thread.metadata) == ("T" * 2_000, {"a": "M" * 2_000})
        await store.save("t", "ada", [long("m", "y")], title="unused " * 2_000, metadata={"b": 1})
        await store.put_note(KEY, "O" * 2_000, version=1)
        await objects(4)
        assert texts(await store.messages("t", last=2)) == ["y" * 2_000, "short"]
        thread = await store.thread("t")
        assert thread is not None
        assert (thread.title, thread.metadata) == ("T" * 2_000, {"a": "M" * 2_000, "b": 1})
        await store.update_thread("t", "ada", title="short", metadata=None)
        await objects(2)
        await store.delete_note(KEY)
        await store.delete_messages("t", "ada", ["m"])
        await objects(0)
        await store.delete_thread("t", "ada")
        for way in ("thread", "resource"):
            await store.save("t", "ada", [long("m")], title="T" * 2_000, metadata={"a": "M" * 2_000})
            await store.put_note(KEY, "N" * 2_000, version=0)
            await store.save("t2", "bob", [long("m")])
            await objects(5)
            assert await (store.delete_thread("t", "ada") if way == "thread" else store.delete_resource("ada"))
            await objects(1)
            await store.delete_resource("bob")
            await objects(0)


async def test_what_is_not_written_leaves_nothing_elsewhere(tmp_path: Path, sink: Sink, records: Records) -> None:
    """Where a save is refused or fails, and where a note is somebody else's, what was put elsewhere for it is gone."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [long("m")])
        await store.put_note(KEY, "short", version=0)
        with pytest.raises(MessageError, match="another resource"):
            await store.save("t", "bob", [long("n"), long("o")], title="T" * 2_000)
        assert await store.put_note(KEY, "N" * 2_000, version=7) is None
        assert await store.update_thread("t", "bob", title="T" * 2_000) is None
        assert await store.update_thread("no", "ada", metadata={"a": "M" * 2_000}) is None
        sink.puts = 2
        with pytest.raises(StoreError, match="no room"):
            await store.save("t", "ada", [long("n"), long("o"), long("p")])
        sink.puts = 1
        with pytest.raises(StoreError, match="no room"):
            await store.save("t", "ada", [long("n")], title="T" * 2_000)
        sink.puts = -1
        with pytest.raises(InputError, match="cannot keep"):
            await store.save("t", "ada", [long("n"), said("x", id="\ud800")])
        assert len(files(sink.directory)) == 1
        assert texts(await store.messages("t")) == ["x" * 2_000]


async def test_who_is_cancelled_leaves_nothing_elsewhere(tmp_path: Path, sink: Sink, records: Records) -> None:
    """In a scope that is cancelled a save is whole, with its objects, or neither is there; a deletion takes its objects along."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [long("m")])
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.save("t", "ada", [long("n"), long("m", "y")])
        assert len(files(sink.directory)) == len(await store.messages("t"))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.delete_thread("t", "ada")
        assert len(files(sink.directory)) == len(await store.messages("t"))


async def test_what_could_not_be_deleted_elsewhere_is_told(tmp_path: Path, sink: Sink, records: Records) -> None:
    """The rows are gone, and the error names the objects that are still there."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [long("m")])
        sink.can_delete = False
        with pytest.raises(StoreError, match="1 large records are still in their sink"):
            await store.delete_thread("t", "ada")
        assert await store.thread("t") is None


async def test_what_was_replaced_and_stays_elsewhere_takes_nothing_along(
    tmp_path: Path, sink: Sink, records: Records
) -> None:
    """Where an old object cannot be deleted, what took its place is saved all the same, and is no failure: the log tells."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [long("m")], title="T" * 2_000, metadata={"a": "M" * 2_000})
        await store.put_note(KEY, "N" * 2_000, version=0)
        with capture_logs() as logs:
            sink.refusals = 1
            await store.save("t", "ada", [long("m", "y")])
            sink.refusals = 1
            assert await store.put_note(KEY, "n" * 2_000, version=1) == Note("n" * 2_000, 2)
            sink.refusals = 1
            assert await store.update_thread("t", "ada", title="U" * 2_000) is not None
        assert texts(await store.messages("t")) == ["y" * 2_000]
        assert await store.note(KEY) == Note("n" * 2_000, 2)
        thread = await store.thread("t")
        assert thread is not None
        assert (thread.title, thread.metadata) == ("U" * 2_000, {"a": "M" * 2_000})
    assert [entry["log_level"] for entry in logs] == ["warning"] * 3
    assert all(re.search(r"\bada\b", str(entry)) is None and "in their sink" in entry["event"] for entry in logs)


async def test_two_who_lay_metadata_over_each_other(tmp_path: Path, sink: Sink, records: Records) -> None:
    """Metadata that the file cannot read are read before, and again where somebody else has changed them meanwhile."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        async with anyio.create_task_group() as group:
            for name in "abcdef":
                group.start_soon(_save, store, name)
        thread = await store.thread("t")
        assert thread is not None
        assert thread.metadata == {name: name * 2_000 for name in "abcdef"}
        assert len(files(sink.directory)) == 1


async def _save(store: SQLiteStore, name: str) -> None:
    await store.save("t", "ada", [said(name)], metadata={name: name * 2_000})


async def test_who_reads_while_others_replace(tmp_path: Path, sink: Sink, records: Records) -> None:
    """What is replaced or deleted between its row and its object is read as it is then, and nobody is told of a loss."""
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [long("m")], title="T" * 2_000, metadata={"a": "M" * 2_000}, indexes=["i"])
        await store.put_note(KEY, "N" * 2_000, version=0)
        get = sink.get
        changes: list[Callable[[], Awaitable[object]]] = []

        async def changed(reference: str, *, scope: str | None) -> bytes | None:
            if changes:
                await changes.pop()()
            return await get(reference, scope=scope)

        sink.get = changed  # type: ignore[method-assign]
        changes.append(lambda: store.save("t", "ada", [long("m", "y")]))
        assert texts(await store.messages("t")) == ["y" * 2_000]
        changes.append(lambda: store.save("t", "ada", [long("m", "z")]))
        assert passages(await store.around(refs("t", "m"), resource_id="ada")) == {"t": ["z" * 2_000]}
        changes.append(lambda: store.put_note(KEY, "O" * 2_000, version=1))
        assert await store.note(KEY) == Note("O" * 2_000, 2)
        changes.append(lambda: store.update_thread("t", "ada", title="U" * 2_000))
        thread = await store.thread("t")
        assert thread is not None
        assert thread.title == "U" * 2_000
        changes.append(lambda: store.update_thread("t", "ada", title="V" * 2_000))
        assert [each.title for each in (await store.threads("ada")).threads] == ["V" * 2_000]
        changes.append(lambda: store.save("t", "ada", [said("short")], metadata={"b": "M" * 2_000}))
        await store.save("t", "ada", [said("too")], metadata={"c": 1})
        thread = await store.thread("t")
        assert thread is not None
        assert thread.metadata == {"a": "M" * 2_000, "b": "M" * 2_000, "c": 1}
        await store.save("t", "ada", [long("m")], indexes=["i"])
        changes.append(lambda: store.save("t", "ada", [long("m", "y")], indexes=["i"]))
        assert texts([each.message for each in await store.take("i", limit=9, seconds=0)]) == ["y" * 2_000]
        changes.append(lambda: store.delete_messages("t", "ada", ["m"]))
        assert await store.take("i", limit=9, seconds=30) == []
        await store.save("t", "ada", [long("m")])
        changes.append(lambda: store.delete_thread("t", "ada"))
        assert await store.messages("t") == []
        assert changes == []
