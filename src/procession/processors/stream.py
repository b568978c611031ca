"""
A processor workflow compiled for chunks.

A workflow run per chunk would cost more than everything else together, so ``process_output_stream`` does not go
through the engine: the nodes of the same workflow are compiled once to a chain of calls, and a chunk passes it in
place.  What holds for the other hooks holds here too: the order, what a map picks, how branches are merged, that a
verdict cannot be swallowed and that a failing processor stops the run.

Two things are different, and said in ``docs/processors.md``: the branches of a ``.parallel()`` share one chunk at a
time, so text guards in it that no map chooses between become one guard over all their findings; and loops, ``foreach``
and ``sleep`` have no place in a stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from anyio import current_time

from procession.messages.chunks import (
    Chunk,
    DataChunk,
    Finish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolOutputDenied,
    ToolResult,
)
from procession.messages.message_list import MessageList
from procession.processors.block_joiner import BlockJoiner
from procession.processors.block_order import BlockOrder, Pushed
from procession.processors.guard_group import GuardGroup
from procession.processors.nested_stream import NestedStreams
from procession.processors.payloads import OutputStreamPayload
from procession.processors.stream_items import ProcessorItem, run_items
from procession.processors.stream_plan import StreamPlan
from procession.processors.text_guard import TextGuard
from procession.processors.timed_item import TimedItem
from procession.steps.scope import RequestScope

__all__ = ["StreamChain"]

_MAY_WAIT = frozenset({ToolCall, TextEnd, Finish})
"""What waits for the end of text blocks, or ends them."""
_TOOL_ENDED = frozenset({ToolResult, ToolError, ToolOutputDenied})


class StreamChain(BlockOrder):
    """
    One run's chain: made from a plan, with a context for each processor.

    ``fast`` takes a chunk and returns what comes out of the chain, where every processor in it is plain; where it is
    ``None``, ``push`` does the same and is awaited.
    """

    def __init__(self, plan: StreamPlan, scope: RequestScope, message_list: MessageList) -> None:
        self.payload = OutputStreamPayload(message_list)
        super().__init__(plan.instantiate(self.payload, scope))
        direct = not any(item.holds for item in self.items) and all(
            item.is_simple for item in self.items if isinstance(item, ProcessorItem)
        )
        for item in self.items:
            if isinstance(item, ProcessorItem) and isinstance(item.caller.owner, (TextGuard, GuardGroup)):
                item.defers = True
        self._links = [item.link() for item in self.items]
        self._plain = [item.link() for item in self.items if isinstance(item, ProcessorItem) and not item.is_async]
        self.fast: Callable[[Chunk], Pushed] | None = (
            self._fast if direct and len(self._plain) == len(self.items) else None
        )
        joins = any(isinstance(item, ProcessorItem) and item.defers for item in self.items)
        self._joiner = BlockJoiner() if joins else None
        push = self._push if self._joiner is None else self._push_joined
        self.push: Callable[..., Awaitable[Pushed]] = self._push_directly if direct else push
        """``await push(chunk, sender)``: the sender of a ``data-*`` chunk does not receive it (D18)."""
        self._nested: NestedStreams | None = None
        """The streams of agents that tools run, once there was one."""
        self._clocks = [
            (index, item) for index, item in enumerate(self.items) if isinstance(item, TimedItem) and item.has_clock
        ]
        self.has_clock = bool(self._clocks)
        """Whether text may go on while no chunk comes (``due``, ``let_go``)."""

    def begin(self, *, step_number: int, steps: Sequence[Any], retry_count: int, turn: int | None = None) -> None:
        """
        Tell the processors which step the coming chunks belong to, and which *turn* of the agent's loop it is.
        """
        self.payload.turn = turn
        self.payload.step_number = step_number
        self.payload.steps = steps
        self.payload.retry_count = retry_count
        self._forget()
        for item in self.items:
            item.begin(self.payload)

    def discard(self) -> None:
        """
        Drop what processors hold back: the attempt it belongs to was rejected.
        """
        self._forget()
        self._late.clear()
        for item in self.items:
            item.discard()

    def _forget(self) -> None:
        self._open.clear()
        if self._joiner is not None:
            self._joiner.clear()
        if self._nested is not None:
            self._nested.clear()

    async def _push_joined(self, chunk: Chunk, sender: str | None = None) -> Pushed:
        """
        Do what ``_push`` does where blocks that follow each other are one text.
        """
        joiner = self._joiner
        assert joiner is not None
        kind = type(chunk)
        if not joiner.active and kind is not TextStart and kind is not TextEnd:
            if kind is not TextDelta or self._late:
                return await self._push(chunk, sender)
            self._open.add(chunk.id)  # type: ignore[attr-defined]
            said: list[Chunk] = []
            await run_items(self.items, 0, chunk, said, sender)
            return said[0] if len(said) == 1 else said or None
        if sender is not None:
            return await self._push(chunk, sender)
        out: list[Chunk] = []
        for each in joiner.take(chunk, self._open):
            _add(out, await self._push(each))
        return out[0] if len(out) == 1 else out or None

    async def _push(self, chunk: Chunk, sender: str | None = None) -> Pushed:
        out: list[Chunk] = []
        kind = type(chunk)
        if kind is TextDelta and not self._late:
            self._open.add(chunk.id)  # type: ignore[attr-defined]
        elif (self._late or kind in _MAY_WAIT) and sender is None:
            await self._push_in_order(chunk, chunk, out)
            return out[0] if len(out) == 1 else out or None
        elif kind is ToolOutput:
            return await self.push_written(chunk)
        elif self._nested is not None and kind in _TOOL_ENDED:
            await self._nested.end(chunk.tool_call_id, out)  # type: ignore[attr-defined]
        await run_items(self.items, 0, chunk, out, sender)
        return out[0] if len(out) == 1 else out or None

    async def push_written(self, chunk: Chunk) -> list[Chunk]:
        """
        Return what comes out for a chunk that a tool wrote; tools run at the same time, and wait for each other here.
        """
        if self._nested is None:
            self._nested = NestedStreams(self.items)
        if isinstance(chunk, ToolOutput):
            return await self._nested.push(chunk)
        async with self._nested.turn:
            out = await self.push(chunk)
        return out if isinstance(out, list) else [out] if out is not None else []

    async def flush(self) -> list[Chunk]:
        """
        Return what processors still hold back, each passed through those after it.
        """
        out: list[Chunk] = []
        end = self._joiner.end() if self._joiner is not None else None
        if end is not None:
            _add(out, await self._push(end))
        await self._end_all(None, out)
        return out

    def due(self) -> float:
        """
        Return when held text is to go on although no chunk comes, on the event loop's clock; infinity for never.
        """
        return min(item.due() for _, item in self._clocks)

    async def let_go(self) -> list[Chunk]:
        """
        Return what comes out of the text whose time is up.
        """
        now = current_time()
        out: list[Chunk] = []
        for index, item in self._clocks:
            if item.due() <= now:
                for held in await item.release(None):
                    await run_items(self.items, index + 1, held, out, None)
        return out

    async def _push_directly(self, chunk: Chunk, sender: str | None = None) -> Pushed:
        for_all = sender is None and type(chunk) is not DataChunk
        for item, method, ctx, is_async in self._links:
            if item is None:
                out = await method(chunk, sender)
            elif not (for_all or item.takes(chunk, sender)):
                continue
            else:
                ctx.chunk = chunk
                try:
                    out = method(ctx)
                    if is_async:
                        out = await out
                except Exception as error:
                    out = item.raised(chunk, error)
                except BaseException as raised:
                    out = item.signalled(chunk, raised)
                if ctx.verdict is not None:
                    item.settle()
                if out is not chunk:
                    out = item.kept(chunk, out)
            if out is not chunk:
                if out is None:
                    return None
                chunk = out
                for_all = sender is None and type(chunk) is not DataChunk
        return chunk

    def _fast(self, chunk: Chunk) -> Pushed:
        for_all = type(chunk) is not DataChunk
        for item, method, ctx, _ in self._plain:
            if not (for_all or item.takes(chunk, None)):
                continue
            ctx.chunk = chunk
            try:
                out = method(ctx)
            except Exception as error:
                out = item.raised(chunk, error)
            except BaseException as raised:
                out = item.signalled(chunk, raised)
            if ctx.verdict is not None:
                item.settle()
            if out is not chunk:
                out = item.kept(chunk, out)
                if out is None:
                    return None
                chunk = out
                for_all = type(chunk) is not DataChunk
        return chunk


def _add(out: list[Chunk], pushed: Pushed) -> None:
    if isinstance(pushed, list):
        out += pushed
    elif pushed is not None:
        out.append(pushed)
