"""
WatchedChain: a stream chain that tells what each processor made of each chunk.

Between its links stand probes, which note what comes by; the links themselves are those of any chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from procession.messages.chunks import Chunk
from procession.messages.message_list import MessageList
from procession.messages.shapes import is_items
from procession.processors.block_order import Pushed
from procession.processors.guard_group import GuardGroup
from procession.processors.payloads import OutputStreamPayload
from procession.processors.stream import StreamChain
from procession.processors.stream_items import Item, ProcessorItem
from procession.processors.stream_plan import StreamPlan
from procession.steps.scope import RequestScope

__all__ = ["Passed", "Stage", "WatchedChain"]


class Stage(NamedTuple):
    """
    What one link of a chain made of what came to it: chunks are listed where they are others than came.
    """

    processor: str | None
    """The id of the processor; of text guards that look as one ``a+b``; ``None`` for a map and for branches put together."""
    path: str
    """Where in its list it stands."""
    out: Sequence[Chunk]


class Passed(NamedTuple):
    """
    What became of one chunk in a chain, or of held text that was let go.
    """

    turn: int | None
    """Which turn of the agent's loop it was."""
    step_number: int
    came: Chunk | None
    """What came; ``None`` where held text was let go without anything coming."""
    stages: Sequence[Stage]
    """The links that changed something, in order."""
    left: Sequence[Chunk]
    """What left the chain."""


_seen: ContextVar[list[list[Chunk]] | None] = ContextVar("procession_stream_seen", default=None)
"""What has come by each probe so far, for the chunk that the running task has in hand."""


class _Probe(Item):
    """
    Notes what comes by between two links.
    """

    __slots__ = ("_at",)

    def __init__(self, at: int) -> None:
        super().__init__(is_async=True)  # so that it is called as maps are, which are no processors either
        self._at = at

    async def apply(self, chunk: Chunk, sender: str | None = None) -> Chunk:
        """
        Note *chunk* and return it.
        """
        seen = _seen.get()
        if seen is not None:
            seen[self._at].append(chunk)
        return chunk


class _Probed(StreamPlan):
    """
    A plan whose links have a probe before each of them and one behind the last.
    """

    __slots__ = ("links",)

    def __init__(self, plan: StreamPlan) -> None:
        super().__init__(plan.makers)
        self.links: list[Item] = []

    def instantiate(self, payload: OutputStreamPayload, scope: RequestScope) -> list[Item]:
        """
        Make the links for one run.
        """
        self.links = super().instantiate(payload, scope)
        made: list[Item] = [_Probe(0)]
        for number, link in enumerate(self.links, 1):
            made += [link, _Probe(number)]
        return made


class WatchedChain(StreamChain):
    """
    A chain that calls *tell* for each chunk that came, and for held text that was let go.
    """

    def __init__(
        self,
        plan: StreamPlan,
        scope: RequestScope,
        message_list: MessageList,
        tell: Callable[[Passed], None],
    ) -> None:
        probed = _Probed(plan)
        super().__init__(probed, scope, message_list)
        self._tell = tell
        self._made = probed.links
        self._inner_push = self.push
        self.push = self._push_watched

    async def _push_watched(self, chunk: Chunk, sender: str | None = None) -> Pushed:
        if _seen.get() is not None:  # a part of what is told of already
            return await self._inner_push(chunk, sender)
        out: Pushed = await self._watched(chunk, lambda: self._inner_push(chunk, sender))
        return out

    async def push_written(self, chunk: Chunk) -> list[Chunk]:
        """
        Return what comes out for a chunk that a tool wrote.
        """
        if _seen.get() is not None:
            return await super().push_written(chunk)
        inner = super().push_written
        out: list[Chunk] = await self._watched(chunk, lambda: inner(chunk))
        return out

    async def flush(self) -> list[Chunk]:
        """
        Return what processors still hold back.
        """
        out: list[Chunk] = await self._watched(None, super().flush)
        return out

    async def let_go(self) -> list[Chunk]:
        """
        Return what comes out of the text whose time is up.
        """
        out: list[Chunk] = await self._watched(None, super().let_go)
        return out

    async def _watched(self, came: Chunk | None, work: Callable[[], Any]) -> Any:
        seen: list[list[Chunk]] = [[] for _ in range(len(self._made) + 1)]
        token = _seen.set(seen)
        out: Any = None
        try:
            out = await work()
            return out
        finally:
            _seen.reset(token)
            left: list[Chunk] = list(out) if is_items(out) else [] if out is None else [out]
            stages = self._stages(seen)
            if came is not None or stages or left:
                payload = self.payload
                self._tell(Passed(payload.turn, payload.step_number, came, stages, left))

    def _stages(self, seen: Sequence[Sequence[Chunk]]) -> list[Stage]:
        made: list[Stage] = []
        for number, link in enumerate(self._made):
            before, after = seen[number], seen[number + 1]
            if len(before) != len(after) or any(one is not other for one, other in zip(before, after, strict=True)):
                owner, path = link.owner_id if isinstance(link, ProcessorItem) else None, link.path
                if isinstance(link, ProcessorItem) and isinstance(link.caller.owner, GuardGroup):
                    path = path.rpartition("/")[0]  # guards that look as one are in no node but the one round them
                made.append(Stage(owner, path, tuple(after)))
        return made
