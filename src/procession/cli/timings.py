"""
Timings: how long steps take, of any number of messages, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from procession.messages.value import Value

__all__ = ["Timing", "Timings"]

KEPT = 20_000
"""How many times of a step are kept; beyond that, a fair sample of them."""


class Timing(Value):
    """
    How long one step took, in seconds.
    """

    step: str
    count: int
    median: float
    p95: float
    total: float


class Timings:
    """
    Collects the times of steps.

    >>> timings = Timings()
    >>> for n in range(1, 101):
    ...     timings.add({"check": n / 1000})
    >>> timings.of("check").median, timings.of("check").p95
    (0.05, 0.095)
    """

    def __init__(self) -> None:
        self._kept: dict[str, list[float]] = {}
        self._counts: dict[str, int] = {}
        self._totals: dict[str, float] = {}
        self._random = Random(0)

    def add(self, seconds: Mapping[str, float]) -> None:
        """
        Take one message's times by step.
        """
        for step, value in seconds.items():
            count = self._counts[step] = self._counts.get(step, 0) + 1
            self._totals[step] = self._totals.get(step, 0.0) + value
            kept = self._kept.setdefault(step, [])
            if count <= KEPT:
                kept.append(value)
            elif (place := self._random.randrange(count)) < KEPT:
                kept[place] = value

    def of(self, step: str) -> Timing:
        """
        Return the figures of *step*; ``KeyError`` where it never ran.
        """
        kept = sorted(self._kept[step])
        return Timing(step, self._counts[step], _rank(kept, 0.5), _rank(kept, 0.95), self._totals[step])

    def all(self) -> list[Timing]:
        """
        Return the figures of all steps, in the order in which they first ran.
        """
        return [self.of(step) for step in self._kept]


def _rank(ordered: list[float], share: float) -> float:
    """
    Return the smallest value that at least *share* of them do not exceed.
    """
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]
