"""
Chunks in the notation of the traces, and the chunks that a scenario brings along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.notation import as_json, error_of, tripwire_of, usage_of
from tests.conformance.scenario import Json, Unknown

from procession.errors import MessageError
from procession.messages.chunk_reading import read_chunk
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    ErrorChunk,
    Finish,
    ObjectDelta,
    ObjectResult,
    ReasoningDelta,
    StepFinish,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    TripwireChunk,
)

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


def scripted_chunk(raw: Mapping[str, Any]) -> Chunk:
    """
    Return the chunk that a scenario's processor gives: in place of the model's answer, or of another chunk.

    Of its payload what our chunk of this type holds is taken.  Raises ``Unknown`` for a type that there is not, and for
    a payload that lacks something.
    """
    if str(raw["type"]).startswith("data-"):
        return data_chunk(raw)
    try:
        return read_chunk(raw, "a chunk")
    except MessageError as error:
        raise Unknown(f"chunk {raw['type']}", error) from error
