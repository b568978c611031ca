"""
FakeModel: a language model that plays scripted replies and records what it was asked.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from procession.errors import InputError
from procession.messages.chunks import (
    Chunk,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseMetadata,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from procession.messages.usage import FinishReason, Usage
from procession.messages.value import Value
from procession.models.model import ModelRequest

__all__ = ["FakeModel", "Reply", "ScriptEntry", "ScriptedCall"]

USAGE = Usage(10, 5)
"""What a call costs where its reply does not say."""


class ScriptedCall(Value):
    """
    One tool call of a reply.

    ``raw`` stands for the text of the arguments where that is the point of a test: text that is no JSON object
    arrives as text.  ``stream_input`` lists the pieces in which the arguments come before the call itself.
    """

    name: str
    args: Any = None
    id: str | None = None
    """``call-1``, ``call-2``, ... where it is not given."""
    raw: str | None = None
    stream_input: Sequence[str] = ()


class Reply(Value):
    """
    What the model answers to one call.

    Replies add up, so that a test reads like the turn it stands for:

    >>> reply = Reply("Let me check.") + Reply(tool_calls=[ScriptedCall("weather", {"city": "Paris"})])
    >>> reply.text, [call.name for call in reply.tool_calls]
    ('Let me check.', ['weather'])
    """

    text: str | Iterable[str] = ()
    """The answer; one chunk for each piece, where the caller streams.  A generator is read as it goes."""
    reasoning: str | Iterable[str] = ()
    """What the model thinks aloud before it answers."""
    tool_calls: Sequence[ScriptedCall] = ()
    finish: FinishReason | None = None
    """Why the reply ends; without it ``tool-calls`` where there are any, else ``stop``."""
    usage: Usage | None = None
    """What the call cost; without it 10 tokens in and 5 out."""
    warnings: Sequence[Any] = ()
    """What the provider says it could not do as asked."""
    provider_metadata: Mapping[str, Any] | None = None
    """What the provider says besides, at the end."""
    error: BaseException | None = None
    """Raised instead of an answer."""
    stream_error: BaseException | None = None
    """Raised after the text: the connection broke."""
    delay: float = 0.0
    """Seconds before the first chunk."""
    pause: float = 0.0
    """Seconds before each piece of text."""

    def __add__(self, other: Reply) -> Reply:
        return Reply(
            text=_joined(self.text, other.text),
            reasoning=_joined(self.reasoning, other.reasoning),
            tool_calls=(*self.tool_calls, *other.tool_calls),
            finish=other.finish or self.finish,
            usage=other.usage or self.usage,
            warnings=(*self.warnings, *other.warnings),
            provider_metadata=other.provider_metadata or self.provider_metadata,
            error=other.error or self.error,
            stream_error=other.stream_error or self.stream_error,
            delay=self.delay + other.delay,
            pause=max(self.pause, other.pause),
        )


_Answer: TypeAlias = str | Reply | BaseException
ScriptEntry: TypeAlias = _Answer | Callable[[ModelRequest], _Answer | Awaitable[_Answer]]
"""A text, a reply, an exception to raise, or a function of the request that returns one of these."""


class FakeModel:
    """
    A language model that plays a script: call *n* gets entry *n*.

    The script is one entry or any iterable of entries; an endless generator is an endless script.  With
    *repeat_last* the last entry answers all further calls, otherwise they raise an ``InputError``.

    >>> import anyio
    >>> from procession.models.model import ModelRequest
    >>> model = FakeModel(["Hello."])
    >>> async def main():
    ...     return [chunk.type async for chunk in model.stream(ModelRequest(messages=()))]
    >>> anyio.run(main)
    ['response-metadata', 'text-start', 'text-delta', 'text-end', 'finish']
    """

    def __init__(
        self,
        script: ScriptEntry | Iterable[ScriptEntry],
        *,
        id: str = "fake",
        provider: str = "fake",
        repeat_last: bool = False,
    ) -> None:
        self.id = id
        self.provider = provider
        """Whose model this pretends to be, for what treats providers differently."""
        self.requests: list[ModelRequest] = []
        """What the model was asked, in order."""
        self.unfinished = 0
        """How many calls were closed or cancelled before their end."""
        alone = isinstance(script, (str, Reply, BaseException)) or callable(script)
        entries: Any = (script,) if alone else script
        self._entries: Iterator[ScriptEntry] = iter(entries)
        self._last: ScriptEntry | None = None
        self._repeat_last = repeat_last
        self._length = 0
        self._calls = 0

    def __repr__(self) -> str:
        return f"FakeModel({self.id!r}, calls={len(self.requests)})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """
        Play the next entry of the script.

        Raises what the entry says, or ``InputError`` where the script is over.
        """
        self.requests.append(request)
        number = len(self.requests)
        entry = self._next_entry()
        try:
            reply = await self._decide(entry, request)
            if reply.delay:
                await _sleep(reply.delay)
            if reply.error is not None:
                raise reply.error
            streaming = request.streaming
            yield ResponseMetadata(f"{self.id}-{number}", self.id, warnings=reply.warnings)
            if reasoning := _pieces(reply.reasoning, streaming):
                yield ReasoningStart()
                for piece in reasoning:
                    yield ReasoningDelta(piece)
                yield ReasoningEnd()
            if text := _pieces(reply.text, streaming):
                yield TextStart()
                if reply.pause:
                    for piece in text:
                        await _sleep(reply.pause)
                        yield TextDelta(piece)
                else:
                    for piece in text:
                        yield TextDelta(piece)
                yield TextEnd()
            if reply.stream_error is not None:
                raise reply.stream_error
            for call in reply.tool_calls:
                for chunk in self._call(call, streaming):
                    yield chunk
            reason: FinishReason = reply.finish or ("tool-calls" if reply.tool_calls else "stop")
            yield Finish(reason, reply.usage or USAGE, provider_metadata=reply.provider_metadata)
        except Exception:
            raise
        except BaseException:  # cancelled, or closed by the reader
            self.unfinished += 1
            raise

    def _next_entry(self) -> ScriptEntry:
        entry = next(self._entries, None)
        if entry is None:
            if self._repeat_last and self._last is not None:
                return self._last
            length = self._length
            raise InputError(
                f"FakeModel {self.id!r} was called {len(self.requests)} times, but its script has "
                f"{length} {'entry' if length == 1 else 'entries'}",
                hint="add an entry for each call, or pass repeat_last=True",
            )
        self._last = entry
        self._length += 1
        return entry

    async def _decide(self, entry: Any, request: ModelRequest) -> Reply:
        while callable(entry):
            entry = entry(request)
            if inspect.isawaitable(entry):
                entry = await entry
        if isinstance(entry, BaseException):
            raise entry
        if isinstance(entry, str):
            return Reply(entry)
        if not isinstance(entry, Reply):
            raise InputError(
                f"FakeModel {self.id!r} cannot play {entry!r}",
                hint="an entry is a text, a Reply, an exception, or a function that returns one of these",
            )
        return entry

    def _call(self, call: ScriptedCall, streaming: bool) -> Iterator[Chunk]:
        self._calls += 1
        call_id = call.id if call.id is not None else f"call-{self._calls}"
        args: Any = call.args if call.args is not None else {}
        if call.raw is not None:
            args = _parsed(call.raw)
        if call.stream_input or not streaming:
            # A model that answers in one piece has its answer replayed: the arguments come as one delta.
            whole = call.raw if call.raw is not None else json.dumps(args)
            yield ToolInputStart(call_id, call.name)
            for piece in call.stream_input if streaming else (whole,):
                yield ToolInputDelta(call_id, piece, call.name)
            yield ToolInputEnd(call_id)
        yield ToolCall(call_id, call.name, args)


def _pieces(text: str | Iterable[str], streaming: bool) -> Iterable[str]:
    """
    Return the pieces to send; empty (and false) where there is no text at all.
    """
    if not isinstance(text, str):
        if streaming:
            return text
        text = "".join(text)
    return (text,) if text else ()


def _joined(first: str | Iterable[str], second: str | Iterable[str]) -> str | Iterable[str]:
    if not first or not second:
        return first or second
    return (*_pieces(first, True), *_pieces(second, True))


def _parsed(raw: str) -> Any:
    try:
        args: Any = json.loads(raw)
    except ValueError:
        return raw
    return args if isinstance(args, dict) else raw  # pyright: ignore[reportUnknownVariableType]


async def _sleep(seconds: float) -> None:
    from anyio import sleep

    await sleep(seconds)
