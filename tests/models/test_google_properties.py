"""Whatever a server sends as Gemini's answer is read or refused."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.google_kit import call, candidate, read
from tests.models.google_streams import STREAMS, body_of
from tests.models.test_google_streams import reading

from procession.errors import ModelError
from procession.messages.chunks import Finish, ToolCall
from procession.models.model import ModelRequest
from procession.testing.recorder import record

KEYS = [
    "candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "name", "args", "id",
    "inlineData", "fileData", "data", "fileUri", "mimeType", "executableCode", "codeExecutionResult", "outcome", "toolCall",
    "toolResponse", "toolType", "response", "finishReason", "usageMetadata", "promptTokenCount", "promptFeedback",
    "blockReason", "groundingMetadata", "groundingChunks", "web", "uri", "title", "error", "code", "message", "status",
    "index", "responseId", "modelVersion",
]  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
ODD: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
PARTS: st.SearchStrategy[Any] = st.dictionaries(st.sampled_from(KEYS), ODD, max_size=4)


def event_of(parts: list[Any], more: dict[str, Any]) -> Any:
    """Return an event that looks like one, down to its parts."""
    return {"candidates": [{"content": {"parts": parts}, **more}]}


EVENTS: st.SearchStrategy[Any] = ODD | st.builds(event_of, st.lists(PARTS, max_size=3), PARTS)


@given(st.lists(EVENTS, max_size=5))
def test_any_json_is_read_or_refused(events: list[Any]) -> None:
    """Whatever JSON a server sends, reading it ends, and raises nothing but a ModelError."""
    try:
        chunks = read(*(json.dumps(event) for event in events))
    except ModelError as error:
        assert error.kind == "stream"
    else:
        ids = [chunk.tool_call_id for chunk in chunks if isinstance(chunk, ToolCall)]
        assert len(ids) == len(set(ids))
        assert isinstance(chunks[-1], Finish)


@given(st.lists(st.text() | st.binary().map(lambda data: data.decode("utf-8", "replace")), max_size=5))
def test_any_text_is_read_or_refused(events: list[str]) -> None:
    """Whatever a server sends, reading it ends, and raises nothing but a ModelError."""
    try:
        read(*events)
    except ModelError as error:
        assert error.kind == "stream"


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """Return a stream of Gemini's, of which some bytes are others or missing."""
    body = bytearray(body_of(draw(st.sampled_from(list(STREAMS.values())))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 9))] = draw(st.binary(max_size=4))
    return bytes(body)


@given(st.binary() | spoilt(), st.sampled_from(["text/event-stream", "application/json"]), st.integers(1, 200))
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_any_bytes_are_read_or_refused(body: bytes, content_type: str, size: int) -> None:
    """Whatever bytes a server sends, a call ends, with ``finish`` or a ModelError."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    recording = await record(reading(pieces, content_type).stream(ModelRequest(messages=())), catch=ModelError)
    assert (recording.error is None) == bool(recording.of(Finish))


def steps_of(event: Any, count: int) -> int:
    """Return how many functions are called to read an answer of *count* such events."""
    steps = 0

    def count_one(*_: Any) -> None:
        nonlocal steps
        steps += 1

    texts = [json.dumps(event)] * count + [json.dumps(candidate(finish="STOP"))]
    sys.setprofile(count_one)
    try:
        read(*texts)
    finally:
        sys.setprofile(None)
    return steps


PAGES: dict[str, Any] = {"groundingChunks": [{"web": {"uri": f"https://a/{n}"}} for n in range(9)]}


@pytest.mark.parametrize(
    "event",
    [
        candidate({"text": "word "}),
        candidate({"text": "a", "thoughtSignature": "c2ln"}, {"text": "b", "thought": True}),
        candidate(call("f", {"a": 1})),
        candidate(call("f", {"a": 1}, id="the same")),
        candidate({"executableCode": {"code": "1"}}),
        candidate({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
        candidate(groundingMetadata=PAGES),
    ],
)
def test_reading_takes_time_for_what_is_there(event: Any) -> None:
    """Ten times as many events are ten times the work."""
    assert steps_of(event, 2_000) < 11 * steps_of(event, 200)
