"""
The links of a chain as nested streams pass them: what looks into texts has a context of its own for each stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from procession.messages.chunks import Chunk, Finish
from procession.processors.adapter import HookCaller
from procession.processors.asking_guard import AskingGuard
from procession.processors.guard_group import GuardGroup
from procession.processors.nested_path import Calls, opened, wrapped
from procession.processors.nested_values import LOOKED_INTO, guarded_chunk
from procession.processors.payloads import OutputStreamPayload
from procession.processors.protocols import option
from procession.processors.stream_fork import ForkItem
from procession.processors.stream_items import Due, Item, ProcessorItem
from procession.processors.text_guard import TextGuard
from procession.processors.time_limit import limited_hook
from procession.steps.scope import RequestScope

__all__ = ["nested_items"]

_END = Finish("unknown")


def nested_items(items: Sequence[Item]) -> list[Item]:
    """
    Return the links for nested streams: *items* themselves, but for those that look into texts.
    """
    made: list[Item] = []
    for item in items:
        if isinstance(item, ProcessorItem) and option(item.caller.owner, "nested_text"):
            made.append(_NestedItem(item))
        else:
            made.append(item.nested(nested_items) if isinstance(item, ForkItem) else item)
    return made


class _NestedItem(Item):
    """
    One processor that looks into texts.  It is given the chunks of nested streams one by one, without their wrapping.
    """

    __slots__ = ("_lanes", "_outer")

    def __init__(self, outer: ProcessorItem) -> None:
        super().__init__(is_async=True, holds=True, owner_id=outer.owner_id)
        self._outer = outer
        self._lanes: dict[Calls, _Lane] = {}

    @property
    def asks(self) -> bool:  # type: ignore[override]
        """
        Whether it asks somebody outside about what it holds back.
        """
        return self._outer.asks

    def begin(self, payload: OutputStreamPayload) -> None:
        """
        A step begins: no stream of the one before goes on.
        """
        self.discard()

    def discard(self) -> None:
        """
        Drop what is held back of all streams.
        """
        self.forget(())

    def forget(self, calls: Calls) -> None:
        """
        Drop what is held back of one stream and of those inside it.
        """
        for each in [one for one in self._lanes if one[: len(calls)] == calls]:
            self._lanes.pop(each).discard()

    def must_release(self, chunk: Chunk) -> bool:
        """
        Whether held text of the stream of *chunk* must go on before it.
        """
        calls, inner = opened(chunk)
        lane = self._lanes.get(calls)
        return lane is not None and lane.must_release(inner)

    async def release(self, coming: Chunk | None) -> list[Chunk]:
        """
        Return what is held back of the stream of *coming*.
        """
        if coming is None:
            return []
        calls, inner = opened(coming)
        lane = self._lanes.get(calls)
        if lane is None:
            return []
        try:
            return [wrapped(calls, held) for held in await lane.release(inner)]
        except Due as due:
            raise _within(calls, due) from None

    async def apply(self, chunk: Chunk, sender: str | None = None) -> Chunk | None:
        """
        Call the processor's hook with what is in *chunk*.
        """
        calls, inner = opened(chunk)
        lane = self._lanes.get(calls)
        if lane is None:
            outer = self._outer
            lane = self._lanes[calls] = _Lane(outer.caller, outer.payload, outer.scope, outer.path)
            lane.defers = outer.defers
        try:
            out = lane.apply(inner, sender)
            if lane.is_async:
                out = await cast("Awaitable[Chunk | None]", out)
        except Due as due:
            raise _within(calls, due) from None
        made = cast("Chunk | None", out)
        return chunk if made is inner else None if made is None else wrapped(calls, made)


def _within(calls: Calls, due: Due) -> Due:
    """
    Return a verdict of the nested stream in *calls* as those behind can look at its text: in the chunks of that stream.
    """
    return Due(due.item, [wrapped(calls, chunk) for chunk in due.chunks], wrapped(calls, _END))


class _Lane(ProcessorItem):
    """
    A processor as one nested stream passes it.

    What a guard hides in an answer it hides in what else a nested stream tells: the results of inner tools have passed
    the inner run's guards, and not those of this one.
    """

    __slots__ = ()

    def __init__(self, caller: HookCaller, payload: OutputStreamPayload, scope: RequestScope, path: str) -> None:
        super().__init__(caller, payload, scope, path)
        look, waits = _look(caller.owner)
        if look is None:
            return
        if caller.timeout is not None:
            look = limited_hook(look, caller.timeout, is_async=waits)
        self.is_async = self.is_async or waits
        self.method = (_awaited if self.is_async else _either)(look, self.method)


def _look(owner: Any) -> tuple[Callable[[Any], Any] | None, bool]:
    """
    Return what *owner* does with chunks in which texts may stand beside the answer's, and whether it is to be awaited.
    """
    if isinstance(owner, GuardGroup):
        return (owner.look_slowly, True) if owner.waits else (owner.look, False)
    if isinstance(owner, AskingGuard) and owner.asks:
        return owner.look_slowly, True
    if isinstance(owner, TextGuard):
        return lambda ctx: guarded_chunk(owner, ctx, ctx.chunk, owner.for_request(ctx.message_list).regions), False
    return None, False


def _either(look: Callable[[Any], Any], hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda ctx: look(ctx) if type(ctx.chunk) in LOOKED_INTO else hook(ctx)


def _awaited(look: Callable[[Any], Any], hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def either(ctx: Any) -> Any:
        out = look(ctx) if type(ctx.chunk) in LOOKED_INTO else hook(ctx)
        return await out if hasattr(out, "__await__") else out

    return either
