"""
What is nearest: unit vectors in rows, each compared; with NumPy where it is installed, a thousand times slower without.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from math import isfinite, sqrt
from operator import mul
from typing import TYPE_CHECKING, Any, Protocol

from procession.errors import InputError, StoreError

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FLOAT_BYTES", "Matrix", "at_once", "floats_of", "matrix", "rows_with", "unit"]

FLOAT_BYTES = 4
"""Bytes for each number of a vector."""

_FIRST = 128
"""How many rows are put in order at first; most who look need no more."""


def unit(vector: Sequence[float], what: str) -> bytes:
    """
    Return a vector of length one in the same direction: 32 bits for each number, the lowest byte first.

    Raises ``InputError`` that names *what* the vector is, where it has no direction: no numbers, nothing but zeros, or
    numbers that are not finite.
    """
    found = numpy()
    try:
        made = _unit_plain(vector) if found is None else _unit_numpy(found, vector)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} is no vector", hint="give a flat sequence of numbers") from None
    if made is None:
        raise InputError(
            f"{what} has no direction: it is empty, nothing but zeros, or has numbers that are not finite",
            hint="give what the embedder returned for a text that is not empty",
        )
    return made


def floats_of(vector: bytes) -> array[float]:
    """
    Return the numbers of what :func:`unit` has made.
    """
    made = array("f")
    made.frombytes(vector)
    if sys.byteorder == "big":
        made.byteswap()
    return made


class Matrix(Protocol):
    """
    Unit vectors of one length, in rows.  It grows, while others look at the rows that they know.
    """

    def add(self, units: Sequence[bytes]) -> None:
        """
        Add rows.  Raises ``StoreError`` where one is of another length.
        """
        ...

    def keep(self, rows: Sequence[int]) -> Matrix:
        """
        Return another one that has these rows only.
        """
        ...

    def ranked(self, query: bytes, count: int, among: Sequence[int] | None = None) -> Iterator[tuple[int, float]]:
        """
        Yield rows, of the first *count* and of *among* these, with their cosines to *query*; the nearest first.
        """
        ...


def matrix(length: int, *, rows: int = 0) -> Matrix:
    """
    Return an empty matrix for vectors of that length, with room for so many *rows*.
    """
    found = numpy()
    return _PlainMatrix(length) if found is None else _NumpyMatrix(found, length, rows)


@cache
def numpy() -> ModuleType | None:
    """
    Return NumPy, or ``None`` where it is not installed, or is older than 2.
    """
    try:
        import numpy as found
    except ImportError:
        return None
    return found if hasattr(found, "vecdot") else None


def at_once() -> int:
    """
    Return how many numbers are compared on the event loop, in a millisecond or two; where there are more, in a thread.
    """
    return 1_000_000 if numpy() is not None else 40_000


def rows_with(columns: Sequence[tuple[array[int], Sequence[bool]]]) -> Sequence[int]:
    """
    Return the rows in which each column has one of the values that are said to be wanted.

    A column has a number for each row, and for each such number whether it is wanted.
    """
    np = numpy()
    if np is None:
        count = len(columns[0][0])
        return [row for row in range(count) if all(wanted[values[row]] for values, wanted in columns)]
    masks = [np.asarray(wanted, dtype=bool)[np.frombuffer(values, dtype=np.intc)] for values, wanted in columns]
    rows: Sequence[int] = np.flatnonzero(np.logical_and.reduce(masks))
    return rows


class _NumpyMatrix:
    def __init__(self, np: Any, length: int, rows: int) -> None:
        self._np = np
        self._length = length
        self._count = 0
        self._rows: NDArray[np.float32] = np.empty((rows, length), dtype="<f4")

    def add(self, units: Sequence[bytes]) -> None:
        _check(units, self._length)
        count = self._count + len(units)
        if count > len(self._rows):  # those who look at the rows before keep the array that they have
            larger = self._np.empty((max(count, len(self._rows) * 3 // 2, 16), self._length), dtype="<f4")
            larger[: self._count] = self._rows[: self._count]
            self._rows = larger
        if units:
            self._rows[self._count : count] = self._np.frombuffer(b"".join(units), dtype="<f4").reshape(len(units), -1)
        self._count = count

    def keep(self, rows: Sequence[int]) -> Matrix:
        made = _NumpyMatrix(self._np, self._length, 0)
        made._rows, made._count = self._rows[self._np.asarray(rows, dtype=self._np.intp)], len(rows)
        return made

    def ranked(self, query: bytes, count: int, among: Sequence[int] | None = None) -> Iterator[tuple[int, float]]:
        np = self._np
        # Row by row in this thread: a product of matrices has several threads wait for each other on a busy machine.
        scores: Any = np.vecdot(self._rows[:count], np.frombuffer(query, dtype="<f4"))
        rows = None if among is None else np.asarray(among, dtype=np.intp)
        if rows is not None:
            scores = scores[rows]
        np.clip(scores, -1, 1, out=scores)
        left, most = len(scores), _FIRST
        while left:
            most = min(most, left)
            best = np.argpartition(scores, len(scores) - most)[-most:]
            best = best[np.argsort(-scores[best], kind="stable")]
            yield from zip((best if rows is None else rows[best]).tolist(), scores[best].tolist(), strict=True)
            scores[best] = -np.inf  # below everything that is left
            left, most = left - most, most * 8


class _PlainMatrix:
    def __init__(self, length: int) -> None:
        self._length = length
        self._rows: list[array[float]] = []

    def add(self, units: Sequence[bytes]) -> None:
        _check(units, self._length)
        self._rows.extend(map(floats_of, units))

    def keep(self, rows: Sequence[int]) -> Matrix:
        made = _PlainMatrix(self._length)
        made._rows = [self._rows[row] for row in rows]
        return made

    def ranked(self, query: bytes, count: int, among: Sequence[int] | None = None) -> Iterator[tuple[int, float]]:
        sought = floats_of(query)
        rows = range(count) if among is None else among
        scored = [(max(-1.0, min(1.0, sum(map(mul, self._rows[row], sought)))), row) for row in rows]
        scored.sort(key=_score, reverse=True)
        for score, row in scored:
            yield row, score


def _score(of: tuple[float, int]) -> float:
    return of[0]


def _check(units: Sequence[bytes], length: int) -> None:
    if any(len(each) != length * FLOAT_BYTES for each in units):
        raise StoreError("the store has a vector that cannot be read", hint="delete the index, and embed anew")


def _unit_numpy(np: Any, vector: Sequence[float]) -> bytes | None:
    numbers = np.asarray(vector, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError
    largest = float(np.abs(numbers).max()) if len(numbers) else 0.0
    if not isfinite(largest) or largest == 0:
        return None
    scaled = numbers / largest  # so that no square is too large, or too small, for a number
    made: bytes = (scaled / sqrt(float(scaled @ scaled))).astype("<f4").tobytes()
    return made


def _unit_plain(vector: Sequence[float]) -> bytes | None:
    numbers = list(map(float, vector))
    largest = max(map(abs, numbers), default=0.0)
    if not all(map(isfinite, numbers)) or largest == 0:
        return None
    scaled = [number / largest for number in numbers]
    length = sqrt(sum(map(mul, scaled, scaled)))
    made = array("f", [number / length for number in scaled])
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()
