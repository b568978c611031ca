"""
SQLiteCosts: what model calls have cost, in one SQLite file, for any number of processes on one machine.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from procession.errors import DefinitionError
from procession.storage.costs import HOUR, KEPT, CostBalance, CostEntry, Reservation
from procession.storage.memory_costs import checked_kept
from procession.storage.sqlite.commits import Commits
from procession.storage.sqlite.connection import Connection, Synchronous

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteCosts"]

_TABLES = (
    """CREATE TABLE IF NOT EXISTS procession_costs (
        account TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL, amount INTEGER NOT NULL, estimated INTEGER NOT NULL,
        model TEXT NOT NULL, PRIMARY KEY (account, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS procession_costs_by_account ON procession_costs (account, at, amount, estimated)",
    "CREATE INDEX IF NOT EXISTS procession_costs_by_time ON procession_costs (at)",
    # The sums of whole hours: of a window that begins within an hour, only that one is added up call by call.  A sum that
    # does not fit would become a float, which is refused.
    """CREATE TABLE IF NOT EXISTS procession_cost_hours (
        account TEXT NOT NULL, hour INTEGER NOT NULL, amount INTEGER NOT NULL CHECK (typeof(amount) = 'integer'),
        estimated INTEGER NOT NULL, PRIMARY KEY (account, hour)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS procession_cost_reservations (
        account TEXT NOT NULL, id TEXT NOT NULL, amount INTEGER NOT NULL, until REAL NOT NULL, PRIMARY KEY (account, id)
    ) WITHOUT ROWID""",
)

_SWEEP = 3600.0
"""Seconds after which a process looks for what is too old."""

_ADD = (
    "INSERT INTO procession_costs (account, id, at, amount, estimated, model) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (account, id) DO NOTHING"
)
_ADD_UP = (
    "INSERT INTO procession_cost_hours (account, hour, amount, estimated) VALUES (?, ?, ?, ?) ON CONFLICT (account, hour)"
    " DO UPDATE SET amount = amount + excluded.amount, estimated = estimated + excluded.estimated"
)
_HOURS = (
    "SELECT coalesce(sum(amount), 0), coalesce(sum(estimated), 0) FROM procession_cost_hours"
    " WHERE account = ? AND hour >= ?"
)
_PART_OF_HOUR = (
    "SELECT coalesce(sum(amount), 0), coalesce(sum(amount * estimated), 0) FROM procession_costs"
    " WHERE account = ? AND at > ? AND at < ?"
)
_ANEW = (
    "INSERT INTO procession_cost_hours (account, hour, amount, estimated)"
    " SELECT account, ?, sum(amount), sum(amount * estimated) FROM procession_costs WHERE at < ? GROUP BY account"
)
_HELD = (
    "SELECT coalesce(sum(amount), 0) FROM procession_cost_reservations WHERE account = ? AND until > ? AND id IS NOT ?"
)


class SQLiteCosts:
    """
    A ``CostStore`` in the file at *path*, which is made where it does not exist; it may be that of a ``SQLiteJournal``.

    Entries are kept for *kept* seconds.  What was booked survives the end of the process, however that comes; what
    *synchronous* means is told with :class:`SQLiteJournal`.

    >>> import anyio, tempfile
    >>> async def main(path: str) -> int:
    ...     async with SQLiteCosts(path) as costs:
    ...         await costs.book("user", [CostEntry(id="call-1", amount=250)])
    ...         return (await costs.balance("user", seconds=3600)).spent
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anyio.run(main, folder + "/costs.db")
    250
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        kept: float = KEPT,
        synchronous: Synchronous = "normal",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if synchronous not in ("normal", "full"):
            raise DefinitionError(f"synchronous is {synchronous!r}", hint='say "normal" or "full"')
        self._kept = checked_kept(kept)
        self._connection = Connection(path, synchronous=synchronous, tables=_TABLES)
        self._commits = Commits(self._connection)
        self._clock = clock
        self._swept: float | None = None

    @property
    def kept(self) -> float:
        """
        Seconds for which entries are kept.
        """
        return self._kept

    async def book(
        self,
        account: str,
        entries: Sequence[CostEntry] = (),
        *,
        seconds: float | None = None,
        release: str | None = None,
        reserve: Reservation | None = None,
    ) -> CostBalance:
        """
        Add *entries*, end the reservation *release*, and make *reserve* if it fits, at once: nobody sees half of it.

        Raises ``StoreError``, as every method does, where the file cannot be used.
        """
        rows = [(one.id, one.amount, one.estimated, one.model) for one in entries]

        def work(made: sqlite3.Connection) -> CostBalance:
            now = self._clock()  # within the commit: whoever comes later books later
            self._sweep(made, now)
            for id, amount, estimated, model in rows:
                if made.execute(_ADD, (account, id, now, amount, estimated, model)).rowcount:
                    made.execute(_ADD_UP, (account, int(now // HOUR), amount, amount if estimated else 0))
            if release is not None:
                made.execute(
                    "DELETE FROM procession_cost_reservations WHERE account = ? AND id = ?", (account, release)
                )
            if reserve is None:
                return _balance(made, account, now, seconds, release)
            stands = _balance(made, account, now, seconds, reserve.id)
            if stands.total + reserve.amount > reserve.limit:
                return stands.replace(granted=False)
            made.execute(
                "INSERT OR REPLACE INTO procession_cost_reservations (account, id, amount, until) VALUES (?, ?, ?, ?)",
                (account, reserve.id, reserve.amount, now + reserve.seconds),
            )
            return stands

        return await self._commits.write(work, sum([len(one.id) + len(one.model) + len(account) for one in entries]))

    async def balance(self, account: str, *, seconds: float | None = None, besides: str | None = None) -> CostBalance:
        """
        Return how the account stands over the last *seconds*; the reservation *besides* is not counted.
        """
        return await self._connection.read(lambda made: _balance(made, account, self._clock(), seconds, besides))

    async def by_model(self, account: str, *, seconds: float | None = None) -> Mapping[str, int]:
        """
        Return what each model has cost over the last *seconds*.
        """

        def read(made: sqlite3.Connection) -> dict[str, int]:
            found = made.execute(
                "SELECT model, sum(amount) FROM procession_costs WHERE account = ? AND at > ? GROUP BY model",
                (account, _since(self._clock(), seconds)),
            )
            return dict(found.fetchall())

        return await self._connection.read(read)

    def _sweep(self, made: sqlite3.Connection, now: float) -> None:
        """
        Delete what is too old, now and then.
        """
        if self._swept is not None and now - self._swept < min(_SWEEP, self._kept):
            return
        if self._kept < math.inf:
            old = now - self._kept
            hour = int(old // HOUR)
            made.execute("DELETE FROM procession_costs WHERE at <= ?", (old,))
            made.execute("DELETE FROM procession_cost_hours WHERE hour <= ?", (hour,))
            made.execute(_ANEW, (hour, (hour + 1) * HOUR))
        made.execute("DELETE FROM procession_cost_reservations WHERE until <= ?", (now,))
        self._swept = now

    async def aclose(self) -> None:
        """
        Close the file; the next use opens it again.
        """
        await self._connection.close()

    async def __aenter__(self) -> SQLiteCosts:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _since(now: float, seconds: float | None) -> float:
    return float("-inf") if seconds is None else now - seconds


def _balance(
    made: sqlite3.Connection, account: str, now: float, seconds: float | None, besides: str | None
) -> CostBalance:
    since = _since(now, seconds)
    first = 0 if seconds is None else int(since // HOUR) + 1
    spent, estimated = _row(made, _HOURS, (account, first))
    if seconds is not None:
        part, guessed = _row(made, _PART_OF_HOUR, (account, since, first * HOUR))
        spent, estimated = spent + part, estimated + guessed
    (reserved,) = _row(made, _HELD, (account, now, besides))
    return CostBalance(spent=spent, estimated=estimated, reserved=reserved)


def _row(made: sqlite3.Connection, question: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    found: tuple[Any, ...] = made.execute(question, values).fetchone()
    return found
