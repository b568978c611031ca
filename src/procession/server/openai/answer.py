"""
What an agent's run came to, as an answer of Chat Completions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from procession.agents.output import AgentResult
from procession.messages.chunks import FileChunk, ToolCall, ToolError, ToolResult
from procession.messages.parts import FilePart
from procession.messages.usage import Usage
from procession.models.formats.openai.values import arguments_text, url_of
from procession.models.loose import as_mapping
from procession.server.values import suspended_data
from procession.tools.json_value import json_value

__all__ = [
    "chat_calls",
    "completion",
    "extension",
    "finish_reason",
    "open_calls",
    "picture",
    "refusal",
    "shown_tool",
    "usage_of",
]

_REASONS: Final = {"length": "length", "content-filter": "content_filter", "tool-calls": "length"}
"""Where the run ends with calls that are not the client's, its steps were used up."""
_BLOCKED: Final = "This request was blocked."


def completion(
    result: AgentResult, *, id: str, model: str, created: int, whole: bool = True, show_tools: bool = False
) -> dict[str, Any]:
    """
    Return the answer in one piece.  With *whole* the text is that of all steps, as a stream has it, else of the last one.
    """
    calls = open_calls(result)
    refused = refusal(result)
    text = result.text if whole else "" if refused is not None else result.final_text
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text or (None if calls or refused is not None else ""),
        "refusal": refused,
    }
    if calls:
        message["tool_calls"] = chat_calls(calls)
    pictures = [picture(file) for step in result.steps for file in step.files if _is_picture(file)]
    if pictures:
        message["images"] = pictures
    more = extension(result)
    if show_tools:
        more["tools"] = [shown_tool(done) for done in result.tool_results]
    return {
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(result, calls)}],
        "usage": usage_of(result.usage),
        "procession": more,
    }


def open_calls(result: AgentResult) -> list[ToolCall]:
    """
    Return the calls that the client is to run: those of the last step that nothing has answered.
    """
    if result.status != "completed" or not result.steps:
        return []
    step = result.steps[-1]
    done = {each.tool_call_id for each in step.tool_results}
    return [call for call in step.tool_calls if not (call.provider_executed or call.tool_call_id in done)]


def finish_reason(result: AgentResult, calls: Sequence[ToolCall]) -> str:
    """
    Return why the answer ended, in the words of Chat Completions.
    """
    if result.tripwire is not None:
        return "content_filter"
    if calls:
        return "tool_calls"
    return _REASONS.get(result.finish_reason, "stop")


def refusal(result: AgentResult) -> str | None:
    """
    Return what the user is told where there is no answer: of a tripwire, and of a run that waits for somebody.
    """
    if result.tripwire is not None:
        return result.tripwire.message or _BLOCKED
    if result.suspended:
        return f"This waits for an answer about: {', '.join(call.tool_name for call in result.suspended)}."
    return None


def extension(result: AgentResult) -> dict[str, Any]:
    """
    Return what Chat Completions has no words for: the field ``procession``.
    """
    more: dict[str, Any] = {"run_id": result.run_id, "status": result.status}
    if result.tripwire is not None:
        wire = result.tripwire
        kind = as_mapping(wire.metadata).get("kind")
        more["tripwire"] = {
            "processor_id": wire.processor_id,
            "reason": wire.reason,
            "kind": kind if isinstance(kind, str) else None,
        }
    if result.suspended:
        more["suspended"] = [suspended_data(call) for call in result.suspended]
    return more


def chat_calls(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """
    Return calls of the client's tools.
    """
    return [
        {
            "id": call.tool_call_id,
            "type": "function",
            "function": {"name": call.tool_name, "arguments": arguments_text(call.args)},
        }
        for call in calls
    ]


def shown_tool(done: ToolResult | ToolError) -> dict[str, Any]:
    """
    Return what a tool of the agent was asked and said, for a client that wants to know.
    """
    told = (done.error, True) if isinstance(done, ToolError) else (json_value(done.result), done.is_error)
    return {
        "id": done.tool_call_id,
        "name": done.tool_name,
        "args": json_value(done.args),
        "result": told[0],
        "is_error": told[1],
    }


def picture(file: FilePart | FileChunk) -> dict[str, Any]:
    """
    Return a picture that the agent made, as routers of models give it.
    """
    part = FilePart(file.data, file.media_type)
    return {"type": "image_url", "image_url": {"url": url_of(part)}}


def _is_picture(file: FilePart) -> bool:
    return file.media_type.startswith("image/")


def usage_of(usage: Usage) -> dict[str, Any]:
    """
    Return the tokens of all model calls of the run.

    >>> usage_of(Usage(9, 4, cached_input_tokens=8))["prompt_tokens_details"]
    {'cached_tokens': 8, 'cache_write_tokens': 0}
    """
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
