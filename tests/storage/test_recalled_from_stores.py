"""Recall from every store: what is said is kept, embedded and found, whatever it stands in."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.processors.recall_kit import INDEX, Words, friend, sent, told
from tests.storage import postgres_stores

from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.hash_embedder import HashEmbedder

KINDS: list[Any] = [
    "memory",
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.service),
    pytest.param("pgvector", marks=pytest.mark.service),
]


@asynccontextmanager
async def stores(kind: str, folder: Path, request: pytest.FixtureRequest) -> AsyncGenerator[tuple[Any, Any]]:
    """Yield an empty store of conversations, and one of vectors, ``None`` where it is the same."""
    if kind == "memory":
        yield InMemoryStore(), None
    elif kind == "sqlite":
        async with SQLiteStore(folder / "memory.db") as file:
            yield file, None
    else:
        server = request.getfixturevalue("postgres_server" if kind == "postgres" else "pgvector_server")
        async with postgres_stores.made(server) as store:
            yield store, None if kind == "pgvector" else InMemoryStore()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_said_is_found(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A turn is found by later ones of its thread and of its resource, by nobody else, and by another embedder as well."""
    async with stores(kind, tmp_path, request) as (store, vectors):
        memory = Memory(
            store, last_messages=1, vector=vectors, embedder=Words(),
            semantic_recall={"scope": "resource", "top_k": 1, "message_range": 0, "threshold": 0.5},
        )  # fmt: skip
        agent = friend(memory)
        await agent.generate("my cat is Tom", thread="t1", resource="ada")
        await agent.generate("I like the sun", thread="t1", resource="ada")
        assert await store.waiting(INDEX) == 0
        await agent.generate("the cat?", thread="t1", resource="ada")
        assert sent(agent) == ["my cat is Tom", "ok", "the cat?"]
        await agent.generate("which cat?", thread="t2", resource="ada")
        assert '"my cat is Tom"' in told(agent) or '"the cat?"' in told(agent)
        await agent.generate("any cat?", thread="t3", resource="eve")
        assert sent(agent) == ["any cat?"]
        assert told(agent) == ""
        other = Memory(store, vector=vectors, embedder=HashEmbedder(), semantic_recall=True)
        await other.drain()
        assert {hit.thread.id for hit in await other.search("cat", resource="ada", top_k=50)} == {"t1", "t2"}
        assert await other.drop_index(INDEX) == 10
        assert list(await store.indexes()) == ["hash/64:64"]
        again = Memory(
            store, vector=vectors, embedder=Words(), semantic_recall=True
        )  # it begins anew with all that is kept
        await again.drain()
        assert len(await again.search("cat", resource="ada", top_k=50)) == 8


@pytest.mark.parametrize("kind", KINDS)
async def test_metadata_that_a_client_made_up_stops_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What no database takes among a message's metadata keeps neither that message nor another from being found."""
    odd = {"nul": "a\0b", "half": "\ud800", "large": 10**400, "a\0b": 1, "language": "en"}
    async with stores(kind, tmp_path, request) as (store, vectors):
        memory = Memory(store, vector=vectors, embedder=Words(), semantic_recall={"facts": {"language": "en"}})
        await store.save("t", "eve", [Message.user("my cat", id="m").with_metadata(**odd)])
        await friend(memory).generate("a dog", thread="u", resource="ada")
        await memory.drain()
        assert [hit.message.id for hit in await memory.search("cat", resource="eve")] == ["m"]
        assert len(await memory.search("dog", resource="ada")) == 2
