"""
The search of a guard among others that may fail, or has a time limit: its failure is not theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from procession.messages.text.scan import Lane
from procession.messages.text.spans import Span
from procession.processors.text_guard import TextGuard
from procession.processors.time_limit import limited

__all__ = ["SparedLane"]


class SparedLane:
    """
    The search of a guard that may fail or has a time limit: once that happened it finds nothing and holds nothing back.
    """

    __slots__ = ("_fed", "_guard", "_lane", "error", "settled")

    def __init__(self, guard: TextGuard) -> None:
        self._guard = guard
        self._lane: Lane | None = guard.lane()
        self._fed = 0
        self.settled = 0
        self.error: Exception | None = None

    def feed(self, text: str, *, final: bool = False) -> Sequence[Span]:
        """
        Take the next piece and return the spans that are decided now.
        """
        self._fed += len(text)
        if self._lane is None:
            self.settled = self._fed
            return ()
        try:
            with limited(self._guard.timeout) if self._guard.timeout is not None else nullcontext():
                found = self._lane.feed(text, final=final)
        except Exception as error:
            return self._failed(error)
        self.settled = self._lane.settled
        return found

    def accepts(self, span: Span, text: str) -> bool:
        """
        Whether a finding counts.
        """
        try:
            return self._guard.accepts(span, text)
        except Exception as error:
            self._failed(error)
            return False

    def _failed(self, error: Exception) -> Sequence[Span]:
        self.error = self.error or error
        self._lane = None
        self.settled = self._fed
        return ()
