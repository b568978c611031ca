"""
StandIns: tokens that stand for values over one request, and the way back for those who may see the values.

They live in the request's scope and die with it: no store, journal, event or log has them, nor has a processor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from procession.messages.chunks import (
    Chunk,
    Finish,
    ObjectDelta,
    ObjectResult,
    StepFinish,
    TextDelta,
    TextEnd,
    ToolOutput,
)
from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.processors.strings import replace_strings, strings_in
from procession.steps.scope import RequestScope

__all__ = ["RestoredStream", "StandIns", "stand_ins_of"]

_TOKEN = re.compile(r"<[A-Z][A-Z0-9_]{0,62}_[1-9][0-9]{0,8}>")
_BEGUN = re.compile(r"<(?:[A-Z][A-Z0-9_]{0,72})?\Z")
"""What may become a token once more text comes."""


class StandIns:
    """
    The tokens of one request: one value has one token, whoever hides it and wherever it stands.

    A token that somebody else has written is nobody's: *taken* are those that stand in the messages already, and no
    value is given one of them.

    >>> tokens = StandIns(taken=["<EMAIL_1>"])
    >>> tokens.token("eva@example.net", "email", shown=True), tokens.token("eva@example.net", "email")
    ('<EMAIL_2>', '<EMAIL_2>')
    >>> tokens.text("write to <EMAIL_2>, not to <EMAIL_1> or <EMAIL_3>")
    'write to eva@example.net, not to <EMAIL_1> or <EMAIL_3>'
    """

    __slots__ = ("_counts", "_for_tools", "_shown", "_taken", "_tokens")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._tokens: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._shown: dict[str, str] = {}
        self._for_tools: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<StandIns for {len(self._tokens)} values>"

    def token(self, value: str, type: str, *, shown: bool = False, for_tools: bool = False) -> str:
        """
        Return what stands for *value*, which is of *type*; the reader is *shown* the value, or tools get it.
        """
        kind = "PERSON" if type == "name" else re.sub(r"[^A-Z0-9]+", "_", type.upper()).strip("_") or "VALUE"
        if not kind[0].isalpha():
            kind = f"VALUE_{kind}"
        token = self._tokens.get((kind, value))
        if token is None:
            number = self._counts.get(kind, 0) + 1
            while f"<{kind}_{number}>" in self._taken:
                number += 1
            self._counts[kind] = number
            token = self._tokens[kind, value] = f"<{kind}_{number}>"
        if shown:
            self._shown[token] = value
        if for_tools:
            self._for_tools[token] = value
        return token

    def text(self, text: str) -> str:
        """
        Return *text* as the reader gets it.
        """
        return _TOKEN.sub(lambda found: self._shown.get(found[0], found[0]), text) if self._shown else text

    def value(self, value: Any) -> Any:
        """
        Return a value of JSON as the reader gets it; what is none comes back as it is.
        """
        return replace_strings(value, lambda path, text: self.text(text)) if self._shown else value

    def arguments(self, args: Any) -> Any:
        """
        Return what a tool is called with as the tool gets it.
        """
        known = self._for_tools
        if not known:
            return args
        return replace_strings(args, lambda path, text: _TOKEN.sub(lambda found: known.get(found[0], found[0]), text))


def stand_ins_of(scope: RequestScope, messages: Iterable[Message]) -> StandIns:
    """
    Return the tokens of the request of *scope*, made when they are first needed, with what stands in its *messages*.
    """
    if scope.stand_ins is None:
        texts = (text for message in messages for text in _texts(message))
        scope.stand_ins = StandIns(token for text in texts for token in _TOKEN.findall(text))
    found: StandIns = scope.stand_ins
    return found


def _texts(message: Message) -> Iterable[str]:
    yield message.text
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            for _, text in strings_in([part.args, part.result, part.error_text]):
                yield text


class RestoredStream:
    """
    What one reader of a stream gets: values in place of their tokens, however those are cut over chunks.

    Of each text block the end is held back where a token has begun in it, never more than a token's length.
    """

    __slots__ = ("_held", "_scope")

    def __init__(self, scope: RequestScope) -> None:
        self._scope = scope
        self._held: dict[str, str] = {}

    def chunks(self, chunk: Chunk) -> list[Chunk]:
        """
        Return what the reader gets now that *chunk* has come.
        """
        known: StandIns | None = self._scope.stand_ins
        if known is None:
            return [chunk]
        if isinstance(chunk, TextDelta):
            text = self._held.pop(chunk.id, "") + chunk.text
            begun = _BEGUN.search(text, max(0, len(text) - 74))
            if begun is not None:
                self._held[chunk.id] = text[begun.start() :]
                text = text[: begun.start()]
            return [chunk.replace(text=known.text(text))] if text else []
        if isinstance(chunk, ToolOutput):  # of a tool that runs meanwhile
            return [chunk]
        ended = [chunk.id] if isinstance(chunk, TextEnd) else list(self._held)
        out: list[Chunk] = [TextDelta(self._held.pop(id), id) for id in ended if id in self._held]
        return [*out, _restored(chunk, known)]


def _restored(chunk: Chunk, known: StandIns) -> Chunk:
    """
    Return a chunk that tells of a whole text, or of an object, with the values in it.
    """
    if isinstance(chunk, (Finish, StepFinish)):
        return chunk.replace(text=known.text(chunk.text))
    if isinstance(chunk, (ObjectDelta, ObjectResult)):
        value: Any = chunk.object
        return chunk.replace(object=known.value(value)) if isinstance(value, (dict, list, str)) else chunk
    return chunk
