"""A file of conversations whose texts are encrypted, or stand in a sink: what it refuses, and what goes with its rows."""

from __future__ import annotations

import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.storage.conversations import said, texts

from procession.errors import DefinitionError, StoreError
from procession.storage.cipher import KEY_VARIABLE, new_key
from procession.storage.file_sink import FileSink
from procession.storage.notes import NoteKey
from procession.storage.open_store import open_store
from procession.storage.records import Records
from procession.storage.sqlite.store import SQLiteStore

needs_cryptography = pytest.mark.skipif(
    find_spec("cryptography") is None, reason="needs cryptography: pip install 'procession[encryption]'"
)
KEY = NoteKey(kind="working-memory", resource_id="ada")
LONG = "long " * 100


def objects(folder: Path) -> int:
    """Return how many objects the sink has."""
    return len([path for path in (folder / "objects").rglob("*") if path.is_file()])


def on_disk(folder: Path) -> bytes:
    """Return what stands in all files of *folder*, which there are."""
    found = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert b"procession_messages" in found
    return found


def changed(path: Path, *statements: str) -> None:
    """Change a file behind the back of its store."""
    made = sqlite3.connect(path)
    with made:
        for statement in statements:
            made.execute(statement)
    made.close()


async def fill(store: Any, word: str = "Tulip") -> None:
    """Save two threads of ada's and one of bob's, and a note."""
    for thread, resource in (("t", "ada"), ("u", "ada"), ("v", "bob")):
        messages = [said(f"{word} of {thread}", id="m"), said(f"{word} again", 1, id="n")]
        await store.save(thread, resource, messages, title=f"{word} title", metadata={"about": word})
    await store.put_note(KEY, f"Likes {word}", version=0)


@needs_cryptography
async def test_the_key_of_the_environment_encrypts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable set a store that is opened by name encrypts all that was said; nothing else need be done."""
    path = tmp_path / "memory.db"
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    store = open_store(path)
    await fill(store)
    assert b"Tulip" not in on_disk(tmp_path)
    assert texts(await store.messages("t", resource_id="ada")) == ["Tulip of t", "Tulip again"]
    thread = await store.thread("t", resource_id="ada")
    assert thread is not None and (thread.title, thread.metadata) == ("Tulip title", {"about": "Tulip"})
    await store.aclose()
    monkeypatch.setenv(KEY_VARIABLE, "")  # a secret that did not arrive is not to mean that nothing is encrypted
    with pytest.raises(DefinitionError, match=KEY_VARIABLE):
        open_store(path)
    for key in (None, new_key()):
        if key is None:
            monkeypatch.delenv(KEY_VARIABLE)
        else:
            monkeypatch.setenv(KEY_VARIABLE, key)
        other = open_store(path)
        for call in (other.messages("t"), other.thread("t"), other.threads("ada"), other.note(KEY)):
            with pytest.raises(StoreError, match=KEY_VARIABLE) as caught:
                await call
            assert "Tulip" not in str(caught.value)
        await other.aclose()
    assert await other.delete_resource("ada") == 2  # nobody needs the key to delete
    await other.aclose()


@needs_cryptography
async def test_a_row_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    """SEC-007: what was copied from another message, thread or resource, and a row that was changed, are refused."""
    path = tmp_path / "memory.db"
    async with SQLiteStore(path, records=Records(key=new_key())) as store:
        await fill(store)
        data = "UPDATE procession_messages SET data = (SELECT data FROM procession_messages WHERE number = {})"
        for other in (2, 3, 5):  # another message of the thread, one of that id in another thread, and of bob
            changed(path, data.format(other) + " WHERE number = 1")
            with pytest.raises(StoreError, match="changed, or copied"):
                await store.messages("t", resource_id="ada")
        changed(
            path, "UPDATE procession_threads SET title = (SELECT title FROM procession_threads WHERE thread_id = 'u')"
        )
        with pytest.raises(StoreError, match="changed, or copied"):
            await store.thread("t")
        assert await store.thread("u") is not None
        changed(path, "UPDATE procession_threads SET resource_id = 'eve' WHERE thread_id = 'u'")
        with pytest.raises(StoreError, match="changed, or copied"):
            await store.messages("u", resource_id="eve")


@needs_cryptography
async def test_plain_rows_are_read_or_refused(tmp_path: Path) -> None:
    """SEC-007: a file from before the key is read, and becomes encrypted as it is written; refuse_plain refuses it, and forgeries."""
    path, key = tmp_path / "memory.db", new_key()
    async with SQLiteStore(path, records=Records()) as store:
        await fill(store)
    async with SQLiteStore(path, records=Records(key=key)) as store:
        assert texts(await store.messages("t")) == ["Tulip of t", "Tulip again"]
        await store.save("t", "ada", [said("New Tulip", id="m")])
        assert texts(await store.messages("t")) == ["New Tulip", "Tulip again"]
    async with SQLiteStore(path, records=Records(key=key, refuse_plain=True)) as store:
        assert texts(await store.messages("t", before="n")) == ["New Tulip"]
        for call in (store.messages("t"), store.thread("t"), store.note(KEY)):
            with pytest.raises(StoreError, match="not encrypted"):
                await call


async def test_what_users_write_is_what_they_wrote(tmp_path: Path) -> None:
    """Titles, notes and messages that look like references or encrypted records come back as they are, without a key, too."""
    reference = "procession:kept:attachment:" + "0" * 32 + "/" + "0" * 64
    for text in (reference, "procession:sealed:AAAA", "procession:text:x", "procession:", "{", '{"$type":"Message"}'):
        path = tmp_path / f"{abs(hash(text))}.db"
        async with SQLiteStore(path, records=Records()) as store:
            await store.save("t", "ada", [said(text, id="m")], title=text, metadata={"a": text})
            assert await store.put_note(KEY, text, version=0)
        async with SQLiteStore(path, records=Records(sink=FileSink(tmp_path / "objects"))) as store:
            assert texts(await store.messages("t")) == [text]
            thread, note = await store.thread("t"), await store.note(KEY)
            assert thread is not None and (thread.title, thread.metadata) == (text, {"a": text})
            assert note is not None and note.text == text


async def test_objects_go_with_their_rows(tmp_path: Path) -> None:
    """What is long stands in the sink once, until it is written anew, deleted, or could not be saved."""
    records = Records(sink=FileSink(tmp_path / "objects"), limit=400)
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [said(LONG, id="m"), said("short", 1)], title=LONG, metadata={"a": LONG})
        assert await store.put_note(KEY, LONG, version=0)
        assert objects(tmp_path) == 4
        await store.save(
            "t", "ada", [said(LONG + "anew", id="m")], title=LONG + "is not taken", metadata={"a": LONG + "2"}
        )
        assert await store.put_note(KEY, LONG + "anew", version=1)
        assert await store.put_note(KEY, LONG + "too late", version=1) is None
        await store.update_thread("t", "ada", title=LONG + "anew")
        assert objects(tmp_path) == 4
        assert texts(await store.messages("t")) == [LONG + "anew", "short"]
        with pytest.raises(Exception, match="another resource"):
            await store.save("t", "bob", [said(LONG)], title=LONG)
        assert objects(tmp_path) == 4
        await store.save("t", "ada", [said("short now", id="m")])
        assert objects(tmp_path) == 3
        await store.save("u", "ada", [said(LONG)])
        assert await store.delete_messages("u", "ada", [LONG]) == 1
        assert objects(tmp_path) == 3
        assert await store.delete_note(KEY)
        assert await store.delete_thread("t", "ada")
        assert objects(tmp_path) == 0


async def test_an_object_that_is_lost_says_where(tmp_path: Path) -> None:
    """A message whose object is gone is an error that names both; the other threads are read, and it can be deleted."""
    records = Records(sink=FileSink(tmp_path / "objects"), limit=400)
    async with SQLiteStore(tmp_path / "memory.db", records=records) as store:
        await store.save("t", "ada", [said(LONG, id="m")])
        await store.save("u", "ada", [said("Hi")])
        lost = next(path for path in (tmp_path / "objects").rglob("*") if path.is_file())
        lost.unlink()
        with pytest.raises(StoreError, match="not in its sink any more, at attachment:") as caught:
            await store.messages("t")
        assert json.dumps("m") in str(caught.value) and lost.name in str(caught.value)
        assert texts(await store.messages("u")) == ["Hi"]
        assert await store.delete_thread("t", "ada")
