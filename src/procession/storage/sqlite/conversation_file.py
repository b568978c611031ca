"""
ConversationFile: what the parts of a ``SQLiteStore`` share, the file, how texts stand in it, and its tables.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio

from procession.errors import DefinitionError, InputError, StoreError
from procession.messages.message import Message
from procession.storage.message_records import message_of
from procession.storage.records import Records, can_stand, record_name
from procession.storage.sqlite.commits import Commits
from procession.storage.sqlite.connection import Connection, Synchronous
from procession.storage.sqlite.in_thread import in_thread
from procession.storage.sqlite.schema import Family

if TYPE_CHECKING:
    import sqlite3

__all__ = ["CONVERSATIONS", "LARGE", "ConversationFile", "Row", "in_portions"]

Out = TypeVar("Out")
Found = TypeVar("Found")

Row: TypeAlias = tuple[Any, ...]
"""What SQLite finds."""

CONVERSATIONS = Family(
    name="conversations",
    tables=(
        # A thread is used when something is saved in it: the numbers in ``used`` say which was used last.
        """CREATE TABLE procession_threads (
            number INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE, resource_id TEXT NOT NULL,
            created_at REAL NOT NULL, updated_at REAL NOT NULL, used INTEGER NOT NULL, title TEXT, metadata TEXT
        )""",
        "CREATE INDEX procession_threads_by_use ON procession_threads (resource_id, used)",
        # ``at`` is the message's own time in microseconds; of one time the number says the order.
        """CREATE TABLE procession_messages (
            number INTEGER PRIMARY KEY, thread INTEGER NOT NULL, message_id TEXT NOT NULL, at INTEGER NOT NULL,
            data TEXT NOT NULL, UNIQUE (thread, message_id)
        )""",
        "CREATE INDEX procession_messages_by_time ON procession_messages (thread, at, number)",
        """CREATE TABLE procession_notes (
            number INTEGER PRIMARY KEY, kind TEXT NOT NULL, resource_id TEXT NOT NULL, thread_id TEXT,
            version INTEGER NOT NULL, text TEXT NOT NULL
        )""",
        "CREATE INDEX procession_notes_by_key ON procession_notes (resource_id, thread_id, kind)",
        "CREATE TABLE procession_indexes (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        # A revision is never given again, whatever is deleted.
        """CREATE TABLE procession_index_queue (
            revision INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER NOT NULL, for_index INTEGER NOT NULL,
            until REAL NOT NULL, UNIQUE (message, for_index)
        )""",
        "CREATE INDEX procession_index_queue_in_order ON procession_index_queue (for_index, revision)",
    ),
)
"""The tables of conversations, and of what belongs to them."""

LARGE = 1 << 24
"""Bytes that may be written where nobody knows how many: too much for the event loop."""

_PORTION = 500
"""Values in one statement."""

_AGAIN = 10
"""How many times rows are read that somebody else changes meanwhile."""

_MANY = 50
"""Messages that are read on the event loop, in about a millisecond."""


class ConversationFile:
    """
    A file of conversations, and how texts stand in it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous,
        records: Records | None,
        clock: Callable[[], float],
        families: Sequence[Family] = (),
    ) -> None:
        if synchronous not in ("normal", "full"):
            raise DefinitionError(f"synchronous is {synchronous!r}", hint='say "normal" or "full"')
        self._connection = Connection(path, synchronous=synchronous, families=(CONVERSATIONS, *families))
        self._commits = Commits(self._connection)
        self._records = records if records is not None else Records.from_environment()
        self._clock = clock

    async def aclose(self) -> None:
        """
        Close the file; the next use opens it again.
        """
        await self._connection.close()

    async def _read(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        """
        Do *work*, all of which sees the file as it is at one moment.
        """
        with _refusing():
            return await self._connection.read(partial(_at_one_moment, work))

    async def _found(self, work: Callable[[sqlite3.Connection], Found], read: Callable[[Found], Awaitable[Out]]) -> Out:
        """
        Do *work*, and return what *read* makes of it.

        Texts that stand elsewhere go with their rows: where one is not there, and the rows are others now, they are read.
        """
        found = await self._read(work)
        for _ in range(_AGAIN):
            try:
                return await read(found)
            except StoreError:
                before, found = found, await self._read(work)
                if found == before:
                    raise
        return await read(found)

    async def _write(
        self,
        work: Callable[[sqlite3.Connection], Out],
        size: int = 0,
        *,
        written: Iterable[str | None] = (),
        scope: str = "",
        replaced: Callable[[Out], Iterable[str | None]] | None = None,
        deleted: Callable[[Out], Iterable[str | None]] | None = None,
    ) -> Out:
        """
        Do *work* in a commit.  What was *written* for it elsewhere is let go where it fails, what it has *replaced* after
        it; what it has *deleted* is forgotten, or that is a ``StoreError``.
        """

        async def clear(done: Out) -> None:
            if replaced is not None:
                await self._let_go(replaced(done), scope)
            if deleted is not None:
                await self._records.forget([text for text in deleted(done) if text is not None], scope=scope)

        clears = replaced is not None or deleted is not None
        try:
            with _refusing():
                return await self._commits.write(work, size, then=clear if clears else None)
        except (InputError, StoreError):
            await self._let_go(written, scope)
            raise

    async def _let_go(self, stored: Iterable[str | None], scope: str) -> None:
        """
        Let go what stands elsewhere for *stored*, whoever cancels meanwhile.
        """
        texts = [text for text in stored if text is not None]
        if texts:
            with anyio.CancelScope(shield=True):
                await self._records.let_go(texts, scope=scope)

    # -- texts as they stand in the file

    async def _stored(self, texts: Iterable[tuple[str, str]], scope: str) -> list[str]:
        """
        Return what stands in the file for *texts*, each with its record's name: all of them, or nothing is left of any.
        """
        stored: list[str] = []
        try:
            for text, name in texts:
                if not (self._records.is_plain and text.startswith("{") and can_stand(text)):
                    text = await self._records.write(text, scope=scope, name=name)
                stored.append(text)
        except BaseException:
            await self._let_go(stored, scope)
            raise
        return stored

    async def _message(self, stored: str, thread_id: str, message_id: str, scope: str) -> Message:
        """
        Return the message that stands in the file as *stored*.
        """
        return message_of(
            await self._text(stored, scope, "message", thread_id, message_id),
            thread_id=thread_id,
            message_id=message_id,
        )

    async def _messages(self, found: Sequence[tuple[str, str]], thread_id: str, scope: str) -> list[Message]:
        """
        Return the messages of which *found* has the ids and what stands in the file.
        """
        texts = [(id, await self._text(stored, scope, "message", thread_id, id)) for id, stored in found]

        def decoded() -> list[Message]:
            return [message_of(text, thread_id=thread_id, message_id=id) for id, text in texts]

        return decoded() if len(texts) <= _MANY else await in_thread(decoded)

    async def _text(self, stored: Any, scope: str, kind: str, *parts: str | None) -> str:
        """
        Return the text that *stored* stands for, which is of a *kind*, and of a thread, a message, ...
        """
        if not isinstance(stored, str):  # a file may be written by others
            raise StoreError(f"record {record_name(kind, *parts)} is corrupt: it is no text")
        if self._records.is_plain and stored.startswith("{"):
            return stored
        return await self._records.read(stored, scope=scope, name=record_name(kind, *parts))


def in_portions(values: Sequence[Out]) -> Iterable[Sequence[Out]]:
    """
    Return *values* in portions that one statement can have.
    """
    return (values[at : at + _PORTION] for at in range(0, len(values), _PORTION))


@contextmanager
def _refusing() -> Generator[None]:
    """
    Tell what no file can ever keep from a file that cannot be used for now: the latter may be tried again.
    """
    try:
        yield
    except StoreError as error:
        if not isinstance(error.__cause__, UnicodeError):
            raise
        raise InputError(
            "an id or a name has a letter that SQLite cannot keep: half of a pair", hint="take it out"
        ) from None


def _at_one_moment(work: Callable[[sqlite3.Connection], Out], made: sqlite3.Connection) -> Out:
    made.execute("BEGIN")
    try:
        return work(made)
    finally:
        made.execute("COMMIT")
