"""
What was masked of a text that came in pieces, put back into as many pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

__all__ = ["spread"]

_MARK: Final = re.compile(r"(‹[^‹›]{1,40}›)")


def spread(pieces: Sequence[str], masked: str) -> list[str]:
    """
    Return as many pieces as there are *pieces*, which together are *masked*: what was not masked stays where it was.

    >>> spread(["key sk-", "abc", " is mine"], "key ‹secret› is mine")
    ['key ‹secret›', '', ' is mine']
    """
    whole = "".join(pieces)
    ends = list(accumulate(len(piece) for piece in pieces))
    made = [""] * len(pieces)
    at = 0  # the piece in hand
    for start, text, is_kept in _aligned(whole, masked):
        while at + 1 < len(ends) and start >= ends[at]:
            at += 1
        if not is_kept:
            made[at] += text
            continue
        while text:
            room = ends[at] - start if at + 1 < len(ends) else len(text)
            made[at] += text[:room]
            start, text = start + len(text[:room]), text[room:]
            if text:
                at += 1
    return made


def _aligned(whole: str, masked: str) -> list[tuple[int, str, bool]]:
    """
    Return the parts of *masked* with where in *whole* they begin, and whether they are as they were there.
    """
    made: list[tuple[int, str, bool]] = []
    at = 0
    parts = _MARK.split(masked)
    for number, part in enumerate(parts):
        if number % 2:
            made.append((at, part, False))
        elif part:
            place = whole.find(part, at) if number else 0
            if number == len(parts) - 1:
                place = max(at, len(whole) - len(part))
            if place < 0 or not whole.startswith(part, place):
                return _by_ends(whole, masked)
            made.append((place, part, True))
            at = place + len(part)
    return made


def _by_ends(whole: str, masked: str) -> list[tuple[int, str, bool]]:
    most, head = min(len(whole), len(masked)), 0
    while head < most and whole[head] == masked[head]:
        head += 1
    tail = 0
    while tail < most - head and whole[-1 - tail] == masked[-1 - tail]:
        tail += 1
    end = len(masked) - tail
    return [(0, masked[:head], True), (head, masked[head:end], False), (len(whole) - tail, masked[end:], True)]
