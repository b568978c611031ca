"""Whatever a server sends is an answer or a ``ModelError``."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.models.anthropic_kit import (
    STOP,
    call,
    calls_of,
    chunks_of,
    end,
    finish_of,
    start,
    text,
)

from procession.errors import ModelError

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_kinds = st.sampled_from([
    "text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use", "web_search_tool_result",
    "text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "odd",
])  # fmt: skip
_fields = st.fixed_dictionaries(
    {},
    optional={
        "type": _kinds | _json, "text": _json, "thinking": _json, "signature": _json, "data": _json, "id": _json,
        "name": _json, "input": _json, "partial_json": _json, "citation": _json, "citations": _json,
        "tool_use_id": _json, "content": _json, "stop_reason": _json, "usage": _json, "caller": _json,
    },
)  # fmt: skip
_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from([
            "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
            "message_stop", "message", "ping", "odd",
        ])
        | _json
    },
    optional={
        "index": st.integers(0, 2) | _json, "content_block": _fields | _json, "delta": _fields | _json,
        "message": _fields | _json, "usage": _json, "content": st.lists(_fields | _json, max_size=2) | _json,
    },
)  # fmt: skip


@given(st.lists(_events | _json, max_size=8), st.booleans())
def test_whatever_comes_is_an_answer_or_a_model_error(events: list[Any], done: bool) -> None:
    """No event, in no order, raises anything but ``ModelError``, and an answer has one end, its last chunk."""
    try:
        chunks = chunks_of(*(json.dumps(event) for event in events), *([STOP] if done else []))
    except ModelError as error:
        assert error.kind == "stream"
    else:
        finish_of(chunks)


@given(st.data())
def test_shuffled_events_never_run_half_a_call(data: st.DataObject) -> None:
    """Events that come in any order, twice or not at all make no call whose arguments nobody sent."""
    whole = [start(), *text(0, "Hi"), *call(1, "pay", '{"amo', 'unt": 10}'), end("tool_use"), STOP]
    events = data.draw(st.lists(st.sampled_from(whole), max_size=12))
    try:
        chunks = chunks_of(*events)
    except ModelError as error:
        assert error.kind == "stream"
    else:
        complete = {"amount": 10}
        assert all(args == complete or not isinstance(args, dict) or args == {} for _, args in calls_of(chunks))


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "replace")))
def test_any_text_is_read_or_refused(data: str) -> None:
    """Any text at all, as the data of an event, is nothing or an error of the stream."""
    try:
        chunks_of(data, finish=False)
    except ModelError as error:
        assert error.kind == "stream"
