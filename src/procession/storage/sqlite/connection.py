"""
Connection: one SQLite file, used from worker threads, and the version of what is in it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from procession.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Connection"]

Out = TypeVar("Out")

VERSION = 1
"""The version of the tables that this code reads and writes."""

PATIENCE = 30.0
"""Seconds for which a process waits while others write."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS procession_schema (version INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS procession_runs (
        run_id TEXT PRIMARY KEY, owner TEXT NOT NULL, status TEXT NOT NULL, data TEXT,
        claim TEXT, claimed_until REAL NOT NULL DEFAULT 0, created_at REAL NOT NULL, updated_at REAL NOT NULL
    )""",
)


class Connection:
    """
    A connection to the file at *path*, opened when it is first used.

    The tables are the library's own, so that the file may hold others.  What is written is on the disk when a call
    returns, and what is deleted is overwritten.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._lock = threading.Lock()
        self._open: sqlite3.Connection | None = None
        self._process = 0

    async def run(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        """
        Do *work* on the connection, in a worker thread and alone, and return what it returns.

        Raises ``StoreError`` where the file cannot be used.
        """
        return await anyio.to_thread.run_sync(self._run, work)

    async def close(self) -> None:
        """
        Close the file; the next use opens it again.
        """
        await anyio.to_thread.run_sync(self._close)

    def _run(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        import sqlite3

        with self._lock:
            try:
                return work(self._opened())
            except sqlite3.Error as error:
                raise StoreError(f"the store {self.path!r} cannot be used: {error}") from error

    def _close(self) -> None:
        with self._lock:
            if self._open is not None and self._process == os.getpid():
                self._open.close()
            self._open = None

    def _opened(self) -> sqlite3.Connection:
        if self._open is not None:
            if self._process != os.getpid():
                raise StoreError(
                    f"the store {self.path!r} was opened before this process was forked",
                    hint="make the store, or use it first, in the process that works with it",
                )
            return self._open
        import sqlite3

        if self.path != ":memory:" and not os.path.exists(self.path):
            try:  # what was said in a run is private: nobody else on this machine need read it
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            except OSError as error:
                raise StoreError(f"the store {self.path!r} cannot be made: {error.strerror}") from error
        made = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _prepare(made, self.path)
        except BaseException:
            made.close()
            raise
        self._open, self._process = made, os.getpid()
        return made


def _prepare(made: sqlite3.Connection, path: str) -> None:
    _patiently(lambda: made.execute("PRAGMA journal_mode = WAL"))
    made.execute("PRAGMA synchronous = FULL")
    made.execute("PRAGMA secure_delete = ON")
    made.execute("BEGIN IMMEDIATE")
    try:
        for table in _TABLES:
            made.execute(table)
        found = made.execute("SELECT version FROM procession_schema").fetchone()
        if found is None:
            made.execute("INSERT INTO procession_schema VALUES (?)", (VERSION,))
        elif found[0] > VERSION:
            raise StoreError(
                f"the store {path!r} was written by a newer version: its tables are of version {found[0]}, "
                f"and this one knows {VERSION}",
                hint="update procession, or use another file",
            )
        made.execute("COMMIT")
    except BaseException:
        made.execute("ROLLBACK")
        raise


def _patiently(work: Callable[[], Any]) -> None:
    """
    Do what SQLite refuses at once, instead of waiting, while another process does the same.
    """
    import sqlite3

    until = time.monotonic() + PATIENCE
    while True:
        try:
            work()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
