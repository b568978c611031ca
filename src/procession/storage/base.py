"""
The ports of the stores.  One suite of tests runs against every implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from procession.messages.message import Message
from procession.messages.value import Value

__all__ = ["Thread", "ThreadStore"]


class Thread(Value, kw_only=True):
    """
    One conversation, and whose it is.
    """

    id: str
    resource_id: str
    created_at: datetime
    title: str | None = None
    metadata: Mapping[str, Any] | None = None


class ThreadStore(Protocol):
    """
    Keeps conversations: threads and their messages.
    """

    async def thread(self, thread_id: str) -> Thread | None:
        """
        Return a thread, or ``None`` where nothing was ever saved in it.
        """
        ...

    async def messages(
        self, thread_id: str, *, resource_id: str | None = None, last: int | None = None
    ) -> list[Message]:
        """
        Return a thread's messages, oldest first; with *last* only the newest ones.

        With *resource_id*, a thread of another resource is as good as not there (D35).
        """
        ...

    async def save(self, thread_id: str, resource_id: str, messages: Sequence[Message]) -> None:
        """
        Save messages by id, new ones at the end; the thread is written with the first of them (D34).

        Raises ``MessageError`` where the thread belongs to another resource.
        """
        ...
