"""
PostgresJournal: runs in Postgres, for any number of processes and machines.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Executable,
    Row,
    Select,
    Text,
    cast,
    delete,
    extract,
    func,
    literal,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import RunNotFound, StoreError
from procession.storage.base import FINAL, UNCHANGED, WAITING, JournalRow, RunKind, RunRow, RunStatus, Unchanged
from procession.storage.postgres.access import PostgresAccess
from procession.storage.postgres.connection import PostgresConnection
from procession.storage.postgres.tables import ENTRIES, GRAPHS, RUNS

__all__ = ["PostgresJournal"]

Out = TypeVar("Out")

_R, _E = RUNS.c, ENTRIES.c
_ENTRY = ("run_id", "seq", "kind", "path", "attempt", "data")


class PostgresJournal(PostgresAccess):
    """
    A ``JournalStore`` in the database at *url*, whose tables are those of a ``PostgresStore``.

    What is told there of packages, event loops, connections, tables and errors is true of it, too.

        async with PostgresJournal("postgresql://user:password@host/database") as journal:
            runtime = Runtime(journal)
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str | None = None,
        pool_size: int = 10,
        timeout: float = 30.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """
        *clock* tells the seconds since 1970, by which claims end; it is the server's, which all machines share, unless one
        is given.

        Raises ``DefinitionError`` for an url that is none of Postgres, and for other things that cannot work.
        """
        self._connection = PostgresConnection(url, schema=schema, pool_size=pool_size, timeout=timeout)
        self._clock = clock

    async def add(self, row: RunRow, *, token: str | None = None, seconds: float = 0.0) -> bool:
        """
        Keep a new run, held by *token* for *seconds* if one is given; ``False`` where its id is known already.

        Raises ``StoreError``, as every method does, where the database cannot be used.
        """
        now = self._now()
        if row.status in FINAL:
            token = None
        added = (
            insert(RUNS)
            .values(
                run_id=row.run_id,
                owner=row.owner,
                kind=row.kind,
                status=row.status,
                graph_hash=row.graph_hash,
                parent_run_id=row.parent_run_id,
                forked_at=row.forked_at,
                resource_id=row.resource_id,
                thread_id=row.thread_id,
                created_at=now,
                updated_at=now,
                claim=token,
                claimed_until=0.0 if token is None else now + seconds,
                cancel_requested=False,
                data=_storable(row.data),
            )
            .on_conflict_do_nothing()
            .returning(_R.run_id)
        )
        return await self._write_one(added) is not None

    async def row(self, run_id: str) -> RunRow | None:
        """
        Return what is kept of a run as a whole, or ``None``.
        """
        asked = select(*self._columns(), _R.data).where(_R.run_id == run_id)
        found = await self._connection.read(lambda made: _one(made, asked))
        return None if found is None else _run(found)

    async def claim(
        self, run_id: str, token: str, seconds: float, *, of: Collection[RunStatus] = WAITING
    ) -> RunRow | None:
        """
        Take a run that is in one of the states *of* for *seconds*, or prolong a claim; ``None`` where that cannot be.
        """
        now = self._now()
        taken = (
            update(RUNS)
            .where(_R.run_id == run_id, _R.status.in_(sorted(set(of) - FINAL)))
            .where(or_(_R.claim.is_(None), _R.claim == token, _R.claimed_until <= now))
            .values(claim=token, claimed_until=now + seconds)
            .returning(*self._columns(), _R.data)
        )
        found = await self._write_one(taken)
        return None if found is None else _run(found)

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
        held = (_R.run_id == run_id) & (_R.claim == token) & _R.status.not_in(sorted(FINAL))
        changes: dict[str, Any] = {}
        if status is not None:
            changes["status"] = status
        if not isinstance(data, Unchanged):
            changes["data"] = _storable(data)
        if changes:
            changes["updated_at"] = self._now()
        if release or status in FINAL:
            changes["claim"] = None
        if len(rows) == 1 and not changes:  # what a step writes: one statement, which is a commit by itself
            row = rows[0]
            seq, attempt = literal(row.seq, BigInteger()), literal(row.attempt, BigInteger())
            values = [
                _R.run_id,
                seq,
                literal(row.kind),
                literal(row.path),
                attempt,
                literal(_storable(row.data), Text()),
            ]
            held_still = select(*values).where(held).with_for_update()
            added = insert(ENTRIES).from_select(_ENTRY, held_still).returning(_E.seq)

            async def write(made: AsyncConnection) -> bool:
                return await _added(_one(made, added)) is not None

            return await self._numbered(run_id, rows, self._connection.write_one(write))
        entries: list[dict[str, Any]] = [
            dict(zip(_ENTRY, (run_id, row.seq, row.kind, row.path, row.attempt, _storable(row.data)), strict=True))
            for row in rows
        ]
        holding = select(_R.run_id).where(held).with_for_update()
        change = update(RUNS).where(_R.run_id == run_id).values(**changes) if changes else None

        async def write_all(made: AsyncConnection) -> bool:
            if await _one(made, holding) is None:
                return False
            if entries:
                await _added(made.execute(insert(ENTRIES), entries))
            if change is not None:
                await made.execute(change)
            return True

        return await self._numbered(run_id, rows, self._connection.write(write_all))

    async def entries(self, run_id: str, *, after: int = -1) -> list[JournalRow]:
        """
        Return the rows of a run whose ``seq`` is above *after*, in order.
        """
        asked = select(_E.seq, _E.kind, _E.path, _E.attempt, _E.data).where(_E.run_id == run_id, _E.seq > after)
        found = await self._connection.read(lambda made: _all(made, asked.order_by(_E.seq)))
        return [JournalRow(**_named(row)) for row in found]

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
        same: dict[Any, Any] = {
            _R.owner: owner, _R.kind: kind, _R.resource_id: resource_id, _R.thread_id: thread_id,
            _R.parent_run_id: parent_run_id,
        }  # fmt: skip
        asked: Select[*tuple[Any, ...]] = select(*self._columns(), null().label("data"))
        asked = asked.where(*[column == value for column, value in same.items() if value is not None])
        if since is not None:
            asked = asked.where(_R.created_at >= since)
        if until is not None:
            asked = asked.where(_R.created_at < until)
        if status is not None:
            asked = asked.where(_R.status.in_(sorted(status)))
        if after is not None:
            place = select(_R.created_at, _R.number).where(_R.run_id == after)
            last = await self._connection.read(lambda made: _one(made, place))
            if last is None:
                raise RunNotFound(f"run {after!r}, after which the page is to begin, is not in the store")
            asked = asked.where(tuple_(_R.created_at, _R.number) < tuple_(*map(literal, last)))
        asked = asked.order_by(_R.created_at.desc(), _R.number.desc()).limit(limit)
        return [_run(row) for row in await self._connection.read(lambda made: _all(made, asked))]

    async def request_cancel(self, run_id: str) -> bool:
        """
        Ask whoever holds the run to cancel it; ``False`` where the run is not there or has ended.
        """
        asked = update(RUNS).where(_R.run_id == run_id, _R.status.not_in(sorted(FINAL))).values(cancel_requested=True)
        return await self._write_one(asked.returning(_R.run_id)) is not None

    async def delete(self, run_id: str) -> bool:
        """
        Remove a run and its rows; ``False`` where it is not there or somebody holds it.
        """
        free = or_(_R.claim.is_(None), _R.claimed_until <= self._now())
        return await self._write_one(delete(RUNS).where(_R.run_id == run_id, free).returning(_R.run_id)) is not None

    async def save_graph(self, graph_hash: str, spec: str) -> None:
        """
        Keep a workflow as data, JSON, under its hash.
        """
        kept = insert(GRAPHS).values(graph_hash=graph_hash, spec=_storable(spec)).on_conflict_do_nothing()
        await self._write_one(kept.returning(GRAPHS.c.graph_hash))

    async def graph(self, graph_hash: str) -> str | None:
        """
        Return a workflow as data, or ``None``.
        """
        asked = select(GRAPHS.c.spec).where(GRAPHS.c.graph_hash == graph_hash)
        found = await self._connection.read(lambda made: _one(made, asked))
        return None if found is None else found[0]

    def _now(self) -> ColumnElement[float]:
        if self._clock is not None:
            return literal(self._clock(), Double())
        return cast(extract("epoch", func.clock_timestamp()), Double)

    def _columns(self) -> list[ColumnElement[Any]]:
        """
        Return what is read of a run, besides its data.
        """
        claimed = (_R.claim.is_not(None) & (_R.claimed_until > self._now())).label("claimed")
        return [*(column for column in _R if column.key not in _NOT_READ), claimed]

    async def _write_one(self, statement: Executable) -> Row[Any] | None:
        return await self._connection.write_one(lambda made: _one(made, statement))

    async def _numbered(self, run_id: str, rows: Sequence[JournalRow], written: Awaitable[Out]) -> Out:
        """
        Wait for what writes *rows*, and say which of them was there already.
        """
        try:
            return await written
        except _Taken:
            known = {row.seq for row in await self.entries(run_id)}
            seq = next((row.seq for row in rows if row.seq in known), rows[-1].seq)
            raise StoreError(f"run {run_id} has a row {seq} already") from None


class _Taken(StoreError):
    """
    A row has the number of another one.
    """


_NOT_READ = frozenset(("number", "claim", "claimed_until", "data"))


def _storable(text: str | None) -> str | None:
    """
    Return JSON as JSON that has no half of a character, which no store can keep, but another word for it.
    """
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


async def _added(work: Awaitable[Out]) -> Out:
    try:
        return await work
    except IntegrityError:
        raise _Taken("a row has the number of another one") from None


async def _one(made: AsyncConnection, asked: Executable) -> Row[Any] | None:
    return (await made.execute(asked)).one_or_none()


async def _all(made: AsyncConnection, asked: Executable) -> Sequence[Row[Any]]:
    return (await made.execute(asked)).all()


def _run(found: Row[Any]) -> RunRow:
    return RunRow(**_named(found))


def _named(found: Row[Any]) -> dict[str, Any]:
    return dict(found._mapping)  # pyright: ignore[reportPrivateUsage]  # a name of its public interface
