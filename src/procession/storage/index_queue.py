"""
IndexQueue: the port of what was saved and is still to be embedded.

It is written in the same step as the messages, so that no crash loses one; who embeds takes some, and says what is done.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

from procession.messages.message import Message
from procession.messages.value import Value
from procession.storage.threads import MessageRef

__all__ = ["IndexQueue", "ToIndex"]


class ToIndex(Value, kw_only=True):
    """
    A message that is still to be embedded for one index.
    """

    thread_id: str
    resource_id: str
    message: Message
    revision: int
    """Grows each time the message is noted: what was taken before it was saved anew is not done by that."""

    @property
    def ref(self) -> MessageRef:
        """
        The message's name.
        """
        return MessageRef(self.thread_id, self.message.id)


@runtime_checkable
class IndexQueue(Protocol):
    """
    Keeps what is to be embedded, for each index by its name.  Each method is atomic, also between processes.

    Every method raises ``StoreError`` where the store cannot be used.
    """

    async def take(self, index: str, *, limit: int, seconds: float) -> list[ToIndex]:
        """
        Return up to *limit* messages that are to be embedded, and keep others from taking them.

        Those come first that were noted first; one that is saved anew is noted anew, and can be taken at once.

        What is not done after *seconds* can be taken again: a process that died loses nothing.
        """
        ...

    async def done(self, index: str, items: Collection[ToIndex]) -> list[MessageRef]:
        """
        Take out what was embedded, and return those that were deleted meanwhile: their vectors have to go again.

        What has been saved anew since it was taken stays.
        """
        ...

    async def release(self, index: str, items: Collection[ToIndex]) -> None:
        """
        Let others take what was taken and could not be embedded.
        """
        ...

    async def waiting(self, index: str) -> int:
        """
        Return how many messages are to be embedded, taken or not.
        """
        ...

    async def note_all(self, index: str) -> int:
        """
        Note every message that is kept for *index*, those that wait for it already included, and return how many.
        """
        ...

    async def indexes(self) -> Sequence[str]:
        """
        Return the names of the indexes that anything was ever noted for, the first one first.
        """
        ...

    async def drop_index(self, index: str) -> int:
        """
        Forget an index, with what waits for it, and return how much that was; its vectors are the ``VectorStore``'s.

        It is then as if nothing had ever been noted for it.
        """
        ...
