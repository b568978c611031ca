"""
Offsets: the way back from a view of a text to the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["Offsets"]


class Offsets:
    """
    For each character of a view of a text, where in the text it came from.  Costs nothing while both are the same.
    """

    __slots__ = ("_base", "_ends", "_size", "_starts")

    def __init__(self) -> None:
        self._base = 0
        self._size = 0
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def plain(self, count: int, at: int | None = None) -> None:
        """
        Add *count* characters that stand in the view as in the text, where they begin *at* (right behind the last).
        """
        if self._starts is None:
            if at is None or at == self._base + self._size:
                self._size += count
                return
            self._spell_out()
        assert self._starts is not None
        first = at if at is not None else (self._ends[-1] if self._ends else self._base)
        self._starts.extend(range(first, first + count))
        self._ends.extend(range(first + 1, first + count + 1))

    def made_of(self, count: int, start: int, end: int) -> None:
        """
        Add *count* characters that were all made of the text from *start* to *end*.
        """
        if self._starts is None:
            self._spell_out()
        assert self._starts is not None
        self._starts.extend([start] * count)
        self._ends.extend([end] * count)

    def each_made_of_one(self, pieces: Sequence[str], at: int) -> None:
        """
        Add *pieces*, each made of one character of the text, of which the first stands *at*.
        """
        if all([len(piece) == 1 for piece in pieces]):
            self.plain(len(pieces), at)
            return
        if self._starts is None:
            self._spell_out()
        assert self._starts is not None
        starts = [place for place, piece in enumerate(pieces, at) for _ in piece]
        self._starts += starts
        self._ends += [place + 1 for place in starts]

    def _spell_out(self) -> None:
        self._starts = list(range(self._base, self._base + self._size))
        self._ends = [place + 1 for place in self._starts]

    def forget(self, count: int) -> None:
        """
        Take the first *count* characters out of the view.
        """
        if self._starts is None:
            self._base += count
            self._size -= count
        else:
            del self._starts[:count]
            del self._ends[:count]

    def start(self, index: int) -> int:
        """
        Return where in the text the character *index* of the view begins.
        """
        return self._base + index if self._starts is None else self._starts[index]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """
        Return the stretch of the text that the characters from *start* up to *end* of the view came from.
        """
        if self._starts is None:
            return self._base + start, self._base + end
        return self._starts[start], max(self._ends[start], self._ends[end - 1])

    def index(self, place: int) -> int:
        """
        Return the first character of the view that came from *place* in the text or from behind it.
        """
        if self._starts is None:
            return max(0, min(self._size, place - self._base))
        return bisect_right(self._ends, place)
