"""
PartialObjects: the structured output as far as it has come, made of the text on its way to the reader.

It stands round the function that takes chunks to the callback or the reader, so that it sees text as the stream's
processors left it, and only where structured output is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

from procession.agents.structured.run import StructuredRun
from procession.messages.chunks import Chunk, ObjectDelta, StepFinish, StepStart, TextDelta, TextEnd
from procession.messages.shapes import is_dict, is_items
from procession.models.json_answer import FENCE
from procession.processors.strings import strings_in

__all__ = ["PartialObjects"]

Take = Callable[[Chunk], Any]
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

    __slots__ = ("_also", "_escaped", "_last", "_length", "_next", "_pieces", "_read", "_run", "_take")

    def __init__(self, take: Take, run: StructuredRun, also: Take | None = None) -> None:
        """
        *take* is given chunks and partial values, *also* the partial values alone.
        """
        self._take = take
        self._run = run
        self._also = also
        self._begin()

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._read = 0
        self._next = 1
        self._last: Any = _NOTHING
        self._escaped = False
        """Whether an escape may have hidden something from the text guards of the stream."""

    def __call__(self, chunk: Chunk) -> Any:
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
        return self._take(chunk) if found is _NOTHING else self._both(ObjectDelta(found), chunk)

    async def _both(self, partial: Chunk, chunk: Chunk) -> None:
        for take, each in ((self._take, partial), (self._also, partial), (self._take, chunk)):
            waiting: Any = take(each) if take is not None else None
            if hasattr(waiting, "__await__"):
                await waiting

    def _more(self, piece: str) -> Any:
        if self._next == _NEVER:
            return _NOTHING
        wanted = self._run.wanted
        if wanted is None or wanted.model is not None:
            self._next = _NEVER
            return _NOTHING
        if "\\" in piece and self._run.guards:
            self._escaped = True
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
            if self._escaped and value is not _NOTHING:
                if self._is_hidden(value):
                    self._next = _NEVER
                    return _NOTHING
                if self._last is not _NOTHING and not _goes_on(self._last, value):  # its open string has to end first
                    return _NOTHING
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
        # Behind an escape, what has not come whole cannot be looked at.
        open_strings: Literal["on", "trailing-strings"] = "on" if self._escaped else "trailing-strings"
        value = from_json(_without_open_number(body), allow_partial=open_strings, allow_inf_nan=False)
        wanted = self._run.wanted
        if wanted is None or not wanted.schema.wrapped or not isinstance(value, dict):
            return value
        inner = wanted.schema.unwrapped(value)
        return _NOTHING if inner is value else inner

    def _is_hidden(self, value: Any) -> bool:
        """
        Whether a text guard would have something to say of the strings of a partial value: then the end decides.
        """
        return any(guard.regions(text) for _, text in strings_in(value) for guard in self._run.guards)


def _goes_on(early: Any, late: Any) -> bool:
    """
    Whether *early* is a beginning of *late*.
    """
    if isinstance(early, str):
        return isinstance(late, str) and late.startswith(early)
    if is_dict(early):
        return is_dict(late) and all(key in late and _goes_on(one, late[key]) for key, one in early.items())
    if is_items(early):
        return is_items(late) and len(early) <= len(late) and all(map(_goes_on, early, late))
    return bool(early == late)


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
