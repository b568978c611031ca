"""
IndexTurn: whose turn it is to fill one index, and how carefully, after something failed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import anyio

from procession.steps.event_loop import running_loop
from procession.storage.index_queue import IndexQueue, ToIndex
from procession.storage.threads import MessageRef

__all__ = ["BATCH", "IndexTurn", "turn_of"]

BATCH = 32
"""Messages that are taken at a time."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
"""Seconds that a failing embedder is left alone: twice as long each time."""
_FIRST_ASIDE, _LONGEST_ASIDE = 60.0, 6 * 3600.0
"""Seconds that a message is left aside that fails where others do not."""
_SUSPECTS = 10_000
"""Messages that failed by themselves, and are remembered for that."""


class IndexTurn:
    """
    Whose turn it is to fill one index, how long a failing embedder is left alone, and what is tried in one go then.

    Nobody can tell an embedder that is down from a message that it fails at.  So each failure halves what is tried in one
    go, until one message fails by itself: that one is tried behind all others from then on.
    """

    __slots__ = ("_suspects", "lock", "others", "pause", "rests_until", "retrying", "size", "worked")

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.others = 0
        """How many wait."""
        self.pause = 0.0
        self.rests_until = 0.0
        self.retrying = False
        """Whether somebody waits for the end of the pause, to try again."""
        self.size = BATCH
        """How many messages are embedded in one go."""
        self.worked = False
        """Whether anything could be embedded since this was last set."""
        self._suspects: dict[tuple[MessageRef, int], tuple[float, float]] = {}
        """For how long each was left aside, and until when; the one that was tried last is at the end."""

    @contextmanager
    def waited_for(self) -> Generator[None]:
        """
        Count whoever waits.
        """
        self.others += 1
        try:
            yield
        finally:
            self.others -= 1

    def rest(self, now: float) -> None:
        """
        Leave the embedder alone from *now* on, twice as long as the last time.
        """
        self.pause = min(max(2 * self.pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self.rests_until = now + self.pause

    @contextmanager
    def trying(self, items: Sequence[ToIndex]) -> Generator[None]:
        """
        Learn from whether *items* can be embedded in one go.
        """
        try:
            yield
        except BaseException:  # who is cancelled had too much to do for the time there was
            if len(items) == 1:
                self.suspect(items[0])
            else:
                self.size = min(self.size, len(items)) // 2
            raise
        self.size = min(2 * self.size, BATCH)
        self.worked = True

    def embedded(self, items: Sequence[ToIndex]) -> None:
        """
        Think nothing ill of *items* any more.
        """
        for item in items:
            self._suspects.pop((item.ref, item.revision), None)

    def suspect(self, item: ToIndex) -> None:
        """
        Have a message that failed by itself tried behind all others.
        """
        key = (item.ref, item.revision)
        self._suspects[key] = self._suspects.pop(key, (0.0, 0.0))
        if len(self._suspects) > _SUSPECTS:
            del self._suspects[next(iter(self._suspects))]

    def leave_aside(self, item: ToIndex, now: float) -> None:
        """
        Have a message that failed where others do not tried again later, and later each time.
        """
        self.suspect(item)
        key = (item.ref, item.revision)
        aside = min(max(2 * self._suspects[key][0], _FIRST_ASIDE), _LONGEST_ASIDE)
        self._suspects[key] = (aside, now + aside)

    def parted(self, items: Sequence[ToIndex], now: float) -> tuple[list[ToIndex], list[ToIndex]]:
        """
        Return those of *items* that nothing is known of, and those that failed by themselves and are to be tried again.
        """
        by_key = {(item.ref, item.revision): item for item in items}
        odd = [(by_key.pop(key), until) for key, (_, until) in self._suspects.items() if key in by_key]
        return list(by_key.values()), [item for item, until in odd if until <= now]


_turns: WeakKeyDictionary[Any, WeakKeyDictionary[Any, dict[str, IndexTurn]]] = WeakKeyDictionary()
"""By event loop and store: a lock is of one event loop."""


def turn_of(queue: IndexQueue, index: str) -> IndexTurn:
    """
    Return whose turn it is in this event loop.
    """
    of_loop = _turns.setdefault(running_loop(), WeakKeyDictionary())
    return of_loop.setdefault(queue, {}).setdefault(index, IndexTurn())
