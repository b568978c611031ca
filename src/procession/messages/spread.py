"""
Spreading a text over the parts of a message: a changed text, given as one, goes back into the parts it was joined from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from procession.messages.splices import common_prefix

__all__ = ["shares_of", "spread"]

_TOKENS = re.compile(r"[^\W\d_]+|\d+|\s+|.", re.DOTALL)
_FINEST = 600
"""Middles of up to this many tokens are compared token by token; in longer ones a border is sought by what is round it."""
_CONTEXTS = (40, 20, 10)
"""How many characters beside a border have to be found again, as often as they were there."""


def spread(texts: Sequence[str], new: str) -> list[str]:
    """
    Return what each of *texts* becomes where *new* takes the place of all of them, joined.

    What is the same before and behind the change stays in its part.  Within the change a border stays where as many
    characters stand, or the same words; where neither says where it belongs, all goes into the part in which the
    change begins.

    >>> spread(["It's bad. ", "So bad!"], "It's [X]. So [X]!")
    ["It's [X]. ", 'So [X]!']
    >>> spread(["It's bad. ", "So bad!"], "Gone")
    ['Gone', '']
    """
    if len(texts) < 2:
        return [new]
    old = "".join(texts)
    start = common_prefix(old, new)
    tail = common_prefix(old[start:][::-1], new[start:][::-1])
    end, moved = len(old) - tail, len(new) - len(old)
    borders = list(accumulate(len(text) for text in texts[:-1]))
    within = [border - start for border in borders if start < border < end]
    found = iter(_found(old[start:end], new[start : len(new) - tail], within))
    places = [0]
    for border in borders:
        place = border if border <= start else border + moved if border >= end else start + next(found)
        places.append(place)
    return [new[first:last] for first, last in pairwise([*places, len(new)])]


def shares_of(texts: Sequence[str], new: str) -> list[str | None]:
    """
    Return what ``spread`` makes of *texts*, with ``None`` for one that has lost all it said; one text is left.
    """
    shares = spread(texts, new)
    kept: list[str | None] = [share if share or not text else None for text, share in zip(texts, shares, strict=True)]
    return kept if any(share is not None for share in kept) else ["", *kept[1:]]


def _found(old: str, new: str, borders: Sequence[int]) -> list[int]:
    """
    Return where in *new* the *borders* within *old* are.
    """
    if len(old) == len(new) or not borders:
        return list(borders)
    before, after = _TOKENS.findall(old), _TOKENS.findall(new)
    sought: list[int | None] = [None] * len(borders)
    if max(len(before), len(after)) <= _FINEST:
        sought = _by_tokens(before, after, borders, len(old.split()) == len(new.split()))
    places: list[int] = []
    following = len(new)
    for border, place in zip(reversed(borders), reversed(sought), strict=True):
        if place is None:
            place = _by_context(old, new, border)
        if place is not None:  # one that is nowhere is where the next one is: the text before it goes before it
            following = min(following, place)
        places.append(following)
    return places[::-1]


def _by_tokens(
    before: Sequence[str], after: Sequence[str], borders: Sequence[int], word_for_word: bool
) -> list[int | None]:
    """
    Return where each border is by the tokens that both have; blanks and signs alone tell it only *word_for_word*.
    """
    old, new = [token.casefold() for token in before], [token.casefold() for token in after]
    starts, places = [0, *accumulate(map(len, before))], [0, *accumulate(map(len, after))]
    blocks = [
        block
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        if block.size and (word_for_word or any(token.isalnum() for token in old[block.a : block.a + block.size]))
    ]
    found: list[int | None] = []
    for border in borders:
        at = bisect_right(starts, border) - 1
        inside = border - starts[at]
        block = next((one for one in blocks if one.a <= at < one.a + one.size + (not inside)), None)
        found.append(places[block.b + at - block.a] + inside if block is not None else None)
    return found


def _by_context(old: str, new: str, border: int) -> int | None:
    """
    Return where the border is by the text before or behind it, where both have that as often.
    """
    for size in _CONTEXTS:
        for start, offset in ((border - size, size), (border, 0)):
            text = old[max(start, 0) : start + size]
            if len(text) == size and old.count(text) == new.count(text):
                place = -1
                for _ in range(old.count(text, 0, start) + 1):
                    place = new.find(text, place + 1)
                if place >= 0:
                    return place + offset
    return None
