"""
SQLiteStore: conversations, and what belongs to them, in one SQLite file, for any number of processes on one machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType

from procession.storage.records import Records
from procession.storage.sqlite.connection import Synchronous
from procession.storage.sqlite.index_queue import SQLiteIndexQueue
from procession.storage.sqlite.notes import SQLiteNotes
from procession.storage.sqlite.threads import SQLiteThreads
from procession.storage.sqlite.vectors import CACHED_BYTES, SQLiteVectors

__all__ = ["SQLiteStore"]


class SQLiteStore(SQLiteThreads, SQLiteNotes, SQLiteIndexQueue, SQLiteVectors):
    """
    A ``ThreadStore``, ``NoteStore``, ``IndexQueue`` and ``VectorStore`` in the file at *path*, which is made at its first use.

    It may be the file of a ``SQLiteJournal``, a cache and costs as well.  What was saved survives the end of the process,
    however that comes, and what is deleted is overwritten; what *synchronous* means is told with ``SQLiteJournal``.
    *records* says how texts stand in it: unless told otherwise encrypted where ``PROCESSION_STORE_KEY`` has a key.  Vectors
    that were sought among stay in memory for the next search, up to *vector_cache* bytes in each process.

    >>> import anyio, tempfile
    >>> from procession.messages.message import Message
    >>> async def main(path: str) -> list[str]:
    ...     async with SQLiteStore(path) as store:
    ...         await store.save("t", "ada", [Message.user("Hello")])
    ...     async with SQLiteStore(path) as store:
    ...         return [message.text for message in await store.messages("t", resource_id="ada")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anyio.run(main, folder + "/memory.db")
    ['Hello']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "normal",
        records: Records | None = None,
        clock: Callable[[], float] = time.time,
        vector_cache: int = CACHED_BYTES,
    ) -> None:
        super().__init__(path, synchronous=synchronous, records=records, clock=clock, vector_cache=vector_cache)

    @property
    def place(self) -> str:
        """
        The path of the file.
        """
        return self._connection.path

    async def __aenter__(self) -> SQLiteStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
