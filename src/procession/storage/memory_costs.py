"""
InMemoryCosts: what model calls have cost, for as long as the object lasts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from procession.errors import DefinitionError
from procession.storage.costs import HOUR, KEPT, CostBalance, CostEntry, Reservation

__all__ = ["InMemoryCosts", "checked_kept"]

_SWEEP = 3600.0
"""Seconds after which all accounts are gone through for what is too old."""


class _Hour:
    """
    What was booked within one hour, and what it comes to.
    """

    __slots__ = ("amount", "entries", "estimated")

    def __init__(self) -> None:
        self.entries: list[tuple[float, CostEntry]] = []
        self.amount = self.estimated = 0

    def add(self, at: float, entry: CostEntry) -> None:
        """
        Add an entry.
        """
        self.entries.append((at, entry))
        self.amount += entry.amount
        self.estimated += entry.amount if entry.estimated else 0


class _Account:
    """
    What is on one account, by the hour, and what is held.
    """

    __slots__ = ("held", "hours", "ids")

    def __init__(self) -> None:
        self.hours: dict[int, _Hour] = {}
        self.ids: set[str] = set()
        self.held: dict[str, tuple[int, float]] = {}

    def add(self, at: float, entry: CostEntry) -> None:
        """
        Add an entry, unless it is there.
        """
        if entry.id not in self.ids:
            self.ids.add(entry.id)
            self.hours.setdefault(int(at // HOUR), _Hour()).add(at, entry)

    def forget(self, old: float) -> None:
        """
        Delete what was booked at *old* or before.
        """
        for number in [number for number in self.hours if number <= old // HOUR]:
            hour = self.hours.pop(number)
            self.ids -= {entry.id for at, entry in hour.entries if at <= old}
            left = [(at, entry) for at, entry in hour.entries if at > old]
            if left:
                hour = self.hours[number] = _Hour()
                for at, entry in left:
                    hour.add(at, entry)


class InMemoryCosts:
    """
    A ``CostStore`` for tests and single processes that may forget.  Threads may use it at the same time.

    >>> import anyio
    >>> costs = InMemoryCosts()
    >>> anyio.run(costs.book, "user", [CostEntry(id="call-1", amount=250)]).spent
    250
    """

    def __init__(self, *, kept: float = KEPT, clock: Callable[[], float] = time.time) -> None:
        self._kept = checked_kept(kept)
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._lock = Lock()
        self._swept = clock()

    @property
    def kept(self) -> float:
        """
        Seconds for which entries are kept.
        """
        return self._kept

    async def book(
        self,
        account: str,
        entries: Sequence[CostEntry] = (),
        *,
        seconds: float | None = None,
        release: str | None = None,
        reserve: Reservation | None = None,
    ) -> CostBalance:
        """
        Add *entries*, end the reservation *release*, and make *reserve* if it fits, at once: nobody sees half of it.
        """
        with self._lock:
            now = self._clock()
            self._sweep(now)
            found = self._accounts.setdefault(account, _Account())
            for entry in entries:
                found.add(now, entry)
            if release is not None:
                found.held.pop(release, None)
            if reserve is None:
                return _balance(found, now, seconds, release)
            stands = _balance(found, now, seconds, reserve.id)
            granted = stands.total + reserve.amount <= reserve.limit
            if granted:
                found.held[reserve.id] = (reserve.amount, now + reserve.seconds)
            return stands.replace(granted=granted)

    async def balance(self, account: str, *, seconds: float | None = None, besides: str | None = None) -> CostBalance:
        """
        Return how the account stands over the last *seconds*; the reservation *besides* is not counted.
        """
        with self._lock:
            now = self._clock()
            found = self._accounts.get(account)
            return CostBalance() if found is None else _balance(found, now, seconds, besides)

    async def by_model(self, account: str, *, seconds: float | None = None) -> Mapping[str, int]:
        """
        Return what each model has cost over the last *seconds*.
        """
        with self._lock:
            now = self._clock()
            found = self._accounts.get(account)
            costs: Counter[str] = Counter()
            for one in _within(found, now, seconds) if found is not None else ():
                for entry in [entry for _, entry in one.entries] if isinstance(one, _Hour) else [one]:
                    costs[entry.model] += entry.amount
            return dict(costs)

    def _sweep(self, now: float) -> None:
        """
        Delete what is too old, and accounts with nothing on them, now and then.
        """
        if now - self._swept < min(_SWEEP, self._kept):
            return
        self._swept = now
        for name, found in list(self._accounts.items()):
            found.forget(now - self._kept)
            found.held = {id: held for id, held in found.held.items() if held[1] > now}
            if not found.hours and not found.held:
                del self._accounts[name]


def checked_kept(kept: Any) -> float:
    """
    Return *kept*, or raise ``DefinitionError`` where it is no number of seconds.
    """
    if isinstance(kept, bool) or not isinstance(kept, int | float) or not kept > 0:
        raise DefinitionError(f"kept is {kept!r}", hint="give seconds, more than 0")
    return kept


def _within(found: _Account, now: float, seconds: float | None) -> Iterator[_Hour | CostEntry]:
    """
    Yield what was booked within the last *seconds*: whole hours, and the entries of the one in which they begin.
    """
    since = float("-inf") if seconds is None else now - seconds
    for number, hour in found.hours.items():
        if number * HOUR > since:
            yield hour
        elif (number + 1) * HOUR > since:
            yield from [entry for at, entry in hour.entries if at > since]


def _balance(found: _Account, now: float, seconds: float | None, besides: str | None) -> CostBalance:
    spent = estimated = 0
    for one in _within(found, now, seconds):
        spent += one.amount
        estimated += one.estimated if isinstance(one, _Hour) else one.amount if one.estimated else 0
    reserved = sum(amount for id, (amount, until) in found.held.items() if until > now and id != besides)
    return CostBalance(spent=spent, estimated=estimated, reserved=reserved)
