"""What the tests of the client for Anthropic share: events as a server sends them, and the reported cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from procession.messages.chunks import Chunk, Finish, TextDelta, ToolCall
from procession.models.formats.anthropic.answer import MessagesAnswer
from procession.models.wire_model import AnswerContext

DATA = Path(__file__).parent / "data"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case["input"] for case in json.loads((DATA / "anthropic_cases.json").read_text("utf-8"))
}
"""What was reported, by its id."""
STOP: dict[str, Any] = {"type": "message_stop"}


def start(**usage: Any) -> dict[str, Any]:
    """The first event of an answer."""
    counts = {"input_tokens": 11, "output_tokens": 1, **usage}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": counts,
    }
    return {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}


def block(index: int, given: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one content block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": dict(given)},
        *({"type": "content_block_delta", "index": index, "delta": dict(delta)} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    """The events of a text block."""
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(index: int, name: str, *pieces: str, **given: Any) -> list[dict[str, Any]]:
    """The events of a call of a tool, whose arguments come in pieces."""
    opened: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}, **given}
    return block(index, opened, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def thought(index: int, words: str, signature: str) -> list[dict[str, Any]]:
    """The events of a block of reasoning."""
    deltas = ({"type": "thinking_delta", "thinking": words}, {"type": "signature_delta", "signature": signature})
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)


def end(reason: str, **usage: Any) -> dict[str, Any]:
    """The event that says why the answer ended."""
    counts = {"output_tokens": 7, **usage}
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": counts}


def stream_of(*events: Mapping[str, Any]) -> bytes:
    """Events as they come over the wire."""
    lines = [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
    return "".join(lines).encode()


def chunks_of(
    *events: Mapping[str, Any] | str, request: Mapping[str, Any] | None = None, finish: bool = True
) -> list[Chunk]:
    """Read events and the end of the answer."""
    answer = MessagesAnswer(AnswerContext(model="anthropic/m", request=request))
    chunks: list[Chunk] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        name = "message" if isinstance(event, str) else str(event.get("type", "message"))
        chunks += answer.read(data, name)
    return [*chunks, *answer.finish()] if finish else chunks


def answer_events(case: str) -> list[dict[str, Any]]:
    """The events of a reported stream."""
    body: str = CASES[case]["body"]
    return [json.loads(line.removeprefix("data: ")) for line in body.splitlines() if line.startswith("data: ")]


def calls_of(chunks: list[Chunk]) -> list[tuple[str, Any]]:
    """Return name and arguments of each tool call."""
    return [(chunk.tool_name, chunk.args) for chunk in chunks if isinstance(chunk, ToolCall)]


def text_of(chunks: list[Chunk]) -> str:
    """Return what was said."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def finish_of(chunks: list[Chunk]) -> Finish:
    """Return the end, which is the last chunk and the only one of its kind."""
    last = chunks[-1]
    assert isinstance(last, Finish)
    assert sum(isinstance(chunk, Finish) for chunk in chunks) == 1
    return last
