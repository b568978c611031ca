"""
What a text guard's strategy makes of the stretches of a stream that are certain by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from procession.messages.chunks import Chunk, TextDelta
from procession.processors.context import HookContext
from procession.processors.contexts import OutputStreamContext
from procession.processors.hold_back import Piece, Released, StreamedText
from procession.processors.text_blocks import TextBlocks

__all__ = ["note_before", "taken"]


class Judging(Protocol):
    """
    What is needed of a text guard.
    """

    strategy: str
    enforces: bool
    passes: bool

    def settle(self, ctx: HookContext[Any], pieces: Sequence[Piece], where: Mapping[str, Any]) -> bool:
        """Do what the strategy says about a finding; returns whether the text is to be changed."""
        ...

    def joined(self, pieces: Iterable[Piece]) -> str:
        """Join pieces, with the replacement of each that holds something."""
        ...

    def new_block(self) -> StreamedText:
        """Return what is kept for a new block of streamed text."""
        ...


def taken(
    guard: Judging,
    ctx: OutputStreamContext,
    block: StreamedText,
    released: Released,
    id: str | None = None,
    out: Sequence[Chunk] = (),
) -> str:
    """
    Do what *guard*'s strategy says about what was *released* of *block*, whose id is *id* or that of the chunk in hand,
    and return the text that is to be sent on, behind *out*.

    A guard that blocks speaks of the first match alone: so its verdict is the same wherever the text is cut.
    """
    pieces = released.pieces
    if not block.dropped:
        if len(pieces) == 1 and pieces[0].region is None:
            return block.passed(pieces[0].text, guard.passes)
        if not pieces:
            return ""
    block.settling = pieces
    found = [piece for piece in pieces if piece.region is not None]
    if found and guard.enforces and guard.strategy == "block":
        note_before(
            TextBlocks[Any].of(ctx, guard.new_block), ctx, pieces[0].text if pieces[0].region is None else "", id, out
        )
        found = found[:1]
    if found:
        guard.settle(ctx, found, {"phase": ctx.hook.value})
        block.dropped = block.dropped or (guard.enforces and guard.strategy == "filter")
    text = "" if block.dropped else block.passed(guard.joined(pieces), guard.passes)
    block.settling = ()
    return text


def note_before(
    blocks: TextBlocks[Any], ctx: OutputStreamContext, text: str, id: str | None = None, out: Sequence[Chunk] = ()
) -> None:
    """
    Note *out* and *text* as what stands before the match that a verdict is about.
    """
    if id is None:
        id = ctx.chunk.id if isinstance(ctx.chunk, TextDelta) else ""
    blocks.before = [*out, TextDelta(text, id)] if text else list(out)
