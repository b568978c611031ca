"""
TextBlocks: the open blocks of text in one stream, each with what a processor keeps for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from procession.messages.chunks import Chunk, TextDelta, TextEnd

__all__ = ["TextBlocks"]

B = TypeVar("B")
_KEY = "text_blocks"


class TextBlocks(Generic[B]):
    """
    The open blocks by their ids.

    Sources, files, reasoning, tool calls, data and other blocks may come between two pieces of one block and do not
    end it: a reader joins the pieces, so what is in them must be looked at as one.  They pass what is held back.
    """

    __slots__ = ("_make", "_open", "before", "ended", "tail")

    def __init__(self, make: Callable[[], B]) -> None:
        self._make = make
        self._open: dict[str, B] = {}
        self.ended: list[tuple[str, B]] = []
        """What ended last, for who has to give it back."""
        self.before: Sequence[Chunk] = ()
        """What a verdict leaves to those behind: the text before the match."""
        self.tail = ""
        """The end of the block of this step that ended last, as the reader has it, for who looks across two blocks."""

    @property
    def are_open(self) -> bool:
        """
        Whether any block has begun and not ended.
        """
        return bool(self._open)

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
    def before_verdict(state: dict[str, Any], ctx: Any) -> Sequence[Chunk]:
        """
        Take what a verdict has left in the stream that *ctx* serves, out of the processor's own *state*.
        """
        found: TextBlocks[Any] | None = state.get(_KEY, {}).get(id(ctx))
        if found is None:
            return ()
        before, found.before = found.before, ()
        return before

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
        found = self._open.get(chunk.id)
        if found is None:
            found = self._open[chunk.id] = self._make()
        return found

    def ended_by(self, coming: Chunk) -> list[tuple[str, B]]:
        """
        Take out and return the blocks that *coming* ends: the end of a block its own; that of a step, or of all, every one.
        """
        if isinstance(coming, TextEnd):
            ids = [coming.id] if coming.id in self._open else []
        else:
            ids = list(self._open) if coming.control else []
        self.ended = [(id, self._open.pop(id)) for id in ids]
        return self.ended

    def given_up(self, id: str | None) -> list[tuple[str, B]]:
        """
        Take out and return the block *id*, or without one what ended last.
        """
        if id is not None:
            return [(id, self._open.pop(id))] if id in self._open else []
        ended, self.ended = self.ended, []
        return ended
