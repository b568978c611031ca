"""
Meter: what one budget has counted so far.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from procession.errors import BudgetExceeded
from procession.messages.usage import Usage
from procession.steps.budget import Budget, Limit
from procession.steps.event_loop import poster
from procession.steps.spending import METERS, Count, amount

__all__ = ["Meter", "refuse_spent"]


class Meter(Count):
    """
    What counts for *budget*, which stands at *path*; *stop* is called once, in the event loop, where it is used up.
    """

    __slots__ = ("_post", "_stop", "_thread", "budget", "closed", "exceeded", "path", "unpriced")

    def __init__(self, budget: Budget, path: str, stop: Callable[[], None]) -> None:
        super().__init__()
        self.budget = budget
        self.path = path
        self.exceeded: Limit | None = None
        """What was used up first."""
        self.unpriced: Exception | None = None
        """What the budget's price has raised."""
        self.closed = False
        """Whether what is measured has ended: nothing changes any more."""
        self._stop = stop
        self._thread = get_ident()
        self._post = poster()

    def add(self, usage: Usage | None, model: str, money: float) -> None:
        """
        Count the tokens of a model call, priced, and *money*.
        """
        if usage is not None and self.budget.price is not None:
            try:
                money += amount(self.budget.price(usage, model), "the price of a model call")
            except Exception as error:
                self.unpriced = error
        super().add(usage, model, money)
        budget = self.budget
        if self.unpriced is not None or (budget.money is not None and self.money > budget.money):
            self.exceed("money")
        elif budget.tokens is not None and self.tokens > budget.tokens:
            self.exceed("tokens")

    def exceed(self, what: Limit) -> None:
        """
        Note that *what* is used up, and stop what is measured.
        """
        if self.exceeded is not None or self.closed:
            return
        self.exceeded = what
        if get_ident() == self._thread:
            self._stop()
        else:
            self._post(self._stop)

    def used(self, seconds: float) -> dict[str, Any]:
        """
        Return what was used up, of how much: ``{"what": "tokens", "limit": 100, "used": 120}``.
        """
        what = self.exceeded
        assert what is not None
        counted = {"seconds": seconds, "tokens": self.tokens, "money": self.money}
        data: dict[str, Any] = {"what": what, "limit": self.budget.limits[what], "used": counted[what]}
        if self.unpriced is not None:
            data["unpriced"] = type(self.unpriced).__name__
        return data


def refuse_spent() -> None:
    """
    Raise ``BudgetExceeded`` in code of a step around which a budget is used up.
    """
    for meter in METERS.get():
        if isinstance(meter, Meter) and meter.exceeded is not None:
            raise BudgetExceeded(
                f"a budget is used up: {meter.exceeded}",
                what=meter.exceeded,
                path=meter.path,
                hint="what goes on inside of it is being stopped",
            )
