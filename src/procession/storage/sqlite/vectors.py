"""
SQLiteVectors: vectors in one SQLite file, each compared when something is sought.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from procession.errors import DefinitionError, StoreError
from procession.storage.nearest import FLOAT_BYTES
from procession.storage.records import Records
from procession.storage.sqlite.connection import PATIENCE, Synchronous
from procession.storage.sqlite.conversation_file import LARGE, ConversationFile
from procession.storage.sqlite.schema import Family
from procession.storage.sqlite.vector_cache import Scope, ScopeState, VectorCache, read_rows, read_state
from procession.storage.sqlite.vector_extension import loaded, search_by_extension
from procession.storage.threads import MessageRef
from procession.storage.vector_checks import check_deletion, check_lengths, checked_units
from procession.storage.vector_rows import SearchFor, VectorRows, best_of, facts_text
from procession.storage.vectors import Facts, VectorHit, VectorItem

if TYPE_CHECKING:
    import sqlite3

__all__ = ["CACHED_BYTES", "VECTORS", "SQLiteVectors"]

Out = TypeVar("Out")

VECTORS = Family(
    name="vectors",
    tables=(
        # The vector comes last in its row: what comes before is read without it.  A number is never used again.
        """CREATE TABLE procession_vectors (
            number INTEGER PRIMARY KEY AUTOINCREMENT, index_name TEXT NOT NULL, resource_id TEXT NOT NULL,
            thread_id TEXT NOT NULL, message_id TEXT NOT NULL, part INTEGER NOT NULL, facts TEXT, vector BLOB NOT NULL
        )""",
        "CREATE INDEX procession_vectors_by_resource ON procession_vectors (resource_id, index_name)",
        "CREATE INDEX procession_vectors_by_message"
        " ON procession_vectors (thread_id, message_id, index_name, resource_id)",
        # How many there are of each resource, and under '*' of all together: whoever has vectors in memory compares
        # ``change``, which is another number whenever some were deleted.
        """CREATE TABLE procession_vector_scopes (
            index_name TEXT NOT NULL, scope TEXT NOT NULL, length INTEGER NOT NULL, total INTEGER NOT NULL,
            change INTEGER NOT NULL, PRIMARY KEY (index_name, scope)
        ) WITHOUT ROWID""",
    ),
)
"""The tables of vectors."""

CACHED_BYTES = 256 * 2**20
"""How much of the vectors is kept in memory for the next search, by each process."""

_SMALL = 250
"""Rows that are read from the file for each search: keeping them in memory is not worth it."""

_ON_THE_LOOP = 50
"""Vectors that are written on the event loop, in less than two milliseconds."""

_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("procession_vector_threads")


class SQLiteVectors(ConversationFile):
    """
    A ``VectorStore`` in a file; what is large of it stays in memory, up to *vector_cache* bytes.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous,
        records: Records | None,
        clock: Callable[[], float],
        families: Sequence[Family] = (),
        vector_cache: int = CACHED_BYTES,
    ) -> None:
        super().__init__(path, synchronous=synchronous, records=records, clock=clock, families=(VECTORS, *families))
        if vector_cache < 0:
            raise DefinitionError(f"vector_cache is {vector_cache!r}", hint="give bytes, 0 to keep nothing in memory")
        self._vectors = VectorCache(vector_cache)

    async def aclose(self) -> None:
        """
        Close the file, and forget what is in memory; the next use opens it again.
        """
        self._vectors.forget()
        await super().aclose()

    async def put_vectors(self, index: str, items: Sequence[VectorItem]) -> None:
        """
        Keep vectors in place of whatever the index has of the same messages.

        Raises ``StoreError`` where the index has vectors of another length, ``InputError`` for a vector without a
        direction.
        """
        if not items:
            return
        units = checked_units(index, items)
        size = sum(map(len, units)) if len(items) <= _ON_THE_LOOP else max(LARGE, sum(map(len, units)))
        await self._commits.write(partial(_put, index, items, units), size)

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

        A scope of up to 250 vectors is read from the file; a larger one is kept in memory for the next search.
        """
        sought = SearchFor.of(
            vector, top_k=top_k, thread_id=thread_id, threshold=threshold, facts=facts, without=without
        )
        scope = Scope(index, resource_id)
        found = await self._read(partial(_search_small, scope, sought))
        return await self._beside(partial(self._search, scope, sought)) if found is None else found

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
        conditions = {"resource_id = ?": resource_id, "thread_id = ?": thread_id, "index_name = ?": index}
        wanted = {condition: value for condition, value in conditions.items() if value is not None}
        if message_ids is not None:
            wanted["message_id IN (SELECT value FROM json_each(?))"] = json.dumps(list(message_ids))
        deleted = await self._commits.write(
            partial(_delete, " AND ".join(wanted), tuple(wanted.values())), 0 if message_ids else LARGE
        )
        if thread_id is None:  # what it was meant to get rid of is not kept in memory, either
            self._vectors.forget(index, resource_id)
        return deleted

    async def _beside(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        """
        Do *work*, which reads for longer, in one transaction on a connection of its own: nobody who writes waits for it.
        """
        if self._connection.file == ":memory:":
            return await self._connection.read(work)
        limiter: anyio.CapacityLimiter | None = _LIMITER.get(None)
        if limiter is None:
            limiter = anyio.CapacityLimiter(2)
            _LIMITER.set(limiter)
        return await anyio.to_thread.run_sync(partial(_with_file, self._connection.file, work), limiter=limiter)

    def _search(self, scope: Scope, sought: SearchFor, made: sqlite3.Connection) -> list[VectorHit]:
        state = _checked_state(made, scope, sought)
        if state is None:
            return []
        if not self._vectors.takes(state):
            made.execute("BEGIN")
            try:
                return _search_file(made, scope, state, sought)
            finally:
                made.execute("ROLLBACK")
        view = self._vectors.view(made, scope)
        return [] if view is None else view.search(sought)


def _with_file(path: str, work: Callable[[sqlite3.Connection], Out]) -> Out:
    import sqlite3

    try:
        with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as made:
            return work(made)
    except sqlite3.Error as error:
        raise StoreError(f"the store {path!r} cannot be used: {error}") from error


def _put(index: str, items: Sequence[VectorItem], units: Sequence[bytes], made: sqlite3.Connection) -> None:
    length = len(units[0]) // FLOAT_BYTES
    known = read_state(made, Scope(index, None))
    if known is not None:
        check_lengths(index, length, known.length)
    removed: Counter[str] = Counter()
    for ref in {MessageRef(item.thread_id, item.message_id) for item in items}:
        found = made.execute(
            "DELETE FROM procession_vectors WHERE thread_id = ? AND message_id = ? AND index_name = ?"
            " RETURNING resource_id",
            (ref.thread_id, ref.message_id, index),
        )
        removed.update([row[0] for row in found.fetchall()])
    made.executemany(
        "INSERT INTO procession_vectors (index_name, resource_id, thread_id, message_id, part, facts, vector)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (index, item.resource_id, item.thread_id, item.message_id, item.part, facts_text(item.facts), each)
            for item, each in zip(items, units, strict=True)
        ],
    )
    _count(made, index, length, Counter([item.resource_id for item in items]), removed)


def _delete(where: str, values: Sequence[str], made: sqlite3.Connection) -> int:
    found = made.execute(
        f"SELECT index_name, resource_id, count(*) FROM procession_vectors WHERE {where} GROUP BY 1, 2", values
    ).fetchall()
    made.execute(f"DELETE FROM procession_vectors WHERE {where}", values)
    removed: dict[str, Counter[str]] = {}
    for index, resource_id, rows in found:
        removed.setdefault(index, Counter())[resource_id] = rows
    for index, of in removed.items():
        _count(made, index, 0, Counter(), of)
    return sum([rows for _, _, rows in found])


def _count(made: sqlite3.Connection, index: str, length: int, added: Counter[str], removed: Counter[str]) -> None:
    """
    Write down how many rows there are now.
    """
    for resource_id in (None, *(added.keys() | removed.keys())):
        more = added.total() if resource_id is None else added[resource_id]
        less = removed.total() if resource_id is None else removed[resource_id]
        made.execute(
            "INSERT INTO procession_vector_scopes (index_name, scope, length, total, change)"
            " VALUES (?, ?, ?, ?, random()) ON CONFLICT (index_name, scope) DO UPDATE SET"
            " total = total + excluded.total, change = iif(?, excluded.change, change)",
            (index, Scope(index, resource_id).name, length, more - less, less > 0),
        )
        made.execute(
            "DELETE FROM procession_vector_scopes WHERE index_name = ? AND scope = ? AND total <= 0",
            (index, Scope(index, resource_id).name),
        )


def _checked_state(made: sqlite3.Connection, scope: Scope, sought: SearchFor) -> ScopeState | None:
    whole = read_state(made, Scope(scope.index_name, None))
    if whole is not None:
        check_lengths(scope.index_name, sought.length, whole.length)
    return whole if scope.resource_id is None else read_state(made, scope)


def _search_small(scope: Scope, sought: SearchFor, made: sqlite3.Connection) -> list[VectorHit] | None:
    """
    Search a small scope, or the part of one that a thread is, in the file; ``None`` where there is too much.
    """
    state = _checked_state(made, scope, sought)
    if state is None:
        return []
    where, values = scope.where, scope.values
    if sought.thread_id is not None:
        # The plus keeps SQLite from going through all that the resource has.
        where = "thread_id = ? AND index_name = ?" + ("" if scope.resource_id is None else " AND +resource_id = ?")
        values = (sought.thread_id, *values)
    if state.rows > _SMALL:
        if sought.thread_id is None:
            return None
        some = f"SELECT 1 FROM procession_vectors WHERE {where} LIMIT {_SMALL + 1}"
        if made.execute(f"SELECT count(*) FROM ({some})", values).fetchone()[0] > _SMALL:
            return None
    rows = VectorRows(state.length)
    for found in read_rows(made, where, values):
        rows.add(found.units, found.refs, found.facts)
    return rows.view().search(sought)


def _search_file(made: sqlite3.Connection, scope: Scope, state: ScopeState, sought: SearchFor) -> list[VectorHit]:
    """
    Search a scope that is too large to be kept in memory, some rows at a time.
    """
    if loaded(made):
        return search_by_extension(made, scope, sought)
    where, values = scope.where, scope.values
    if sought.thread_id is not None:
        where, values = f"{where} AND thread_id = ?", (*values, sought.thread_id)
    best: list[VectorHit] = []
    for found in read_rows(made, where, values):
        rows = VectorRows(state.length)
        rows.add(found.units, found.refs, found.facts)
        best = best_of([*best, *rows.view().search(sought)], sought.top_k)
    return best
