"""
The store of costs of a scenario: at each question it says what the setup lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.conformance.scenario import Json

from procession.errors import StoreError
from procession.models.prices.price import units_of
from procession.models.prices.table import PriceTable
from procession.storage.costs import KEPT, CostBalance, CostEntry, Reservation

__all__ = ["FREE", "ScriptedCosts"]

FREE = PriceTable({"*": {"input": 0, "output": 0}})
"""What the models of scenarios cost: what is spent is the store's to say."""


class ScriptedCosts:
    """
    A ``CostStore`` whose accounts stand, at one look after the other, as *observed*: dollars, or ``error``.
    """

    kept = KEPT

    def __init__(self, observed: Sequence[Json]) -> None:
        self._observed = list(observed)
        self.booked: list[str] = []

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
        Take the *entries*, each once, and say how the account stands.
        """
        assert reserve is None
        ids = [entry.id for entry in entries]
        assert not set(ids) & set(self.booked), "a call was booked twice"
        self.booked += ids
        return await self.balance(account, seconds=seconds)

    async def balance(self, account: str, *, seconds: float | None = None, besides: str | None = None) -> CostBalance:
        """
        Say how the account stands; the last word stands from then on.
        """
        observed = self._observed.pop(0) if len(self._observed) > 1 else self._observed[0]
        if observed == "error":
            raise StoreError("the store of costs is down")
        return CostBalance(spent=units_of(observed, 12))

    async def by_model(self, account: str, *, seconds: float | None = None) -> Mapping[str, int]:
        """
        Say what each model has cost: nothing is known of it.
        """
        return {}
