"""
Vectors in Postgres, with the extension pgvector: compared one by one, or found by an index where there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.storage.nearest import FLOAT_BYTES, floats_of
from procession.storage.postgres.connection import PostgresConnection
from procession.storage.postgres.part import PostgresPart
from procession.storage.postgres.vector_builds import VectorBuilds
from procession.storage.postgres.vector_copy import copy_vectors
from procession.storage.postgres.vector_table import VectorTable, lock_threads, tables_of
from procession.storage.records import Records
from procession.storage.threads import MessageRef
from procession.storage.vector_checks import check_deletion, check_lengths, checked_units
from procession.storage.vector_rows import SearchFor, facts_text, hits_of
from procession.storage.vectors import Facts, VectorHit, VectorItem

__all__ = ["PostgresVectors"]

_FEW = 10_000
"""Vectors that are compared one by one: of a scope, or in an index of no more than so many."""

_LOOK_AT = 200
"""How many near ones the index looks at before it answers: the more, the fewer it misses."""

_MOST = 1000
"""The most that pgvector lets it look at."""


class PostgresVectors(PostgresPart):
    """
    A ``VectorStore`` in Postgres: part of a ``PostgresStore``.  The server must have pgvector.

    Each index is a table of its own, made with its first vectors.  Up to ten thousand vectors of a scope are compared one
    by one; a search among more looks them up in an index (HNSW), which may miss some that are near.  It is built in the
    background once more than ten thousand have been put, or by :meth:`build_vector_index`.
    """

    def __init__(
        self, connection: PostgresConnection, records: Records, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(connection, records, clock)
        self._builds = VectorBuilds(connection)

    async def put_vectors(self, index: str, items: Sequence[VectorItem]) -> None:
        """
        Keep vectors in place of whatever the index has of the same messages.

        Raises ``StoreError`` where the index has vectors of another length, and where the server has no pgvector;
        ``InputError`` for a vector without a direction.
        """
        if not items:
            return
        units = checked_units(index, items)
        length = len(units[0]) // FLOAT_BYTES
        refs = {(item.thread_id, item.message_id) for item in items}
        table = VectorTable.of(index, self._connection.schema)

        async def put(made: AsyncConnection) -> bool:
            state = await table.prepared(made, length, self._connection.place)
            check_lengths(index, length, state.length)
            await lock_threads(made, index, {thread_id for thread_id, _ in refs})
            await made.execute(text(f"DELETE FROM {table.name} WHERE {_listed('messages')}"), _lists("messages", refs))
            await copy_vectors(made, table, items, units)
            return state.may_be_indexed and self._builds.may_begin(table) and await _has_more(made, table, "true", {})

        if await self._connection.write(put):
            self._builds.begin(table)

    async def build_vector_index(self, index: str) -> bool:
        """
        Build what the nearest of many are looked up in (HNSW), or wait for whoever is building it; nothing is done where it
        is there.  It takes as long as it takes, and others go on putting and searching.

        Returns whether there is one now: vectors of more than 4,000 numbers have none.  The user of the database must own
        the index's table, as who has put the first vectors does.

        Raises ``StoreError`` where nothing was ever put into the index, or building failed: then nothing else has changed.

            await store.put_vectors("texts", items)  # any number
            await store.build_vector_index("texts")
        """
        return await self._builds.build(VectorTable.of(index, self._connection.schema))

    async def search(
        self,
        index: str,
        vector: Sequence[float],
        *,
        top_k: int,
        resource_id: str | None,
        thread_id: str | None = None,
        threshold: float | None = None,
        facts: Facts | None = None,
        without: Collection[MessageRef] = (),
    ) -> list[VectorHit]:
        """
        Return the *top_k* messages that are most alike, the most alike first.
        """
        sought = SearchFor.of(
            vector, top_k=top_k, thread_id=thread_id, threshold=threshold, facts=facts, without=without
        )
        table = VectorTable.of(index, self._connection.schema)
        where, values = _conditions(sought, resource_id)

        async def search(made: AsyncConnection) -> list[VectorHit]:
            state = await table.state(made)
            if state is None:
                return []
            if sought.length != state.length:
                if not await table.is_empty(made):
                    check_lengths(index, sought.length, state.length)
                return []
            if state.is_indexed and await _has_more(made, table, where, values):
                found = await _by_index(made, table, state.length, sought, where, values, state.scans_on)
                if found is not None:
                    return found
            return await _one_by_one(made, table, sought, where, values)

        return await self._connection.write(search)

    async def delete_vectors(
        self,
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
        message_ids: Collection[str] | None = None,
        index: str | None = None,
    ) -> int:
        """
        Delete the vectors that all of this is true of, and return how many there were.
        """
        check_deletion(resource_id, thread_id, message_ids, index)
        conditions: dict[str, Any] = {"resource_id = :resource_id": resource_id, "thread_id = :thread_id": thread_id}
        where = [condition for condition, value in conditions.items() if value is not None]
        values: dict[str, Any] = {"resource_id": resource_id, "thread_id": thread_id}
        if message_ids is not None:
            where.append("message_id = ANY(CAST(:message_ids AS text[]))")
            values["message_ids"] = list(message_ids)
        condition = " AND ".join(where) or "true"

        async def delete(made: AsyncConnection) -> int:
            schema = self._connection.schema
            known = [VectorTable.of(index, schema)] if index is not None else await tables_of(made, schema)
            deleted = 0
            for table in known:
                if await table.state(made) is not None:
                    done = await made.execute(text(f"DELETE FROM {table.name} WHERE {condition}"), values)
                    deleted += done.rowcount
            return deleted

        return await self._connection.write(delete)


def _conditions(sought: SearchFor, resource_id: str | None) -> tuple[str, dict[str, Any]]:
    """
    Return the condition of what is sought, and what stands for its names.
    """
    where: list[str] = []
    values: dict[str, Any] = {}
    if resource_id is not None:
        where.append("resource_id = :resource_id")
        values["resource_id"] = resource_id
    if sought.thread_id is not None:
        where.append("thread_id = :thread_id")
        values["thread_id"] = sought.thread_id
    if sought.facts is not None:
        where.append("facts @> CAST(:facts AS jsonb)")
        values["facts"] = facts_text(sought.facts)
    if sought.without:
        where.append(f"NOT {_listed('without')}")
        values |= _lists("without", {(ref.thread_id, ref.message_id) for ref in sought.without})
    return " AND ".join(where) or "true", values


def _listed(name: str) -> str:
    """
    Return the condition that a message is in a list.
    """
    return (
        f"(thread_id, message_id) IN (SELECT * FROM unnest(CAST(:{name}_threads AS text[]),"
        f" CAST(:{name}_messages AS text[])))"
    )


def _lists(name: str, refs: Collection[tuple[str, str]]) -> dict[str, list[str]]:
    return {
        f"{name}_threads": [thread_id for thread_id, _ in refs],
        f"{name}_messages": [message_id for _, message_id in refs],
    }


async def _has_more(made: AsyncConnection, table: VectorTable, where: str, values: dict[str, Any]) -> bool:
    """
    Return whether there are more than :data:`_FEW`.
    """
    some = f"SELECT count(*) FROM (SELECT FROM {table.name} WHERE {where} LIMIT {_FEW + 1}) AS few"
    count: int = (await made.execute(text(some), values)).scalar_one()
    return count > _FEW


async def _one_by_one(
    made: AsyncConnection, table: VectorTable, sought: SearchFor, where: str, values: dict[str, Any]
) -> list[VectorHit]:
    """
    Compare each, and return the nearest.
    """
    least = "" if sought.threshold is None else " HAVING min(vector <=> CAST(:sought AS vector)) <= 1 - :threshold"
    found = await made.execute(
        text(
            f"SELECT thread_id, message_id, 1 - min(vector <=> CAST(:sought AS vector)) AS score FROM {table.name}"
            f" WHERE {where} GROUP BY thread_id, message_id{least} ORDER BY score DESC LIMIT :top_k"
        ),
        {**values, "sought": _written(sought.unit), "threshold": sought.threshold, "top_k": sought.top_k},
    )
    return [VectorHit(thread_id=row[0], message_id=row[1], score=row[2]) for row in found]


async def _by_index(
    made: AsyncConnection,
    table: VectorTable,
    length: int,
    sought: SearchFor,
    where: str,
    values: dict[str, Any],
    scans_on: bool,
) -> list[VectorHit] | None:
    """
    Look the nearest up in the index, and return them; ``None`` where it does not find enough of them.
    """
    if scans_on:  # else it would look at the nearest of all first, and at the condition then
        await made.execute(text("SET LOCAL hnsw.iterative_scan = strict_order"))
    await made.execute(text(f"SET LOCAL hnsw.ef_search = {min(_MOST, max(_LOOK_AT, 2 * sought.top_k))}"))
    distance = table.distance(length)
    limit = sought.top_k * 2 + 8  # a message may be in pieces
    while True:
        found = await made.execute(
            text(
                f"SELECT thread_id, message_id, 1 - ({distance}) FROM {table.name} WHERE {where}"
                f" ORDER BY {distance} LIMIT :limit"
            ),
            {**values, "sought": _written(sought.unit), "limit": limit},
        )
        rows = found.all()
        best: dict[MessageRef, float] = {}
        for thread_id, message_id, score in rows:
            if sought.threshold is not None and score < sought.threshold:
                return hits_of(best, sought.top_k)
            best.setdefault(MessageRef(thread_id, message_id), score)
        if len(best) >= sought.top_k:
            return hits_of(best, sought.top_k)
        if len(rows) < limit or limit > _FEW:
            return None
        limit *= 4


def _written(unit: bytes) -> str:
    """
    Return a vector as Postgres reads it: nine digits tell one number of 32 bits from each other.
    """
    numbers = ",".join([f"{number:.9g}" for number in floats_of(unit)])
    return f"[{numbers}]"
