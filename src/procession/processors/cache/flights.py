"""
Flights: of equal requests at one time only the first asks the model, the others wait for what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar

import anyio

from procession.steps.event_loop import running_loop
from procession.steps.scope import RequestScope

__all__ = ["Flight", "Flights"]

_around: ContextVar[tuple[Flight, ...]] = ContextVar("procession_flights", default=())
"""What was begun around here, and may still go on."""

_waits: dict[RequestScope, list[Flight]] = {}
"""For each run what it waits for, or what runs inside of it do."""


class Flight:
    """
    One request that is under way, for all that are equal to it.
    """

    __slots__ = ("_flights", "_key", "_over", "_waiting", "entry", "failed", "first")

    def __init__(self, flights: Flights, key: tuple[object, str], first: RequestScope) -> None:
        self._flights = flights
        self._key = key
        self._over: anyio.Event | None = None
        """Made for the first who waits."""
        self.first = first
        """The run that asks."""
        self.entry: str | None = None
        """What came of it, once it has landed."""
        self.failed = False
        """Whether another one is to try: this one failed, was rejected or broken off."""

    @property
    def is_over(self) -> bool:
        """
        Whether nobody need wait any more.
        """
        return not self._flights.holds(self._key, self)

    def land(self, entry: str | None) -> None:
        """
        End it with what others may have of it; ``None`` where that is nothing, and all are to ask for themselves.
        """
        if not self.is_over:
            self.entry = entry
            self._end()

    def fail(self) -> None:
        """
        End it with nothing: the next of those who wait asks, and the others wait for that one.
        """
        if not self.is_over:
            self.failed = True
            self._end()

    def _end(self) -> None:
        self._flights.remove(self._key)
        if self._over is not None:
            self._over.set()

    async def wait(self) -> None:
        """
        Wait for its end.
        """
        if not self.is_over:
            if self._over is None:
                self._over = anyio.Event()
            await self._over.wait()


class Flights:
    """
    The flights of one cache, from any number of event loops; nobody waits for one of another loop.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[object, str], Flight] = {}

    def holds(self, key: tuple[object, str], flight: Flight) -> bool:
        """
        Whether *flight* is the one that is under way for *key*.
        """
        return self._under_way.get(key) is flight

    def remove(self, key: tuple[object, str]) -> None:
        """
        Nothing is under way for *key* any more.
        """
        del self._under_way[key]

    async def join(self, key: str, scope: RequestScope, seconds: float) -> Flight | str | None:
        """
        Return a flight that this run is to bring to its end, or what an equal request's came to.

        ``None`` where the run is to ask for itself: nothing can be had of the other one, it takes longer than *seconds*, or
        it would wait for this run, directly or through others.
        """
        where = (running_loop(), key)
        runs = list(_runs(scope))
        with anyio.move_on_after(seconds):
            while (flight := self._under_way.get(where)) is not None:
                if _waits_for(flight, runs):
                    return None
                await self._wait(flight, runs)
                if not flight.failed:
                    return flight.entry
            flight = self._under_way[where] = Flight(self, where, scope)
            _around.set((*(one for one in _around.get() if not one.is_over), flight))
            return flight
        return None

    async def _wait(self, flight: Flight, runs: list[RequestScope]) -> None:
        for run in runs:
            _waits.setdefault(run, []).append(flight)
        try:
            await flight.wait()
        finally:
            for run in runs:
                waits = _waits[run]
                waits.remove(flight)
                if not waits:
                    del _waits[run]


def _runs(scope: RequestScope) -> Iterator[RequestScope]:
    """
    Yield the run of *scope*, those that it stands inside, and those within which this happens although nothing says so.
    """
    around: RequestScope | None = scope
    while around is not None:
        yield around
        around = around.outer
    for flight in _around.get():
        if not flight.is_over:
            yield flight.first


def _waits_for(flight: Flight, runs: list[RequestScope]) -> bool:
    """
    Whether *flight* cannot end before one of *runs* does.
    """
    seen: set[Flight] = set()
    look = [flight]
    while look:
        one = look.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.first in runs:
            return True
        look += _waits.get(one.first, ())
    return False
