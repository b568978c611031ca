"""
ThreadStore: the port of conversations, threads and their messages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from procession.messages.message import Message
from procession.messages.value import Value
from procession.storage.base import UNCHANGED, Unchanged

__all__ = ["MessageRef", "Passage", "Thread", "ThreadPage", "ThreadStore"]


class Thread(Value, kw_only=True):
    """
    One conversation, and whose it is.
    """

    id: str
    resource_id: str
    created_at: datetime
    updated_at: datetime
    """When something was last saved in it, or its title or metadata changed."""
    title: str | None = None
    metadata: Mapping[str, Any] | None = None


class ThreadPage(Value):
    """
    Some of a resource's threads, those that were used last first.
    """

    threads: tuple[Thread, ...]
    following: str | None = None
    """What to give as *cursor* for those behind them; ``None`` where there are no more."""


class MessageRef(Value):
    """
    Names one message: ids are those of their thread.
    """

    thread_id: str
    message_id: str


class Passage(Value):
    """
    Messages of one thread that were looked up, in order, each once.  Between two of them others may stand.
    """

    thread: Thread
    messages: tuple[Message, ...]


@runtime_checkable
class ThreadStore(Protocol):
    """
    Keeps conversations.  Each method is atomic, also between processes that use one store.

    A thread belongs to one resource: for whoever names another one it is as good as not there (D35).  Every method raises
    ``StoreError`` where the store cannot be used.
    """

    async def thread(self, thread_id: str, *, resource_id: str | None = None) -> Thread | None:
        """
        Return a thread, or ``None`` where nothing was ever saved in it.
        """
        ...

    async def threads(self, resource_id: str, *, limit: int = 100, cursor: str | None = None) -> ThreadPage:
        """
        Return a page of a resource's threads, those that were used last first.

        A thread that is used between two pages may be on neither of them; no thread is on two.  Raises ``InputError`` for
        a *limit* below 1, and for a *cursor* that no page has given.
        """
        ...

    async def update_thread(
        self,
        thread_id: str,
        resource_id: str,
        *,
        title: str | Unchanged | None = UNCHANGED,
        metadata: Mapping[str, Any] | Unchanged | None = UNCHANGED,
        only_without_title: bool = False,
    ) -> Thread | None:
        """
        Give a thread another title, or other metadata in place of what it had; ``None`` where there is no such thread, or
        *only_without_title* and it has one.

        With neither it is returned as it is.  A thread that is left alone, as it has a title, is not used either.
        """
        ...

    async def messages(
        self, thread_id: str, *, resource_id: str | None = None, last: int | None = None, before: str | None = None
    ) -> list[Message]:
        """
        Return a thread's messages, oldest first; with *last* only the newest ones.

        With *before*, a message's id, only those that stand before it; none where it is not there.  Messages stand in the
        order of their times (one without a zone counts as UTC), and those of one time in the order in which they were
        first saved.  The newest of a long thread cost what they would in a short one.
        """
        ...

    async def around(
        self, found: Collection[MessageRef], *, resource_id: str | None, before: int = 0, after: int = 0
    ) -> list[Passage]:
        """
        Return the messages that were *found* with up to so many *before* and *after* each, a passage for each thread.

        Only those of *resource_id*; ``None`` is every resource, which somebody has to have asked for in so many words
        (D35).  What is not there, or no longer, is left out.
        """
        ...

    async def save(
        self,
        thread_id: str,
        resource_id: str,
        messages: Sequence[Message],
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        indexes: Collection[str] = (),
    ) -> None:
        """
        Save messages by id, all or none; the thread is written with the first of them (D34).

        One whose id is known takes the place of what is there.  *title* is given to a thread that has none, *metadata* is
        laid over what the thread has.  With no messages nothing is written.  Each message is noted for the *indexes* in
        the same step, so that it is embedded whatever becomes of this process; a store that is no ``IndexQueue`` is given
        none.

        Raises ``MessageError`` where the thread belongs to another resource; then nothing is written.
        """
        ...

    async def delete_messages(self, thread_id: str, resource_id: str, message_ids: Collection[str]) -> int:
        """
        Delete messages of a thread, with what is noted of them for indexes, and return how many there were.
        """
        ...

    async def delete_thread(self, thread_id: str, resource_id: str) -> bool:
        """
        Delete a thread with its messages, its notes and what is noted for indexes; ``False`` where there is none.
        """
        ...

    async def delete_resource(self, resource_id: str) -> int:
        """
        Delete all threads and notes of a resource, and return how many threads there were.
        """
        ...
