"""
Reading the JSON that a model answered with.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

__all__ = ["json_answer", "unfenced"]

FENCE = "```"
_SHOWN = 40
"""How much of a key an error quotes."""
_DEEPEST = 100
"""Levels of lists and objects inside each other.  Where Python's own decoder stops depends on its version."""
_marks = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL).finditer
"""Strings as wholes, so that brackets in them do not count, and brackets; linear also where a string has no end."""


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
    twice, for ``NaN`` and numbers that no float can hold, since readers of JSON differ about what they mean, and for
    more than 100 levels.

    >>> json_answer('```json\\n{"spam": true}\\n```')
    {'spam': True}
    """
    text = unfenced(text)
    _check_depth(text)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from None  # the error itself holds the whole text
    except RecursionError:  # of a caller who stands deep in the stack
        raise ValueError("it is nested too deeply") from None


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return
    depth = 0
    for mark in _marks(text):
        if mark[0] in "[{":
            depth += 1
            if depth > _DEEPEST:
                raise ValueError("it is nested too deeply")
        elif mark[0] in "]}":
            depth -= 1


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
