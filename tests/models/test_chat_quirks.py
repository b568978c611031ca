"""Quirks of servers' answers: one small test each."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.test_openai_answer import calls_of, chunks_of, delta, finish_of, part

from procession.agents.collector import Collector
from procession.errors import ModelError
from procession.messages.chunks import (
    Chunk,
    FileChunk,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    SourceChunk,
    TextDelta,
    ToolCall,
)
from procession.messages.parts import ReasoningPart
from procession.messages.usage import Usage
from procession.models.formats.openai.chat_answer import ChatAnswer


def thoughts_of(chunks: list[Chunk]) -> list[str]:
    """Return what was thought."""
    return [chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)]


def text_of(chunks: list[Chunk]) -> str:
    """Return what was said."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def test_refusal() -> None:
    """What a model says when it refuses is text, and the answer ends as filtered, as with Responses."""
    chunks = chunks_of(delta(content=None, refusal="I can"), delta(refusal="not."), delta("stop"))
    assert text_of(chunks) == "I cannot."
    assert (finish_of(chunks).reason, finish_of(chunks).raw_reason) == ("content-filter", "refusal")


def test_one_call_as_there_was_once() -> None:
    """A server that knows ``function_call`` and no ``tool_calls`` has its call understood."""
    chunks = chunks_of(
        delta(function_call={"name": "weather", "arguments": '{"city":'}),
        delta(function_call={"arguments": '"Oslo"}'}),
        delta("function_call"),
    )
    assert calls_of(chunks) == [("weather", {"city": "Oslo"})]
    assert finish_of(chunks).reason == "tool-calls"


def test_reasoning_says_whose_it_is() -> None:
    """Reasoning is noted as the server's, with the field that it came in, so that it goes back to no other."""
    answer = ChatAnswer("x/m", provider="deepseek")
    (_, start, *_) = answer.read('{"id": "r", "choices": [{"delta": {"reasoning_content": "Hmm"}}]}')
    assert start == ReasoningStart("reasoning-1", {"deepseek": {"reasoningField": "reasoning_content"}})


def test_whole_answer_beside_the_pieces() -> None:
    """A server that sends, beside each piece, all that was said so far, has its text told once."""
    pieces = [
        {"choices": [{"delta": {"content": text}, "message": {"role": "assistant", "content": whole}}]}
        for text, whole in (("Hel", "Hel"), ("lo", "Hello"))
    ]
    end = {"choices": [{"delta": {}, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
    assert text_of(chunks_of(*pieces, end)) == "Hello"


def test_thoughts_of_mistral() -> None:
    """Mistral's thoughts, which are a part of the content, are reasoning."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm"}, {"type": "reference"}]}
    chunks = chunks_of(delta(content=[thinking]), delta(content=[{"type": "text", "text": "Yes"}]), delta("stop"))
    assert (thoughts_of(chunks), text_of(chunks)) == (["Hmm"], "Yes")


DETAILS = [
    {"type": "reasoning.text", "text": "Let", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "text": " me see.", "format": "anthropic-claude-v1", "index": 0},
]
SIGNATURE = {"type": "reasoning.text", "signature": "Et8+/=", "format": "anthropic-claude-v1", "index": 0}


def test_signed_reasoning_of_openrouter() -> None:
    """A signed thought that comes in pieces is put together, with a signature that comes when text has begun."""
    chunks = chunks_of(
        delta(reasoning="Let", reasoning_details=[DETAILS[0]]),
        delta(reasoning_details=[DETAILS[1]]),
        delta(content="Yes"),
        delta(reasoning_details=[SIGNATURE]),
        delta(tool_calls=[part("{}", index=0, id="c", name="f")]),
        delta("tool_calls"),
    )
    assert "".join(thoughts_of(chunks)) == "Let me see."
    signed = [
        chunk.provider_metadata for chunk in chunks if isinstance(chunk, ReasoningEnd) and chunk.provider_metadata
    ]
    whole = {**DETAILS[0], "text": "Let me see.", "signature": "Et8+/="}
    assert signed == [{"openai": {"reasoning_details": [whole]}}]
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    kept = [it for it in collector.parts() if isinstance(it, ReasoningPart)]
    assert [it.text for it in kept] == ["Let me see.", ""]
    assert (kept[1].provider_metadata or {})["openai"]["reasoning_details"] == [whole]


def test_encrypted_reasoning_of_openrouter() -> None:
    """Encrypted thoughts are not put together, and come out though nothing of them can be read."""
    entries = [
        {"type": "reasoning.encrypted", "data": "AAA", "id": "call_1", "index": 0},
        {"type": "reasoning.encrypted", "data": "BBB", "id": "call_2", "index": 1},
        {"type": "reasoning.encrypted", "data": "CCC", "index": 1},
    ]
    chunks = chunks_of(*(delta(reasoning_details=[entry]) for entry in entries), delta("stop", content="Yes"))
    (end,) = [chunk for chunk in chunks if isinstance(chunk, ReasoningEnd)]
    assert end.provider_metadata == {"openai": {"reasoning_details": entries}}
    assert thoughts_of(chunks) == [""]


def test_thinking_blocks_of_litellm() -> None:
    """LiteLLM's thinking blocks have no index: a signature ends one, and the next begins."""
    chunks = chunks_of(
        delta(reasoning_content="One", thinking_blocks=[{"type": "thinking", "thinking": "One", "signature": None}]),
        delta(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "s1"}]),
        delta(reasoning_content="Two", thinking_blocks=[{"type": "thinking", "thinking": "Two", "signature": "s2"}]),
        delta("stop", content="Yes"),
    )
    assert "".join(thoughts_of(chunks)) == "OneTwo"
    last = [chunk for chunk in chunks if isinstance(chunk, ReasoningEnd)][-1]
    assert last.provider_metadata == {
        "openai": {
            "thinking_blocks": [
                {"type": "thinking", "thinking": "One", "signature": "s1"},
                {"type": "thinking", "thinking": "Two", "signature": "s2"},
            ]
        }
    }


def test_signature_of_a_call() -> None:
    """What Gemini's imitation of this format says beside a call is kept with it."""
    extra = {"google": {"thought_signature": "s"}}
    chunks = chunks_of(
        delta(tool_calls=[part("{}", index=0, id="c", name="f", extra_content=extra)]), delta("tool_calls")
    )
    (call,) = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
    assert call.provider_metadata == {"openai": {"extra_content": extra}}


def test_sources() -> None:
    """What a text cites comes out once, whether the fields are there or one level down, after the text."""
    page = {"url": "https://example.com", "title": "Example", "start_index": 0, "end_index": 3}
    chunks = chunks_of(
        delta(content="See."),
        delta(annotations=[{"type": "url_citation", "url_citation": page}]),
        delta("stop", annotations=[{"type": "url_citation", **page}]),
    )
    sources = [chunk for chunk in chunks if isinstance(chunk, SourceChunk)]
    assert [(source.url, source.title) for source in sources] == [("https://example.com", "Example")]
    assert [chunk.type for chunk in chunks][-3:] == ["text-end", "source", "finish"]


def test_pictures() -> None:
    """Pictures that a model behind OpenRouter made are files; an address alone is not fetched."""
    images = [
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,UklGRg=="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        "odd",
    ]
    chunks = chunks_of(delta("stop", images=images))
    assert [chunk for chunk in chunks if isinstance(chunk, FileChunk)] == [FileChunk("UklGRg==", "image/webp")]


@pytest.mark.parametrize("first", [0, 1, None])
def test_one_choice_of_several(first: int | None) -> None:
    """Where several answers were asked for, the first that comes is read, and not mixed with the others."""
    said = [{"choices": [{"index": first, "delta": {"content": "a"}}]}]
    said += [{"choices": [{"index": 7, "delta": {"content": "x"}}]}] if first is not None else []
    chunks = chunks_of(*said, {"choices": [{"index": first, "delta": {"content": "b"}, "finish_reason": "stop"}]})
    assert text_of(chunks) == "ab"


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "abort", "ERROR"])
def test_server_that_gave_up(reason: str) -> None:
    """A reason that says that the server did not finish is an error that may be tried again, not an answer."""
    with pytest.raises(ModelError, match=reason) as caught:
        chunks_of(delta(content="Half of"), delta(reason))
    assert (caught.value.kind, caught.value.retryable, caught.value.status_code) == ("stream", True, None)


@pytest.mark.parametrize(("raw", "reason"), [("STOP", "stop"), ("MAX_TOKENS", "length"), ("Length", "length")])
def test_reasons_in_capitals(raw: str, reason: str) -> None:
    """Reasons are understood in whatever case, and kept as they came."""
    finish = finish_of(chunks_of(delta(content="x"), delta(raw)))
    assert (finish.reason, finish.raw_reason) == (reason, raw)


def test_error_of_groq() -> None:
    """Groq's own place for an error is looked at."""
    with pytest.raises(ModelError, match="overloaded"):
        chunks_of({"choices": [], "x_groq": {"error": "the model is overloaded"}})


@pytest.mark.parametrize(
    ("event", "usage"),
    [
        # Groq, where usage was not asked for
        ({"x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}}, Usage(9, 4)),
        # DeepSeek and Moonshot
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 5}}, Usage(9, 4, 0, 5)),
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 4, "cached_tokens": 5}}, Usage(9, 4, 0, 5)),
        # OpenRouter, LiteLLM
        (
            {
                "usage": {
                    "prompt_tokens": 9,
                    "completion_tokens": 4,
                    "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
                }
            },
            Usage(9, 4, 0, 5, 2),
        ),
        # xAI and Gemini count what was thought beside what was said
        (
            {
                "usage": {
                    "prompt_tokens": 12,
                    "completion_tokens": 2,
                    "total_tokens": 331,
                    "completion_tokens_details": {"reasoning_tokens": 317},
                }
            },
            Usage(12, 319, 317),
        ),
        (
            {
                "usage": {
                    "prompt_tokens": 12,
                    "completion_tokens": 319,
                    "total_tokens": 331,
                    "completion_tokens_details": {"reasoning_tokens": 317},
                }
            },
            Usage(12, 319, 317),
        ),
    ],
)
def test_usage(event: dict[str, Any], usage: Usage) -> None:
    """Each server's way to count becomes ours: what was thought is in the output, what was cached in the input."""
    assert finish_of(chunks_of(delta("stop", content="x"), {"choices": [], **event})).usage == usage


@pytest.mark.parametrize("created", [0, None, "now", -1, 10**400])
def test_times_that_are_none(created: Any) -> None:
    """A time that is none does not matter."""
    chunks = chunks_of({"id": "r", "created": created, **delta("stop", content="x")})
    assert getattr(chunks[0], "timestamp", "missing") is None
