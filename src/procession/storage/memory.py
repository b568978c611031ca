"""
Stores in memory: for tests, demos and single processes that may forget.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from procession.errors import MessageError
from procession.messages.message import Message
from procession.storage.base import Thread
from procession.storage.memory_cache import InMemoryCacheStore
from procession.storage.memory_costs import InMemoryCosts
from procession.storage.memory_journal import InMemoryJournal

__all__ = ["InMemoryCacheStore", "InMemoryCosts", "InMemoryJournal", "InMemoryThreadStore"]


class InMemoryThreadStore:
    """
    A ``ThreadStore`` that lasts as long as the object.
    """

    def __init__(self) -> None:
        self._threads: dict[str, Thread] = {}
        self._messages: dict[str, dict[str, Message]] = {}

    async def thread(self, thread_id: str) -> Thread | None:
        """
        Return a thread, or ``None`` where nothing was ever saved in it.
        """
        return self._threads.get(thread_id)

    async def messages(
        self, thread_id: str, *, resource_id: str | None = None, last: int | None = None
    ) -> list[Message]:
        """
        Return a thread's messages, oldest first; with *last* only the newest ones.
        """
        thread = self._threads.get(thread_id)
        if thread is None or (resource_id is not None and thread.resource_id != resource_id):
            return []
        found = sorted(self._messages[thread_id].values(), key=lambda message: message.created_at)
        return found if last is None else found[len(found) - last :] if last < len(found) else found

    async def save(self, thread_id: str, resource_id: str, messages: Sequence[Message]) -> None:
        """
        Save messages by id, new ones at the end; the thread is written with the first of them.

        Raises ``MessageError`` where the thread belongs to another resource.
        """
        if not messages:
            return
        thread = self._threads.get(thread_id)
        if thread is None:
            thread = self._threads[thread_id] = Thread(
                id=thread_id, resource_id=resource_id, created_at=datetime.now(UTC)
            )
        if thread.resource_id != resource_id:
            raise MessageError(
                f"thread {thread_id!r} belongs to another resource", hint="use a thread id of this resource"
            )
        kept = self._messages.setdefault(thread_id, {})
        for message in messages:
            kept[message.id] = message
