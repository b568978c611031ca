"""
BlockOrder: tool calls wait for the text blocks that are open, and what comes behind them waits with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from procession.messages.chunks import Chunk, ResponseMetadata, TextDelta, TextEnd
from procession.processors.stream_items import Item, release_all, run_items

__all__ = ["BlockOrder", "Pushed"]

Pushed = Chunk | list[Chunk] | None


class BlockOrder:
    """
    The order of one stream, where processors may hold its text back.

    The model may not say that a block is over before it calls a tool: what is held of it would come behind the
    call.  To let it go at the call would show half of a match that goes on behind it.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self._open: set[str] = set()
        """The text blocks that have begun and not ended, where a processor may hold text back."""
        self._late: list[Chunk] = []
        """Tool calls that wait for the end of those, and what came behind them."""

    async def _push(self, chunk: Chunk) -> Pushed:
        """
        Pass *chunk* through the items and return what comes out.
        """
        raise NotImplementedError

    async def _push_in_order(self, chunk: Chunk, inner: Chunk, out: list[Chunk]) -> None:
        """
        Let *chunk* wait its turn, or end text blocks; *inner* is what it says of this stream.
        """
        ends = inner.control
        if ends:
            await self._end_all(chunk, out)
        elif isinstance(inner, (TextDelta, TextEnd)):
            if self._late and inner.id not in self._open:  # of a block that itself waits
                self._late.append(chunk)
                return
            if isinstance(inner, TextEnd):
                self._open.discard(inner.id)
                ends = not self._open
        elif (self._late or self._open) and not isinstance(inner, ResponseMetadata):  # no reader is shown it
            self._late.append(chunk)
            return
        await run_items(self.items, 0, chunk, out, None)
        if ends and self._late:
            await self._catch_up(out)

    async def _catch_up(self, out: list[Chunk]) -> None:
        late, self._late = self._late, []
        for chunk in late:
            pushed = await self._push(chunk)
            if pushed is not None:
                out += pushed if isinstance(pushed, list) else [pushed]

    async def _end_all(self, coming: Chunk | None, out: list[Chunk]) -> None:
        await release_all(self.items, coming, out)
        self._open.clear()
        while self._late:
            await self._catch_up(out)
            await release_all(self.items, coming, out)
            self._open.clear()
