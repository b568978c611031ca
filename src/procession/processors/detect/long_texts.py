"""
Long texts: judged piece by piece, in time that grows with the text, and in no more than there is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from procession.messages.text.spans import Span
from procession.processors.detect.detector import CLEAN, Verdict

__all__ = ["BUDGET", "in_pieces", "pieces_of"]

BUDGET = 0.5
"""Seconds of work that a long text may take: what others do on the machine meanwhile is not counted."""
_PIECE = 6000
"""Characters that are judged at once: what stands further apart does not add up."""
_OVERLAP = 500
"""Characters that two pieces have in common."""
_LONGEST_WORD = 20_000
"""A longer run without a blank is cut."""
_BLANK = re.compile(r"\s")


def in_pieces(text: str, judge: Callable[[str], Verdict], *, enough: float = 1.0) -> Verdict:
    """
    Return what *judge* says of the worst piece of *text*, with the spans of all; a short text is one piece.

    Raises ``TimeoutError`` where the time is up before all of it was judged, unless a piece has a score of *enough*: what
    was found by then may be too little to count, and the rest of the text may be what counts.
    """
    if len(text) <= _PIECE:
        return judge(text)
    deadline = time.thread_time() + BUDGET
    worst, spans = CLEAN, dict[tuple[int, int, str], Span]()
    for start, end in pieces_of(text):
        if time.thread_time() > deadline:
            if worst.score < enough:
                raise TimeoutError(f"{start} of {len(text)} characters were judged when the time was up")
            break
        verdict = judge(text[start:end])
        if verdict.score > worst.score:
            worst = verdict
        for span in verdict.spans:
            moved = span.moved(start)
            spans.setdefault((moved.start, moved.end, moved.rule), moved)
    return worst.replace(spans=tuple(spans.values())) if spans else worst


def pieces_of(text: str) -> Iterator[tuple[int, int]]:
    """
    Yield where the pieces of a long text begin and end: at blanks, so that no word and no code is cut.
    """
    start, size = 0, len(text)
    while True:
        end = _blank_from(text, min(start + _PIECE, size))
        yield start, end
        if end >= size:
            return
        start = max(_blank_from(text, end - _OVERLAP, end), start + 1)


def _blank_from(text: str, place: int, last: int | None = None) -> int:
    last = min(place + _LONGEST_WORD, len(text)) if last is None else last
    blank = _BLANK.search(text, place, last)
    return blank.start() if blank is not None else last
