"""
SQLiteJournal: runs in one SQLite file, for any number of processes on one machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from procession.errors import DefinitionError, RunNotFound, StoreError
from procession.storage.base import FINAL, UNCHANGED, WAITING, JournalRow, RunKind, RunRow, RunStatus, Unchanged
from procession.storage.sqlite.commits import Commits
from procession.storage.sqlite.connection import Connection, Synchronous

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteJournal"]

Out = TypeVar("Out")

_OPEN = " AND ".join([f"status <> '{status}'" for status in sorted(FINAL)])  # for ``NOT IN`` a table is made each time
_HELD = f"run_id = ? AND claim = ? AND {_OPEN}"
_ROW = (
    "run_id, owner, kind, status, graph_hash, parent_run_id, forked_at, resource_id, thread_id, created_at, updated_at,"
    " claim IS NOT NULL AND claimed_until > ?, cancel_requested"
)
_ADD_ENTRY = f"INSERT INTO procession_entries SELECT run_id, ?, ?, ?, ?, ? FROM procession_runs WHERE {_HELD}"


class SQLiteJournal:
    """
    A ``JournalStore`` in the file at *path*, which is made where it does not exist.

    What was written survives the end of the process, however that comes.  With ``synchronous="normal"`` a power cut or
    a crash of the operating system may take the last seconds from it, and leaves what was before; with ``"full"`` each
    write waits for the disk, which takes ten times as long or more.

    >>> import anyio, tempfile
    >>> async def main(path: str) -> list[JournalRow]:
    ...     async with SQLiteJournal(path) as journal:
    ...         await journal.add(RunRow(run_id="r", owner="double"), token="me", seconds=30)
    ...         await journal.write("r", "me", [JournalRow(seq=0, kind="step", path="double", data="42")])
    ...         return await journal.entries("r")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anyio.run(main, folder + "/runs.db")
    [JournalRow(seq=0, kind='step', path='double', data='42')]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "normal",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if synchronous not in ("normal", "full"):
            raise DefinitionError(f"synchronous is {synchronous!r}", hint='say "normal" or "full"')
        self._connection = Connection(path, synchronous=synchronous)
        self._commits = Commits(self._connection)
        self._clock = clock

    async def add(self, row: RunRow, *, token: str | None = None, seconds: float = 0.0) -> bool:
        """
        Keep a new run, held by *token* for *seconds* if one is given; ``False`` where its id is known already.

        Raises ``StoreError``, as every method does, where the file cannot be used.
        """
        now = self._clock()
        if row.status in FINAL:
            token = None
        values = (
            row.run_id, row.owner, row.kind, row.status, row.graph_hash, row.parent_run_id, row.forked_at,
            row.resource_id, row.thread_id, now, now, token, 0.0 if token is None else now + seconds, row.data,
        )  # fmt: skip

        def add(made: sqlite3.Connection) -> bool:
            added = made.execute(
                "INSERT INTO procession_runs (run_id, owner, kind, status, graph_hash, parent_run_id, forked_at,"
                " resource_id, thread_id, created_at, updated_at, claim, claimed_until, cancel_requested, data)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT (run_id) DO NOTHING",
                values,
            )
            return added.rowcount == 1

        return await self._write(add, row.data)

    async def row(self, run_id: str) -> RunRow | None:
        """
        Return what is kept of a run as a whole, or ``None``.
        """
        now = self._clock()
        return await self._connection.read(lambda made: _row(made, run_id, now))

    async def claim(
        self, run_id: str, token: str, seconds: float, *, of: Collection[RunStatus] = WAITING
    ) -> RunRow | None:
        """
        Take a run that is in one of the states *of* for *seconds*, or prolong a claim; ``None`` where that cannot be.
        """
        now = self._clock()
        states = sorted(set(of) - FINAL)

        def take(made: sqlite3.Connection) -> RunRow | None:
            taken = made.execute(
                "UPDATE procession_runs SET claim = ?, claimed_until = ? WHERE run_id = ?"
                f" AND status IN ({_marks(states)}) AND (claim IS NULL OR claim = ? OR claimed_until <= ?)",
                (token, now + seconds, run_id, *states, token, now),
            )
            return _row(made, run_id, now) if taken.rowcount else None

        return await self._write(take)

    async def write(
        self,
        run_id: str,
        token: str,
        rows: Sequence[JournalRow] = (),
        *,
        status: RunStatus | None = None,
        data: str | None | Unchanged = UNCHANGED,
        release: bool = False,
    ) -> bool:
        """
        Add *rows*, set what is given, and give the run back with *release*; ``False`` unless the token holds it.

        Raises ``StoreError`` also where the run has a row of one of the ``seq`` already.
        """
        if len(rows) == 1 and status is None and data is UNCHANGED and not release:  # what a step writes
            row = rows[0]
            entry, size = (row.seq, row.kind, row.path, row.attempt, row.data, run_id, token), len(row.data or "")
            added = self._commits.execute_now(_ADD_ENTRY, entry, size)
            if added is not None:
                return added == 1
            return await self._commits.write(partial(_add_entry, entry), size, is_one=True)
        changes: list[str] = []
        values: list[Any] = []
        if status is not None:
            changes.append("status = ?")
            values.append(status)
        if not isinstance(data, Unchanged):
            changes.append("data = ?")
            values.append(data)
        if changes:
            changes.append("updated_at = ?")
            values.append(self._clock())
        if release or status in FINAL:
            changes.append("claim = NULL")
        entries = [(row.seq, row.kind, row.path, row.attempt, row.data, run_id, token) for row in rows]

        def write(made: sqlite3.Connection) -> bool:
            # Each statement writes nothing unless the token holds the run, and within one commit all do or none does;
            # what gives the run back comes last.
            if not all([_add_entry(entry, made) for entry in entries]):
                return False
            if changes:
                update = f"UPDATE procession_runs SET {', '.join(changes)} WHERE {_HELD}"
                return made.execute(update, (*values, run_id, token)).rowcount == 1
            if entries:
                return True
            return made.execute(f"SELECT 1 FROM procession_runs WHERE {_HELD}", (run_id, token)).fetchone() is not None

        return await self._write(write, *[row.data for row in rows], data if isinstance(data, str) else None)

    async def entries(self, run_id: str, *, after: int = -1) -> list[JournalRow]:
        """
        Return the rows of a run whose ``seq`` is above *after*, in order.
        """

        def read(made: sqlite3.Connection) -> list[JournalRow]:
            found = made.execute(
                "SELECT seq, kind, path, attempt, data FROM procession_entries WHERE run_id = ? AND seq > ? ORDER BY seq",
                (run_id, after),
            )
            return [JournalRow(seq=row[0], kind=row[1], path=row[2], attempt=row[3], data=row[4]) for row in found]

        return await self._connection.read(read)

    async def runs(
        self,
        *,
        owner: str | None = None,
        kind: RunKind | None = None,
        status: Collection[RunStatus] | None = None,
        resource_id: str | None = None,
        thread_id: str | None = None,
        parent_run_id: str | None = None,
        since: float | None = None,
        until: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """
        Return runs, the newest first, without their ``data``, on pages of *limit*.

        Raises ``RunNotFound`` where the run *after* is not there.
        """
        asked: dict[str, Any] = {
            "owner = ?": owner, "kind = ?": kind, "resource_id = ?": resource_id, "thread_id = ?": thread_id,
            "parent_run_id = ?": parent_run_id, "created_at >= ?": since, "created_at < ?": until,
        }  # fmt: skip
        wanted = {condition: value for condition, value in asked.items() if value is not None}
        conditions, values = list(wanted), list(wanted.values())
        if status is not None:
            conditions.append(f"status IN ({_marks(status)})")
            values.extend(status)
        now = self._clock()

        def read(made: sqlite3.Connection) -> list[RunRow]:
            if after is not None:
                last = made.execute(
                    "SELECT created_at, number FROM procession_runs WHERE run_id = ?", (after,)
                ).fetchone()
                if last is None:
                    raise RunNotFound(f"run {after!r}, after which the page is to begin, is not in the store")
                conditions.append("(created_at, number) < (?, ?)")
                values.extend(last)
            found = made.execute(
                f"SELECT {_ROW}, NULL FROM procession_runs WHERE {' AND '.join(conditions or ['1'])}"
                " ORDER BY created_at DESC, number DESC LIMIT ?",
                (now, *values, limit),
            )
            return [_run(row) for row in found]

        return await self._connection.read(read)

    async def request_cancel(self, run_id: str) -> bool:
        """
        Ask whoever holds the run to cancel it; ``False`` where the run is not there or has ended.
        """
        statement = f"UPDATE procession_runs SET cancel_requested = 1 WHERE run_id = ? AND {_OPEN}"
        return await self._write(lambda made: made.execute(statement, (run_id,)).rowcount == 1)

    async def delete(self, run_id: str) -> bool:
        """
        Remove a run and its rows; ``False`` where it is not there or somebody holds it.
        """
        now = self._clock()

        def delete(made: sqlite3.Connection) -> bool:
            gone = made.execute(
                "DELETE FROM procession_runs WHERE run_id = ? AND (claim IS NULL OR claimed_until <= ?)", (run_id, now)
            )
            if gone.rowcount:
                made.execute("DELETE FROM procession_entries WHERE run_id = ?", (run_id,))
            return gone.rowcount == 1

        return await self._write(delete)

    async def save_graph(self, graph_hash: str, spec: str) -> None:
        """
        Keep a workflow as data, JSON, under its hash.
        """
        await self._write(
            lambda made: made.execute("INSERT OR IGNORE INTO procession_graphs VALUES (?, ?)", (graph_hash, spec)), spec
        )

    async def graph(self, graph_hash: str) -> str | None:
        """
        Return a workflow as data, or ``None``.
        """

        def read(made: sqlite3.Connection) -> str | None:
            found = made.execute("SELECT spec FROM procession_graphs WHERE graph_hash = ?", (graph_hash,)).fetchone()
            return None if found is None else found[0]

        return await self._connection.read(read)

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

    async def _write(self, work: Callable[[sqlite3.Connection], Out], *texts: str | None) -> Out:
        return await self._commits.write(work, sum([len(text) for text in texts if text is not None]))


def _add_entry(entry: tuple[Any, ...], made: sqlite3.Connection) -> bool:
    import sqlite3

    try:
        return made.execute(_ADD_ENTRY, entry).rowcount == 1
    except sqlite3.IntegrityError:
        raise StoreError(f"run {entry[5]} has a row {entry[0]} already") from None


def _marks(values: Collection[Any]) -> str:
    return ", ".join("?" * len(values))


def _row(made: sqlite3.Connection, run_id: str, now: float) -> RunRow | None:
    found = made.execute(f"SELECT {_ROW}, data FROM procession_runs WHERE run_id = ?", (now, run_id)).fetchone()
    return None if found is None else _run(found)


def _run(found: Sequence[Any]) -> RunRow:
    return RunRow(
        run_id=found[0],
        owner=found[1],
        kind=found[2],
        status=found[3],
        graph_hash=found[4],
        parent_run_id=found[5],
        forked_at=found[6],
        resource_id=found[7],
        thread_id=found[8],
        created_at=found[9],
        updated_at=found[10],
        claimed=bool(found[11]),
        cancel_requested=bool(found[12]),
        data=found[13],
    )
