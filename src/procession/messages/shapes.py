"""
Shapes: questions about values of unknown type that type checkers understand the answer to.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

__all__ = ["is_dict", "is_form", "is_items", "is_sequence", "is_unread", "yields"]


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


def yields(function: object) -> bool:
    """
    Whether *function* has a ``yield`` in it: to call it runs nothing of it, and what it returns is true.
    """
    if not callable(function):
        return False
    for one in (function, getattr(type(function), "__call__", None)):  # noqa: B004  (its code is what is looked at)
        if inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one):
            return True
    return False


def is_unread(value: object) -> bool:
    """
    Whether *value* is still to be read or awaited: a generator, another iterator, or something awaitable.
    """
    return any(hasattr(value, name) for name in ("__next__", "__anext__", "__await__"))
