"""
The ports of the stores.  One suite of tests runs against every implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from procession.messages.message import Message
from procession.messages.value import Value

__all__ = ["JournalRow", "JournalStatus", "JournalStore", "Thread", "ThreadStore"]

JournalStatus = Literal["suspended", "completed", "blocked", "failed", "aborted"]
"""Where a run that was suspended stands; all but ``suspended`` are final."""


class JournalRow(Value, kw_only=True):
    """
    What the journal keeps of a run that was suspended.
    """

    run_id: str
    owner: str
    """The id of the agent whose run it is."""
    status: JournalStatus = "suspended"
    data: str | None = None
    """The snapshot of the run, as JSON; ``None`` once the run has ended: nothing of what was said stays."""


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


class JournalStore(Protocol):
    """
    Keeps suspended runs until they are resumed.

    Each method is atomic, also between processes that use one store.  Final states are final.
    """

    async def add(self, row: JournalRow) -> bool:
        """
        Keep a run that has been suspended; ``False`` where the store knows its id already, and nothing is written.
        """
        ...

    async def row(self, run_id: str) -> JournalRow | None:
        """
        Return what is kept of a run, or ``None``.
        """
        ...

    async def claim(self, run_id: str, token: str, seconds: float) -> JournalRow | None:
        """
        Take a suspended run, for *seconds*, in the name of *token*; with a token that holds it already, prolong that.

        ``None`` where another token holds it, or where there is nothing to resume.
        """
        ...

    async def note(self, run_id: str, token: str, data: str) -> bool:
        """
        Write how far the run has come, and keep it; ``False``, and nothing is written, unless the token holds it.
        """
        ...

    async def release(self, run_id: str, token: str) -> bool:
        """
        Give the run back as it is; ``False`` where the token no longer holds it.
        """
        ...

    async def settle(self, run_id: str, token: str, status: JournalStatus, data: str | None = None) -> bool:
        """
        Write what became of the run and give it back; ``False``, and nothing is written, unless the token holds it.
        """
        ...
