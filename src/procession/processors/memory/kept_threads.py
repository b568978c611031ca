"""
KeptThreads: what a memory keeps, for people and applications: to be read, named, deleted, and closed at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from procession.messages.message import Message
from procession.processors.memory.deleting import Deleted, deleted_from
from procession.processors.memory.outbox import log_unsaved, outbox_of
from procession.processors.memory.use import checked_facts
from procession.processors.processor import Processor
from procession.storage.base import UNCHANGED, Unchanged
from procession.storage.pages import counted
from procession.storage.threads import Thread, ThreadPage, ThreadStore

__all__ = ["KeptThreads"]


class KeptThreads:
    """
    The threads of a memory, from outside of a request.
    """

    storage: ThreadStore
    _closes: bool
    """Whether the store was opened here."""

    def input_processors(self) -> Sequence[Processor]:
        """
        Return the processors that come before the user's own.
        """
        raise NotImplementedError

    def output_processors(self) -> Sequence[Processor]:
        """
        Return the processors that come after the user's own.
        """
        raise NotImplementedError

    async def recall(
        self, thread: str, resource: str, *, last: int | None = None, signals: bool = False
    ) -> list[Message]:
        """
        Return what was said in a thread, oldest first, for people to read; with *last* only the newest messages.

        Signals are notes to the model, which the model is shown again: they are left out unless *signals* (D38).
        Raises ``InputError`` for a *last* that is no count.
        """
        counted("last", last)
        if last is None or signals:
            found = await self.storage.messages(thread, resource_id=resource, last=last)
            return found if signals else _without_signals(found)
        found, before = list[Message](), None
        while len(found) < last:  # page by page: a long thread is not read whole for its end
            page = await self.storage.messages(thread, resource_id=resource, last=last, before=before)
            found[:0] = _without_signals(page)
            if len(page) < last:
                break
            before = page[0].id
        return found[max(0, len(found) - last) :]

    async def thread(self, thread: str, resource: str) -> Thread | None:
        """
        Return a thread of the resource, or ``None`` where nothing was ever saved in it.
        """
        return await self.storage.thread(thread, resource_id=resource)

    async def threads(self, resource: str, *, limit: int = 100, cursor: str | None = None) -> ThreadPage:
        """
        Return a page of a resource's threads, those that were used last first.
        """
        return await self.storage.threads(resource, limit=limit, cursor=cursor)

    async def update_thread(
        self,
        thread: str,
        resource: str,
        *,
        title: str | Unchanged | None = UNCHANGED,
        metadata: Mapping[str, Any] | Unchanged | None = UNCHANGED,
    ) -> Thread | None:
        """
        Give a thread another title, or other metadata in place of what it had; ``None`` where there is no such thread.

        Raises ``InputError`` for a title that is no text, and for metadata that cannot be kept.
        """
        checked_facts(
            thread,
            None if isinstance(title, Unchanged) else title,
            None if isinstance(metadata, Unchanged) else metadata,
        )
        return await self.storage.update_thread(thread, resource, title=title, metadata=metadata)

    async def flush(self) -> int:
        """
        Save the turns that the store could not take when they ended, and return how many still wait.
        """
        return await outbox_of(self.storage).flush(self.storage)

    async def delete_thread(self, thread: str, resource: str) -> Deleted:
        """
        Delete a thread with its messages, its notes and its vectors; one that is not there is no error.

        ``agent.forget`` deletes what else is kept of it.  Raises ``NotForgotten`` where a store failed.
        """
        return await deleted_from([*self.input_processors(), *self.output_processors(), self], resource, thread)

    async def delete_resource(self, resource: str) -> Deleted:
        """
        Delete all threads of a resource, with its notes and its vectors; see :meth:`delete_thread`.
        """
        return await deleted_from([*self.input_processors(), *self.output_processors(), self], resource)

    async def aclose(self) -> None:
        """
        Save what waits, and close the store if this memory opened it: one that was given is whoever's gave it.

        What could not be saved is told in the log, and is lost with the process.
        """
        left = await self.flush()
        if left:
            log_unsaved("a memory was closed before its turns were saved", turns=left)
        close = getattr(self.storage, "aclose", None)
        if self._closes and close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _without_signals(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role != "signal"]
