"""
Pieces: long texts cut so that counting them takes time in proportion, whatever is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["LONGEST", "first_that_fits", "pieces_of"]

LONGEST = 8_192
"""Characters that are tokenized at once: tokenizers take more than linear time for one long word, and give up on a
million blanks."""
_SEARCHED = 1_024
"""How far back from its end a piece is searched for a place where a cut changes nothing."""


def pieces_of(text: str, longest: int = LONGEST) -> Iterator[str]:
    """
    Yield *text* in pieces of at most *longest* characters.

    It is cut before a single space that follows a letter or a sign, where no token of OpenAI's tokenizers goes across;
    where there is none near the end of a piece, right there.

    >>> list(pieces_of("one two three", 8))
    ['one two', ' three']
    """
    begin = 0
    while len(text) - begin > longest:
        end = _cut(text, begin, begin + longest)
        yield text[begin:end]
        begin = end
    yield text[begin:] if begin else text


def _cut(text: str, begin: int, end: int) -> int:
    low = max(begin + 1, end - _SEARCHED)
    at = text.rfind(" ", low, end)
    while at > 0:
        if not text[at - 1].isspace() and not text[at + 1].isspace():
            return at
        at = text.rfind(" ", low, at)
    return end


def first_that_fits(count: Callable[[str], float], text: str, budget: float) -> str:
    """
    Return the longest beginning of *text* of which *count* is at most *budget*: piece by piece, then by halves.

    >>> first_that_fits(lambda text: len(text.split()), "one two three", 2)
    'one two '
    """
    used = 0.0
    begin = 0
    for piece in pieces_of(text, LONGEST // 4):
        cost = count(piece)
        if used + cost > budget:
            begin += _fitting(count, piece, budget - used)
            break
        used += cost
        begin += len(piece)
    # What is joined may count more than its pieces did; a little less of it then fits.
    step = max(1, begin // 64)
    while begin and count(text[:begin]) > budget:
        begin = max(0, begin - step)
        step *= 2
    return text[:begin]


def _fitting(count: Callable[[str], float], text: str, budget: float) -> int:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    return low
