"""
CostStore: what model calls have cost, by account, exactly.

Amounts are whole numbers of a trillionth of a dollar, so that sums are exact: a price of six decimals per million tokens
is a whole number of them per token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from procession.messages.value import Value

__all__ = ["HOUR", "KEPT", "UNIT", "CostBalance", "CostEntry", "CostStore", "Reservation"]

UNIT = 10**12
"""How many units of an amount are one dollar."""

KEPT = 366 * 86_400.0
"""Seconds for which entries are kept, unless a store is told otherwise: longer than the longest window with a name."""


HOUR = 3600.0
"""Seconds over which entries are added up, so that a sum over a month need not read each call of it."""


class CostEntry(Value, kw_only=True):
    """
    One model call, on one account.
    """

    id: str
    """The call's own: an account has each once, however often it is booked."""
    amount: int
    model: str = ""
    estimated: bool = False
    """Whether the provider never said what it used."""


class Reservation(Value, kw_only=True):
    """
    An amount that is held for a call to come, so that calls at the same time do not go beyond *limit* together.
    """

    id: str
    """One reservation of an id takes the place of the one before."""
    amount: int
    limit: int
    seconds: float
    """How long it holds unless it is released: that of a process that died ends by itself."""


class CostBalance(Value, kw_only=True):
    """
    How an account stands.
    """

    spent: int = 0
    """What is booked within the window."""
    estimated: int = 0
    """How much of that is estimated."""
    reserved: int = 0
    """What others hold for calls that are not booked yet."""
    granted: bool = True
    """Whether the reservation that was asked for was made."""

    @property
    def total(self) -> int:
        """
        What is spent, or held by others.
        """
        return self.spent + self.reserved


class CostStore(Protocol):
    """
    Keeps what model calls have cost.

    Each method is atomic, also between processes that use one store.  Every method raises ``StoreError`` where the store
    cannot be used.
    """

    @property
    def kept(self) -> float:
        """
        Seconds for which entries are kept; those that are older are deleted.
        """
        ...

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

        An entry whose id the account has already is left out.  Entries are of the moment at which they are booked.  A
        reservation fits where what was booked within the last *seconds* (ever, for ``None``), what others hold and its
        own amount come to no more than its limit.
        """
        ...

    async def balance(self, account: str, *, seconds: float | None = None, besides: str | None = None) -> CostBalance:
        """
        Return how the account stands over the last *seconds*; the reservation *besides* is not counted.
        """
        ...

    async def by_model(self, account: str, *, seconds: float | None = None) -> Mapping[str, int]:
        """
        Return what each model has cost over the last *seconds*.
        """
        ...
