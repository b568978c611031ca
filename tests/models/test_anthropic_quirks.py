"""Servers that imitate Anthropic, each in its own way."""

from __future__ import annotations

import pytest
from tests.models.anthropic_kit import (
    STOP,
    call,
    calls_of,
    chunks_of,
    end,
    finish_of,
    start,
    text,
    text_of,
    thought,
)

from procession.errors import ModelError
from procession.messages.chunks import (
    ResponseMetadata,
    ToolCall,
)
from procession.messages.usage import Usage


def test_whole_answer() -> None:
    """A server that does not stream gives the same chunks but one delta for each block."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}},
    ]
    usage = {"input_tokens": 3, "output_tokens": 2}
    whole = {
        "type": "message",
        "id": "msg",
        "model": "m",
        "content": content,
        "stop_reason": "tool_use",
        "usage": usage,
    }
    streamed = [
        {**start(input_tokens=3), "message": {**start(input_tokens=3)["message"], "id": "msg"}},
        *thought(0, "hm", "S"),
        *text(1, "Hi"),
        *call(2, "f", '{"a": [1]}', id="t"),
        end("tool_use", output_tokens=2),
        STOP,
    ]
    assert chunks_of(whole) == chunks_of(*streamed)


def test_answer_that_begins_with_content() -> None:
    """Content that comes with the very first event counts."""
    first = start()
    first["message"]["content"] = [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]
    first["message"]["stop_reason"] = "tool_use"
    assert calls_of(chunks_of(first, STOP)) == [("f", {"a": 1})]


def test_answer_that_begins_twice() -> None:
    """A proxy that sends the first event twice is told of once."""
    chunks = chunks_of(start(), start(input_tokens=12), *text(0, "Hi"), end("end_turn"), STOP)
    assert [chunk.id for chunk in chunks if isinstance(chunk, ResponseMetadata)] == ["msg_1"]
    assert finish_of(chunks).usage == Usage(12, 7)


def test_blocks_without_a_start_or_an_index() -> None:
    """Text and thoughts are read where a server leaves out that they begin, or which block they are of."""
    chunks = chunks_of(
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_stop"},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "!"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        end("end_turn"),
        STOP,
    )
    assert [chunk.type for chunk in chunks] == [
        "response-metadata", "reasoning-start", "reasoning-delta", "reasoning-end",
        "text-start", "text-delta", "text-delta", "text-end", "finish",
    ]  # fmt: skip


def test_end_in_the_words_of_another_provider() -> None:
    """``[DONE]`` ends an answer, too, and what comes after the end is not read."""
    chunks = chunks_of(start(), *text(0, "Hi"), end("end_turn"), "[DONE]", "nonsense", *text(1, "more"))
    assert text_of(chunks) == "Hi"


def test_arguments_that_come_with_the_start() -> None:
    """Arguments that a server sends whole, in place of deltas, are the call's."""
    events = call(0, "f", input={"a": 1})
    assert calls_of(chunks_of(start(), *events, end("tool_use"), STOP)) == [("f", {"a": 1})]
    assert calls_of(chunks_of(start(), *events, end("max_tokens"), STOP)) == []


def test_call_without_an_id_and_without_a_name() -> None:
    """A call without an id is given one; one without a name makes the answer incomplete."""
    (made,) = [
        chunk
        for chunk in chunks_of(start(), *call(0, "f", id=None), end("tool_use"), STOP)
        if isinstance(chunk, ToolCall)
    ]
    assert made.tool_call_id.startswith("call-")
    with pytest.raises(ModelError, match="before it was complete"):
        chunks_of(start(), *call(0, ""), end("tool_use"), STOP)
