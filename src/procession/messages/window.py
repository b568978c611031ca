"""
Window: a read-only view of a stretch of a list, made at constant cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

__all__ = ["Window"]

T_co = TypeVar("T_co", covariant=True)


class Window(Sequence[T_co], Generic[T_co]):
    """
    The elements of a list from *start* to *stop*, as they are when the window is made.

    The list behind it is shared, not copied: whoever owns it may append behind *stop*, and copies it before
    changing what stands in front.  So a window is a snapshot for the price of a reference.

    >>> shown = Window([1, 2, 3], 0, 2)
    >>> len(shown), shown[-1], shown == [1, 2]
    (2, 2, True)
    """

    __slots__ = ("_items", "_start", "_stop")

    def __init__(self, items: list[T_co], start: int, stop: int) -> None:
        self._items = items
        self._start = start
        self._stop = stop

    def shares(self, items: object) -> bool:
        """
        Whether *items* is the very list behind this window.
        """
        return self._items is items

    def copy(self) -> list[T_co]:
        """
        Return the elements as a list of one's own: what ``list(...)`` does, without asking one by one.
        """
        return self._items[self._start : self._stop]

    def __len__(self) -> int:
        return self._stop - self._start

    def __iter__(self) -> Iterator[T_co]:
        if self._start == 0:
            return islice(self._items, self._stop)
        return islice(self._items, self._start, self._stop)

    def __reversed__(self) -> Iterator[T_co]:
        items = self._items
        for index in range(self._stop - 1, self._start - 1, -1):
            yield items[index]

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._stop - self._start)
            if step == 1:
                return Window(self._items, self._start + start, self._start + max(start, stop))
            return [self._items[self._start + at] for at in range(start, stop, step)]
        at = self._start + index if index >= 0 else self._stop + index
        if self._start <= at < self._stop:
            return self._items[at]
        raise IndexError(f"there is no element {index}: the window has {len(self)}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Window):
            return list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(other, (list, tuple)):
            return list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType]
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))
