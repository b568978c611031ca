"""
Stores in memory: for tests, demos and single processes that may forget.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from procession.errors import MessageError
from procession.messages.message import Message
from procession.storage.base import JournalRow, JournalStatus, Thread

__all__ = ["InMemoryJournal", "InMemoryThreadStore"]

_ENDED = 1000
"""How many runs that have ended are remembered, so that a second resume is told so."""


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


class InMemoryJournal:
    """
    A ``JournalStore`` that lasts as long as the object.  It may be used from several threads.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[str, JournalRow] = {}
        self._claims: dict[str, tuple[str, float]] = {}
        self._ended: dict[str, None] = {}

    async def add(self, row: JournalRow) -> bool:
        """
        Keep a run that has been suspended; ``False`` where its id is known already.
        """
        with self._lock:
            return self._rows.setdefault(row.run_id, row) is row

    async def row(self, run_id: str) -> JournalRow | None:
        """
        Return what is kept of a run, or ``None``.
        """
        return self._rows.get(run_id)

    async def claim(self, run_id: str, token: str, seconds: float) -> JournalRow | None:
        """
        Take a suspended run for *seconds*, or prolong a claim; ``None`` where that cannot be.
        """
        with self._lock:
            row = self._rows.get(run_id)
            if row is None or row.status != "suspended":
                return None
            now = self._clock()
            holder, until = self._claims.get(run_id, (token, now))
            if holder != token and until > now:
                return None
            self._claims[run_id] = (token, now + seconds)
            return row

    async def note(self, run_id: str, token: str, data: str) -> bool:
        """
        Write how far the run has come, and keep it; ``False`` unless the token holds it.
        """
        with self._lock:
            if not self._holds(run_id, token):
                return False
            self._rows[run_id] = self._rows[run_id].replace(data=data)
            return True

    async def release(self, run_id: str, token: str) -> bool:
        """
        Give the run back as it is; ``False`` where the token no longer holds it.
        """
        with self._lock:
            if not self._holds(run_id, token):
                return False
            del self._claims[run_id]
            return True

    async def settle(self, run_id: str, token: str, status: JournalStatus, data: str | None = None) -> bool:
        """
        Write what became of the run and give it back; ``False`` unless the token holds it.
        """
        with self._lock:
            if not self._holds(run_id, token):
                return False
            del self._claims[run_id]
            self._rows[run_id] = self._rows[run_id].replace(status=status, data=data)
            if status != "suspended":
                self._ended[run_id] = None
                if len(self._ended) > _ENDED:
                    oldest = next(iter(self._ended))
                    del self._ended[oldest], self._rows[oldest]
            return True

    def _holds(self, run_id: str, token: str) -> bool:
        return self._claims.get(run_id, ("", 0.0))[0] == token
