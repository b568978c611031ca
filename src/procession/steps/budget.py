"""
Budget: what a branch may use up, and what happens where it wants more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

from procession.errors import DefinitionError
from procession.messages.usage import Usage
from procession.messages.value import Value

__all__ = ["NOTHING_INSTEAD", "Budget", "Limit", "OnExceed", "Price"]

OnExceed: TypeAlias = Literal["block", "skip", "fallback"]
"""What happens where a budget is used up."""

Limit: TypeAlias = Literal["seconds", "tokens", "money"]
"""What can be limited."""

Price: TypeAlias = Callable[[Usage, str], float]
"""What the tokens of a model call cost, given the id of the model; ``""`` where that is not known."""


class _NothingInstead:
    def __repr__(self) -> str:
        return "no fallback"


NOTHING_INSTEAD: Any = _NothingInstead()
"""Says that a budget has no fallback: ``None`` is one."""


class Budget(Value):
    """
    What a step may use from its start on, with all that it runs: ``seconds``, ``tokens`` of all models that it asks,
    and ``money``, which is what *price* says of each model call, and what steps report by ``ctx.spend(money=...)``.
    Without either it stays 0.

    What wants more is cancelled, and ``"block"`` blocks the run, ``"skip"`` goes on as if the step had not been there,
    and ``"fallback"`` runs a step in its place, outside the budget, or gives the value *fallback*.

    A model call says what it has used when it ends: the one that goes beyond a limit has been paid for.

    Raises ``DefinitionError`` for a budget without a limit, a limit that is not more than 0, and a fallback without
    ``on_exceed="fallback"``, or the other way round.

    >>> from procession.steps.budget import Budget
    >>> Budget(tokens=2_000, on_exceed="skip").limits
    {'tokens': 2000}
    """

    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None
    on_exceed: OnExceed = "block"
    fallback: Any = NOTHING_INSTEAD
    price: Price | None = None

    def __post_init__(self) -> None:
        """
        Refuse what cannot be kept to.
        """
        if not self.limits:
            raise DefinitionError("a budget has no limit", hint="give it seconds=, tokens= or money=")
        for name, limit in self.limits.items():
            fits: Any = int if name == "tokens" else int | float
            # Compared, not converted: a whole number may be one that no float can say.
            if isinstance(limit, bool) or not isinstance(limit, fits) or not 0 < limit < math.inf:
                kind = "a whole number" if name == "tokens" else "a number"
                raise DefinitionError(f"a budget has {name}={limit!r}", hint=f"it is {kind}, more than 0")
        if self.on_exceed not in get_args(OnExceed):
            raise DefinitionError(f"a budget has on_exceed={self.on_exceed!r}", hint="block, skip or fallback")
        if (self.fallback is NOTHING_INSTEAD) is (self.on_exceed == "fallback"):
            raise DefinitionError(
                f"a budget with on_exceed={self.on_exceed!r} has {self.fallback!r}",
                hint='give on_exceed="fallback" and fallback= together: a step, or the value that goes on',
            )
        if self.price is not None and (self.money is None or not callable(self.price)):
            raise DefinitionError(
                f"a budget with money={self.money!r} has price={self.price!r}",
                hint="price= is a function of a usage and the id of a model, for a limit of money=",
            )

    @property
    def limits(self) -> Mapping[Limit, float]:
        """
        The limits that there are.
        """
        found: dict[Limit, float | None] = {"seconds": self.seconds, "tokens": self.tokens, "money": self.money}
        return {name: limit for name, limit in found.items() if limit is not None}

    @property
    def falls_back_on_step(self) -> bool:
        """
        Whether the fallback is something that runs.
        """
        return callable(self.fallback) or hasattr(self.fallback, "as_step")

    def describe(self) -> dict[str, Any]:
        """
        Return it as JSON knows it; a fallback is named where it is a step, and else not shown: it is a value.
        """
        data: dict[str, Any] = {str(name): limit for name, limit in self.limits.items()}
        data["on_exceed"] = self.on_exceed
        if self.on_exceed == "fallback":
            named = getattr(self.fallback, "id", None) or getattr(self.fallback, "__name__", None)
            data["fallback"] = named if self.falls_back_on_step and isinstance(named, str) else "value"
        return data
