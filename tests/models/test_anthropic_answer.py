"""One answer of Anthropic's Messages, event by event."""

from __future__ import annotations

import json

import pytest
from tests.models.anthropic_kit import (
    CASES,
    STOP,
    answer_events,
    block,
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
    ReasoningDelta,
    ReasoningEnd,
    SourceChunk,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from procession.messages.usage import Usage
from procession.models.formats.anthropic.answer import MessagesAnswer
from procession.models.formats.anthropic.body import ANSWER_TOOL
from procession.models.wire_model import AnswerContext

# --- blocks --------------------------------------------------------------------------


def test_unknown_events_say_nothing_and_blocks_go_by_their_index() -> None:
    """Pings and unknown events are passed over, and a call after a text comes out whole (ANT-001)."""
    chunks = chunks_of(*answer_events("ANT-001"))
    assert text_of(chunks) == "To"
    assert calls_of(chunks) == [("w", {"c": "Zürich"})]
    assert finish_of(chunks).reason == "tool-calls"


def test_call_without_arguments() -> None:
    """A call whose arguments are nothing, or come in an empty delta, has none (ANT-002)."""
    chunks = chunks_of(*answer_events("ANT-002"))
    assert calls_of(chunks) == [("now", {}), ("now", {})]
    assert [chunk.tool_call_id for chunk in chunks if isinstance(chunk, ToolCall)] == ["tu1", "tu2"]


def test_reasoning_stays_byte_for_byte() -> None:
    """Thoughts, their signature and redacted thoughts come out as they were sent (ANT-004)."""
    chunks = chunks_of(*answer_events("ANT-004"))
    assert [chunk for chunk in chunks if isinstance(chunk, (ReasoningDelta, ReasoningEnd))] == [
        ReasoningDelta("a é 😀  \n", "reasoning-1"),
        ReasoningDelta("", "reasoning-1", signature="SIG+/==", provider_metadata={"anthropic": {}}),
        ReasoningEnd("reasoning-1", "SIG+/==", {"anthropic": {}}),
        ReasoningDelta("", "reasoning-2", redacted="ENC==", provider_metadata={"anthropic": {}}),
        ReasoningEnd("reasoning-2", None, {"anthropic": {}}),
    ]


def test_blocks_come_out_in_their_order() -> None:
    """A call that something follows comes out before it, so that the message can be sent back in its order."""
    chunks = chunks_of(
        start(),
        *thought(0, "one", "S1"),
        *call(1, "first", "{}"),
        *thought(2, "two", "S2"),
        *call(3, "second", '{"a": 1}'),
        *call(4, "third", "{}"),
        end("tool_use"),
        STOP,
    )
    told = [chunk.type for chunk in chunks if isinstance(chunk, (ReasoningEnd, ToolCall))]
    assert told == ["reasoning-end", "tool-call", "reasoning-end", "tool-call", "tool-call"]
    assert calls_of(chunks) == [("first", {}), ("second", {"a": 1}), ("third", {})]


def test_arguments_stream() -> None:
    """Arguments are shown as they come, and end before the call."""
    chunks = chunks_of(start(), *call(0, "pay", '{"amo', 'unt": 10}'), end("tool_use"), STOP)
    assert [chunk for chunk in chunks if isinstance(chunk, (ToolInputStart, ToolInputDelta, ToolInputEnd))] == [
        ToolInputStart("toolu_0", "pay"),
        ToolInputDelta("toolu_0", '{"amo', "pay"),
        ToolInputDelta("toolu_0", 'unt": 10}', "pay"),
        ToolInputEnd("toolu_0"),
    ]


def test_citations_are_sources() -> None:
    """What a text cites follows it as sources: pages of the web, and places of documents."""
    page = {"type": "web_search_result_location", "url": "https://a.test/x", "title": "A", "cited_text": "c"}
    place = {"type": "page_location", "document_title": "Report", "start_page_number": 2, "cited_text": "d"}
    deltas = [{"type": "citations_delta", "citation": one} for one in (page, place)]
    said = block(0, {"type": "text", "text": "", "citations": []}, *deltas, {"type": "text_delta", "text": "So."})
    chunks = chunks_of(start(), *said, end("end_turn"), STOP)
    assert [chunk.type for chunk in chunks[1:]] == [
        "text-start",
        "text-delta",
        "text-end",
        "source",
        "source",
        "finish",
    ]
    sources = [chunk for chunk in chunks if isinstance(chunk, SourceChunk)]
    assert [(one.source_type, one.url, one.title) for one in sources] == [
        ("url", "https://a.test/x", "A"),
        ("document", None, "Report"),
    ]
    assert sources[0].provider_metadata == {"anthropic": page}
    assert len({one.id for one in sources}) == 2


def test_tools_of_the_server() -> None:
    """What Anthropic ran itself is a call and a result in their place, marked as executed."""
    found = [{"type": "web_search_result", "url": "https://a.test", "title": "A", "encrypted_content": "E=="}]
    chunks = chunks_of(
        start(),
        *text(0, "I look it up."),
        *call(1, "web_search", '{"query": "rain"}', type="server_tool_use", id="srvtoolu_1"),
        *block(2, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}),
        *text(3, "It rains."),
        end("end_turn", server_tool_use={"web_search_requests": 1}),
        STOP,
    )
    notes = {"anthropic": {"type": "server_tool_use"}}
    result_notes = {"anthropic": {"type": "server_tool_use", "result": "web_search_tool_result"}}
    told = [chunk for chunk in chunks if isinstance(chunk, (ToolInputStart, ToolCall, ToolResult))]
    assert told == [
        ToolInputStart("srvtoolu_1", "web_search", True),
        ToolCall("srvtoolu_1", "web_search", {"query": "rain"}, True, notes),
        ToolResult("srvtoolu_1", "web_search", {"query": "rain"}, found, False, True, result_notes),
    ]
    assert finish_of(chunks).reason == "stop"
    assert finish_of(chunks).provider_metadata == {"anthropic": {"serverToolUse": {"web_search_requests": 1}}}


def test_notes_of_calls() -> None:
    """Who called, and the server behind a tool of MCP, are noted with the call: it has to go back with them."""
    code = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    chunks = chunks_of(
        start(),
        *call(0, "f", "{}", caller=code),
        *call(1, "g", "{}", caller={"type": "direct"}),
        *call(2, "look", "{}", type="mcp_tool_use", server_name="s"),
        *block(3, {"type": "mcp_tool_result", "tool_use_id": "toolu_2", "content": [], "is_error": True}),
        end("tool_use"),
        STOP,
    )
    mcp = {"type": "mcp_tool_use", "serverName": "s"}
    assert [chunk.provider_metadata for chunk in chunks if isinstance(chunk, ToolCall)] == [
        {"anthropic": {"caller": code}},
        None,
        {"anthropic": mcp},
    ]
    (result,) = [chunk for chunk in chunks if isinstance(chunk, ToolResult)]
    assert (result.tool_name, result.is_error) == ("look", True)
    assert result.provider_metadata == {"anthropic": {**mcp, "result": "mcp_tool_result"}}


def test_failed_tool_of_the_server() -> None:
    """A tool of Anthropic's that failed gives a result that is marked as an error."""
    content = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    failed = block(0, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_0", "content": content})
    (result,) = [chunk for chunk in chunks_of(start(), *failed, end("end_turn"), STOP) if isinstance(chunk, ToolResult)]
    assert (result.tool_name, result.is_error, result.result) == ("web_search", True, content)


def test_unknown_blocks_say_nothing() -> None:
    """A content block of a kind that is unknown is passed over with its deltas."""
    odd = block(0, {"type": "hologram", "data": "?"}, {"type": "hologram_delta", "data": "!"})
    chunks = chunks_of(start(), *odd, *text(1, "Hi"), end("end_turn"), STOP)
    assert [chunk.type for chunk in chunks] == [
        "response-metadata", "text-start", "text-delta", "text-end", "finish"
    ]  # fmt: skip


def test_answer_by_a_tool_is_text() -> None:
    """Where the answer was asked for as arguments of a tool, it is text, and the turn has ended."""
    request = {"tools": [{"name": ANSWER_TOOL}]}
    events = [start(), *call(0, ANSWER_TOOL, '{"city": ', '"Bergen"}'), end("tool_use"), STOP]
    chunks = chunks_of(*events, request=request)
    assert [chunk.type for chunk in chunks[1:]] == ["text-start", "text-delta", "text-delta", "text-end", "finish"]
    assert text_of(chunks) == '{"city": "Bergen"}'
    assert finish_of(chunks).reason == "stop"
    assert calls_of(chunks_of(*events)) == [(ANSWER_TOOL, {"city": "Bergen"})]  # of a tool that only has its name
    content = [{"type": "tool_use", "id": "t", "name": ANSWER_TOOL, "input": {"city": "Ås"}}]
    whole = {"type": "message", "content": content, "stop_reason": "tool_use"}
    assert text_of(chunks_of(whole, request=request)) == '{"city": "Ås"}'


# --- how an answer ends --------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content-filter"),
        ("pause_turn", "other"),
        ("something_new", "other"),
    ],
)
def test_reasons(told: str, reason: str) -> None:
    """Each reason is one of ours, with the server's own word beside it (ANT-009)."""
    finish = finish_of(chunks_of(start(), *text(0, "x"), end(told), STOP))
    assert (finish.reason, finish.raw_reason) == (reason, told)


def test_last_reason_wins_and_counts_are_sums() -> None:
    """Of several ends the last one holds, and its counts are the sums so far (ANT-009)."""
    finish = finish_of(chunks_of(*answer_events("ANT-009")))
    assert (finish.reason, finish.raw_reason) == ("content-filter", "refusal")
    assert finish.usage == Usage(11, 5)


def test_what_the_cache_did_counts_as_input() -> None:
    """Input tokens are all that were read, those of the cache too; counts that are not told again stay."""
    first = start(input_tokens=10, cache_read_input_tokens=100, cache_creation_input_tokens=20)
    last = end("end_turn", output_tokens=9, output_tokens_details={"thinking_tokens": 4})
    assert finish_of(chunks_of(first, *text(0, "x"), last, STOP)).usage == Usage(130, 9, 4, 100, 20)


def test_notes_of_the_end() -> None:
    """The stop sequence, details of a refusal and the container are told beside the end."""
    delta = {"stop_reason": "stop_sequence", "stop_sequence": "END", "container": {"id": "c-1"}}
    finish = finish_of(chunks_of(start(), *text(0, "x"), {"type": "message_delta", "delta": delta}, STOP))
    assert finish.provider_metadata == {"anthropic": {"stopSequence": "END", "container": {"id": "c-1"}}}


def test_empty_answer() -> None:
    """A model may end its turn without a word."""
    assert [chunk.type for chunk in chunks_of(start(), end("end_turn"), STOP)] == ["response-metadata", "finish"]


@pytest.mark.parametrize("pieces", [['{"amount": 10'], [], [""], [" "]])
def test_call_that_was_cut(pieces: list[str]) -> None:
    """A call whose arguments were cut by the limit, or may not have begun, does not come out."""
    events = [start(), *call(0, "now"), *call(1, "pay", *pieces), end("max_tokens"), STOP]
    chunks = chunks_of(*events)
    assert calls_of(chunks) == [("now", {})]
    finish = finish_of(chunks)
    assert finish.reason == "length"
    dropped = (finish.provider_metadata or {})["dropped_tool_calls"]
    assert dropped == [{"tool_call_id": "toolu_1", "tool_name": "pay", "args_text": "".join(pieces)}]


def test_whole_answer_that_was_cut() -> None:
    """Nor does the last call of an answer in one piece that reached its limit: nobody can tell what it lacks."""
    content = [{"type": "tool_use", "id": f"t{at}", "name": "pay", "input": {"amount": at}} for at in range(2)]
    chunks = chunks_of({"type": "message", "id": "m", "content": content, "stop_reason": "max_tokens"})
    assert calls_of(chunks) == [("pay", {"amount": 0})]
    assert finish_of(chunks).reason == "length"


def test_arguments_that_are_no_object() -> None:
    """Arguments that are whole and no JSON object go on as text, for the tool to refuse."""
    assert calls_of(chunks_of(start(), *call(0, "pay", "[1"), end("tool_use"), STOP)) == [("pay", "[1")]


# --- errors --------------------------------------------------------------------------


def test_error_in_the_stream() -> None:
    """An error in the middle is that error, to be tried again as its status would be; the call is gone (ANT-003)."""
    answer = MessagesAnswer(AnswerContext(model="anthropic/m"))
    *events, error = answer_events("ANT-003")
    chunks = [chunk for event in events for chunk in answer.read(json.dumps(event), event["type"])]
    assert calls_of(chunks) == []
    with pytest.raises(ModelError, match="Overloaded") as caught:
        list(answer.read(json.dumps(error), "error"))
    told = caught.value
    assert (told.kind, told.provider_code, told.retryable, told.status_code) == (
        "stream",
        "overloaded_error",
        True,
        529,
    )


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [("rate_limit_error", True), ("api_error", True), ("timeout_error", True), ("invalid_request_error", False),
     ("authentication_error", False), ("new_error", False)],
)  # fmt: skip
def test_errors_that_pass(kind: str, retryable: bool) -> None:
    """What may pass may be tried again, also where the error comes alone and without a name."""
    for body in ({"type": "error", "error": {"type": kind, "message": "m"}}, {"error": {"type": kind}}):
        with pytest.raises(ModelError) as caught:
            chunks_of(json.dumps(body))
        assert (caught.value.kind, caught.value.retryable) == ("stream", retryable)


def test_error_by_the_name_of_its_event() -> None:
    """An event that is called an error is one, whatever its data say."""
    with pytest.raises(ModelError, match="boom"):
        list(MessagesAnswer(AnswerContext(model="anthropic/m")).read('{"message": "boom"}', "error"))


@pytest.mark.parametrize("case", [name for name in CASES if "body" in CASES[name] and name != "ANT-003"])
def test_stream_cut_at_any_event(case: str) -> None:
    """An answer that breaks off after any of its events is an error, and the call that it was in never comes out."""
    events = answer_events(case)
    for count in range(len(events)):
        answer = MessagesAnswer(AnswerContext(model="anthropic/m"))
        chunks = [chunk for event in events[:count] for chunk in answer.read(json.dumps(event), event["type"])]
        with pytest.raises(ModelError) as caught:
            list(answer.finish())
        assert (caught.value.kind, caught.value.retryable) == ("stream", True)
        assert calls_of(chunks) == []


@pytest.mark.parametrize("data", ["", "  ", '{"type": "ping"}', "{}", '{"type": "new", "index": "x"}', '{"type": 3}'])
def test_what_says_nothing(data: str) -> None:
    """Events of nothing, and of kinds that are unknown, are passed over."""
    assert [chunk.type for chunk in chunks_of(data, start(), end("end_turn"), STOP)] == ["response-metadata", "finish"]


@pytest.mark.parametrize("data", ["nonsense", "[]", "3", '"text"', "null", "{", "[" * 100_000])
def test_what_is_no_answer(data: str) -> None:
    """An event that is no JSON object is an error of the stream."""
    with pytest.raises(ModelError, match="no JSON object") as caught:
        chunks_of(data)
    assert caught.value.kind == "stream"
