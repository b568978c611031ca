"""
Price: what the tokens of one model cost, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from procession.errors import DefinitionError
from procession.messages.shapes import is_form
from procession.messages.usage import Usage
from procession.messages.value import Value

__all__ = ["Price", "price_of", "units_of"]

_PLACES = 6
"""Decimals that a price per million tokens may have: so many make a whole number of units per token."""

_LARGE = 12
"""The power of ten up to which an amount is one: more is a mistake, and ``1e999999`` would take long to write out."""

_RATES = ("input", "output", "cached_input", "cache_write")


class Price(Value, kw_only=True):
    """
    What the tokens of a model cost, each in trillionths of a dollar (``storage.costs.UNIT``).

    Input that came from a cache, or was written into one, costs what *input* does where nothing else is said.

    >>> price_of("m", {"input": 2, "output": 8}).cost(Usage(input_tokens=1_000_000)) == 2 * 10**12
    True
    """

    input: int
    output: int
    cached_input: int | None = None
    cache_write: int | None = None
    above: int = 0
    """Beyond how many tokens of input a call costs what *long* says, all of it."""
    long: Price | None = None

    def cost(self, usage: Usage) -> int:
        """
        Return what a call with this *usage* costs.
        """
        if self.long is not None and usage.input_tokens > self.above:
            return self.long.cost(usage)
        asked = max(0, usage.input_tokens)
        cached = min(max(0, usage.cached_input_tokens), asked)
        written = min(max(0, usage.cache_creation_input_tokens), asked - cached)
        return (
            (asked - cached - written) * self.input
            + cached * (self.input if self.cached_input is None else self.cached_input)
            + written * (self.input if self.cache_write is None else self.cache_write)
            + max(0, usage.output_tokens) * self.output
        )


def price_of(model: str, given: Any) -> Price:
    """
    Read the price of a model: dollars per million tokens, as numbers or, exactly as they are written, as text.

    Raises ``DefinitionError`` that names *model* and what cannot be understood.

    >>> price_of("my/model", {"input": "0.05", "output": "0.40", "cached_input": "0.005"}).output
    400000
    """
    if isinstance(given, Price):
        return given
    if not is_form(given):
        raise _wrong(model, f"is {given!r}")
    form: Mapping[str, Any] = given
    unknown = form.keys() - {*_RATES, "long"}
    if unknown:
        raise _wrong(model, f"has {min(unknown)!r}")
    long: Any = form.get("long")
    if long is None:
        return Price(**_rates(model, form))
    if not is_form(long) or type(long.get("above")) is not int or long["above"] < 0:
        raise _wrong(model, f"has long={long!r}, which does not say above how many tokens")
    if "long" in long:
        raise _wrong(model, "has a 'long' within its 'long'")
    above: int = long["above"]
    rest = {name: value for name, value in long.items() if name != "above"}
    return Price(**_rates(model, form), above=above, long=Price(**_rates(model, rest)))


def units_of(dollars: Any, places: int) -> int:
    """
    Return *dollars* in units of which ``10 ** places`` are one.

    Raises ``ValueError`` for what is no amount of at least 0, or has more decimals than that.
    """
    if isinstance(dollars, bool) or not isinstance(dollars, int | float | str | Decimal):
        raise ValueError(f"{type(dollars).__name__} is no amount")
    try:
        amount = Decimal(str(dollars)) if isinstance(dollars, float) else Decimal(dollars)
        if amount.adjusted() > _LARGE:
            raise ValueError
        units = amount.scaleb(places)
        whole = int(units)
    except (ArithmeticError, ValueError):  # what Decimal finds too large as well
        raise ValueError(f"{dollars!r} is no amount") from None
    if amount < 0 or units != whole:
        raise ValueError(f"{dollars!r} is less than 0, or has more than {places} decimals")
    return whole


def _rates(model: str, form: Mapping[str, Any]) -> dict[str, Any]:
    rates: dict[str, Any] = {}
    for name in _RATES:
        if name not in form:
            if name in ("input", "output"):
                raise _wrong(model, f"has no {name!r}")
            continue
        try:
            rates[name] = units_of(form[name], _PLACES)
        except ValueError as error:
            raise _wrong(model, f"has {name}={form[name]!r}: {error}") from None
    return rates


def _wrong(model: str, what: str) -> DefinitionError:
    return DefinitionError(
        f"the price of {model!r} {what}",
        hint="give dollars per million tokens, such as {'input': '0.25', 'output': '2.00', 'cached_input': '0.025'},"
        " and 'cache_write' and 'long' ({'above': 200000, 'input': ..., 'output': ...}) where they differ",
    )
