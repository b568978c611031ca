"""
StreamBlocks: streamed text on its way into a log, held until all of it is there: a secret may be split over chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

from procession.messages.shapes import is_dict
from procession.server.redaction import WITHHELD, Redactor, redacted

__all__ = ["StreamBlocks", "spread"]

_TEXTS: Final = {"text-delta": "text", "reasoning-delta": "text", "tool-call-delta": "args_text"}
"""The chunks that carry a piece of a text, and where."""
_GO_ON: Final = frozenset({
    *_TEXTS, "text-start", "text-end", "reasoning-start", "reasoning-end", "tool-call-input-streaming-start", "tool-output",
})  # fmt: skip
"""The chunks after which more of a text may come; texts that follow each other are looked at as one."""
_PARTIAL: Final = {"object": "object", "raw": "value"}
"""The chunks that repeat a part of what is not complete yet: of those only the kind is shown."""
_MOST_EVENTS: Final = 10_000
_MOST_TEXT: Final = 1_000_000
_MARK: Final = re.compile(r"(‹[^‹›]{1,40}›)")


class StreamBlocks:
    """
    Holds what a stream's chunks came to, as JSON, until the text that they are part of is complete, and masks that.

    What is too long to be held is shown without its text.
    """

    __slots__ = ("_held", "_redact", "_size")

    def __init__(self, redact: Redactor | None) -> None:
        self._redact = redact
        self._held: list[tuple[Any, dict[str, Any]]] = []
        self._size = 0

    def take(self, place: Any, payload: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
        """
        Take the *payload* of a ``stream.passed`` and return those that may be shown now, each with its *place*.
        """
        self._held.append((place, payload))
        if self._redact is None:
            return self.release()
        self._size += sum(len(holder[name]) for _, holder, name in _pieces(payload))
        came = payload["came"]
        if came is not None and came["type"] not in _GO_ON:
            return self.release()
        if self._size > _MOST_TEXT or len(self._held) >= _MOST_EVENTS:
            return self._let_go(None)
        return []

    def release(self) -> list[tuple[Any, dict[str, Any]]]:
        """
        Return all that is held, now that nothing more of it comes.
        """
        return self._let_go(self._redact)

    def _let_go(self, redact: Redactor | None) -> list[tuple[Any, dict[str, Any]]]:
        held, self._held, self._size = self._held, [], 0
        if self._redact is None or not held:
            return held
        pieces = [piece for _, payload in held for piece in _pieces(payload)]
        texts: list[str] = [holder[name] for _, holder, name in pieces]
        # Block behind block, of one kind as one text: what is split over two of them is found as well.
        lanes: dict[Any, dict[Any, list[int]]] = {}
        for at, (key, _, _) in enumerate(pieces):
            lanes.setdefault(key[:2], {}).setdefault(key, []).append(at)
        for blocks in lanes.values():
            places = [at for block in blocks.values() for at in block]
            for at, text in zip(places, _masked([texts[at] for at in places], redact), strict=True):
                texts[at] = text
        for _, holder, name in pieces:
            holder[name] = ""
        made = [(place, redacted(payload, self._redact)) for place, payload in held]
        shown = [piece for _, payload in made for piece in _pieces(payload)]
        for (_, holder, name), text in zip(shown, texts, strict=True):
            holder[name] = text
        return made


def _masked(texts: Sequence[str], redact: Redactor | None) -> list[str]:
    """
    Return pieces of one text so that together they are that text, masked.
    """
    whole = "".join(texts)
    if not whole:
        return list(texts)
    if redact is not None:
        try:
            masked: Any = redact(whole)
        except Exception:
            masked = None
        if isinstance(masked, str):
            return list(texts) if masked == whole else spread(texts, masked)
    return [WITHHELD, *[""] * (len(texts) - 1)]


def spread(pieces: Sequence[str], masked: str) -> list[str]:
    """
    Return as many pieces as there are *pieces*, which together are *masked*: what was not masked stays where it was.

    >>> spread(["key sk-", "abc", " is mine"], "key ‹secret› is mine")
    ['key ‹secret›', '', ' is mine']
    """
    whole = "".join(pieces)
    ends = list(accumulate(len(piece) for piece in pieces))
    made = [""] * len(pieces)
    at = 0  # the piece in hand
    for start, text, is_kept in _aligned(whole, masked):
        while at + 1 < len(ends) and start >= ends[at]:
            at += 1
        if not is_kept:
            made[at] += text
            continue
        while text:
            room = ends[at] - start if at + 1 < len(ends) else len(text)
            made[at] += text[:room]
            start, text = start + len(text[:room]), text[room:]
            if text:
                at += 1
    return made


def _aligned(whole: str, masked: str) -> list[tuple[int, str, bool]]:
    """
    Return the parts of *masked* with where in *whole* they begin, and whether they are as they were there.
    """
    made: list[tuple[int, str, bool]] = []
    at = 0
    parts = _MARK.split(masked)
    for number, part in enumerate(parts):
        if number % 2:
            made.append((at, part, False))
        elif part:
            place = whole.find(part, at) if number else 0
            if number == len(parts) - 1:
                place = max(at, len(whole) - len(part))
            if place < 0 or not whole.startswith(part, place):
                return _by_ends(whole, masked)
            made.append((place, part, True))
            at = place + len(part)
    return made


def _by_ends(whole: str, masked: str) -> list[tuple[int, str, bool]]:
    most, head = min(len(whole), len(masked)), 0
    while head < most and whole[head] == masked[head]:
        head += 1
    tail = 0
    while tail < most - head and whole[-1 - tail] == masked[-1 - tail]:
        tail += 1
    end = len(masked) - tail
    return [(0, masked[:head], True), (head, masked[head:end], False), (len(whole) - tail, masked[end:], True)]


def _pieces(payload: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str]]:
    """
    Yield the pieces of text in *payload*: which text each belongs to, the chunk, and its field.
    """
    if payload["came"] is not None:
        yield from _texts_in(payload["came"], "came")
    for stage in payload["stages"]:
        for chunk in stage["out"]:
            yield from _texts_in(chunk, stage["node_path"])
    for chunk in payload["left"]:
        yield from _texts_in(chunk, "left")


def _texts_in(chunk: dict[str, Any], lane: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str]]:
    kind = chunk.get("type", "")
    if kind in _TEXTS:
        yield (lane, kind, chunk.get("id") or chunk.get("tool_call_id")), chunk, _TEXTS[kind]
    elif kind in _PARTIAL:
        chunk.pop(_PARTIAL[kind], None)
    elif kind == "tool-output":
        inside = f"{lane}/{chunk.get('tool_call_id')}"
        if isinstance(chunk.get("output"), str):
            yield (inside, kind), chunk, "output"
        elif is_dict(chunk.get("output")):
            yield from _texts_in(chunk["output"], inside)
