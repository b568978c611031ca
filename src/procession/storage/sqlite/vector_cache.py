"""
VectorCache: the vectors of large scopes, in memory between one search and the next, and what of them is no longer so.

A scope is one resource's vectors of an index, or all of an index.  Rows of the file never change: what takes the place of
another one has a higher number.  So whoever has read a scope reads what has been added since, and, if the scope's
``change`` is another one, which numbers are left.  All of it in one transaction, whoever else writes.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from procession.storage.vector_rows import RowsView, VectorRows

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Scope", "ScopeState", "SomeRows", "VectorCache", "read_rows", "read_state"]

CHUNK = 2000
"""Rows that are read at a time."""


class Scope(NamedTuple):
    """
    Whose vectors: of one resource, or with ``None`` of each.
    """

    index_name: str
    resource_id: str | None

    @property
    def name(self) -> str:
        """
        What it is called in the file.
        """
        return "*" if self.resource_id is None else f"={self.resource_id}"

    @property
    def where(self) -> str:
        """
        The condition of its rows, with as many question marks as :attr:`values`.
        """
        return "index_name = ?" if self.resource_id is None else "index_name = ? AND resource_id = ?"

    @property
    def values(self) -> tuple[str, ...]:
        """
        What the question marks stand for.
        """
        return (self.index_name,) if self.resource_id is None else (self.index_name, self.resource_id)


class ScopeState(NamedTuple):
    """
    What the file says of a scope.
    """

    length: int
    rows: int
    change: int
    """Another number whenever rows were deleted."""


def read_state(made: sqlite3.Connection, scope: Scope) -> ScopeState | None:
    """
    Return what the file says of a scope, ``None`` where it has no vectors.
    """
    found = made.execute(
        "SELECT length, total, change FROM procession_vector_scopes WHERE index_name = ? AND scope = ?",
        (scope.index_name, scope.name),
    ).fetchone()
    return None if found is None else ScopeState(*found)


class SomeRows(NamedTuple):
    """
    Rows of the file.
    """

    numbers: list[int]
    units: list[bytes]
    refs: list[tuple[str, str]]
    """Thread and message."""
    facts: list[str | None]


def read_rows(made: sqlite3.Connection, where: str, values: Sequence[Any]) -> Iterator[SomeRows]:
    """
    Yield rows in the order of their numbers, some at a time.
    """
    found = made.execute(
        f"SELECT number, thread_id, message_id, facts, vector FROM procession_vectors WHERE {where} ORDER BY number",
        tuple(values),
    )
    while chunk := found.fetchmany(CHUNK):
        yield SomeRows(
            [row[0] for row in chunk],
            [row[4] for row in chunk],
            [(row[1], row[2]) for row in chunk],
            [row[3] for row in chunk],
        )


class _Cached:
    """
    A scope in memory; who holds the lock brings it up to date.
    """

    __slots__ = ("change", "last", "lock", "numbers", "rows", "size")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: VectorRows | None = None
        self.numbers = array("q")
        self.last = -1
        """The last number that had been given to any row when it was read."""
        self.change = 0
        self.size = 0

    def clear(self) -> None:
        """
        Forget everything.
        """
        self.rows, self.numbers, self.last, self.size = None, array("q"), -1, 0


class VectorCache:
    """
    Scopes that together take no more than *most* bytes; what was not asked for the longest goes first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._scopes: OrderedDict[Scope, _Cached] = OrderedDict()

    def takes(self, state: ScopeState) -> bool:
        """
        Return whether there is room for a scope, if all others go.
        """
        return VectorRows.size(state.rows, state.length) <= self._most

    def view(self, made: sqlite3.Connection, scope: Scope) -> RowsView | None:
        """
        Return a scope as it is in the file now, ``None`` where it has no vectors.
        """
        with self._lock:
            cached = self._scopes.setdefault(scope, _Cached())
            self._scopes.move_to_end(scope)
        with cached.lock:  # before the transaction: who comes later sees no earlier state
            made.execute("BEGIN")
            try:
                state = read_state(made, scope)
                view = None if state is None else _bring_up_to_date(made, cached, scope, state)
            except BaseException:
                cached.clear()  # half of it may have been read
                raise
            finally:
                made.execute("ROLLBACK")
            if view is None:
                cached.clear()
        self._make_room(scope)
        return view

    def scopes(self) -> list[Scope]:
        """
        Return what is in memory; what was not asked for the longest comes first.
        """
        with self._lock:
            return list(self._scopes)

    def forget(self, index: str | None = None, resource_id: str | None = None) -> None:
        """
        Forget what is in memory of an index, of a resource, or of both: somebody has deleted it.
        """
        with self._lock:
            for scope in list(self._scopes):
                if index in (None, scope.index_name) and (
                    resource_id is None or scope.resource_id in (None, resource_id)
                ):
                    del self._scopes[scope]

    def _make_room(self, last: Scope) -> None:
        with self._lock:
            taken = sum([cached.size for cached in self._scopes.values()])
            for scope in list(self._scopes):
                if taken <= self._most or scope == last:
                    return
                taken -= self._scopes.pop(scope).size


def _bring_up_to_date(made: sqlite3.Connection, cached: _Cached, scope: Scope, state: ScopeState) -> RowsView:
    given = made.execute("SELECT seq FROM sqlite_sequence WHERE name = 'procession_vectors'").fetchone()[0]
    if given < cached.last:  # it is another file
        cached.clear()
    rows = cached.rows
    if rows is None or rows.length != state.length:
        cached.clear()
        rows = cached.rows = VectorRows(state.length, rows=state.rows)
    elif cached.change != state.change:
        # As one text: to ask for a hundred thousand rows takes Python several times as long.
        text = made.execute(
            f"SELECT json_group_array(number) FROM procession_vectors WHERE {scope.where}", scope.values
        )
        left = set(json.loads(text.fetchone()[0]))
        rows.forget(row for row, number in enumerate(cached.numbers) if number not in left)
        if rows.should_be_packed:
            cached.numbers = array("q", [cached.numbers[row] for row in rows.kept()])
            rows = cached.rows = rows.packed()
    for some in read_rows(made, f"{scope.where} AND number > ?", (*scope.values, cached.last)):
        rows.add(some.units, some.refs, some.facts)
        cached.numbers.extend(some.numbers)
    cached.last, cached.change, cached.size = given, state.change, VectorRows.size(len(rows), state.length)
    return rows.view()
