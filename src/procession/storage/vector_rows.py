"""
VectorRows: vectors in memory with the messages that they are of, and how some of them are sought.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, TypeVar

from procession.errors import InputError, StoreError
from procession.messages.value import Value
from procession.storage.nearest import FLOAT_BYTES, matrix, rows_with, unit
from procession.storage.threads import MessageRef
from procession.storage.vectors import Facts, VectorHit

__all__ = ["RowsView", "SearchFor", "VectorRows", "best_of", "facts_of", "facts_text", "hits_of"]

Kept = TypeVar("Kept")

_ROUNDING = 1e-6
"""By how much a score may be wrong, since vectors have 32 bits for each number."""

_BESIDE = 150
"""Bytes for each row beside its vector, about."""

_MOST_GONE = 1000
"""Rows, and an eighth of all, that may be gone before they are taken out."""


class SearchFor(Value, kw_only=True):
    """
    What is sought among rows: see :meth:`VectorStore.search`.
    """

    unit: bytes
    top_k: int
    thread_id: str | None = None
    threshold: float | None = None
    facts: Facts | None = None
    without: frozenset[MessageRef] = frozenset()

    @classmethod
    def of(
        cls,
        vector: Sequence[float],
        *,
        top_k: int,
        thread_id: str | None,
        threshold: float | None,
        facts: Facts | None,
        without: Collection[MessageRef],
    ) -> SearchFor:
        """
        Return what the arguments of a search say.  Raises ``InputError`` where they say nothing that can be sought.
        """
        if top_k < 1:
            raise InputError(f"top_k is {top_k}", hint="give at least 1")
        return cls(
            unit=unit(vector, "what is sought"),
            top_k=top_k,
            thread_id=thread_id,
            threshold=None if threshold is None else threshold - _ROUNDING,
            facts=facts or None,
            without=frozenset(without),
        )

    @property
    def length(self) -> int:
        """
        How many numbers the vector has.
        """
        return len(self.unit) // FLOAT_BYTES

    def fits(self, known: Facts | None) -> bool:
        """
        Return whether what is *known* of a message is what is asked for.
        """
        return all(_is_same((known or {}).get(name), value) for name, value in (self.facts or {}).items())


class _Column(Generic[Kept]):
    """
    A text for each row, of which many have the same: each is kept once, and as a number in each row.
    """

    __slots__ = ("_numbers", "_read", "rows", "values")

    def __init__(self, read: Callable[[str | None], Kept]) -> None:
        self._read = read
        self._numbers: dict[str | None, int] = {}
        self.values: list[Kept] = []
        """What was read from each text."""
        self.rows = array("i")

    def add(self, texts: Iterable[str | None]) -> None:
        """
        Add rows.
        """
        for text in texts:
            number = self._numbers.get(text)
            if number is None:
                self.values.append(self._read(text))
                number = self._numbers[text] = len(self._numbers)
            self.rows.append(number)

    def take(self, other: _Column[Kept], rows: Sequence[int]) -> None:
        """
        Have what another one has in these rows.
        """
        texts = list(other._numbers)
        self.add([texts[other.rows[row]] for row in rows])

    def wanted(self, count: int, wants: Callable[[Kept], bool]) -> tuple[array[int], list[bool]]:
        """
        Return the numbers of the first *count* rows, and of each number whether it is wanted.
        """
        rows = self.rows[:count]  # a copy: what somebody looks at cannot grow
        return rows, [wants(value) for value in self.values]


class VectorRows:
    """
    Vectors of one length and their messages.  Rows are added and marked as gone by one at a time; whoever looks, takes a
    :meth:`view` first, and is not disturbed by that.
    """

    def __init__(self, length: int, *, rows: int = 0) -> None:
        self.length = length
        self.matrix = matrix(length, rows=rows)
        self.message_ids: list[str] = []
        self.threads = _Column(str)
        self.facts = _Column(facts_of)
        self._gone: set[int] = set()

    def __len__(self) -> int:
        """
        Return how many rows there are, those that are gone included.
        """
        return len(self.message_ids)

    def add(self, units: Sequence[bytes], refs: Iterable[tuple[str, str]], facts: Iterable[str | None]) -> None:
        """
        Add rows: vectors, thread and message of each, and its facts as :func:`facts_text` writes them.
        """
        threads, messages = zip(*refs, strict=True)
        self.matrix.add(units)
        self.threads.add(threads)
        self.facts.add(facts)
        self.message_ids.extend(messages)

    def forget(self, rows: Iterable[int]) -> None:
        """
        Mark rows as gone.
        """
        self._gone.update(rows)

    @property
    def should_be_packed(self) -> bool:
        """
        Whether so many rows are gone that they should be taken out.
        """
        return len(self._gone) > _MOST_GONE + len(self) // 8

    def kept(self) -> list[int]:
        """
        Return the rows that are not gone.
        """
        return [row for row in range(len(self)) if row not in self._gone]

    def packed(self) -> VectorRows:
        """
        Return the same without what is gone: its rows are those that :meth:`kept` returns.
        """
        rows = self.kept()
        made = VectorRows(self.length)
        made.matrix = self.matrix.keep(rows)
        made.message_ids = [self.message_ids[row] for row in rows]
        made.threads.take(self.threads, rows)
        made.facts.take(self.facts, rows)
        return made

    def view(self) -> RowsView:
        """
        Return the rows as they are now.
        """
        return RowsView(self, len(self), frozenset(self._gone))

    @staticmethod
    def size(rows: int, length: int) -> int:
        """
        Return how many bytes so many rows take, about.
        """
        return rows * (length * FLOAT_BYTES + _BESIDE)


class RowsView:
    """
    Rows as they were at one moment.
    """

    __slots__ = ("_count", "_gone", "_rows")

    def __init__(self, rows: VectorRows, count: int, gone: frozenset[int]) -> None:
        self._rows = rows
        self._count = count
        self._gone = gone

    def __len__(self) -> int:
        """
        Return how many rows are compared.
        """
        return self._count

    def search(self, sought: SearchFor) -> list[VectorHit]:
        """
        Return what is nearest, each message once, the nearest first.
        """
        rows, gone = self._rows, self._gone
        threads, messages = rows.threads, rows.message_ids
        found: dict[MessageRef, float] = {}
        for row, score in rows.matrix.ranked(sought.unit, self._count, self._among(sought)):
            if sought.threshold is not None and score < sought.threshold:
                break
            ref = MessageRef(threads.values[threads.rows[row]], messages[row])
            if row not in gone and ref not in found and ref not in sought.without:
                found[ref] = score
                if len(found) == sought.top_k:
                    break
        return hits_of(found, sought.top_k)

    def _among(self, sought: SearchFor) -> Sequence[int] | None:
        """
        Return the rows that are looked at, ``None`` for all of them.
        """
        columns: list[tuple[array[int], list[bool]]] = []
        if sought.thread_id is not None:
            columns.append(self._rows.threads.wanted(self._count, lambda thread_id: thread_id == sought.thread_id))
        if sought.facts is not None:
            columns.append(self._rows.facts.wanted(self._count, sought.fits))
        return rows_with(columns) if columns else None


def facts_text(facts: Facts | None) -> str | None:
    """
    Return facts as they are kept.
    """
    return None if facts is None else json.dumps(dict(facts), sort_keys=True)


def facts_of(text: str | None) -> Facts | None:
    """
    Return the facts that are kept as *text*.  Raises ``StoreError`` where they cannot be read.
    """
    if text is None:
        return None
    try:
        made: Facts = dict(json.loads(text))
    except (TypeError, ValueError):
        raise StoreError("the facts of a vector cannot be read", hint="delete the index, and embed anew") from None
    return made


def hits_of(found: Mapping[MessageRef, float], top_k: int) -> list[VectorHit]:
    """
    Return the first of what was *found*, with the scores.
    """
    return [
        VectorHit(thread_id=ref.thread_id, message_id=ref.message_id, score=score)
        for ref, score in islice(found.items(), top_k)
    ]


def best_of(hits: Iterable[VectorHit], top_k: int) -> list[VectorHit]:
    """
    Return the nearest of hits that were found in several places, each message once.
    """
    found: dict[MessageRef, VectorHit] = {}
    for hit in sorted(hits, key=_score, reverse=True):
        found.setdefault(hit.ref, hit)
    return list(found.values())[:top_k]


def _score(hit: VectorHit) -> float:
    return hit.score


def _is_same(one: str | int | float | bool | None, other: str | int | float | bool) -> bool:
    """
    Return whether two facts are one, as JSON has it: true is not 1.
    """
    return one == other and isinstance(one, bool) == isinstance(other, bool)
