"""
CostAccount: what one request has spent, on its way into the store of costs.

It belongs to a request and to a guard.  What was called is priced and booked before the next model call, and when the
request has ended, however it did; each call has an id of its own, so that whoever else books it does not count it again.
"""

from __future__ import annotations

from typing import Literal, Protocol

import anyio

from procession.errors import ProcessorError
from procession.models.prices.price import units_of
from procession.models.prices.table import PriceTable
from procession.processors.log import log_skipped
from procession.processors.violation import Violation
from procession.steps.scope import Outcome, RequestScope
from procession.steps.spending import ModelCall
from procession.storage.costs import CostBalance, CostEntry, CostStore, Reservation

__all__ = ["CostAccount", "account_of", "settle_around", "settle_late"]

_PLACES = 12


class _Guard(Protocol):
    """
    What an account needs of its guard.
    """

    id: str
    on_error: Literal["stop", "skip"]
    store: CostStore
    prices: PriceTable
    refuses_unknown: bool

    @property
    def timeout(self) -> float | None:
        """How many seconds the store may take."""
        ...

    def account(self, scope: RequestScope) -> str | None:
        """Under which name the request is in the store, or ``None`` where it does not say whose it is."""
        ...


class CostAccount:
    """
    The account of one request, as one guard keeps it.
    """

    always = True
    """What a run has cost is booked, whatever becomes of its answer."""

    __slots__ = ("_entries", "_guard", "_held_since", "_scope", "_seen", "reservation", "unknown")

    def __init__(self, guard: _Guard, scope: RequestScope) -> None:
        self._guard = guard
        self._scope = scope
        self._seen = 0
        """How many of the request's calls were priced."""
        self._entries: list[CostEntry] = []
        """What is priced, and not in the store yet."""
        self.reservation: str | None = None
        """What is held for the call to come."""
        self._held_since = 0
        self.unknown: dict[str, None] = {}
        """The models that were asked and have no price."""
        if scope.calls is None:
            scope.calls = []

    @property
    def store(self) -> CostStore:
        """
        Where it is booked.
        """
        return self._guard.store

    def price(self) -> None:
        """
        Price the calls that came since the last time.
        """
        calls = self._scope.calls or []
        for call in calls[self._seen :]:
            self._seen += 1
            amount = self._cost(call)
            if amount is None:
                self.unknown[call.model or "a model without a name"] = None
            self._entries.append(
                CostEntry(id=call.id, amount=amount or 0, model=call.model, estimated=call.estimated or amount is None)
            )

    def _cost(self, call: ModelCall) -> int | None:
        said = units_of(f"{call.money:.{_PLACES}f}", _PLACES) if call.money else 0
        used = self._guard.prices.cost(call.model, call.usage) if call.usage.total_tokens else 0
        if used is None and not call.model and said:
            return said  # a step has priced its own call
        return None if used is None else said + used

    async def settle(self, *, seconds: float | None = None, reserve: Reservation | None = None) -> CostBalance:
        """
        Book what came since the last time, and return how the account stands over the last *seconds*.

        What was held for the call before is released, and *reserve* held for the next one.  Raises ``StoreError``.
        """
        key = self._guard.account(self._scope)
        assert key is not None
        self.price()
        store, held, entries = self._guard.store, self.reservation, tuple(self._entries)
        if not entries and held is None and reserve is None:
            return await store.balance(key, seconds=seconds)
        if reserve is not None:  # noted before it is made: whoever is cancelled meanwhile gives it back all the same
            self.reservation, self._held_since = reserve.id, self._seen
        stands = await store.book(key, entries, seconds=seconds, release=held, reserve=reserve)
        booked = {entry.id for entry in entries}
        self._entries = [entry for entry in self._entries if entry.id not in booked]
        if reserve is None or not stands.granted:
            self.reservation = None
        return stands

    async def settle_answered(self) -> None:
        """
        Book what came since the last time, and release what was held for a call that has ended by now.
        """
        self.price()
        answered = self.reservation is None or self._seen > self._held_since
        if self._entries and answered and self._guard.account(self._scope) is not None:
            await self.settle()

    async def commit(self, outcome: Outcome) -> None:
        """
        Book the rest, now that the request has ended, and give back what is held.

        Raises ``ProcessorError`` where the store fails, and where a model was asked whose price is not known; a guard that
        is left out where it fails notes it among the violations.
        """
        self.price()
        if not (self._entries or self.reservation) or self._guard.account(self._scope) is None:
            return
        try:
            with anyio.fail_after(self._guard.timeout):
                await self.settle()
        except Exception as error:
            if self._guard.on_error == "skip":
                log_skipped(self._guard.id, "commit", error)
                return
            raise self._error(f"could not book what the run has cost: {type(error).__name__}") from error
        if self.unknown and self._guard.refuses_unknown and outcome in ("completed", "model_failed"):
            what = f"knows no price of {', '.join(self.unknown)}: what the run has cost is not known"
            if self._guard.on_error == "stop":
                raise self._error(what)
            found = Violation(self._guard.id, f"Cost control {what}", {"models": list(self.unknown)}, "error", "commit")
            self._scope.violations.append(found)

    def _error(self, what: str) -> ProcessorError:
        return ProcessorError(f"processor {self._guard.id!r} {what}", processor_id=self._guard.id, hook="commit")


def account_of(guard: _Guard, scope: RequestScope) -> CostAccount:
    """
    Return the account of *guard* in a request, opened when it is first asked for.
    """
    where = ("cost_account", guard)
    found = scope.resources.get(where)
    if isinstance(found, CostAccount):
        return found
    made = scope.resources[where] = CostAccount(guard, scope)
    scope.marks.insert(0, made)  # before what may fail to be saved
    return made


async def settle_around(scope: RequestScope, store: CostStore) -> None:
    """
    Book what the runs around this one have spent in *store*: their calls have ended while their tools run.
    """
    around = scope.outer
    while around is not None:
        for held in list(around.resources.values()):
            if isinstance(held, CostAccount) and held.store is store:
                await held.settle_answered()
        around = around.outer


async def settle_late(scope: RequestScope) -> None:
    """
    Book what was asked behind an answer, after its request had ended, in whatever store it is accounted for.
    """
    ended: RequestScope | None = scope
    while ended is not None:
        for held in list(ended.resources.values()):
            if isinstance(held, CostAccount):
                await held.settle_answered()
        ended = ended.outer
