"""
PriceTable: what which model costs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from procession.errors import DefinitionError, InputError
from procession.messages.shapes import is_form
from procession.messages.usage import Usage
from procession.models.prices.price import Price, price_of
from procession.storage.costs import UNIT

__all__ = ["PriceTable"]

_LIST = Path(__file__).with_name("list_prices.json")
_SNAPSHOT = re.compile(r"-(?:20\d\d-?[01]\d-?[0-3]\d|latest)$")
"""What the id of one version of a model ends with."""

_LISTED: list[PriceTable] = []
"""The table of the package, once it was read."""


class PriceTable:
    """
    Prices by the id of the model, such as ``openai/gpt-5-mini``.

    A dated version of a model costs what the model does unless it has a price of its own.  An id that ends with ``*``
    stands for all that begin like it, of which the longest counts.  No other id is taken for a model: the same model of
    another provider has another price.

    >>> table = PriceTable({"ollama/*": {"input": 0, "output": 0}, "my/model": {"input": "0.25", "output": "2"}})
    >>> table.cost("my/model-2026-01-31", Usage(1_000_000, 1_000_000)) / 10**12
    2.25
    >>> table.cost("ollama/qwen3", Usage(10, 10)), table.cost("other/model", Usage(10, 10))
    (0, None)
    """

    def __init__(self, models: Mapping[str, Any], *, as_of: str = "") -> None:
        """
        *models* are prices in dollars per million tokens, by id (see ``price_of``), or ``Price`` objects.

        Raises ``DefinitionError`` for a price that cannot be understood.
        """
        self.as_of = as_of
        """The day of the prices, as far as it is known."""
        self._prices: dict[str, Price] = {}
        self._prefixes: dict[str, Price] = {}
        for model, given in models.items():
            kept, name = (self._prefixes, model[:-1]) if model.endswith("*") else (self._prices, model)
            kept[name] = price_of(model, given)

    @classmethod
    def listed(cls) -> PriceTable:
        """
        Return the list prices that come with the package; ``as_of`` says of which day.
        """
        if not _LISTED:
            _LISTED.append(cls.read(_LIST))
        return _LISTED[0]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PriceTable:
        """
        Read a table from a JSON file: ``{"as_of": "...", "models": {"<id>": {"input": "0.25", ...}}}``.

        Raises ``DefinitionError`` where there is no such file, or it is none of that kind.
        """
        try:
            data: Any = json.loads(Path(path).read_text("utf-8"), parse_float=str)  # as it is written, and no float
        except (OSError, ValueError) as error:
            raise DefinitionError(f"the prices in {os.fspath(path)!r} cannot be read: {error}") from None
        models: Any = data.get("models") if is_form(data) else None
        if not is_form(models):
            raise DefinitionError(f"{os.fspath(path)!r} has no prices", hint='they stand under "models", by id')
        return cls(models, as_of=str(data.get("as_of", "")))

    def with_prices(self, models: Mapping[str, Any]) -> PriceTable:
        """
        Return a table in which *models* have these prices, and all others those of this one.
        """
        added, made = PriceTable(models), PriceTable({}, as_of=self.as_of)
        made._prices = {**self._prices, **added._prices}
        made._prefixes = {**self._prefixes, **added._prefixes}
        return made

    def price(self, model: str) -> Price | None:
        """
        Return what a model costs, or ``None`` where that is not known.
        """
        found = self._prices.get(model) or self._prices.get(_SNAPSHOT.sub("", model))
        if found is None and self._prefixes:
            fits = [prefix for prefix in self._prefixes if model.startswith(prefix)]
            return self._prefixes[max(fits, key=len)] if fits else None
        return found

    def cost(self, model: str, usage: Usage) -> int | None:
        """
        Return what a call of a model costs, in trillionths of a dollar, or ``None`` where that is not known.
        """
        price = self.price(model)
        return None if price is None else price.cost(usage)

    def dollars(self, usage: Usage, model: str) -> float:
        """
        Return what a call of a model costs in dollars, for a budget: ``Budget(money=1, price=table.dollars)``.

        Raises ``InputError`` for a model whose price is not known: the budget then stops what it is for.
        """
        cost = self.cost(model, usage)
        if cost is None:
            raise InputError(f"no price is known of {model!r}", hint="with_prices({model: {...}}) adds one")
        return cost / UNIT

    @property
    def models(self) -> tuple[str, ...]:
        """
        The ids that have a price.
        """
        return (*self._prices, *(f"{prefix}*" for prefix in self._prefixes))
