"""
JSON Lines, read as they come: one message a line, and what is wrong with a line that has none.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, BinaryIO, cast

import anyio.to_thread

from procession.messages.value import Value

__all__ = ["LONGEST_LINE", "BadLine", "Line", "parse_line", "read_lines"]

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes that one line may have: more is a bad line, and is never held in memory at once."""

_BOM = b"\xef\xbb\xbf"


class Line(Value):
    """
    One message: its line number from 1, its text and the other keys of its record.
    """

    number: int
    text: str
    rest: Mapping[str, Any]
    size: int = 0
    """Bytes of the line."""


class BadLine(Value):
    """
    A line without a message, and why.
    """

    number: int
    fault: str
    size: int = 0


async def read_lines(file: BinaryIO) -> AsyncIterator[Line | BadLine]:
    """
    Yield the lines of *file*, one at a time; empty ones are passed over.
    """
    number = 0
    while True:
        raw = await anyio.to_thread.run_sync(file.readline, LONGEST_LINE + 1, abandon_on_cancel=True)
        if not raw:
            return
        number += 1
        size = len(raw)
        if size > LONGEST_LINE and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = await anyio.to_thread.run_sync(file.readline, LONGEST_LINE, abandon_on_cancel=True)
                size += len(raw)
            yield BadLine(number, f"longer than {LONGEST_LINE // 2**20} MiB", size)
        elif raw.strip():
            yield parse_line(raw.removeprefix(_BOM) if number == 1 else raw, number)


def parse_line(raw: bytes, number: int) -> Line | BadLine:
    """
    Read one line: an object with ``text`` (or ``message``), or a text.

    >>> line = parse_line(b'{"id": 7, "text": "Hello"}', 1)
    >>> line.text, line.rest
    ('Hello', {'id': 7})
    """
    try:
        value: Any = json.loads(raw.decode())
    except UnicodeDecodeError as error:
        return BadLine(number, f"not UTF-8 (byte {error.start + 1})", len(raw))
    except (ValueError, RecursionError) as error:
        where = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        what = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
        return BadLine(number, f"not JSON: {what}{where}", len(raw))
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        return BadLine(number, f"neither an object nor a text, but {_kind(value)}", len(raw))
    record = cast("dict[str, Any]", value)
    key = "text" if "text" in record else "message"
    if key not in record:
        return BadLine(number, "no text: the object has neither 'text' nor 'message'", len(raw))
    text = record.pop(key)
    if not isinstance(text, str):
        return BadLine(number, f"no text: {key!r} is {_kind(text)}", len(raw))
    try:
        text.encode()
    except UnicodeEncodeError:
        return BadLine(number, f"no text: {key!r} has half of a surrogate pair", len(raw))
    return Line(number, text, record, len(raw))


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
