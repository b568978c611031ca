"""
Chunks in the notation of the traces, and the chunks that a scenario brings along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.conformance.notation import as_json, error_of, tripwire_of, usage_of
from tests.conformance.scenario import Json, Unknown, mapping, named

from procession.messages.chunks import (
    Chunk,
    DataChunk,
    ErrorChunk,
    FileChunk,
    Finish,
    ObjectDelta,
    ObjectResult,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseMetadata,
    SourceChunk,
    StepFinish,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
    TripwireChunk,
)
from procession.messages.usage import Usage

__all__ = ["chunk_of", "data_chunk", "scripted_chunk"]


def _tool(chunk: ToolCall | ToolResult | ToolError) -> dict[str, Json]:
    return {"type": chunk.type, "tool_name": chunk.tool_name, "tool_call_id": chunk.tool_call_id}


def chunk_of(chunk: Chunk, *, client: bool = True) -> Json:
    """
    Write a chunk: its type and what is essential of it, as a *client* or as a processor is shown it.
    """
    match chunk:
        case TextDelta() | ReasoningDelta():
            return {"type": chunk.type, "text": chunk.text}
        case ToolCall():
            return {**_tool(chunk), "args": as_json(chunk.args)}
        case ToolResult():
            return {**_tool(chunk), "result": as_json(chunk.result)}
        case ToolError():
            return {**_tool(chunk), "error": {"name": "Error", "message": chunk.error, "chain": [chunk.error]}}
        case StepFinish():
            return {
                "type": chunk.type,
                "reason": chunk.reason,
                "is_continued": chunk.is_continued,
                "text": chunk.text,
                "usage": usage_of(chunk.usage),
            }
        case Finish():
            found: dict[str, Json] = {"type": chunk.type, "reason": chunk.reason, "usage": usage_of(chunk.usage)}
            if client:  # nothing follows the finish of a run
                found |= {"is_continued": False, "text": chunk.text}
            return found
        case ErrorChunk():
            return {"type": chunk.type, "error": error_of(chunk.error)}
        case TripwireChunk():
            return {"type": chunk.type, **tripwire_of(chunk.tripwire)}
        case ObjectDelta() | ObjectResult():
            return {"type": chunk.type, "object": as_json(chunk.object)}
        case DataChunk():
            data: dict[str, Json] = {"type": chunk.type, "data": as_json(chunk.data)}
            return data | {"transient": True} if chunk.transient else data
        case _:
            return {"type": chunk.type}


def data_chunk(raw: Mapping[str, Any]) -> DataChunk:
    """
    Return the chunk that a scenario writes with ``writer.custom``.
    """
    return DataChunk(str(raw["type"]), raw.get("data"), id=raw.get("id"), transient=bool(raw.get("transient", False)))


def _usage(payload: Mapping[str, Any]) -> Usage:
    usage: Mapping[str, Any] = mapping(mapping(payload.get("output")).get("usage"))
    return Usage(usage.get("inputTokens") or 0, usage.get("outputTokens") or 0)


def scripted_chunk(raw: Mapping[str, Any]) -> Chunk:
    """
    Return the chunk that a scenario's processor gives: in place of the model's answer, or of another chunk.

    Of its payload what our chunk of this type holds is taken.  Raises ``Unknown`` for a type that there is not, and for
    a payload that lacks something.
    """
    kind, payload = str(raw["type"]), mapping(raw.get("payload"))
    if kind.startswith("data-"):
        return data_chunk(raw)
    if kind == "finish":
        return Finish(mapping(payload.get("stepResult")).get("reason", "stop"), _usage(payload))
    made = named("chunk", SCRIPTED, kind)
    given = {_ours(name): value for name, value in payload.items()}
    if kind in ("tool-call", "tool-result", "tool-error"):
        given.setdefault("args", {})
    try:
        chunk: Chunk = made(**{name: value for name, value in given.items() if name in made.__fields__})
    except TypeError as error:
        raise Unknown(f"chunk {kind}", error) from error
    return chunk


def _ours(name: str) -> str:
    snake = re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
    return {"args_text_delta": "args_text", "mime_type": "media_type"}.get(snake, snake)


SCRIPTED: Mapping[str, Any] = {
    made.type: made
    for made in (
        StepStart, ResponseMetadata, TextStart, TextDelta, TextEnd, ReasoningStart, ReasoningDelta, ReasoningEnd,
        SourceChunk, FileChunk, ToolInputStart, ToolInputDelta, ToolInputEnd, ToolCall, ToolResult, ToolError,
    )
}  # fmt: skip
"""The chunks that a scenario may bring along, beside ``finish`` and ``data-*``."""
