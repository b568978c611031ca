"""Gemini's answers, event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.google_kit import CONTEXT, SIGNATURE, call, candidate, failure, finish_of, read

from procession.messages.chunks import (
    FileChunk,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseMetadata,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
)
from procession.messages.usage import Usage
from procession.models.formats.google.answer import GoogleAnswer
from procession.models.wire_model import AnswerContext


def test_text_and_thoughts() -> None:
    """Thoughts and text are blocks of their own, each in as many pieces as came."""
    chunks = read(
        candidate({"text": "Let me ", "thought": True}),
        candidate({"text": "see.", "thought": True}, {"text": "It "}),
        candidate({"text": "rains."}),
        candidate(finish="STOP"),
    )
    assert chunks == [
        ReasoningStart("reasoning-1", {"google": {}}),
        ReasoningDelta("Let me ", "reasoning-1"),
        ReasoningDelta("see.", "reasoning-1"),
        ReasoningEnd("reasoning-1"),
        TextStart("text-2"),
        TextDelta("It ", "text-2"),
        TextDelta("rains.", "text-2"),
        TextEnd("text-2"),
        Finish("stop", raw_reason="STOP"),
    ]


def test_signed_text_is_a_block_of_its_own() -> None:
    """A part with a signature is not mixed with others: only so can the signature go back with it."""
    notes = {"google": {"thoughtSignature": SIGNATURE}}
    chunks = read(
        candidate({"text": "a"}),
        candidate({"text": "b", "thoughtSignature": SIGNATURE}),
        candidate({"text": "c"}, finish="STOP"),
    )
    assert chunks == [
        TextStart("text-1"), TextDelta("a", "text-1"), TextEnd("text-1"),
        TextStart("text-2", notes), TextDelta("b", "text-2"), TextEnd("text-2", notes),
        TextStart("text-3"), TextDelta("c", "text-3"), TextEnd("text-3"),
        Finish("stop", raw_reason="STOP"),
    ]  # fmt: skip


def test_a_signature_without_text() -> None:
    """A signature may come alone, at the end: it is kept like reasoning of which nothing is shown."""
    chunks = read(candidate({"text": "a"}), candidate({"text": "", "thoughtSignature": SIGNATURE}, finish="STOP"))
    notes = {"google": {"thoughtSignature": SIGNATURE, "thought": False}}
    assert chunks[3:6] == [
        ReasoningStart("reasoning-2", notes), ReasoningDelta("", "reasoning-2"),
        ReasoningEnd("reasoning-2", provider_metadata=notes),
    ]  # fmt: skip


def test_signed_thought() -> None:
    """The signature of a thought is kept with it, byte for byte."""
    chunks = read(candidate({"text": "hm", "thought": True, "thoughtSignature": SIGNATURE}, finish="STOP"))
    notes = {"google": {"thoughtSignature": SIGNATURE}}
    assert chunks[0] == ReasoningStart("reasoning-1", notes)
    assert chunks[2] == ReasoningEnd("reasoning-1", provider_metadata=notes)


def test_files() -> None:
    """Files come with their signatures; drafts among the thoughts do not come."""
    image = {"mimeType": "image/png", "data": "AP8="}
    chunks = read(
        candidate({"inlineData": image, "thought": True}, {"inlineData": image, "thoughtSignature": SIGNATURE}),
        candidate({"fileData": {"mimeType": "video/mp4", "fileUri": "https://x/y"}}, finish="STOP"),
    )
    assert chunks[:-1] == [
        FileChunk("AP8=", "image/png", provider_metadata={"google": {"thoughtSignature": SIGNATURE}}),
        FileChunk("https://x/y", "video/mp4", provider_metadata={"google": {}}),
    ]


def test_sources() -> None:
    """What an answer is grounded on are its sources, each once; all that was said of it is at the end."""
    grounding: dict[str, Any] = {
        "groundingChunks": [
            {"web": {"uri": "https://a", "title": "A"}},
            {"retrievedContext": {"uri": "gs://b/doc.pdf", "title": "B"}},
            {"maps": {"uri": "https://c"}},
            {"image": {"sourceUri": "https://d"}},
            {"retrievedContext": {"title": "only a title"}},
            {"web": {}},
        ],
        "searchEntryPoint": {"renderedContent": "<b>"},
    }
    chunks = read(
        candidate({"text": "a"}, groundingMetadata=grounding),
        candidate(finish="STOP", groundingMetadata=grounding, finishMessage="fine"),
    )
    sources = [chunk for chunk in chunks if isinstance(chunk, SourceChunk)]
    assert [(it.id, it.source_type, it.url, it.title) for it in sources] == [
        ("https://a", "url", "https://a", "A"),
        ("gs://b/doc.pdf", "document", "gs://b/doc.pdf", "B"),
        ("https://c", "url", "https://c", None),
        ("https://d", "url", "https://d", None),
        ("only a title", "document", None, "only a title"),
    ]
    end = chunks[-1]
    assert isinstance(end, Finish)
    assert end.provider_metadata == {"google": {"groundingMetadata": grounding, "finishMessage": "fine"}}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content-filter"),
        ("RECITATION", "content-filter"),
        ("BLOCKLIST", "content-filter"),
        ("PROHIBITED_CONTENT", "content-filter"),
        ("SPII", "content-filter"),
        ("IMAGE_SAFETY", "content-filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("UNEXPECTED_TOOL_CALL", "error"),
        ("OTHER", "other"),
        ("FINISH_REASON_UNSPECIFIED", "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    """Each reason is known or other, and the server's word for it is kept."""
    end = finish_of(candidate({"text": "a"}, finish=raw))
    assert (end.reason, end.raw_reason) == (reason, raw)


@pytest.mark.parametrize(("raw", "reason"), [("STOP", "tool-calls"), ("OTHER", "tool-calls"), ("MAX_TOKENS", "length")])
def test_reasons_of_answers_with_calls(raw: str, reason: str) -> None:
    """Google says STOP of an answer that wants its tools run."""
    assert finish_of(candidate(call("f", {}), finish=raw)).reason == reason


def test_blocked_prompt() -> None:
    """A prompt that is refused has no candidates: the answer is filtered, and says why."""
    end = finish_of({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}})
    notes = {"google": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}}
    assert end == Finish("content-filter", Usage(4), raw_reason="PROHIBITED_CONTENT", provider_metadata=notes)


def test_usage_is_the_last_that_was_told() -> None:
    """Counts are sums so far, thoughts are output, and results of Google's tools are input."""
    end = finish_of(
        {**candidate({"text": "a"}), "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 20}},
        {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1, "cachedContentTokenCount": 5}},
        {
            **candidate(finish="STOP"),
            "usageMetadata": {"candidatesTokenCount": 3, "toolUsePromptTokenCount": 2, "totalTokenCount": 99},
        },
    )
    assert end.usage == Usage(11, 23, 20, 5)


def test_metadata() -> None:
    """What the response says of itself comes once, with the request and what was not done as asked."""
    context = AnswerContext(
        model="google/m", headers={"x": "y"}, request={"contents": []}, warnings=({"type": "other"},)
    )
    event = {**candidate({"text": "a"}), "responseId": "r-1", "modelVersion": "gemini-2.5-flash-001"}
    chunks = read(event, {**event, **candidate(finish="STOP")}, context=context)
    assert [chunk for chunk in chunks if isinstance(chunk, ResponseMetadata)] == [
        ResponseMetadata(
            "r-1", "gemini-2.5-flash-001", None, {"x": "y"}, ({"type": "other"},), {"contents": []},
            {"status": 200, "headers": {"x": "y"}},
        )
    ]  # fmt: skip


def test_an_answer_that_was_not_streamed() -> None:
    """Without server-sent events an answer is one object, or a list of what the events would have been."""
    events = [candidate({"text": "a"}), candidate({"text": "b"}, finish="STOP")]
    assert read(events) == read(*events)
    assert read(candidate({"text": "ab"}, finish="STOP"))[1] == TextDelta("ab", "text-1")


def test_only_the_first_candidate_is_read() -> None:
    """Where several answers were asked for, they are not mixed."""
    both = {
        "candidates": [
            {**candidate({"text": "b"})["candidates"][0], "index": 1},
            *candidate({"text": "a"})["candidates"],
        ]
    }
    chunks = read(both, candidate(finish="STOP"))
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["a"]


OVERLOADED = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize("event", [OVERLOADED, [OVERLOADED], [candidate({"text": "a"}), OVERLOADED]])
def test_errors_in_the_stream(event: Any) -> None:
    """An error in place of an answer is an error, alone or in a list, with what tells whether to come back."""
    raised = failure(event)
    assert "overloaded" in str(raised)
    assert (raised.status_code, raised.retryable, raised.provider_code) == (503, True, "UNAVAILABLE")


@pytest.mark.parametrize("event", ["x", "1", "null", "[1]", '"a"', "{", '{"a": NaN}', "[" * 100_000, "[[]]"])
def test_events_that_are_no_objects(event: str) -> None:
    """What is no JSON object is an error of the stream's."""
    failure(event)


def test_keys_are_not_quoted() -> None:
    """What an error quotes of the stream has no key in it."""
    context = AnswerContext(model="google/m", secrets=("swordfish",))
    assert "swordfish" not in str(failure("not JSON: swordfish", context=context))


def test_unfinished() -> None:
    """An answer without a reason to end is not complete, whether it has begun or not."""
    assert failure(candidate({"text": "a"})).provider_code == "incomplete_stream"
    assert failure().provider_code == "empty_stream"
    assert failure({"candidates": [], "usageMetadata": {"promptTokenCount": 1}}).retryable


def test_done_of_a_translating_server() -> None:
    """A server that says [DONE], as others do, has said all; empty events say nothing."""
    answer = GoogleAnswer(CONTEXT)
    events = [json.dumps(candidate({"text": "a"}, finish="STOP")), "  ", "[DONE]", "anything"]
    told: list[tuple[int, bool]] = []
    for event in events:
        told.append((len(list(answer.read(event))), answer.done))
    assert told == [(2, False), (0, False), (0, True), (0, True)]
    assert [chunk.type for chunk in answer.finish()] == ["text-end", "finish"]


def test_warnings_of_a_server_that_tells_nothing_of_itself() -> None:
    """What was not done as asked is told also where no event has an id or a model's name."""
    left_out = ({"type": "other", "message": "left out"},)
    answer = GoogleAnswer(AnswerContext(model="google/m", warnings=left_out))
    told = list(answer.read('{"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}'))
    assert isinstance(told[0], ResponseMetadata)
    assert told[0].warnings == left_out
