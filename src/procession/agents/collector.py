"""
Collector: the processed chunks of one model call, put together to the parts of a message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from procession.messages.chunks import (
    Chunk,
    FileChunk,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from procession.messages.combine import merged_metadata
from procession.messages.parts import (
    DataPart,
    FilePart,
    Metadata,
    Part,
    ReasoningPart,
    SourcePart,
    TextPart,
    ToolCallPart,
)

__all__ = ["Collector"]


class Collector:
    """
    Collects what came out of the stream chain: its text, its tool calls, and the parts in their order.
    """

    __slots__ = (
        "_notes", "_parts", "_redacted", "_said", "_signature", "_thinking", "block", "files", "pieces", "reasoning",
        "sources", "tool_calls",
    )  # fmt: skip

    def __init__(self) -> None:
        self.block: str | None = None
        """The id of the text block that is being collected; more text of it goes straight to ``pieces``."""
        self.pieces: list[str] = []
        """The pieces of the block that is being collected."""
        self.reasoning: list[str] = []
        self.tool_calls: list[ToolCall] = []
        self.files: list[FilePart] | None = None
        self.sources: list[SourcePart] | None = None
        """Lists where there are any: most answers have none, and the garbage collector walks every list."""
        self._said: list[str] = []
        self._parts: list[Part] = []
        self._thinking: str | None = None
        self._signature: str | None = None
        self._redacted: str | None = None
        self._notes: Metadata = None
        """What the provider said beside the block that is being collected."""

    @property
    def text(self) -> str:
        """
        The text so far.
        """
        return "".join([*self._said, *self.pieces]) if self.block is not None else "".join(self._said)

    def add(self, chunk: Chunk) -> None:
        """
        Take one processed chunk.
        """
        if isinstance(chunk, TextDelta):
            if self.block != chunk.id:
                self._close()
                self.block = chunk.id
            self.pieces.append(chunk.text)
            return
        take = _OTHERS.get(type(chunk))
        if take is not None:
            take(self, chunk)

    def add_data(self, part: DataPart) -> None:
        """
        Take data that a processor or a tool wrote.
        """
        self._close()
        self._parts.append(part)

    def parts(self) -> list[Part]:
        """
        Return the parts collected so far and begin anew; text and tool calls stay.
        """
        self._close()
        parts, self._parts = self._parts, []
        return parts

    def _close(self) -> None:
        if self._thinking is not None:
            if self.pieces or self._notes or self._redacted is not None:
                text = "".join(self.pieces)
                self._parts.append(ReasoningPart(text, self._signature, self._redacted, self._notes))
            self._signature = self._redacted = None
        elif self.pieces:
            joined = "".join(self.pieces)
            if joined:
                self._parts.append(TextPart(joined, self._notes))
                self._said.append(joined)
        self.pieces = []
        self.block = self._thinking = self._notes = None

    def note_text(self, chunk: TextStart | TextEnd) -> None:
        """
        Take what the provider says at the beginning or the end of a text block.
        """
        if chunk.provider_metadata is None:
            return
        if isinstance(chunk, TextStart):
            self._close()
            self.block, self._notes = chunk.id, chunk.provider_metadata
        elif self.block == chunk.id:
            self._notes = merged_metadata(self._notes, chunk.provider_metadata)
            self._close()

    def add_reasoning(self, chunk: ReasoningStart | ReasoningDelta | ReasoningEnd) -> None:
        """
        Take a piece of a block of reasoning, or its beginning or end.
        """
        if isinstance(chunk, ReasoningStart):
            if chunk.provider_metadata is None:
                return
            self._close()
        elif isinstance(chunk, ReasoningDelta):
            is_hidden = chunk.redacted is not None
            if self._thinking != chunk.id or self._redacted is not None or (is_hidden and self.pieces):
                self._close()
            self._signature = chunk.signature or self._signature
            self._redacted = chunk.redacted
            if not is_hidden:
                self.pieces.append(chunk.text)
                self.reasoning.append(chunk.text)
        elif self._thinking != chunk.id:
            return
        else:
            self._signature = chunk.signature or self._signature
        self._thinking = chunk.id
        if chunk.provider_metadata is not None:
            self._notes = merged_metadata(self._notes, chunk.provider_metadata)
        if isinstance(chunk, ReasoningEnd):
            self._close()

    def add_tool_call(self, chunk: ToolCall) -> None:
        """
        Take a tool call.
        """
        self._close()
        self.tool_calls.append(chunk)
        self._parts.append(
            ToolCallPart(
                chunk.tool_call_id,
                chunk.tool_name,
                chunk.args,
                provider_executed=chunk.provider_executed,
                provider_metadata=chunk.provider_metadata,
            )
        )

    def add_file(self, chunk: FileChunk) -> None:
        """
        Take a file.
        """
        self._close()
        part = FilePart(chunk.data, chunk.media_type, chunk.filename, chunk.provider_metadata)
        if self.files is None:
            self.files = []
        self.files.append(part)
        self._parts.append(part)

    def add_source(self, chunk: SourceChunk) -> None:
        """
        Take a source.
        """
        self._close()
        kind: Literal["url", "document"] = "document" if chunk.source_type == "document" else "url"
        part = SourcePart(
            chunk.id, kind, chunk.url, chunk.title, chunk.media_type, chunk.filename, chunk.provider_metadata
        )
        if self.sources is None:
            self.sources = []
        self.sources.append(part)
        self._parts.append(part)


_OTHERS: dict[type[Chunk], Callable[[Collector, Any], None]] = {
    TextStart: Collector.note_text,
    TextEnd: Collector.note_text,
    ReasoningStart: Collector.add_reasoning,
    ReasoningDelta: Collector.add_reasoning,
    ReasoningEnd: Collector.add_reasoning,
    ToolCall: Collector.add_tool_call,
    FileChunk: Collector.add_file,
    SourceChunk: Collector.add_source,
}
