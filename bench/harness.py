"""
How time is taken: the floor and ours by turns, in one process, so that a busy machine disturbs both.

A round runs the floor, then ours, each until enough time has passed; the garbage is collected before each, not
counted.  ``ratio`` is the median of the rounds' own ratios, which is steadier than the ratio of the medians.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

__all__ = ["FULL", "QUICK", "REAL_CLOCK", "Bench", "Case", "Clock", "Effort", "Round", "Row", "Time", "row", "spend"]

Row: TypeAlias = dict[str, Any]
"""What is printed for one benchmark; :func:`row` says what stands in it."""

Work: TypeAlias = Callable[[], Awaitable[object]]


class Time(NamedTuple):
    """
    Microseconds for one operation.
    """

    cpu: float
    wall: float

    def of(self, clock: Literal["cpu", "wall"]) -> float:
        """
        Return the time by one of the two clocks.
        """
        return self.cpu if clock == "cpu" else self.wall


class Round(NamedTuple):
    """
    What one turn of each took.
    """

    floor: Time
    ours: Time


class Clock(NamedTuple):
    """
    Where the seconds come from.
    """

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time


REAL_CLOCK = Clock()


@dataclass(frozen=True)
class Effort:
    """
    How long to measure: the number of rounds, and the seconds that each side is repeated for in a round.
    """

    rounds: int
    floor_seconds: float
    ours_seconds: float
    thorough: bool = True
    """Whether each is called once before the first round, and ours once more to measure its memory."""


FULL = Effort(rounds=7, floor_seconds=0.015, ours_seconds=0.03)
QUICK = Effort(rounds=1, floor_seconds=0.0, ours_seconds=0.0, thorough=False)


class Bench(Protocol):
    """
    Something that can be measured.
    """

    @property
    def bench(self) -> str:
        """The family: the name of the module that holds it."""
        ...

    @property
    def variant(self) -> str:
        """The name within the family."""
        ...

    async def run(self, effort: Effort) -> Row:
        """Measure, and return what is to be printed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    Work of ours beside a floor.

    The two bases are for what a part adds: they are the same work without the part, are measured in the same rounds
    and subtracted, and what is left is divided by ``share``, the number of parts.
    """

    bench: str
    variant: str
    n: int
    """Operations in one call of ``ours``."""
    ours: Work
    floor: Work
    floor_n: int | None = None
    """Operations in one call of ``floor``; as many as of ours where it is not given."""
    ours_base: Work | None = None
    floor_base: Work | None = None
    share: int = 1
    clock: Literal["cpu", "wall"] = "cpu"
    """``wall`` where the work is mostly waiting."""
    against: str = "asyncio"
    """What the floor is, where it is no hand-written loop."""
    extra: Callable[[], Row] = dict
    """Called at the end: more to print."""

    async def run(self, effort: Effort, clock: Clock = REAL_CLOCK) -> Row:
        """
        Measure, after one call of each to warm up.
        """
        if effort.thorough:
            for side in (self.floor, self.floor_base, self.ours, self.ours_base):
                if side is not None:
                    await side()
        rounds = [await self._round(effort, clock) for _ in range(effort.rounds)]
        peak = await _peak_mb(self.ours) if effort.thorough else None
        made = row(self.bench, self.variant, self.n, rounds, clock=self.clock, peak_mb=peak, against=self.against)
        return made | self.extra()

    async def _round(self, effort: Effort, clock: Clock) -> Round:
        floor_n = self.floor_n or self.n
        floor = await spend(self.floor, floor_n, effort.floor_seconds, clock)
        if self.floor_base is not None:
            floor = _less(floor, await spend(self.floor_base, floor_n, effort.floor_seconds, clock), self.share)
        ours = await spend(self.ours, self.n, effort.ours_seconds, clock)
        if self.ours_base is not None:
            ours = _less(ours, await spend(self.ours_base, self.n, effort.ours_seconds, clock), self.share)
        return Round(floor, ours)


async def spend(work: Work, n: int, seconds: float, clock: Clock = REAL_CLOCK) -> Time:
    """
    Repeat *work*, at least once and for *seconds*, and return what one of its *n* operations took.
    """
    gc.collect()
    calls = 0
    wall, cpu = clock.wall(), clock.cpu()
    while True:
        await work()
        calls += 1
        spent = clock.wall() - wall
        if spent >= seconds:
            break
    spent_cpu = clock.cpu() - cpu
    return Time(spent_cpu / calls / n * 1e6, spent / calls / n * 1e6)


def _less(whole: Time, base: Time, share: int) -> Time:
    return Time((whole.cpu - base.cpu) / share, (whole.wall - base.wall) / share)


async def _peak_mb(work: Work) -> float:
    """
    Return how many megabytes *work* holds at most that it did not hold before.
    """
    gc.collect()
    tracemalloc.start()
    try:
        await work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def row(
    bench: str,
    variant: str,
    n: int,
    rounds: Sequence[Round],
    *,
    clock: Literal["cpu", "wall"] = "cpu",
    peak_mb: float | None = None,
    against: str = "asyncio",
) -> Row:
    """
    Return what is printed: medians over the *rounds*, in microseconds for one of *n* operations.

    ``per_op_us floor_us ratio`` are by the clock that ``clock`` names, ``wall_us wall_ratio`` always by the wall.
    ``against`` says what the floor is.  ``peak_mb`` is what one call of ours holds at most, or, in benchmarks that
    run in processes of their own, what the process holds; it is ``None`` where it was not measured.
    """
    made: Row = {
        "bench": bench,
        "variant": variant,
        "n": n,
        "per_op_us": round(median(each.ours.of(clock) for each in rounds), 3),
        "floor_us": round(median(each.floor.of(clock) for each in rounds), 3),
        "ratio": _ratio(rounds, clock),
        "peak_mb": None if peak_mb is None else round(peak_mb, 2),
        "clock": clock,
        "rounds": len(rounds),
        "against": against,
        "wall_us": round(median(each.ours.wall for each in rounds), 3),
        "wall_ratio": _ratio(rounds, "wall"),
    }
    return made


def _ratio(rounds: Sequence[Round], clock: Literal["cpu", "wall"]) -> float | None:
    """
    Return the median of the rounds' ratios, or ``None`` where the floor took no time that could be measured.
    """
    ratios = [each.ours.of(clock) / each.floor.of(clock) for each in rounds if each.floor.of(clock) > 0]
    return round(median(ratios), 3) if ratios else None
