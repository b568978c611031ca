"""Whatever a server sends as Gemini's answer is read or refused."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.models.google_kit import read

from procession.errors import ModelError
from procession.messages.chunks import Finish, ToolCall

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
