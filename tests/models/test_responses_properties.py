"""Whatever a server of Responses sends, it is read or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.responses_events import (
    DONE,
    calls_of,
    chunks_of,
    delta,
    function_call,
    message,
    reasoning,
    streamed,
    text_of,
)

from procession.errors import ModelError
from procession.messages.chunks import (
    Finish,
    ToolCall,
)
from procession.models.formats.openai.responses_answer import ResponsesAnswer
from procession.models.formats.openai.responses_items import Streamed

KINDS = sorted(ResponsesAnswer._handlers)  # pyright: ignore[reportPrivateUsage]
KEYS = [
    "type", "item", "id", "item_id", "output_index", "content_index", "summary_index", "delta", "text", "refusal",
    "arguments", "name", "call_id", "status", "response", "output", "content", "summary", "encrypted_content", "usage",
    "input_tokens", "error", "code", "message", "annotations", "annotation", "url", "action", "result", "created_at",
    "incomplete_details", "reason", "phase", "output_format", "object",
]  # fmt: skip
ITEMS = ["message", "reasoning", "function_call", "web_search_call", "mcp_call", "image_generation_call", "new"]
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([*ITEMS, "fc_1"])
)
JSON = st.recursive(
    SCALARS | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "item": st.fixed_dictionaries({"type": st.sampled_from(ITEMS)}, optional={key: JSON for key in KEYS[1:]}),
        **{key: JSON for key in KEYS[1:] if key not in ("item", "error")},
    },
)


@given(st.lists(JSON | EVENTS, max_size=6))
def test_whatever_comes_is_read_or_refused(payloads: list[Any]) -> None:
    """Whatever JSON a server sends gives chunks or a ``ModelError``, and never anything else."""
    try:
        chunks = chunks_of(*payloads)
    except ModelError:
        return
    assert isinstance(chunks[-1], Finish)
    json.dumps([chunk.args for chunk in chunks if isinstance(chunk, ToolCall)])


SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "tax"},
}
SHUFFLED = streamed([reasoning("Hmm"), message("Let me see."), function_call('{"city":"Oslo"}'), SEARCHED])


@given(st.permutations(SHUFFLED), st.integers(min_value=0, max_value=len(SHUFFLED)))
def test_events_in_any_order(events: list[dict[str, Any]], kept: int) -> None:
    """Events in any order, and any of them missing, give chunks or a ``ModelError``; a call is whole or none."""
    try:
        chunks = chunks_of(*events[:kept])
    except ModelError as error:
        assert error.kind == "stream"
        return
    assert all(args == {"city": "Oslo"} for _, name, args in calls_of(chunks) if name == "weather")


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_whatever_bytes_come(data: bytes | str) -> None:
    """Bytes that are nothing give no chunks or a ``ModelError``."""
    answer = ResponsesAnswer("test/m")
    try:
        list(answer.read(data if isinstance(data, str) else data.decode("utf-8", "replace")))
        list(answer.finish())
    except ModelError:
        pass


@pytest.mark.parametrize("size", [200, 2_000])
def test_reading_is_linear(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a server repeats what it said, what is joined is not longer than what came."""
    joined: list[int] = []
    real: Any = vars(Streamed)["text"]

    def counted(streamed: Streamed) -> str:
        text: str = real.fget(streamed)
        joined.append(len(text))
        return text

    monkeypatch.setattr(Streamed, "text", property(counted))
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    call = {"item_id": "fc_1", "output_index": 1}
    stream = [
        event
        for _ in range(size)
        for event in (
            delta("word", **place),
            {"type": "response.output_text.done", **place, "text": "word"},
            {"type": "response.function_call_arguments.delta", **call, "delta": "word"},
            {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "fc_1"}},
        )
    ]
    message_end = {"type": "response.output_item.done", "output_index": 0, "item": message("word" * size)}
    call_end = {"type": "response.output_item.done", "output_index": 1, "item": function_call("word" * size)}
    chunks = chunks_of(*stream, message_end, message_end, call_end, call_end, DONE)
    assert text_of(chunks) == "word" * size
    assert calls_of(chunks) == [("call_1", "weather", "word" * size)]
    assert sum(joined) <= 4 * len("word") * size
