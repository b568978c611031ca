"""
InMemoryCosts: what model calls have cost, for as long as the object lasts.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from procession.errors import DefinitionError
from procession.storage.costs import KEPT, CostBalance, CostEntry, Reservation

__all__ = ["InMemoryCosts", "checked_kept"]

_SWEEP = 3600.0
"""Seconds after which all accounts are gone through for what is too old."""


class _Account:
    """
    What is on one account, the oldest first, and what is held.
    """

    __slots__ = ("entries", "held", "ids")

    def __init__(self) -> None:
        self.entries: deque[tuple[float, CostEntry]] = deque()
        self.ids: set[str] = set()
        self.held: dict[str, tuple[int, float]] = {}


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
            at = max(now, found.entries[-1][0]) if found.entries else now  # in order, also where the clock was set back
            for entry in entries:
                if entry.id not in found.ids:
                    found.ids.add(entry.id)
                    found.entries.append((at, entry))
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
            for entry in _within(found, now, seconds) if found is not None else ():
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
            while found.entries and found.entries[0][0] <= now - self._kept:
                found.ids.discard(found.entries.popleft()[1].id)
            found.held = {id: held for id, held in found.held.items() if held[1] > now}
            if not found.entries and not found.held:
                del self._accounts[name]


def checked_kept(kept: Any) -> float:
    """
    Return *kept*, or raise ``DefinitionError`` where it is no number of seconds.
    """
    if isinstance(kept, bool) or not isinstance(kept, int | float) or not kept > 0:
        raise DefinitionError(f"kept is {kept!r}", hint="give seconds, more than 0")
    return kept


def _within(found: _Account, now: float, seconds: float | None) -> Iterator[CostEntry]:
    """
    Yield what was booked within the last *seconds*.
    """
    for at, entry in reversed(found.entries):
        if seconds is not None and at <= now - seconds:
            return
        yield entry


def _balance(found: _Account, now: float, seconds: float | None, besides: str | None) -> CostBalance:
    spent = estimated = 0
    for entry in _within(found, now, seconds):
        spent += entry.amount
        estimated += entry.amount if entry.estimated else 0
    reserved = sum(amount for id, (amount, until) in found.held.items() if until > now and id != besides)
    return CostBalance(spent=spent, estimated=estimated, reserved=reserved)
