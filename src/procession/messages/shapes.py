"""
Shapes: questions about values of unknown type that type checkers understand the answer to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

__all__ = ["is_dict", "is_form", "is_items", "is_sequence"]


def is_form(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """
    Whether *value* is a mapping.
    """
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """
    Whether *value* is a sequence of things, which a text is not.
    """
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


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
