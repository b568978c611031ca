"""
Whole texts: searched in time that grows with them, and in no more than there is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from procession.messages.text.scan import Lane, in_order
from procession.messages.text.spans import Span

__all__ = ["search_whole"]

BUDGET = 0.5
"""Seconds of work that a text may take."""
_PIECE = 4000
"""Characters that are searched at once: in most of them most rules have nothing to look for."""
_BEHIND = 20_000
"""Characters that may be undecided at the end of a piece."""
_REST = 250_000
"""Characters that are then searched at once."""


def search_whole(lane: Lane, text: str, *, seconds: float | None = None) -> Sequence[Span]:
    """
    Return what *lane*, a fresh one, finds in *text*, by where it begins.

    Raises ``TimeoutError`` where that takes longer than *seconds* (0.5 by default); a short text is always searched.

    >>> from procession.messages.text.patterns import Rule
    >>> from procession.messages.text.scan import RuleLane
    >>> [span.start for span in search_whole(RuleLane([Rule("number", "[0-9]+")]), "1 and 22")]
    [0, 6]
    """
    size = len(text)
    deadline = time.thread_time() + (seconds if seconds is not None else BUDGET)
    found: list[Span] = []
    start = 0
    while True:
        # What a lane cannot decide yet it would look at again with each piece: then it is given all that is left.
        piece = _PIECE if start - lane.settled < _BEHIND else _REST
        end = min(start + piece, size)
        found += lane.feed(text[start:end], final=end >= size)
        start = end
        if start >= size:
            return in_order(found)
        if time.thread_time() > deadline:
            raise TimeoutError(f"{start} of {size} characters were searched when the time was up")
