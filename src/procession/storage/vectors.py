"""
VectorStore: the port of vectors, in which what is alike is found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from procession.messages.value import Value
from procession.storage.threads import MessageRef

__all__ = ["Facts", "VectorHit", "VectorItem", "VectorStore"]

Facts: TypeAlias = Mapping[str, str | int | float | bool]
"""What is known of a vector's message, to filter by.  Two are one where they are in JSON: 1 is 1.0, and is not true."""


class VectorItem(Value, kw_only=True):
    """
    One vector, and which message it is of.
    """

    thread_id: str
    resource_id: str
    message_id: str
    vector: Sequence[float]
    """Best an ``array("f")``.  It must have a direction, and vectors of one index as many numbers as each other."""
    part: int = 0
    """Which piece of the message, where it is too long for one vector."""
    facts: Facts | None = None


class VectorHit(Value, kw_only=True):
    """
    A message that is alike.
    """

    thread_id: str
    message_id: str
    score: float
    """The cosine of the angle between the vectors: 1 for the same direction, 0 for nothing in common."""

    @property
    def ref(self) -> MessageRef:
        """
        The message's name.
        """
        return MessageRef(self.thread_id, self.message_id)


@runtime_checkable
class VectorStore(Protocol):
    """
    Keeps vectors, for each index by its name.  Each method is atomic, also between processes that use one store.

    Every method raises ``StoreError`` where the store cannot be used.  A vector that has no direction, being empty, nothing
    but zeros or not finite, is refused with ``InputError``.
    """

    async def put_vectors(self, index: str, items: Sequence[VectorItem]) -> None:
        """
        Keep vectors in place of whatever the index has of the same messages: all or none.

        Raises ``StoreError`` where the index has vectors of another length, or these have different ones.
        """
        ...

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
        Return the *top_k* messages that are most alike, each once with its best piece, the most alike first.

        They are sought among those of *resource_id*, so that no other's take places from them; ``None`` is every
        resource, which somebody has to have asked for in so many words (D35).  With *thread_id* among those of the thread,
        with *threshold* among those with at least that score, with *facts* among those of which all of them are true,
        and never among those *without*.  An index that does not exist has nothing.  Scores are exact to a millionth.

        Raises ``InputError`` where *top_k* is below 1, ``StoreError`` where the index has vectors of another length.
        """
        ...

    async def delete_vectors(
        self,
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
        message_ids: Collection[str] | None = None,
        index: str | None = None,
    ) -> int:
        """
        Delete the vectors that all of this is true of, in every index or in one, and return how many there were.

        Raises ``InputError`` where nothing is said: one has to say what.  *message_ids* need a *thread_id*.
        """
        ...
