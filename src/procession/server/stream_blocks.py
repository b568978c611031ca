"""
StreamBlocks: streamed text on its way into a log, held until all of it is there: a secret may be split over chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from procession.messages.shapes import is_dict
from procession.server.redaction import Redactor, masked_together, redacted

__all__ = ["StreamBlocks"]

_TEXTS: Final = {"text-delta": "text", "reasoning-delta": "text", "tool-call-delta": "args_text"}
"""The chunks that carry a piece of a text, and where."""
_ENDS: Final = frozenset({"finish", "step-finish", "error", "abort", "tripwire"})
"""The chunks behind which no text goes on; behind any other, such as a source or a provider's own event, one may: texts
that follow each other are looked at as one."""
_PARTIAL: Final = {"object": "object", "raw": "value"}
"""The chunks that repeat a part of what is not complete yet: of those only the kind is shown."""
_MOST_EVENTS: Final = 10_000
_MOST_TEXT: Final = 1_000_000


class StreamBlocks:
    """
    Holds what a stream's chunks came to, as JSON, until the text that they are part of is complete, and masks that.

    What is too long to be held is shown without its text.
    """

    __slots__ = ("_held", "_redact", "_size", "_too_long")

    def __init__(self, redact: Redactor | None) -> None:
        self._redact = redact
        self._held: list[tuple[Any, dict[str, Any]]] = []
        self._size = 0
        self._too_long = False
        """Whether a part of the texts in hand was withheld: so is what follows, which may be the rest of a secret."""

    def take(self, place: Any, payload: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
        """
        Take the *payload* of a ``stream.passed`` and return those that may be shown now, each with its *place*.
        """
        self._held.append((place, payload))
        if self._redact is None:
            return self.release()
        self._size += sum(len(holder[name]) for _, holder, name in _pieces(payload))
        came = payload["came"]
        if came is not None and (came["type"] in _ENDS or not (self._size or self._too_long)):
            return self.release()
        if self._size > _MOST_TEXT or len(self._held) >= _MOST_EVENTS:
            self._too_long = True
            return self._let_go(None)
        return []

    def release(self) -> list[tuple[Any, dict[str, Any]]]:
        """
        Return all that is held, now that nothing more of it comes.
        """
        redact, self._too_long = None if self._too_long else self._redact, False
        return self._let_go(redact)

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
            _mask(texts, [at for block in blocks.values() for at in block], redact)
            if len(blocks) > 1:  # and each by itself: what stands behind it may have hidden what is in it
                for block in blocks.values():
                    _mask(texts, block, redact)
        for _, holder, name in pieces:
            holder[name] = ""
        made = [(place, redacted(payload, self._redact)) for place, payload in held]
        shown = [piece for _, payload in made for piece in _pieces(payload)]
        for (_, holder, name), text in zip(shown, texts, strict=True):
            holder[name] = text
        return made


def _mask(texts: list[str], places: Sequence[int], redact: Redactor | None) -> None:
    masked = masked_together([texts[at] for at in places], redact)
    for at, text in zip(places, masked, strict=True):
        texts[at] = text


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
