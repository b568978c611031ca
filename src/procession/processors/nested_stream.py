"""
NestedStreams: the streams of agents that tools run, on their way through the chain of the run round them.

Their chunks come in ``tool-output``.  What looks into texts is given them one by one, for each stream with a state of
its own, so that what holds for the answer's own text holds for theirs (D18); any other processor is given the
``tool-output`` as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from procession.messages.chunks import (
    AbortChunk,
    Chunk,
    ErrorChunk,
    Finish,
    StepFinish,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolCallApproval,
    ToolCallSuspended,
    ToolError,
    ToolOutputDenied,
    ToolResult,
    TripwireChunk,
)
from procession.processors.block_order import BlockOrder, Pushed
from procession.processors.nested_items import nested_items
from procession.processors.nested_path import Calls, opened, wrapped
from procession.processors.stream_items import Item, run_items

__all__ = ["NestedStreams"]

_END = Finish("unknown")
_LAST = (Finish, ErrorChunk, TripwireChunk, AbortChunk)
_AFTER_ANSWER = (ToolResult, ToolError, ToolOutputDenied, ToolCallApproval, ToolCallSuspended)
"""What comes only once the model's answer is complete: none of its text blocks is open any longer."""


class NestedStreams:
    """
    The nested streams of one run; they come from tools that run at the same time, and pass one chunk at a time.
    """

    __slots__ = ("_items", "_streams", "turn")

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = nested_items(items)
        self._streams: dict[Calls, _Stream] = {}
        self.turn = anyio.Lock(fast_acquire=True)
        """Held while what a tool writes passes the chain: its processors have one chunk in hand at a time."""

    async def push(self, chunk: Chunk) -> list[Chunk]:
        """
        Pass a ``tool-output`` through the chain and return what comes out.
        """
        out: list[Chunk] = []
        async with self.turn:
            calls, inner = opened(chunk)
            for size in range(1, len(calls)):  # a tool of theirs runs: their answer is complete
                around = self._streams.get(calls[:size])
                if around is not None:
                    await around.end(out)
            stream = self._streams.get(calls)
            if stream is None:
                stream = self._streams[calls] = _Stream(self._items, calls)
            await stream.take(chunk, inner, out)
            if isinstance(inner, _LAST):
                self._forget(calls)
        return out

    async def end(self, tool_call_id: str, out: list[Chunk]) -> None:
        """
        The tool of this call has ended, and with it the streams that it has passed on: let go of what is held of them.
        """
        async with self.turn:
            for calls in [each for each in self._streams if each and each[0][0] == tool_call_id]:
                stream = self._streams.get(calls)
                if stream is not None:
                    await stream.end(out)
                    self._forget(calls)

    def clear(self) -> None:
        """
        Drop what is held back and all that is known of them.
        """
        self._streams.clear()
        for item in self._items:
            item.discard()

    def _forget(self, calls: Calls) -> None:
        for each in [one for one in self._streams if one[: len(calls)] == calls]:
            del self._streams[each]
        for item in self._items:
            item.forget(calls)


class _Stream(BlockOrder):
    """
    One nested stream: the order of its chunks, and what was shown of the step in hand.
    """

    def __init__(self, items: Sequence[Item], calls: Calls) -> None:
        super().__init__(items)
        self._calls = calls
        self._holds = any(item.holds for item in items)
        self._shown: list[str] = []
        self._last = ("", "")
        """The text of the last step, as it came and as it was shown."""

    async def take(self, chunk: Chunk, inner: Chunk, out: list[Chunk]) -> None:
        """
        Pass *chunk*, which says *inner* of this stream.
        """
        sent = len(out)
        if inner.control:
            if _rejects(inner):
                self._drop()
            else:
                await self._end_all(chunk, out)
            self._note(out[sent:])
            told = self._retold(inner)
            await run_items(self.items, 0, chunk if told is inner else wrapped(self._calls, told), out, None)
            return
        if isinstance(inner, _AFTER_ANSWER) and not getattr(inner, "provider_executed", False):
            await self.end(out)
        pushed = await self._push(chunk)
        if pushed is not None:
            out += pushed if isinstance(pushed, list) else [pushed]
        self._note(out[sent:])

    async def end(self, out: list[Chunk]) -> None:
        """
        The model's answer is complete: let go of what is held of it.
        """
        if self._open or self._late:
            sent = len(out)
            await self._end_all(wrapped(self._calls, _END), out)
            self._note(out[sent:])

    async def _push(self, chunk: Chunk) -> Pushed:
        out: list[Chunk] = []
        inner = opened(chunk)[1]
        kind = type(inner)
        if kind is TextDelta and not self._late and self._holds:
            self._open.add(inner.id)  # type: ignore[attr-defined]
        elif self._late or (self._holds and (kind is ToolCall or kind is TextEnd)):
            await self._push_in_order(chunk, inner, out)
            return out
        await run_items(self.items, 0, chunk, out, None)
        return out

    def _drop(self) -> None:
        """
        Drop what is held back: it was rejected.
        """
        self._open.clear()
        self._late.clear()
        for item in self.items:
            item.forget(self._calls)

    def _note(self, out: Sequence[Chunk]) -> None:
        for chunk in out:
            calls, inner = opened(chunk)
            if calls == self._calls and isinstance(inner, TextDelta):
                self._shown.append(inner.text)

    def _retold(self, inner: Chunk) -> Chunk:
        """
        Return *inner* with the text of its step as it was shown, rather than as it came (D37).
        """
        if isinstance(inner, StepFinish):
            self._last = (inner.text, "".join(self._shown))
            self._shown.clear()
            return inner.replace(text=self._last[1]) if inner.text != self._last[1] else inner
        if isinstance(inner, Finish) and inner.text == self._last[0] != self._last[1]:
            return inner.replace(text=self._last[1])
        return inner


def _rejects(inner: Chunk) -> bool:
    """
    Whether *inner* says that what is held back of its stream is to be shown to nobody.
    """
    return isinstance(inner, (TripwireChunk, ErrorChunk, AbortChunk)) or (
        isinstance(inner, StepFinish) and inner.reason == "retry"
    )
