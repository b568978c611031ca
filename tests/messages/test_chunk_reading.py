"""Chunks of a model's answer, in the documents' form and in our own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from procession.errors import MessageError, ModelError
from procession.messages.chunk_reading import read_answer, read_chunk
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    ErrorChunk,
    FileChunk,
    Finish,
    RawChunk,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseMetadata,
    SourceChunk,
    Start,
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
)
from procession.messages.serial import to_data
from procession.messages.usage import Usage

USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "cachedInputTokens": None}
CALL = {"toolCallId": "c1", "toolName": "f", "args": {"x": 1}}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
READ: list[tuple[str, dict[str, Any], Chunk]] = [
    ("step-start", {"messageId": "m1", "request": {}, "warnings": []}, StepStart("m1")),
    ("response-metadata", {"id": "r", "modelId": "m", "timestamp": NOON.isoformat()},
     ResponseMetadata("r", "m", NOON.timestamp())),
    ("text-start", {"id": "t1"}, TextStart("t1")),
    ("text-delta", {"id": "t1", "text": "Hi", "providerMetadata": {"p": {}}}, TextDelta("Hi", "t1", {"p": {}})),
    ("text-delta", {"id": None, "text": "Hi"}, TextDelta("Hi")),
    ("text-end", {"id": "t1"}, TextEnd("t1")),
    ("reasoning-start", {"id": "r1"}, ReasoningStart("r1")),
    ("reasoning-delta", {"id": "r1", "text": "hm"}, ReasoningDelta("hm", "r1")),
    ("reasoning-end", {"id": "r1", "signature": "s"}, ReasoningEnd("r1", "s")),
    ("source", {"id": "s1", "sourceType": "url", "url": "u", "title": "t", "mimeType": "text/html"},
     SourceChunk("s1", "url", "u", "t", "text/html")),
    ("file", {"data": b"x", "mimeType": "image/png"}, FileChunk(b"x", "image/png")),
    ("file", {"base64": "eA==", "mediaType": "image/png"}, FileChunk("eA==", "image/png")),
    ("tool-call-input-streaming-start", CALL, ToolInputStart("c1", "f")),
    ("tool-call-delta", {"toolCallId": "c1", "argsTextDelta": "{}"}, ToolInputDelta("c1", "{}")),
    ("tool-call-input-streaming-end", {"toolCallId": "c1"}, ToolInputEnd("c1")),
    ("tool-call", {**CALL, "providerExecuted": True}, ToolCall("c1", "f", {"x": 1}, True)),
    ("tool-call", {"toolCallId": "c1", "toolName": "f"}, ToolCall("c1", "f", {})),
    ("tool-result", {**CALL, "result": None}, ToolResult("c1", "f", {"x": 1}, None)),
    ("tool-error", {**CALL, "error": {"name": "Error", "message": "no"}}, ToolError("c1", "f", {"x": 1}, "no")),
    ("tool-error", {**CALL, "error": ValueError("no")}, ToolError("c1", "f", {"x": 1}, "no")),
    ("raw", {"value": {"a": 1}}, RawChunk({"a": 1})),
    ("finish", {"stepResult": {"reason": "length"}, "output": {"usage": USAGE}, "metadata": {}},
     Finish("length", Usage(1, 2))),
    ("finish", {"finishReason": "stop", "usage": USAGE}, Finish("stop", Usage(1, 2))),
    ("finish", {}, Finish("stop")),
    ("data-note", {"data": 5, "id": "d", "transient": True}, DataChunk("data-note", 5, "d", True)),
]  # fmt: skip


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


@pytest.mark.parametrize(("kind", "payload", "chunk"), READ)
def test_the_documents_form(kind: str, payload: dict[str, Any], chunk: Chunk) -> None:
    """``{type, payload}`` in camel and snake case, and the fields beside the type, say the same chunk."""
    assert read_chunk({"type": kind, "payload": payload, "runId": "r", "from": "AGENT", "metadata": {}}) == chunk
    assert read_chunk({"type": kind, "payload": {_snake(name): value for name, value in payload.items()}}) == chunk
    assert read_chunk({**payload, "type": kind}) == chunk


@pytest.mark.parametrize("chunk", [chunk for _, _, chunk in READ])
def test_our_own_forms(chunk: Chunk) -> None:
    """A chunk stays what it is, and what was kept of one as plain data is read."""
    assert read_chunk(chunk) is chunk
    assert read_chunk(to_data(chunk)) == chunk


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("Hi", "it is str, which is no chunk"),
        (5, "it is int, which is no chunk"),
        ({"payload": {"text": "Hi"}}, "it has no type"),
        ({"type": "text-delta", "payload": "Hi"}, "payload=str"),
        ({"type": "text-delta", "payload": {}}, "it of type 'text-delta' has no 'text'"),
        ({"type": "text-delta", "payload": {"text": 5}}, "has text=int"),
        ({"type": "text-delta", "payload": {"text": "Hi", "id": 5}}, "has id=int"),
        ({"type": "text-delta", "text": None}, "has no 'text'|has text=NoneType"),
        ({"type": "file", "payload": {"mimeType": "a/b"}}, "has data=NoneType"),
        ({"type": "response-metadata", "payload": {"timestamp": "soon"}}, "has timestamp=str"),
        ({"type": "response-metadata", "payload": {"warnings": "none"}}, "has warnings=str"),
        ({"type": "tool-call", "payload": {"toolName": "f"}}, "has no 'tool_call_id'"),
        ({"type": "finish", "payload": {"usage": 5}}, "has usage=int"),
        ({"type": "finish", "payload": {"stepResult": {"reason": 5}}}, "has reason=int"),
        ({"type": "step-finish", "payload": {}}, "'step-finish', which no model answers"),
        ({"type": "nonsense"}, "'nonsense', which no model answers"),
        ({"$type": "TextPart", "text": "Hi"}, "it is TextPart, which is no chunk"),
        (TextDelta(5), "has text=int"),  # type: ignore[arg-type]
        (Start("r", "m"), "'start', which no model answers"),
        (ErrorChunk(ModelError("down")), "'error', which no model answers"),
    ],
)
def test_what_is_no_chunk_of_an_answer(form: Any, said: str) -> None:
    """What no model answers, and a field that is missing or misfits, are refused with what is expected."""
    with pytest.raises(MessageError, match=said) as caught:
        read_chunk(form, "it")
    assert caught.value.hint


def test_an_answer_without_an_end_gets_one() -> None:
    """Its reason is ``tool-calls`` where our tools are to run, and ``stop`` else; an end that is there stays."""
    text = TextDelta("Hi")
    assert read_answer([text], "it") == (text, Finish("stop"))
    call = ToolCall("c1", "f", {})
    assert read_answer([call], "it") == (call, Finish("tool-calls"))
    ran = call.replace(provider_executed=True)
    assert read_answer([ran], "it") == (ran, Finish("stop"))
    assert read_answer((text, Finish("length")), "it") == (text, Finish("length"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "it has no chunks"),
        ("Hi", "it has chunks=str"),
        (None, "it has chunks=NoneType"),
        ([TextDelta("Hi"), "Hi"], "it, chunk 1 is str"),
        ([Finish("error")], "another reason than a model's"),
        ([Finish("retry")], "another reason than a model's"),
    ],
)
def test_what_is_no_answer(given: Any, said: str) -> None:
    """No chunks, something else among them, and a call that failed are refused with the place."""
    with pytest.raises(MessageError, match=said) as caught:
        read_answer(given, "it")
    assert caught.value.hint
