"""
Spending: what is counted of what is going on here.

What counts is a context variable, so that tasks and threads that a step begins count with it, and a branch beside does
not.  Where there is no budget it is empty.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from threading import Lock

from procession.errors import InputError
from procession.messages.usage import NO_USAGE, Usage
from procession.messages.value import Value

__all__ = ["METERS", "Calls", "Count", "ModelCall", "amount", "report"]


class ModelCall(Value, kw_only=True):
    """
    A model call that was made and has to be paid for.
    """

    id: str
    """The call's own, so that whoever books it twice can tell."""
    model: str = ""
    usage: Usage = NO_USAGE
    money: float = 0.0
    """What a step said that something has cost, in dollars: no model was named then."""
    estimated: bool = False
    """Whether the provider did not say what it used: the call was broken off, or nothing was counted."""


class Count:
    """
    Tokens and money, added up.  Threads may add at the same time.
    """

    __slots__ = ("_lock", "money", "tokens")

    def __init__(self, tokens: int = 0, money: float = 0.0) -> None:
        self.tokens = tokens
        self.money = money
        self._lock = Lock()

    def add(self, usage: Usage | None, model: str, money: float) -> None:
        """
        Count the tokens of a call of the model with this id, and *money*.
        """
        with self._lock:
            self.money += money
            if usage is not None:
                self.tokens += usage.total_tokens


class Calls(Count):
    """
    What was counted one by one, for what is kept of the run with this id.
    """

    __slots__ = ("calls", "run_id")

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.calls: list[tuple[Usage | None, str, float]] = []

    def add(self, usage: Usage | None, model: str, money: float) -> None:
        """
        Note the tokens of a call of the model with this id, and *money*.
        """
        self.calls.append((usage, model, money))


def amount(given: object, what: str) -> float:
    """
    Return what was *given* as an amount.

    Raises ``InputError`` for anything but a number of at least 0.
    """
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given) or given < 0:
        raise InputError(f"{what} is {given!r}", hint="it is a number, 0 or more")
    return given


METERS: ContextVar[tuple[Count, ...]] = ContextVar("procession_meters", default=())
"""What counts here: the innermost last."""


def report(usage: Usage | None, model: str = "", money: float = 0.0) -> None:
    """
    Let all that counts here count the tokens of a call of the model with this id, and *money*.

    Raises ``InputError`` for tokens and money that are no amounts: less than nothing would give some back.
    """
    amount(money, "money")
    if usage is not None:
        amount(getattr(usage, "total_tokens", usage), "a usage")
    for count in METERS.get():
        count.add(usage, model, money)
