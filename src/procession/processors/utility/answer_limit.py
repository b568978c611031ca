"""
AnswerLimit: how much of an answer passes, chunk by chunk, and at its end.
"""

from __future__ import annotations

from typing import Any

from procession.messages.chunks import Chunk, DataChunk, StepStart, TextDelta
from procession.messages.message import Message
from procession.messages.parts import Part, TextPart
from procession.messages.shapes import is_items
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.router import counter_for
from procession.processors.contexts import OutputResultContext, OutputStreamContext

__all__ = ["AnswerLimit"]

_CUT_FROM = 16
"""A piece that has more tokens than this is cut where it no longer fits, and so is the first one of a step, such as an
answer that was not streamed; any other is left out whole."""
_KEY = "answer"


class _Count:
    """
    What has passed so far in a run.
    """

    __slots__ = ("before", "counter", "notice", "reached", "reached_before", "told", "tokens")

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.tokens = self.before = 0.0
        """Counted so far, and when the present step began."""
        self.reached = self.reached_before = False
        """Whether the limit was reached, from where on nothing more passes."""
        self.told = False
        self.notice: DataChunk | None = None
        """Says that the limit was reached, until it is sent."""


class AnswerLimit:
    """
    Limits the text of an answer to *limit* tokens.
    """

    __slots__ = ("_aborts", "_limit", "_parts")

    def __init__(self, limit: float, mode: str, *, aborts: bool) -> None:
        self._limit = limit
        self._parts = mode == "part"
        self._aborts = aborts

    def stream(self, ctx: OutputStreamContext, counter: TokenCounter | None) -> Chunk | None:
        """
        Return what passes of the chunk in hand.
        """
        chunk = ctx.chunk
        kind = type(chunk)
        if kind is not TextDelta:
            if kind is StepStart:
                count = self._count(ctx, counter)
                count.before, count.reached_before = count.tokens, count.reached
            return chunk
        count = self._count(ctx, counter)
        if count.reached:
            return _taken(count)
        assert isinstance(chunk, TextDelta)
        size = count.counter.count(chunk.text)
        tokens = size if self._parts else count.tokens + size
        if tokens <= self._limit:
            count.tokens += size
            return chunk
        if self._aborts:
            ctx.abort(f"Token limit of {self._limit:g} exceeded (current: {tokens:g})")
        return self._over(ctx, count, chunk, size, tokens)

    def _count(self, ctx: OutputStreamContext, counter: TokenCounter | None) -> _Count:
        """
        Return what has passed: in a run that was resumed, too, what its steps said before.
        """
        count: _Count | None = ctx.state.get(_KEY)
        if count is None:
            count = _count_in(ctx, counter)
            if not self._parts:
                count.tokens = count.before = sum(count.counter.count(step.text) for step in ctx.steps)
        return count

    def _over(
        self, ctx: OutputStreamContext, count: _Count, chunk: TextDelta, size: float, tokens: float
    ) -> Chunk | None:
        """
        Return what passes of the chunk with which the limit is reached.
        """
        passed = 0.0 if self._parts else count.tokens
        count.reached = not self._parts
        if not count.told:
            count.told = True
            detail = {"strategy": "truncate", "limit": self._limit, "tokens": tokens}
            ctx.report(f"the answer has more than {self._limit:g} tokens", detail, "modified")
            data = {"processorId": ctx.processor_id, "limit": self._limit, "tokens": tokens}
            count.notice = DataChunk("data-token-limit-reached", data, transient=True)
        if size > _CUT_FROM or (count.reached and count.tokens == count.before):
            text = count.counter.prefix(chunk.text, self._limit - passed)
            if text:
                count.tokens = passed + count.counter.count(text)
                return TextDelta(text, chunk.id, chunk.provider_metadata)
        return _taken(count)

    def notice(self, ctx: OutputResultContext) -> DataChunk | None:
        """
        Return what says that the limit was reached, where there was no piece of text in whose place it could be sent.
        """
        count: _Count | None = ctx.state.get(_KEY)
        return _taken(count) if count is not None else None

    def take_back(self, ctx: OutputStreamContext) -> None:
        """
        Count what was said since the step began no more: the attempt was rejected.
        """
        count: _Count | None = ctx.state.get(_KEY)
        if count is not None:
            count.tokens, count.reached = count.before, count.reached_before

    def finish(self, ctx: OutputResultContext, counter: TokenCounter | None) -> None:
        """
        Cut the texts of the answer to the limit, in their order.
        """
        counter = _count_in(ctx, counter).counter
        left = self._limit
        for message in tuple(ctx.view):
            if message.role != "assistant":
                continue
            parts: list[Part] = []
            changed = False
            for part in message.parts:
                if not isinstance(part, TextPart):
                    parts.append(part)
                    continue
                size = counter.count(part.text)
                if size <= left:
                    left -= size
                    parts.append(part)
                    continue
                if self._aborts:
                    current = self._limit - left + size
                    ctx.abort(f"Token limit of {self._limit:g} exceeded (current: {current:g})")
                text = counter.prefix(part.text, left).rstrip()
                changed, left = True, 0.0
                if text:
                    parts.append(part.replace(text=text))
            if changed:
                _put(ctx, message, parts)


def _taken(count: _Count) -> DataChunk | None:
    notice, count.notice = count.notice, None
    return notice


def _put(ctx: OutputResultContext, message: Message, parts: list[Part]) -> None:
    if any(part.type not in ("step-start", "reasoning") for part in parts):
        ctx.message_list.replace(message.with_parts(parts))
    else:
        ctx.message_list.remove([message.id])


def _count_in(ctx: Any, counter: TokenCounter | None) -> _Count:
    count: _Count | None = ctx.state.get(_KEY)
    if count is None:
        count = ctx.state[_KEY] = _Count(counter or counter_for(_model_of(ctx)))
    return count


def _model_of(ctx: Any) -> Any:
    """
    Return the agent's model, the first of several.
    """
    model = getattr(ctx.agent, "model", None)
    return model[0] if is_items(model) and model else model
