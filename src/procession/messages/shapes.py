"""
Shapes: questions about values of unknown type that type checkers understand the answer to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ["is_dict", "is_form", "is_items"]


def is_form(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """
    Whether *value* is a mapping.
    """
    return isinstance(value, Mapping)


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """
    Whether *value* is a dictionary.
    """
    return isinstance(value, dict)


def is_items(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """
    Whether *value* is a list or a tuple.
    """
    return isinstance(value, (list, tuple))
