"""
HistoryLimit: how much of a thread is recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from procession.errors import InputError
from procession.messages.value import Value

__all__ = ["HistoryLimit", "LastMessages", "history_limit"]


class HistoryLimit(Value, kw_only=True):
    """
    How much of a thread is recalled: at most so many messages, and at most so many tokens of them.

    >>> HistoryLimit(max_tokens=8000).max_messages is None
    True
    """

    max_messages: int | None = None
    """``None`` for all of them."""
    max_tokens: float | None = None
    """``None`` for as many as they have."""
    at_max_remove_tokens: float | None = None
    """How far below *max_tokens* it goes once that is exceeded; ``None`` for a quarter of it."""


LastMessages: TypeAlias = "int | Literal[False] | HistoryLimit | Mapping[str, Any] | None"
"""A count, ``None`` for all, ``False`` to recall and save nothing, or a limit of messages and tokens."""


def history_limit(given: Any) -> HistoryLimit | None:
    """
    Return what ``last_messages`` says, ``None`` for ``False``: nothing is recalled, and nothing saved.

    Raises ``InputError`` for what is none of its forms.
    """
    if given is False:
        return None
    if given is None or _is_count(given):
        return HistoryLimit(max_messages=given)
    if isinstance(given, Mapping):
        found = cast("Mapping[str, Any]", given)
        unknown = sorted(str(name) for name in found if name not in HistoryLimit.__fields__)
        if unknown:
            raise InputError(
                f"last_messages has {unknown[0]!r}", hint=f"there are {', '.join(sorted(HistoryLimit.__fields__))}"
            )
        given = HistoryLimit(**found)
    if not isinstance(given, HistoryLimit):
        raise InputError(
            f"last_messages is {given!r}",
            hint="give a count of at least 1, None for all, False for none, or a HistoryLimit",
        )
    _check(given)
    return given


def _check(limit: HistoryLimit) -> None:
    if limit.max_messages is not None and not _is_count(limit.max_messages):
        raise InputError(f"last_messages has max_messages={limit.max_messages!r}", hint="give a count of at least 1")
    most = limit.max_tokens
    if most is not None and not (_is_number(most) and 0 < most < float("inf")):
        raise InputError(f"last_messages has max_tokens={most!r}", hint="give a number of tokens above 0")
    removed = limit.at_max_remove_tokens
    if removed is None:
        return
    if most is None:
        raise InputError("last_messages has at_max_remove_tokens and no max_tokens", hint="give both, or neither")
    if not (_is_number(removed) and 0 <= removed <= most):
        raise InputError(
            f"last_messages has at_max_remove_tokens={removed!r}", hint=f"give a number from 0 to max_tokens, {most:g}"
        )


def _is_count(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and value > 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
