"""
Pages: how much of what is kept is asked for, and where the next page begins.
"""

from __future__ import annotations

from typing import Any

from procession.errors import InputError

__all__ = ["MOST", "counted", "cursor_of", "read_cursor"]

MOST = 1 << 62
"""More than there is of anything, and a number that every store can take, one more as well."""

_LONGEST = 18
"""Digits of the largest number that a cursor may be: every store has room for it."""


def counted(name: str, value: Any, *, least: int = 0) -> None:
    """
    Raise ``InputError`` where the number called *name* is none, or below *least*.
    """
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name} is {value!r}", hint=f"give a whole number of at least {least}")
    if value < least:
        raise InputError(f"{name} is {value}", hint=f"give at least {least}")


def cursor_of(number: int) -> str:
    """
    Return the cursor of what stands behind *number*.
    """
    return str(number)


def read_cursor(cursor: str) -> int:
    """
    Return the number of a cursor.

    Raises ``InputError`` for what no page has given.
    """
    if cursor.isascii() and cursor.isdecimal() and len(cursor) <= _LONGEST:
        return int(cursor)
    raise InputError(f"cursor is {cursor!r}", hint="give back what the page before said in `following`")
