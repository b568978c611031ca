"""
Tokens: what the model calls of a run cost, by node, read from its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from procession.messages.shapes import is_form
from procession.messages.usage import Usage
from procession.models.prices.table import PriceTable
from procession.storage.costs import UNIT

__all__ = ["spent_by_node", "total"]

_KEYS = ("input_tokens", "output_tokens")


def spent_by_node(events: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """
    Return by node path ``{"calls", "input_tokens", "output_tokens", "cost"}``: *cost* in dollars, ``None`` where a price is
    not known.

    >>> answered = {"type": "model.answered", "node_path": "model", "payload": {"usage": {"input_tokens": 3}}}
    >>> spent_by_node([answered])["model"]["input_tokens"]
    3
    """
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        payload = event.get("payload")
        if event.get("type") != "model.answered" or not is_form(payload) or payload.get("cached"):
            continue
        usage = payload.get("usage")
        counts = {key: _count(usage, key) for key in Usage.__fields__}
        spent = found.setdefault(
            str(event.get("node_path", "")), {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}
        )
        spent["calls"] += 1
        for key in _KEYS:
            spent[key] += counts[key]
        cost = PriceTable.listed().cost(str(payload.get("model")), Usage(**counts))
        spent["cost"] = None if cost is None or spent["cost"] is None else spent["cost"] + cost / UNIT
    return found


def total(spent: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return what *spent* comes to together.

    >>> total([])
    {'calls': 0, 'input_tokens': 0, 'output_tokens': 0, 'cost': 0.0}
    """
    every = list(spent)
    costs = [each["cost"] for each in every]
    return {
        "calls": sum(each["calls"] for each in every),
        **{key: sum(each[key] for each in every) for key in _KEYS},
        "cost": None if None in costs else float(sum(costs)),
    }


def _count(usage: Any, key: str) -> int:
    value = usage.get(key) if is_form(usage) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
