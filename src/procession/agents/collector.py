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
    SourceChunk,
    TextDelta,
    ToolCall,
)
from procession.messages.parts import DataPart, FilePart, Part, ReasoningPart, SourcePart, TextPart, ToolCallPart

__all__ = ["Collector"]


class Collector:
    """
    Collects what came out of the stream chain: its text, its tool calls, and the parts in their order.
    """

    __slots__ = (
        "_parts", "_said", "_signature", "_thinking", "block", "files", "pieces", "reasoning", "sources", "tool_calls",
    )  # fmt: skip

    def __init__(self) -> None:
        self.block: str | None = None
        """The id of the text block that is being collected; more text of it goes straight to ``pieces``."""
        self.pieces: list[str] = []
        """The pieces of the block that is being collected."""
        self.reasoning: list[str] = []
        self.tool_calls: list[ToolCall] = []
        self.files: tuple[FilePart, ...] = ()
        self.sources: tuple[SourcePart, ...] = ()
        self._said: list[str] = []
        self._parts: list[Part] = []
        self._thinking: str | None = None
        self._signature: str | None = None

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
        if self.pieces:
            joined = "".join(self.pieces)
            self.pieces = []
            if self.block is None:
                self._parts.append(ReasoningPart(joined, self._signature))
                self._signature = None
            elif joined:
                self._parts.append(TextPart(joined))
                self._said.append(joined)
        self.block = self._thinking = None

    def add_reasoning(self, chunk: ReasoningDelta) -> None:
        """
        Take more reasoning.
        """
        if self._thinking != chunk.id:
            self._close()
            self._thinking = chunk.id
        if chunk.redacted is not None:
            self._close()
            self._parts.append(ReasoningPart("", chunk.signature, chunk.redacted))
            return
        self._signature = chunk.signature or self._signature
        self.pieces.append(chunk.text)
        self.reasoning.append(chunk.text)

    def end_reasoning(self, chunk: ReasoningEnd) -> None:
        """
        Close a block of reasoning.
        """
        self._signature = chunk.signature or self._signature
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
        self.files = (*self.files, part)
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
        self.sources = (*self.sources, part)
        self._parts.append(part)


_OTHERS: dict[type[Chunk], Callable[[Collector, Any], None]] = {
    ReasoningDelta: Collector.add_reasoning,
    ReasoningEnd: Collector.end_reasoning,
    ToolCall: Collector.add_tool_call,
    FileChunk: Collector.add_file,
    SourceChunk: Collector.add_source,
}
