"""
Deleting: what the stores of a memory keep of a resource, or of one of its threads, goes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from procession.errors import InputError, NotForgotten, ProcessionError
from procession.messages.value import Value
from procession.processors.memory.outbox import outbox_of
from procession.storage.threads import ThreadStore
from procession.storage.vectors import VectorStore

__all__ = ["Deleted", "Tally", "check_owner", "delete_kept", "deleted_from", "stores_of"]

_STORES = ("storage", "vector")
"""Where processors have what they keep things in."""


class Deleted(Value, kw_only=True):
    """
    How much was deleted from the stores of a memory.
    """

    threads: int = 0
    """With their messages, their notes, and what waited to be embedded."""
    vectors: int = 0
    unsaved_turns: int = 0
    """Turns that waited in this process for a store that had failed."""


class Tally:
    """
    How much was deleted of what, what is left, and what failed.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.left: list[str] = []
        self.failed: list[str] = []
        self._first: Exception | None = None

    def count(self, what: str) -> int:
        """
        Return how much of something was deleted.
        """
        return self.counts.get(what, 0)

    async def attempt(self, what: str, where: str, delete: Callable[[], Awaitable[bool | int]]) -> bool:
        """
        Add how much *delete* returns to what was deleted, or note that it failed, and return whether it did not.
        """
        try:
            self.counts[what] = self.count(what) + int(await delete())
        except Exception as error:
            self.fail(what, where, error)
            return False
        return True

    def fail(self, what: str, where: str, error: Exception) -> None:
        """
        Note that something may be left.
        """
        said = error.message if isinstance(error, ProcessionError) else type(error).__name__  # may be private
        self.failed.append(f"{what} in {where}: {said}")
        self._first = self._first or error

    def check(self, deleted: Any) -> None:
        """
        Raise ``NotForgotten``, which has what was *deleted* all the same, where something failed.
        """
        if self._first is not None:
            raise NotForgotten(self.failed, deleted) from self._first


def stores_of(processors: Iterable[Any]) -> list[Any]:
    """
    Return the stores that *processors* keep threads and vectors in, each once.
    """
    found: dict[int, Any] = {}
    for processor in processors:
        for name in _STORES:
            store = getattr(processor, name, None)
            if isinstance(store, ThreadStore | VectorStore):
                found[id(store)] = store
    return list(found.values())


async def delete_kept(stores: Sequence[Any], resource: str, thread: str | None, tally: Tally) -> list[Any]:
    """
    Delete all that *stores* keep of a *resource*, or of one *thread* of it, and return those that may have messages still.

    Messages go before their vectors: who embeds one meanwhile is told by the queue that it is gone, and takes its
    vectors back.
    """
    left: list[Any] = []
    for store in stores:
        if isinstance(store, ThreadStore):  # what waits goes first, so that it is not saved behind us
            delete: Any = partial(outbox_of(store).forget, resource, thread)
            await tally.attempt("unsaved_turns", type(store).__name__, delete)
            delete = (
                partial(store.delete_resource, resource)
                if thread is None
                else partial(store.delete_thread, thread, resource)
            )
            if not await tally.attempt("threads", type(store).__name__, delete):
                left.append(store)
    for store in stores:
        if isinstance(store, VectorStore):
            delete = partial(store.delete_vectors, resource_id=resource, thread_id=thread)
            await tally.attempt("vectors", type(store).__name__, delete)
    return left


async def deleted_from(processors: Iterable[Any], resource: str, thread: str | None = None) -> Deleted:
    """
    Delete all that *processors* keep in their stores of a *resource*, or of one *thread* of it; returns how much that was.

    Raises ``InputError`` where nobody is named, and ``NotForgotten`` where a store failed, once all were asked.
    """
    check_owner(resource, thread)
    tally = Tally()
    await delete_kept(stores_of(processors), resource, thread, tally)
    deleted = Deleted(**{name: tally.count(name) for name in Deleted.__fields__})
    tally.check(deleted)
    return deleted


def check_owner(resource: Any, thread: Any = None) -> None:
    """
    Refuse what names nobody, with ``InputError``.
    """
    for name, value, may_miss in (("resource", resource, False), ("thread", thread, True)):
        if not (may_miss and value is None) and not (isinstance(value, str) and value):
            raise InputError(f"{name} is {value!r}", hint="say by its id whose data are to be deleted")
