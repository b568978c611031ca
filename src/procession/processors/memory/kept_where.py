"""
Where a memory keeps what was said: the store that is given, or that a url or the environment names.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias, cast

from procession.errors import DefinitionError, InputError, MessageError, StoreError, UnreadableThread
from procession.processors.memory.outbox import outbox_of
from procession.storage.threads import ThreadStore

__all__ = ["Storage", "place_of", "reading", "storage_of", "unreadable"]

Storage: TypeAlias = "ThreadStore | str | os.PathLike[str] | None"
"""A store, a url or a path, or ``None`` for the one that the environment names."""


def storage_of(given: Storage) -> ThreadStore:
    """
    Return the store that is *given*, or named; nothing is opened before its first use.

    Raises ``InputError`` for what names no store, and ``DefinitionError`` for what is none.
    """
    if given is None or isinstance(given, (str, os.PathLike)):
        from procession.storage.open_store import open_store

        return open_store(given)
    found = cast("object", given)
    if isinstance(found, ThreadStore):
        outbox_of(found)  # which refuses a store that cannot be told from others
        return found
    raise DefinitionError(
        f"a memory's storage is {type(found).__name__}",
        hint="give a ThreadStore, such as SQLiteStore(path), or a url such as postgresql://host/database",
    )


@contextmanager
def reading(storage: ThreadStore) -> Generator[None, None, None]:
    """
    Have a fault of *storage* in the block say which store it was, and nothing private.

    Raises ``UnreadableThread``; what is wrongly set up or asked for is raised as it is.
    """
    try:
        yield
    except (DefinitionError, InputError, MessageError):
        raise
    except Exception as error:
        raise unreadable(storage, "the thread", error) from error


def unreadable(storage: object, what: str, error: Exception) -> UnreadableThread:
    """
    Return what to raise where *storage* could not give back *what*.

    A ``StoreError`` is quoted, with its hint: it says what is wrong and where, and nothing that was said.  Of any other
    error only the kind is told.
    """
    reason, hint = (error.message, error.hint) if isinstance(error, StoreError) else (type(error).__name__, None)
    return UnreadableThread(
        f"{type(storage).__name__} could not give back {what}: {reason}",
        hint=hint or 'is the store there?  on_error="skip" answers without it',
    )


def place_of(storage: ThreadStore) -> str:
    """
    Return what a store is, and where, for people.
    """
    from procession.storage.memory_store import InMemoryStore

    kind = type(storage).__name__
    if isinstance(storage, InMemoryStore):
        return f"{kind}, which lasts as long as the process"
    place = getattr(storage, "place", None)
    return f"{kind} at {place}" if isinstance(place, str) and place else kind
