"""What the tests of semantic recall share: embedders of a few words, and a conversation in a store."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.message import Message
from procession.models.embedder import Embeddings, checked_texts
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.processors.memory.recalled.indexer import Indexer
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

WORDS = ("cat", "dog", "car", "sun")
INDEX = "test/words:5"
"""The index of these vectors."""
WORDS_INDEX = "words"
"""The index that the tests of the indexer fill."""
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}
LONG_AGO = ("my cat is Tom", "Tom, noted.", "a dog", "A dog in a car.", "the sun", "The sun.", "a car", "A car.")
START = datetime(2026, 1, 1, tzinfo=UTC)


class Words:
    """An embedder: a number for each of a few words, 1 where the text has it, and one for all texts."""

    id = "test/words"
    dimensions = len(WORDS) + 1

    def __init__(self) -> None:
        self.texts: list[str] = []
        """All that it was asked."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the vectors."""
        asked = checked_texts(texts)
        self.texts += asked
        return Embeddings(tuple(array("f", [*(float(word in text.lower()) for word in WORDS), 0.1]) for text in asked))


class Failing(Words):
    """The same, which fails while it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error: Exception | None = error if error is not None else ModelError("secret words", retryable=True)
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the vectors, or fail."""
        self.calls += 1
        await anyio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        return await super().embed(texts)


class Watched(InMemoryStore):
    """A store that notes how its vectors are sought."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.searches: list[dict[str, Any]] = []

    async def search(self, index: str, vector: Sequence[float], **options: Any) -> Any:
        """Search, and note how."""
        self.searches.append({"index": index, **options})
        return await super().search(index, vector, **options)


def said(*texts: str, start: int = 0) -> list[Message]:
    """Return a conversation, a user's text first, a minute between two."""
    return [
        Message(
            "assistant" if at % 2 else "user",
            text,
            id=f"{'a' if at % 2 else 'u'}{(start + at) // 2 + 1}",
            created_at=START + timedelta(minutes=start + at),
        )
        for at, text in enumerate(texts)
    ]


def friend(memory: Memory, *answers: Any, **options: Any) -> Agent:
    """Return an agent with a memory; it answers as told, and then with ``ok``."""
    return Agent("friend", model=FakeModel([*answers, *["ok"] * 20]), memory=memory, **options)


async def remembering(store: InMemoryStore, *texts: str, embedder: Any = None, **options: Any) -> Memory:
    """Return a memory of a thread with these texts, all embedded; history gives none of them."""
    settings = options.pop("semantic_recall", {"top_k": 1})
    memory = Memory(
        store, last_messages=False, semantic_recall=settings, embedder=embedder if embedder is not None else Words(), **options
    )  # fmt: skip
    await store.save("t", "ada", said(*texts))
    await memory.drain()
    return memory


def sent(agent: Agent, call: int = -1) -> list[str]:
    """Return the texts that the model was sent, without system messages and what opens for an assistant."""
    return [text for role, text in _prompt(agent, call) if role != "system" and text != "."]


def told(agent: Agent, call: int = -1) -> str:
    """Return the system messages that the model was sent."""
    return "\n".join(text for role, text in _prompt(agent, call) if role == "system")


def _prompt(agent: Agent, call: int) -> list[tuple[str, str]]:
    models: Any = agent.models
    request: ModelRequest = models[0].requests[call]
    return [(message.role, message.text) for message in request.messages]


async def saved(store: InMemoryStore, *messages: Message, thread: str = "t", resource: str = "ada") -> None:
    """Save messages, and note them for the index."""
    await store.save(thread, resource, messages, indexes=[WORDS_INDEX])


async def found(store: InMemoryStore, text: str, **options: Any) -> list[str]:
    """Return the ids of the messages that are most like *text*."""
    [vector] = (await Words().embed([text])).vectors
    hits = await store.search(WORDS_INDEX, vector, top_k=10, resource_id="ada", threshold=0.5, **options)
    return [hit.message_id for hit in hits]


def indexer(store: InMemoryStore, embedder: Any = None, **options: Any) -> Indexer:
    """Return an indexer of the store."""
    return Indexer(store, store, embedder if embedder is not None else Words(), **options)
