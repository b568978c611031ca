"""
Reading the JSON that a model answered with.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

__all__ = ["json_answer", "unfenced"]

FENCE = "```"
_SHOWN = 40
"""How much of a key an error quotes."""


def unfenced(text: str) -> str:
    """
    Return *text* without a Markdown fence that encloses the whole of it.
    """
    inner = text.strip()
    if not inner.startswith(FENCE) or not inner.endswith(FENCE) or len(inner) < 2 * len(FENCE):
        return text
    label, newline, body = inner[len(FENCE) : -len(FENCE)].partition("\n")
    return body if newline and label.strip().lower() in ("", "json") else text


def json_answer(text: str) -> Any:
    """
    Return the value of *text*: JSON and nothing else, in a Markdown fence or not.

    Raises ``ValueError``, which says where and does not quote the text, for anything else: also for a key that is there
    twice, and for ``NaN`` and numbers that no float can hold, since readers of JSON differ about what they mean.

    >>> json_answer('```json\\n{"spam": true}\\n```')
    {'spam': True}
    """
    try:
        return json.loads(unfenced(text), object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from None  # the error itself holds the whole text
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:_SHOWN]!r} is there twice")
            seen.add(key)
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("a number is too large")
    return number
