"""
BatchParts: many small pieces of streamed text go on as few larger ones.
"""

from __future__ import annotations

from typing import Any

import anyio

from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import Chunk, TextDelta
from procession.messages.combine import merged_metadata
from procession.messages.parts import Metadata
from procession.processors.contexts import OutputStreamContext
from procession.processors.processor import Processor

__all__ = ["BatchParts", "BatchPartsProcessor"]

_KEY = "batches"


class BatchParts(Processor):
    """
    Puts so many text deltas together, and lets them go as one.

    A batch goes on once it has *batch_size* deltas, *max_wait_time* seconds after its first one although nothing more
    comes, before text of another block, and at the end of its block, of the step and of the answer.  With
    *emit_on_non_text*, the default, every other chunk sends it on as well, so that the order stays; without, what comes
    in between overtakes it.  The text and the ids of its blocks stay as they are.

    Raises ``ProcessorDefinitionError`` for a size or a time that is none.

    >>> BatchParts(batch_size=10, max_wait_time=0.05).batch_size
    10
    """

    id = "batch-parts"
    description = "Puts small pieces of streamed text together."

    def __init__(
        self,
        *,
        batch_size: int = 5,
        max_wait_time: float | None = None,
        emit_on_non_text: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.batch_size = _size(batch_size)
        """How many deltas make a batch."""
        self.max_wait_time = _seconds(max_wait_time)
        """Seconds that a batch waits for its next delta at most; ``None`` for as long as it takes."""
        self.emit_on_non_text = emit_on_non_text
        if self.max_wait_time is None:
            setattr(self, "due_output_stream", None)  # noqa: B010

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Keep text until there is enough of it.
        """
        chunk = ctx.chunk
        if type(chunk) is not TextDelta:
            return chunk
        batch = _batch(ctx)
        if batch is None:
            due = anyio.current_time() + self.max_wait_time if self.max_wait_time is not None else None
            batch = ctx.state[_KEY][id(ctx)] = _Batch(chunk, due)
        else:
            batch.add(chunk)
        return self._taken(ctx, batch) if len(batch.texts) >= self.batch_size else None

    def flush_output_stream(self, ctx: OutputStreamContext) -> list[Chunk]:
        """
        Return what is held, now that something else comes or its time is up.
        """
        batch = _batch(ctx)
        return [self._taken(ctx, batch)] if batch is not None else []

    def reset_output_stream(self, ctx: OutputStreamContext) -> None:
        """
        Drop what is held: the attempt it belongs to was rejected.
        """
        ctx.state.get(_KEY, {}).pop(id(ctx), None)

    def flushes_before(self, chunk: Chunk) -> bool:
        """
        Whether *chunk*, which does not end the block, sends on what is held of it.
        """
        return self.emit_on_non_text

    def due_output_stream(self, ctx: OutputStreamContext) -> float | None:
        """
        Return when what is held goes on although nothing comes, on the event loop's clock.
        """
        batch = _batch(ctx)
        return batch.due if batch is not None else None

    def _taken(self, ctx: OutputStreamContext, batch: _Batch) -> TextDelta:
        del ctx.state[_KEY][id(ctx)]
        return TextDelta("".join(batch.texts), batch.block, batch.notes)


BatchPartsProcessor = BatchParts
"""The documents' name of :class:`BatchParts`."""


class _Batch:
    """
    What is held of one block.
    """

    __slots__ = ("block", "due", "notes", "texts")

    def __init__(self, first: TextDelta, due: float | None) -> None:
        self.block = first.id
        self.texts = [first.text]
        self.notes: Metadata = first.provider_metadata
        self.due = due

    def add(self, more: TextDelta) -> None:
        """
        Put another piece of the block behind those that are held.
        """
        self.texts.append(more.text)
        if more.provider_metadata is not None:
            self.notes = merged_metadata(self.notes, more.provider_metadata)


def _batch(ctx: OutputStreamContext) -> _Batch | None:
    """
    Return what is held of the stream that *ctx* serves; a processor that stands twice in a list holds twice.
    """
    batches: dict[int, _Batch] = ctx.state.setdefault(_KEY, {})
    return batches.get(id(ctx))


def _size(size: Any) -> int:
    if isinstance(size, int) and not isinstance(size, bool) and size >= 1:
        return size
    raise ProcessorDefinitionError(f"BatchParts has batch_size={size!r}", hint="give how many deltas, at least 1")


def _seconds(time: Any) -> float | None:
    if time is None or (isinstance(time, (int, float)) and not isinstance(time, bool) and 0 < time < float("inf")):
        return time
    raise ProcessorDefinitionError(
        f"BatchParts has max_wait_time={time!r}", hint="give seconds above 0, or None to wait for the next chunk"
    )
