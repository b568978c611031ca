"""What the tests of conversations share: the stores, made anew for each test, and messages of known times."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.storage import postgres_stores
from tests.storage.journals import Clock
from tests.storage.other_process import in_turns

from procession.messages.message import Message
from procession.storage.cipher import new_key
from procession.storage.file_sink import FileSink
from procession.storage.index_queue import IndexQueue
from procession.storage.memory import InMemoryStore
from procession.storage.notes import NoteStore
from procession.storage.records import Records
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.threads import MessageRef, Passage, ThreadStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

KINDS: list[Any] = [
    "memory",
    "sqlite",
    "sealed",
    "two-processes",
    pytest.param("postgres", marks=pytest.mark.service),
    pytest.param("postgres-sealed", marks=pytest.mark.service),
]
"""The stores that must pass; one that needs a server is ``pytest.param(..., marks=pytest.mark.service)``."""


class Conversations(ThreadStore, NoteStore, IndexQueue, Protocol):
    """What keeps conversations, and what belongs to them."""


@asynccontextmanager
async def made(kind: str, folder: Path, clock: Clock, fixture: Callable[[str], Any]) -> AsyncGenerator[Conversations]:
    """Yield an empty store of *kind*; *fixture* returns what has to be started for it."""
    if kind == "memory":
        yield InMemoryStore(clock=clock)
        return
    records = sealing(folder) if kind.endswith("sealed") else None
    if kind.startswith("postgres"):
        async with postgres_stores.made(fixture("postgres_server"), clock=clock, records=records) as store:
            yield store
        return
    path = str(folder / "memory.db")
    async with SQLiteStore(path, records=records, clock=clock) as file:
        yield file if kind != "two-processes" else in_turns(file, fixture("other_process"), path, clock)


def sealing(folder: Path, limit: int = 300) -> Records:
    """Return records that are encrypted where that is possible, and stand in *folder* where they are long."""
    is_encrypted = find_spec("cryptography") is not None
    key = new_key() if is_encrypted else None
    return Records(key=key, sink=FileSink(folder / "objects"), limit=limit, refuse_plain=is_encrypted)


def said(text: str, minute: float = 0, *, id: str | None = None) -> Message:
    """Return a user's message of a minute past noon, whose id is its text unless it is given."""
    made = Message.user(text, id=id if id is not None else text)
    return made.replace(created_at=NOON + timedelta(minutes=minute))


def texts(messages: Iterable[Message]) -> list[str]:
    """Return what was said."""
    return [message.text for message in messages]


def passages(found: Iterable[Passage]) -> dict[str, list[str]]:
    """Return what was said in each thread that something was found in."""
    return {passage.thread.id: texts(passage.messages) for passage in found}


def refs(thread_id: str, *ids: str) -> list[MessageRef]:
    """Return the names of messages."""
    return [MessageRef(thread_id, id) for id in ids]
