"""
PartialObjects: the structured output as far as it has come, made of the text on its way to the reader.

It stands round the function that takes chunks to the reader, so that it sees text as the stream's processors left it,
and only where structured output is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from procession.agents.structured_run import StructuredRun
from procession.messages.chunks import Chunk, ObjectDelta, StepFinish, StepStart, TextDelta, TextEnd
from procession.models.json_answer import FENCE

__all__ = ["PartialObjects"]

Emit = Callable[[Chunk], Awaitable[None] | None]
_SMALL = 256
"""Up to how many characters a text is read again for each piece; from there on once it has grown by an eighth."""
_NEVER = sys.maxsize
_NOTHING: Any = object()
_OF_NUMBERS = "0123456789.eE+-"


class PartialObjects:
    """
    Sends an ``ObjectDelta`` before the piece of text that brought something new.

    The text is read again from its beginning, after growing by a constant factor: all readings together cost as much as
    a few of the whole.
    """

    __slots__ = ("_emit", "_guarded", "_last", "_length", "_next", "_pieces", "_read", "_run")

    def __init__(self, emit: Emit, run: StructuredRun, *, guarded: bool = False) -> None:
        self._emit = emit
        self._run = run
        self._guarded = guarded
        """Whether text guards stand in the stream: what an escape hides from them is not shown early."""
        self._begin()

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._read = 0
        self._next = 1
        self._last: Any = _NOTHING

    def __call__(self, chunk: Chunk) -> Awaitable[None] | None:
        """
        Take *chunk* on, and a partial value before it.
        """
        kind = type(chunk)
        found: Any = _NOTHING
        if kind is TextDelta:
            found = self._more(chunk.text)  # type: ignore[attr-defined]
        elif kind is TextEnd or kind is StepFinish:
            if self._read < self._length and self._next < _NEVER and getattr(chunk, "reason", "") != "retry":
                found = self._new()
        elif kind is StepStart:
            self._begin()
        return self._emit(chunk) if found is _NOTHING else self._both(ObjectDelta(found), chunk)

    async def _both(self, partial: Chunk, chunk: Chunk) -> None:
        for each in (partial, chunk):
            waiting = self._emit(each)
            if waiting is not None:
                await waiting

    def _more(self, piece: str) -> Any:
        if self._next == _NEVER:
            return _NOTHING
        wanted = self._run.wanted
        if wanted is None or wanted.model is not None or (self._guarded and "\\" in piece):
            self._next = _NEVER
            return _NOTHING
        self._pieces.append(piece)
        self._length += len(piece)
        return self._new() if self._length >= self._next else _NOTHING

    def _new(self) -> Any:
        """
        Return the value as far as it has come, where it is another than last time.
        """
        text = "".join(self._pieces)
        self._pieces = [text]
        self._read = self._length
        self._next = self._length + (1 if self._length < _SMALL else self._length // 8)
        body = _body(text)
        if body is None:
            self._next = _NEVER
            return _NOTHING
        try:
            value = self._parsed(body)
        except (
            ValueError,
            TypeError,
        ):  # nothing yet, or no JSON: the end of the run tells; half a character is a TypeError
            return _NOTHING
        if value is _NOTHING or value == self._last:
            return _NOTHING
        self._last = value
        return value

    def _parsed(self, body: str) -> Any:
        from pydantic_core import from_json

        if not body:
            return _NOTHING
        value = from_json(_without_open_number(body), allow_partial="trailing-strings", allow_inf_nan=False)
        wanted = self._run.wanted
        if wanted is None or not wanted.schema.wrapped or not isinstance(value, dict):
            return value
        inner = wanted.schema.unwrapped(value)
        return _NOTHING if inner is value else inner


def _body(text: str) -> str | None:
    """
    Return the JSON in *text*: ``None`` where there is none in it, no text where that is still to be seen.
    """
    text = text.lstrip()
    if text.startswith(FENCE):
        label, newline, rest = text[len(FENCE) :].partition("\n")
        if label.strip().lower() not in ("", "json") and newline:
            return None
        text = rest.rstrip().rstrip("`").lstrip()
    elif text and FENCE.startswith(text):
        return ""
    return text if not text or text[0] in "{[" else None


def _without_open_number(text: str) -> str:
    """
    Return *text* without a number at its end that may go on.
    """
    head = text.rstrip(_OF_NUMBERS)
    return head if len(head) < len(text) and head.rstrip()[-1:] in (":", ",", "[") else text
