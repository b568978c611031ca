"""
SQLiteCacheStore: a cache in one SQLite file, for any number of processes on one machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from procession.storage.sqlite.commits import Commits
from procession.storage.sqlite.connection import Connection

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteCacheStore"]

_TABLES = (
    "CREATE TABLE IF NOT EXISTS procession_cache (key TEXT PRIMARY KEY, expires_at REAL NOT NULL, value TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS procession_cache_by_time ON procession_cache (expires_at)",
)
_PUT = "INSERT OR REPLACE INTO procession_cache (key, expires_at, value) VALUES (?, ?, ?)"
_COLLECT = (
    "DELETE FROM procession_cache WHERE key IN"
    " (SELECT key FROM procession_cache WHERE expires_at <= ? ORDER BY expires_at LIMIT 100)"
)
_LAST = "\U0010ffff"
"""No key has it: behind a prefix with this there is none that begins with the prefix."""


class SQLiteCacheStore:
    """
    A ``CacheStore`` in the file at *path*, which is made where it does not exist; it may hold runs as well.

    Whatever is written removes up to a hundred entries whose time is over, and what is removed is overwritten.

    >>> import anyio, tempfile
    >>> async def main(path: str) -> str | None:
    ...     async with SQLiteCacheStore(path) as store:
    ...         await store.set("k", "v", ttl=60)
    ...         return await store.get("k")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anyio.run(main, folder + "/cache.db")
    'v'
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> None:
        self._connection = Connection(path, tables=_TABLES)
        self._commits = Commits(self._connection)
        self._clock = clock

    async def get(self, key: str) -> str | None:
        """
        Return what is kept under *key*, or ``None``.

        Raises ``StoreError``, as every method does, where the file cannot be used.
        """
        now = self._clock()

        def read(made: sqlite3.Connection) -> object:
            found = made.execute(
                "SELECT value FROM procession_cache WHERE key = ? AND expires_at > ?", (key, now)
            ).fetchone()
            return None if found is None else found[0]

        value = await self._connection.read(read)
        return value if value is None or isinstance(value, str) else str(value)  # a file may be written by others

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """
        Keep *value* under *key* for *ttl* seconds, and remove what is over.
        """
        now = self._clock()

        def put(made: sqlite3.Connection) -> None:
            made.execute(_COLLECT, (now,))
            made.execute(_PUT, (key, now + ttl, value))

        await self._commits.write(put, len(key) + len(value))

    async def delete(self, key: str) -> bool:
        """
        Forget what is kept under *key*; ``False`` where nothing was.
        """
        return await self._commits.write(
            lambda made: made.execute("DELETE FROM procession_cache WHERE key = ?", (key,)).rowcount == 1
        )

    async def clear(self, prefix: str = "") -> int:
        """
        Forget everything whose key begins with *prefix*, and return how much that was.
        """
        return await self._commits.write(
            lambda made: (
                made.execute(
                    "DELETE FROM procession_cache WHERE key >= ? AND key < ?", (prefix, prefix + _LAST)
                ).rowcount
            )
        )

    async def aclose(self) -> None:
        """
        Close the file; the next use opens it again.
        """
        await self._connection.close()

    async def __aenter__(self) -> SQLiteCacheStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
