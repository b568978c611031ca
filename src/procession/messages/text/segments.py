"""
Segments: where a text may be cut without changing what Unicode normalisation makes of it.

A segment is a character together with the marks that compose with it.  ``NFKC`` of a text is the ``NFKC`` of its
segments, one after the other, so a text that comes in pieces is normalised segment by segment, the last one once the
next has begun.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["IDENTITY", "WholeSegments", "all_begin_segments", "begins_segment", "last_segment", "nfkc", "segments"]

_LETTERS = (
    "\u00c0-\u00ff"  # Latin with diacritics
    "\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03cf"  # Greek
    "\u0400-\u0482\u048a-\u052f"  # Cyrillic
    "\u05d0-\u05ea"  # Hebrew
    "\u0620-\u064a\u066e-\u066f\u0671-\u0674\u0679-\u06d5"  # Arabic
    "\u0904-\u0939"  # Devanagari
    "\u0e01-\u0e30"  # Thai
    "\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"  # Kana, Han, Hangul
)
IDENTITY = re.compile(rf"[\t\n\r\x20-\x7e{_LETTERS}]+")
"""Runs of common characters that begin a segment each and that normalisation leaves as they are."""

_COMPOSING_STARTERS = re.compile(
    "[\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1161-\u1175"
    "\u11a8-\u11c2\u1b35\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
    # of later versions of Unicode than the oldest supported Python's
    "\U000113b8\U000113bb\U000113c2\U000113c5\U000113c7-\U000113c9\U0001611e-\U0001611f\U00016129\U00016d67]"
)
"""Characters that compose with the one before although they are no combining marks."""


_LONG = 30
"""Characters of a segment, from which on its marks are sorted here: more than these no language writes."""


class _Begins(dict[str, bool]):
    def __missing__(self, character: str) -> bool:
        first = unicodedata.normalize("NFKD", character)[:1]
        begins = not (unicodedata.combining(first) or _COMPOSING_STARTERS.match(first))
        self[character] = begins
        return begins


_BEGINS = _Begins()


def begins_segment(character: str) -> bool:
    """
    Whether *character* begins a segment: nothing before it can compose with it.

    >>> begins_segment("e"), begins_segment("\\u0301")
    (True, False)
    """
    return character < "\u0300" or _BEGINS[character]


def all_begin_segments(text: str) -> bool:
    """
    Whether each character of *text* is a segment by itself.

    >>> all_begin_segments("caf\u00e9"), all_begin_segments("cafe\u0301")
    (True, False)
    """
    return all([_BEGINS[character] for character in set(text)])


def last_segment(text: str) -> int:
    """
    Return where the last segment of *text* begins: more text may still add marks to it.

    >>> last_segment("cafe\\u0301")
    3
    """
    at = len(text) - 1
    while at > 0 and not begins_segment(text[at]):
        at -= 1
    return max(at, 0)


def segments(text: str) -> Iterator[tuple[int, int, bool]]:
    """
    Yield start, end and whether it is a run of characters that normalisation leaves as they are.

    >>> list(segments("ab\\uff21e\\u0301"))
    [(0, 2, True), (2, 3, False), (3, 5, False)]
    """
    at, size = 0, len(text)
    while at < size:
        run = IDENTITY.match(text, at)
        if run is not None:
            end = run.end()
            if end < size and not begins_segment(text[end]):
                end -= 1
            if end > at:
                yield at, end, True
                at = end
                continue
        end = at + 1
        while end < size and not begins_segment(text[end]):
            end += 1
        yield at, end, False
        at = end


class WholeSegments:
    """
    Hands a text that comes in pieces on in whole segments: the last one waits for more, however long it becomes.

    >>> parts = WholeSegments()
    >>> [parts.feed("cafe"), parts.feed("\u0301"), parts.feed("!"), parts.feed("", final=True)]
    ['caf', '', 'é', '!']
    """

    __slots__ = ("_marks", "_rest")

    def __init__(self) -> None:
        self._rest = ""
        """The last segment."""
        self._marks: list[str] = []
        """What came to it since, in pieces: each is joined once."""

    def feed(self, text: str, *, final: bool = False) -> str:
        """
        Take the next piece and return what is whole by now: all where it is the *final* one.
        """
        cut = len(text)
        if not final:
            if not text:
                return ""
            cut = last_segment(text)
            if cut == 0 and not begins_segment(text[0]):
                self._marks.append(text)
                return ""
        rest, self._rest = self._rest, text[cut:]
        if self._marks:
            rest = "".join([rest, *self._marks])
            self._marks.clear()
        return rest + text[:cut]


def nfkc(segment: str) -> str:
    """
    Return the ``NFKC`` of a segment.  Python sorts its marks in a time that grows with the square of their number.

    >>> nfkc("e" + "\u0301\u0316" * 3) == unicodedata.normalize("NFKC", "e" + "\u0301\u0316" * 3)
    True
    """
    if len(segment) > _LONG:
        apart = "".join([unicodedata.normalize("NFKD", character) for character in segment])
        segment = "".join(_sorted_marks(apart))
    return unicodedata.normalize("NFKC", segment)


def _sorted_marks(apart: str) -> Iterator[str]:
    marks: list[str] = []
    for character in apart:
        if unicodedata.combining(character):
            marks.append(character)
            continue
        yield from sorted(marks, key=unicodedata.combining)
        marks.clear()
        yield character
    yield from sorted(marks, key=unicodedata.combining)
