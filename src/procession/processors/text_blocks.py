"""
TextBlocks: the open blocks of text in one stream, each with what a processor keeps for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from procession.messages.chunks import Chunk, DataChunk, RawChunk, ResponseMetadata, TextDelta, TextEnd, TextStart

__all__ = ["TextBlocks"]

B = TypeVar("B")
_KEY = "text_blocks"
_BETWEEN = (DataChunk, RawChunk, ResponseMetadata, TextStart)
"""Chunks that may come between two pieces of one block and do not end it."""


class TextBlocks(Generic[B]):
    """
    The open blocks by their ids.  Data of the application and other blocks may come between two pieces of one block,
    so that they do not end it; everything else that is no text does.
    """

    __slots__ = ("_make", "_open", "last")

    def __init__(self, make: Callable[[], B]) -> None:
        self._make = make
        self._open: dict[str, B] = {}
        self.last: Chunk | None = None

    @staticmethod
    def of(ctx: Any, make: Callable[[], B]) -> TextBlocks[B]:
        """
        Return the blocks of the stream that *ctx* serves; a processor that stands twice in a list has them twice.
        """
        streams: dict[int, TextBlocks[B]] = ctx.state.setdefault(_KEY, {})
        found = streams.get(id(ctx))
        if found is None:
            found = streams[id(ctx)] = TextBlocks(make)
        return found

    @staticmethod
    def forget(ctx: Any) -> None:
        """
        Drop what is kept for the stream that *ctx* serves.
        """
        ctx.state.get(_KEY, {}).pop(id(ctx), None)

    def block(self, chunk: TextDelta) -> B:
        """
        Return what is kept for the block that *chunk* belongs to.
        """
        self.last = chunk
        found = self._open.get(chunk.id)
        if found is None:
            found = self._open[chunk.id] = self._make()
        return found

    def ended_by(self, coming: Chunk) -> list[tuple[str, B]]:
        """
        Take out and return the blocks that *coming* ends.  A chunk that was seen already stands for the end of all.
        """
        if coming is self.last:
            ids = list(self._open)
        elif isinstance(coming, TextEnd):
            ids = [coming.id] if coming.id in self._open else []
        elif isinstance(coming, (TextDelta, *_BETWEEN)):
            ids = []
        else:
            ids = list(self._open)
        return [(id, self._open.pop(id)) for id in ids]
