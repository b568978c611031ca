"""
Reading JSON from servers that promise nothing: whatever is not of the kind that was hoped for counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["as_count", "as_list", "as_mapping", "as_text", "as_timestamp"]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """
    Return a mapping as it is, and an empty one for anything else.
    """
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """
    Return a list or tuple as it is, and an empty one for anything else.
    """
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def as_text(value: Any) -> str:
    """
    Return text as it is, and no text for anything else.
    """
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """
    Return a number of tokens, and 0 for what cannot be one.
    """
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else 0


def as_timestamp(value: Any) -> float | None:
    """
    Return a number of seconds since 1970, and nothing for what cannot be one.
    """
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1e15 else None
