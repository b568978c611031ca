"""Events of a Responses stream, as OpenAI sends them, for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from procession.messages.chunks import Chunk, Finish, TextDelta, ToolCall
from procession.models.formats.openai.responses_answer import ResponsesAnswer

USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 4},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 29,
}


def response(status: str, output: Sequence[Any] = (), **fields: Any) -> dict[str, Any]:
    """A whole response."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1764500000,
        "model": "gpt-5-mini",
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        **fields,
    }


DONE = {"type": "response.completed", "response": response("completed", usage=USAGE)}


def message(text: str, *, item_id: str = "msg_1", annotations: Sequence[Any] = (), **fields: Any) -> dict[str, Any]:
    """A complete message."""
    content = [{"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": []}]
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content, **fields}


def reasoning(*summary: str, item_id: str = "rs_1", encrypted: str | None = "gAAA-1", **fields: Any) -> dict[str, Any]:
    """A complete reasoning item."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": item_id, "summary": parts, "encrypted_content": encrypted, **fields}


def function_call(
    arguments: Any, *, name: str = "weather", call_id: str = "call_1", item_id: str = "fc_1", **fields: Any
) -> dict[str, Any]:
    """A complete call of a function."""
    return {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
        **fields,
    }


def pieces(text: str, size: int = 4) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def streamed(items: Sequence[dict[str, Any]], *, end: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The events with which OpenAI sends these items, from ``response.created`` to the end."""
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response("in_progress")},
        {"type": "response.in_progress", "response": response("in_progress")},
    ]
    for index, item in enumerate(items):
        events += _events_of(item, index)
    whole = end if end is not None else response("completed", items, usage=USAGE)
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _events_of(item: dict[str, Any], index: int) -> Iterable[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    kind = item["type"]
    begun = {**item, "status": "in_progress"}
    if kind == "message":
        begun["content"] = []
    elif kind == "reasoning":
        begun["summary"] = []
    elif kind == "function_call":
        begun["arguments"] = ""
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if kind == "message":
        for number, part in enumerate(item["content"]):
            yield from _part_events({**place, "content_index": number}, part)
    elif kind == "reasoning":
        for number, part in enumerate(item["summary"]):
            at = {**place, "summary_index": number}
            yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
            for piece in pieces(part["text"]):
                yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
            yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
            yield {"type": "response.reasoning_summary_part.done", **at, "part": part}
    elif kind == "function_call":
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        yield {
            "type": "response.function_call_arguments.done",
            **place,
            "name": item["name"],
            "arguments": item["arguments"],
        }
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part_events(place: dict[str, Any], part: dict[str, Any]) -> Iterable[dict[str, Any]]:
    kind, key = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
    yield {"type": "response.content_part.added", **place, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield {"type": f"response.{kind}.delta", **place, "delta": piece, "logprobs": []}
    for number, annotation in enumerate(part.get("annotations", ())):
        added = {"annotation": annotation, "annotation_index": number}
        yield {"type": "response.output_text.annotation.added", **place, **added}
    yield {"type": f"response.{kind}.done", **place, key: part[key], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def chunks_of(*payloads: Any, request: Any = None) -> list[Chunk]:
    """Read events and the end of the answer."""
    answer = ResponsesAnswer("test/m", request=request)
    events = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    chunks = [chunk for event in events for chunk in answer.read(event)]
    return [*chunks, *answer.finish()]


def text_of(chunks: list[Chunk]) -> str:
    """Return what was said."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def calls_of(chunks: list[Chunk]) -> list[tuple[str, str, Any]]:
    """Return id, name and arguments of each tool call."""
    return [(chunk.tool_call_id, chunk.tool_name, chunk.args) for chunk in chunks if isinstance(chunk, ToolCall)]


def finish_of(chunks: list[Chunk]) -> Finish:
    """Return the end, which is the last chunk and the only one of its kind."""
    last = chunks[-1]
    assert isinstance(last, Finish)
    assert sum(isinstance(chunk, Finish) for chunk in chunks) == 1
    return last


def delta(text: str, **fields: Any) -> dict[str, Any]:
    """A piece of text."""
    return {"type": "response.output_text.delta", "delta": text, **fields}
