"""
SQLiteJournal: suspended runs in one SQLite file, for any number of processes on one machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from procession.storage.base import JournalRow, JournalStatus
from procession.storage.sqlite.connection import Connection

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteJournal"]


class SQLiteJournal:
    """
    A ``JournalStore`` in the file at *path*, which is made where it does not exist.

    >>> import anyio, tempfile
    >>> async def main(path: str) -> JournalRow | None:
    ...     async with SQLiteJournal(path) as journal:
    ...         await journal.add(JournalRow(run_id="r", owner="agent", data="{}"))
    ...         return await journal.claim("r", "me", 30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anyio.run(main, folder + "/runs.db").status
    'suspended'
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> None:
        self._connection = Connection(path)
        self._clock = clock

    async def add(self, row: JournalRow) -> bool:
        """
        Keep a run that has been suspended; ``False`` where its id is known already.

        Raises ``StoreError``, as every method does, where the file cannot be used.
        """
        now = self._clock()
        return await self._write(
            "INSERT OR IGNORE INTO procession_runs (run_id, owner, status, data, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (row.run_id, row.owner, row.status, row.data, now, now),
        )

    async def row(self, run_id: str) -> JournalRow | None:
        """
        Return what is kept of a run, or ``None``.
        """
        return await self._connection.run(lambda made: _row(made, run_id))

    async def claim(self, run_id: str, token: str, seconds: float) -> JournalRow | None:
        """
        Take a suspended run for *seconds*, or prolong a claim; ``None`` where that cannot be.
        """
        now = self._clock()

        def take(made: sqlite3.Connection) -> JournalRow | None:
            made.execute("BEGIN IMMEDIATE")  # no other process writes before the commit
            try:
                taken = made.execute(
                    "UPDATE procession_runs SET claim = ?, claimed_until = ? WHERE run_id = ? AND status = 'suspended'"
                    " AND (claim IS NULL OR claim = ? OR claimed_until <= ?)",
                    (token, now + seconds, run_id, token, now),
                )
                found = _row(made, run_id) if taken.rowcount else None
                made.execute("COMMIT")
            except BaseException:
                made.execute("ROLLBACK")
                raise
            return found

        return await self._connection.run(take)

    async def note(self, run_id: str, token: str, data: str) -> bool:
        """
        Write how far the run has come, and keep it; ``False`` unless the token holds it.
        """
        return await self._write(
            "UPDATE procession_runs SET data = ?, updated_at = ? WHERE run_id = ? AND claim = ?",
            (data, self._clock(), run_id, token),
        )

    async def release(self, run_id: str, token: str) -> bool:
        """
        Give the run back as it is; ``False`` where the token no longer holds it.
        """
        return await self._write(
            "UPDATE procession_runs SET claim = NULL WHERE run_id = ? AND claim = ?", (run_id, token)
        )

    async def settle(self, run_id: str, token: str, status: JournalStatus, data: str | None = None) -> bool:
        """
        Write what became of the run and give it back; ``False`` unless the token holds it.
        """
        return await self._write(
            "UPDATE procession_runs SET status = ?, data = ?, claim = NULL, updated_at = ?"
            " WHERE run_id = ? AND claim = ?",
            (status, data, self._clock(), run_id, token),
        )

    async def aclose(self) -> None:
        """
        Close the file; the next use opens it again.
        """
        await self._connection.close()

    async def __aenter__(self) -> SQLiteJournal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _write(self, statement: str, values: tuple[Any, ...]) -> bool:
        return await self._connection.run(lambda made: made.execute(statement, values).rowcount == 1)


def _row(made: sqlite3.Connection, run_id: str) -> JournalRow | None:
    found = made.execute(
        "SELECT run_id, owner, status, data FROM procession_runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    return None if found is None else JournalRow(run_id=found[0], owner=found[1], status=found[2], data=found[3])
