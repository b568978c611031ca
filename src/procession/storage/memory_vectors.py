"""
InMemoryVectors: vectors that last as long as the object, each compared when something is sought.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import sqrt

from procession.errors import InputError, StoreError
from procession.storage.threads import MessageRef
from procession.storage.vectors import Facts, VectorHit, VectorItem

__all__ = ["InMemoryVectors"]


class InMemoryVectors:
    """
    A ``VectorStore`` that lasts as long as the object.
    """

    def __init__(self) -> None:
        self._vectors: dict[str, dict[MessageRef, list[VectorItem]]] = {}

    async def put_vectors(self, index: str, items: Sequence[VectorItem]) -> None:
        """
        Keep vectors in place of whatever the index has of the same messages.

        Raises ``StoreError`` where the index has vectors of another length.
        """
        kept = self._vectors.setdefault(index, {})
        lengths = {len(item.vector) for of in kept.values() for item in of[:1]} | {len(item.vector) for item in items}
        if len(lengths) > 1:
            raise StoreError(
                f"index {index!r} would have vectors of different lengths: {', '.join(map(str, sorted(lengths)))}",
                hint="give each embedder an index of its own",
            )
        for ref in {MessageRef(item.thread_id, item.message_id) for item in items}:
            kept[ref] = []
        for item in items:
            kept[MessageRef(item.thread_id, item.message_id)].append(item)

    async def search(
        self,
        index: str,
        vector: Sequence[float],
        *,
        top_k: int,
        resource_id: str | None,
        thread_id: str | None = None,
        threshold: float | None = None,
        facts: Facts | None = None,
        without: Collection[MessageRef] = (),
    ) -> list[VectorHit]:
        """
        Return the *top_k* messages that are most alike, the most alike first.
        """
        left_out = set(without)
        hits: list[VectorHit] = []
        for ref, items in self._vectors.get(index, {}).items():
            first = items[0]
            if (
                ref in left_out
                or resource_id not in (None, first.resource_id)
                or thread_id not in (None, ref.thread_id)
            ):
                continue
            known = first.facts or {}
            if facts is not None and any(known.get(name) != value for name, value in facts.items()):
                continue
            score = max(_cosine(item.vector, vector) for item in items)
            if threshold is None or score >= threshold:
                hits.append(VectorHit(thread_id=ref.thread_id, message_id=ref.message_id, score=score))
        return sorted(hits, key=lambda hit: hit.score, reverse=True)[:top_k]

    async def delete_vectors(
        self,
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
        message_ids: Collection[str] | None = None,
        index: str | None = None,
    ) -> int:
        """
        Delete the vectors that all of this is true of, and return how many there were.
        """
        if resource_id is thread_id is index is None or (message_ids is not None and thread_id is None):
            raise InputError(
                "it is not said which vectors are to be deleted", hint="name a resource, a thread or an index"
            )
        gone = 0
        for name, kept in self._vectors.items():
            if index not in (None, name):
                continue
            for ref in list(kept):
                if (
                    resource_id in (None, kept[ref][0].resource_id)
                    and thread_id in (None, ref.thread_id)
                    and (message_ids is None or ref.message_id in message_ids)
                ):
                    gone += len(kept.pop(ref))
        return gone


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (sqrt(sum(a * a for a in one)) * sqrt(sum(b * b for b in other)))
