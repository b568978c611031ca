"""
Amounts of money: as options they are given, and as they are shown.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from procession.errors import InputError
from procession.models.prices.price import units_of
from procession.storage.costs import UNIT, CostBalance

__all__ = ["PLACES", "dollars", "number_of", "said", "usage_of"]

PLACES = 12
"""Decimals of a dollar that an amount has (``storage.costs.UNIT``)."""


def dollars(name: str, option: str, value: Any) -> int:
    """
    Return *value*, the *option* of the class *name*, in units; raises ``InputError`` for less than nothing, and for what
    is no amount.
    """
    try:
        return units_of(value, PLACES)
    except ValueError as error:
        raise InputError(
            f"{name} has {option}={value!r}: {error}", hint="give dollars, as a number or as text"
        ) from None


def number_of(units: int) -> int | float:
    """
    Return an amount in dollars as a number, for people to read and not to count with.
    """
    return units // UNIT if units % UNIT == 0 else float(_decimal(units))


def said(message: str, stands: CostBalance, limit: int) -> str:
    """
    Return *message* with the amounts in it, in dollars, to the last decimal.
    """
    return message.replace("{usage}", _text(stands.total)).replace("{limit}", _text(limit))


def usage_of(stands: CostBalance) -> dict[str, Any]:
    """
    Return how an account stands, as a verdict tells it.
    """
    usage: dict[str, Any] = {"estimatedCost": number_of(stands.total), "costUnit": "USD"}
    if stands.reserved:
        usage["reserved"] = number_of(stands.reserved)
    if stands.estimated:
        usage["estimated"] = number_of(stands.estimated)
    return usage


def _decimal(units: int) -> Decimal:
    return Decimal(units).scaleb(-PLACES)


def _text(units: int) -> str:
    return f"{_decimal(units).normalize():f}"
