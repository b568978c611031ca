"""A real file of SQLite, from which somebody is forgotten: not a word of theirs is in it, and all words of others are."""

from __future__ import annotations

import sqlite3
from array import array
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.agents.suspending import doing

from procession.agents.agent import Agent
from procession.agents.forget import Forgotten
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.storage.cipher import new_key
from procession.storage.file_sink import FileSink
from procession.storage.notes import NoteKey
from procession.storage.records import Records
from procession.storage.sealed_journal import SealedJournal
from procession.storage.sqlite.cache import SQLiteCacheStore
from procession.storage.sqlite.journal import SQLiteJournal
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.vectors import VectorItem
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

ADA = "ada@example.org"
WORDS = {("t1", ADA): "AdaTulipOne", ("t2", ADA): "AdaTulipTwo", ("t3", "bob"): "BobTulip"}
needs_cryptography = pytest.mark.skipif(
    find_spec("cryptography") is None, reason="needs cryptography: pip install 'procession[encryption]'"
)


def on_disk(folder: Path) -> bytes:
    """Return what stands in all files of *folder*."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def words_in(folder: Path) -> set[str]:
    """Return whose words are in the files of *folder*."""
    found = on_disk(folder)
    return {word for word in WORDS.values() if word.encode() in found}


def check_objects(folder: Path) -> None:
    """Check that there are objects, and that each is one that a row of the file names."""
    made = sqlite3.connect(folder / "all.db")
    rows = "".join(made.iterdump())
    made.close()
    objects = [path.name for path in (folder / "objects").rglob("*") if path.is_file()]
    assert objects
    assert [name for name in objects if name not in rows] == []


class Stores:
    """All stores of an agent, in one file and one folder of objects."""

    def __init__(self, folder: Path, key: str | None, limit: int | None) -> None:
        path = folder / "all.db"
        sink = FileSink(folder / "objects") if limit is not None else None
        records = Records(key=key, sink=sink, limit=limit)
        self.store = SQLiteStore(path, records=records)
        self.file = SQLiteJournal(path)
        self.journal = SealedJournal(self.file, records)
        self.cache = SQLiteCacheStore(path)

    async def fill(self, *, cached: bool) -> Agent:
        """Let an agent answer and be suspended in each thread, and write down notes and vectors."""
        script: list[Any] = []
        for word in WORDS.values():
            script += [say(f"I know {word}. " * 300), say(f"Wait, {word}.") + call_tool("act", {"about": word})]
        agent = Agent(
            "a",
            model=FakeModel(script),
            tools=[doing("act", [], lambda args, ctx: ctx.suspend({"sure of": args}))],
            input_processors=[ResponseCache(self.cache)] if cached else [],
            memory=Memory(self.store),
            runtime=Runtime(self.journal),
        )
        for (thread, resource), word in WORDS.items():
            named: dict[str, Any] = {"resource": resource, "thread": thread}
            assert (await agent.generate(f"Do you know {word}?", **named)).status == "completed"
            assert (await agent.generate(f"Tell me of {word}.", **named)).status == "suspended"
            await self.store.update_thread(thread, resource, title=f"Of {word}", metadata={"about": word})
            key = NoteKey(kind="working-memory", resource_id=resource, thread_id=thread)
            assert await self.store.put_note(key, f"Likes {word}. " * 100, version=0)
            facts = {"about": word} if cached else None  # these are not encrypted either
            vector = array("f", [1.0, float(len(word))])
            item = VectorItem(thread_id=thread, resource_id=resource, message_id="m", vector=vector, facts=facts)
            await self.store.put_vectors("i", [item])
        return agent

    async def aclose(self) -> None:
        """Close the file."""
        await self.store.aclose()
        await self.journal.aclose()
        await self.cache.aclose()


@pytest.mark.parametrize("limit", [None, 200], ids=["rows", "objects"])
@pytest.mark.parametrize(
    "is_encrypted", [pytest.param(False, id="plain"), pytest.param(True, id="encrypted", marks=needs_cryptography)]
)
@pytest.mark.parametrize("thread", [None, "t1"], ids=["resource", "thread"])
async def test_nothing_is_left_in_the_file(
    tmp_path: Path, thread: str | None, is_encrypted: bool, limit: int | None
) -> None:
    """Once the file is closed no word of what was forgotten is in it, in its log or in the sink; others' words are read."""
    stores = Stores(tmp_path, new_key() if is_encrypted else None, limit)
    agent = await stores.fill(cached=not is_encrypted)  # answers in caches are not encrypted
    assert words_in(tmp_path) == (set() if is_encrypted else set(WORDS.values()))
    forgotten = await agent.forget(resource=ADA, thread=thread)
    assert (forgotten.threads, forgotten.vectors, forgotten.runs) == ((2, 2, 2) if thread is None else (1, 1, 1))
    assert forgotten.left == ()
    await stores.aclose()
    assert (ADA.encode() in on_disk(tmp_path)) == (thread is not None)  # ids are personal data, too
    stay = {word for (name, resource), word in WORDS.items() if resource == "bob" or thread not in (None, name)}
    assert words_in(tmp_path) == (set() if is_encrypted else stay)
    for (name, resource), word in WORDS.items():
        found = await stores.store.messages(name, resource_id=resource)
        assert bool(found) == (word in stay)
        assert word in "".join(message.text for message in found) or word not in stay
        runs = await agent.runtime.list(resource_id=resource, thread_id=name)
        assert len(runs) == int(word in stay)
    if limit is not None:
        check_objects(tmp_path)
    assert await agent.forget(resource=ADA, thread=thread) == Forgotten()
    await stores.aclose()
