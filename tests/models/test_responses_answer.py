"""One Responses answer, event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.responses_events import (
    USAGE,
    chunks_of,
    function_call,
    message,
    reasoning,
    response,
    streamed,
)

from procession.errors import ModelError
from procession.messages.chunks import (
    Chunk,
    FileChunk,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ResponseMetadata,
    SourceChunk,
    TextDelta,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
    ToolResult,
)
from procession.messages.usage import Usage
from procession.models.responses_answer import ResponsesAnswer

DONE = {"type": "response.completed", "response": response("completed", usage=USAGE)}


def text_of(chunks: list[Chunk]) -> str:
    """Return what was said."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def calls_of(chunks: list[Chunk]) -> list[tuple[str, str, Any]]:
    """Return id, name and arguments of each tool call."""
    return [(chunk.tool_call_id, chunk.tool_name, chunk.args) for chunk in chunks if isinstance(chunk, ToolCall)]


def finish_of(chunks: list[Chunk]) -> Finish:
    """Return the end, which is the last chunk and the only one of its kind."""
    last = chunks[-1]
    assert isinstance(last, Finish)
    assert sum(isinstance(chunk, Finish) for chunk in chunks) == 1
    return last


def delta(text: str, **fields: Any) -> dict[str, Any]:
    """A piece of text."""
    return {"type": "response.output_text.delta", "delta": text, **fields}


def test_answer_in_order() -> None:
    """Reasoning, text and a call come out as blocks in the order in which the model made them."""
    chunks = chunks_of(*streamed([reasoning("Hmm"), message("Wait."), function_call('{"a":1}')]))
    assert [chunk.type for chunk in chunks] == [
        "response-metadata",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
        "finish",
    ]
    assert calls_of(chunks) == [("call_1", "weather", {"a": 1})]
    assert finish_of(chunks).reason == "tool-calls"


def test_metadata_and_usage() -> None:
    """The response's id, model and time come first, and the end counts cached, written and reasoning tokens."""
    chunks = chunks_of(*streamed([message("Hi")]))
    assert chunks[0] == ResponseMetadata("resp_1", "gpt-5-mini", 1764500000.0)
    assert finish_of(chunks) == Finish("stop", Usage(20, 9, 5, 8, 4), raw_reason="completed")


def test_what_has_to_come_back() -> None:
    """Items carry their ids, a message its phase, and reasoning its encrypted content byte for byte."""
    chunks = chunks_of(*streamed([reasoning("Hmm"), message("Hi", phase="commentary"), function_call("{}")]))
    (thought,) = [chunk for chunk in chunks if isinstance(chunk, ReasoningEnd)]
    assert thought.provider_metadata == {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAAA-1"}}
    (said,) = [chunk for chunk in chunks if isinstance(chunk, TextStart)]
    assert said.provider_metadata == {"openai": {"itemId": "msg_1", "phase": "commentary"}}
    (call,) = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
    assert call.provider_metadata == {"openai": {"itemId": "fc_1"}}


def test_reasoning_without_a_summary() -> None:
    """Reasoning of which nothing is shown comes out too: its encrypted content has to go back."""
    chunks = chunks_of(*streamed([reasoning(), message("Hi")]))
    assert [chunk.type for chunk in chunks[1:4]] == ["reasoning-start", "reasoning-delta", "reasoning-end"]
    assert [chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)] == [""]


def test_reasoning_that_cannot_go_back() -> None:
    """Reasoning without a word and without encrypted content is none, unless the server keeps it by its id."""
    nothing = reasoning(encrypted=None)
    assert not [it for it in chunks_of(*streamed([nothing, message("Hi")])) if it.type.startswith("reasoning")]
    stored = chunks_of(*streamed([nothing, message("Hi")]), request={"store": True})
    assert [chunk.type for chunk in stored[1:4]] == ["reasoning-start", "reasoning-delta", "reasoning-end"]


def test_summary_in_parts() -> None:
    """Each part of a summary is a block, and the last one has the encrypted content."""
    chunks = chunks_of(*streamed([reasoning("One", "Two"), message("Hi")]))
    ends = [chunk.provider_metadata for chunk in chunks if isinstance(chunk, ReasoningEnd)]
    assert ends == [
        {"openai": {"itemId": "rs_1"}},
        {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAAA-1"}},
    ]


def test_reasoning_of_open_models() -> None:
    """Servers of open models send the thoughts themselves, which are marked as such."""
    place = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hmm"}]}
    chunks = chunks_of(
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.reasoning_text.delta", **place, "delta": "Hmm"},
        {"type": "response.reasoning_text.done", **place, "text": "Hmm"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        DONE,
    )
    assert [chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)] == ["Hmm"]
    (end,) = [chunk for chunk in chunks if isinstance(chunk, ReasoningEnd)]
    assert end.provider_metadata == {"openai": {"itemId": "rs_1", "reasoningText": True}}


def test_encrypted_content_of_the_beginning_is_not_used() -> None:
    """Only the end of a reasoning item has its encrypted content whole."""
    events = streamed([reasoning("Hmm", encrypted="whole"), message("Hi")])
    events[2]["item"]["encrypted_content"] = "wh"
    chunks = chunks_of(*events)
    assert "'wh'" not in repr(chunks)
    assert "'whole'" in repr(chunks)


def test_calls_stand_where_the_model_made_them() -> None:
    """A call that other things follow comes out before them, so that reasoning and what it led to stay together."""
    items = [
        reasoning(),
        function_call('{"n":1}', call_id="a", item_id="fc_1"),
        reasoning(item_id="rs_2", encrypted="gAAA-2"),
        function_call('{"n":2}', call_id="b", item_id="fc_2"),
    ]
    kinds = [chunk.type for chunk in chunks_of(*streamed(items)) if chunk.type in ("reasoning-end", "tool-call")]
    assert kinds == ["reasoning-end", "tool-call", "reasoning-end", "tool-call"]


def test_parallel_calls() -> None:
    """Calls whose arguments come at the same time are kept apart (TOOL-004)."""
    first, second = function_call("", call_id="a", item_id="fc_1"), function_call("", call_id="b", item_id="fc_2")

    def more(item_id: str, index: int, piece: str) -> dict[str, Any]:
        kind = "response.function_call_arguments.delta"
        return {"type": kind, "item_id": item_id, "output_index": index, "delta": piece}

    chunks = chunks_of(
        {"type": "response.output_item.added", "output_index": 0, "item": first},
        {"type": "response.output_item.added", "output_index": 1, "item": second},
        more("fc_1", 0, '{"n":'),
        more("fc_2", 1, '{"n":2'),
        more("fc_1", 0, "1}"),
        more("fc_2", 1, "}"),
        DONE,
    )
    assert calls_of(chunks) == [("a", "weather", {"n": 1}), ("b", "weather", {"n": 2})]


@pytest.mark.parametrize("arguments", ["", "  ", "null", None, "{}", {}])
def test_no_arguments(arguments: Any) -> None:
    """Whatever a server sends for no arguments, the call has none (TOOL-001)."""
    item = function_call(arguments)
    chunks = chunks_of({"type": "response.output_item.done", "output_index": 0, "item": item}, DONE)
    assert calls_of(chunks) == [("call_1", "weather", {})]


def test_arguments_that_are_no_object() -> None:
    """Arguments that are no JSON object go on as the model wrote them, for the tool to refuse."""
    assert calls_of(chunks_of(*streamed([function_call('{"a": tru')]))) == [("call_1", "weather", '{"a": tru')]


@pytest.mark.parametrize("arguments", ['{"cmd": "rm -rf /data/old', "", "null", '{"a": 1'])
@pytest.mark.parametrize(
    ("why", "reason"), [("max_output_tokens", "length"), ("content_filter", "content-filter"), ("steered", "other")]
)
def test_cut_calls_do_not_come_out(arguments: str, why: str, reason: str) -> None:
    """What was cut, or may not have begun, is no call; the complete one before it is (TOOL-006)."""
    whole = function_call('{"a": 1}', call_id="a", item_id="fc_1")
    cut = function_call(arguments, call_id="b", item_id="fc_2")
    end = response("incomplete", [whole, cut], incomplete_details={"reason": why})
    chunks = chunks_of(*streamed([whole, cut], end=end))
    assert calls_of(chunks) == [("a", "weather", {"a": 1})]
    finish = finish_of(chunks)
    assert (finish.reason, finish.raw_reason) == (reason, why)
    assert finish.provider_metadata == {
        "dropped_tool_calls": [{"tool_call_id": "b", "tool_name": "weather", "args_text": arguments}]
    }


def test_call_that_the_server_calls_incomplete() -> None:
    """A call that its item says is incomplete does not come out, though its arguments happen to be JSON."""
    cut = function_call('{"a": 1}', status="incomplete")
    end = response("incomplete", [cut], incomplete_details={"reason": "max_output_tokens"})
    assert calls_of(chunks_of(*streamed([cut], end=end))) == []


@pytest.mark.parametrize("last", range(2, 9))
def test_stream_that_stops(last: int) -> None:
    """A stream that ends before the response does is an error that may be tried again, and no call comes out."""
    answer = ResponsesAnswer("test/m")
    seen: list[Chunk] = []
    with pytest.raises(ModelError) as caught:
        for event in streamed([function_call('{"city":"Oslo"}')])[:last]:
            seen.extend(answer.read(json.dumps(event)))
        seen.extend(answer.finish())
    assert (caught.value.kind, caught.value.retryable) == ("stream", True)
    assert not [chunk for chunk in seen if isinstance(chunk, ToolCall)]


@pytest.mark.parametrize("end", ["[DONE]", ""])
def test_done_is_not_the_end_of_a_response(end: str) -> None:
    """``[DONE]``, which some servers send, does not make an answer complete."""
    with pytest.raises(ModelError, match="before it was complete"):
        chunks_of(delta("Hi"), end)
    assert text_of(chunks_of(delta("Hi"), DONE, "[DONE]")) == "Hi"


def test_nothing_at_all() -> None:
    """A stream without anything in it is an error, not an empty answer (STR-007)."""
    with pytest.raises(ModelError) as caught:
        chunks_of()
    assert caught.value.provider_code == "empty_stream"


def test_empty_answer() -> None:
    """A model may say nothing."""
    assert [chunk.type for chunk in chunks_of(DONE)] == ["response-metadata", "finish"]


def test_refusal() -> None:
    """What a model says when it refuses is text, and the answer ends as filtered."""
    item = message("")
    item["content"] = [{"type": "refusal", "refusal": "I cannot help with that."}]
    chunks = chunks_of(*streamed([item]))
    assert text_of(chunks) == "I cannot help with that."
    assert (finish_of(chunks).reason, finish_of(chunks).raw_reason) == ("content-filter", "refusal")


@pytest.mark.parametrize("skipped", ["added", "delta", "text.done", "output_item.done", "part"])
def test_events_that_are_missing(skipped: str) -> None:
    """Whatever kind of event a server leaves out, the answer is the same."""
    items = [reasoning("Hmm"), message("Let me see."), function_call('{"city":"Oslo"}')]
    events = streamed(items)
    whole = chunks_of(*events)
    part = chunks_of(*(event for event in events if skipped not in event["type"]))
    assert text_of(part) == text_of(whole) == "Let me see."
    assert calls_of(part) == calls_of(whole)
    assert finish_of(part) == finish_of(whole)


def test_only_the_end() -> None:
    """An answer of which only the last event has anything comes out whole."""
    items = [reasoning("Hmm"), message("Hi"), function_call("{}")]
    chunks = chunks_of({"type": "response.completed", "response": response("completed", items)})
    assert [chunk.type for chunk in chunks] == [
        "response-metadata",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
        "finish",
    ]


def test_items_that_only_end() -> None:
    """Items that are neither announced nor numbered, and have no id, are told apart."""
    items = [function_call('{"n":1}', call_id="a"), function_call('{"n":2}', call_id="b"), message("x"), message("y")]
    ended = [{"type": "response.output_item.done", "item": {**item, "id": None}} for item in items]
    chunks = chunks_of(*ended, DONE)
    assert [call[0] for call in calls_of(chunks)] == ["a", "b"]
    assert text_of(chunks) == "xy"


def test_answer_that_is_not_streamed() -> None:
    """A server that answers with one JSON body gives the same chunks as one that streams."""
    items = [reasoning("Hmm"), message("Hi"), function_call("{}")]
    whole = response("completed", items, usage=USAGE)
    assert chunks_of(whole) == chunks_of({"type": "response.completed", "response": whole})


def test_ids_that_change() -> None:
    """A server that gives an item another id with each event is understood by the item's place."""
    events = streamed([message("Hello"), function_call('{"a":1}')])
    for number, event in enumerate(events):
        if "item_id" in event:
            event["item_id"] = f"other-{number}"
        if "item" in event:
            event["item"] = {**event["item"], "id": f"other-{number}"}
    chunks = chunks_of(*events)
    assert text_of(chunks) == "Hello"
    assert calls_of(chunks) == [("call_1", "weather", {"a": 1})]


def test_one_place_for_all() -> None:
    """A server that puts every item at place 0 is understood by the items' ids."""
    events = streamed([function_call('{"n":1}', call_id="a"), function_call('{"n":2}', call_id="b", item_id="fc_2")])
    chunks = chunks_of(*({**event, "output_index": 0} for event in events))
    assert [(call[0], call[2]) for call in calls_of(chunks)] == [("a", {"n": 1}), ("b", {"n": 2})]


def test_end_without_the_calls() -> None:
    """A server whose last event forgets the calls, and has an empty message instead, does not lose them."""
    events = streamed([function_call('{"n":1}')], end=response("completed", [message("")]))
    assert calls_of(chunks_of(*events)) == [("call_1", "weather", {"n": 1})]


def test_end_that_repeats_the_text_under_another_id() -> None:
    """The text is told once, though the last event has it at another place under another id."""
    end = response("completed", [reasoning(item_id="rs_9"), message("Hello", item_id="msg_9")])
    chunks = chunks_of(delta("Hel", item_id="msg_0", output_index=0), delta("lo", item_id="msg_0"), {
        "type": "response.completed", "response": end,
    })  # fmt: skip
    assert text_of(chunks) == "Hello"


def test_rest_of_the_text() -> None:
    """What of a text did not come in pieces is told when it ends."""
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    chunks = chunks_of(delta("Hel", **place), {"type": "response.output_text.done", **place, "text": "Hello"}, DONE)
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["Hel", "lo"]


def test_arguments_before_the_name() -> None:
    """Arguments that come before anybody knows of whom are shown once that is known."""
    item = function_call('{"a":1}')
    chunks = chunks_of(
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": '{"a":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        DONE,
    )
    assert chunks[1:3] == [ToolInputStart("call_1", "weather"), ToolInputDelta("call_1", '{"a":1}', "weather")]
    assert calls_of(chunks) == [("call_1", "weather", {"a": 1})]


def test_call_without_a_name() -> None:
    """Arguments of which nobody knows the function are no complete answer."""
    with pytest.raises(ModelError, match="before it was complete"):
        chunks_of({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": "{}"}, DONE)


def test_sources() -> None:
    """What a text cites comes out once, after the text, as pages and as files."""
    page = {"type": "url_citation", "url": "https://example.com/a", "title": "A", "start_index": 0, "end_index": 2}
    file = {"type": "file_citation", "file_id": "file_1", "filename": "tax.pdf", "index": 2}
    chunks = chunks_of(*streamed([message("Hello", annotations=[page, file])]))
    sources = [chunk for chunk in chunks if isinstance(chunk, SourceChunk)]
    assert sources == [
        SourceChunk(
            "source-1",
            "url",
            "https://example.com/a",
            "A",
            provider_metadata={"openai": {"startIndex": 0, "endIndex": 2}},
        ),
        SourceChunk(
            "source-2",
            "document",
            title="tax.pdf",
            filename="tax.pdf",
            provider_metadata={"openai": {"index": 2, "fileId": "file_1"}},
        ),
    ]
    assert [chunk.type for chunk in chunks[-4:]] == ["text-end", "source", "source", "finish"]


SEARCH = {"type": "search", "query": "tax", "sources": [{"type": "url", "url": "https://example.com"}]}
OWN_TOOLS: list[tuple[dict[str, Any], str, Any, Any, bool]] = [
    (
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": SEARCH},
        "web_search",
        {"action": {"type": "search", "query": "tax"}},
        {"status": "completed", "sources": SEARCH["sources"]},
        False,
    ),
    (
        {"type": "file_search_call", "id": "fs_1", "status": "failed", "queries": ["tax"], "results": None},
        "file_search",
        {"queries": ["tax"]},
        {"status": "failed", "results": None},
        True,
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1+1",
            "container_id": "c_1",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        "code_interpreter",
        {"code": "1+1", "container_id": "c_1"},
        {"status": "completed", "outputs": [{"type": "logs", "logs": "2"}]},
        False,
    ),
    (
        {"type": "mcp_call", "id": "mcp_1", "name": "roll", "server_label": "dice", "arguments": "{}", "output": "4"},
        "roll",
        {},
        "4",
        False,
    ),
    (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "roll",
            "server_label": "dice",
            "arguments": '{"n":',
            "error": {"type": "http_error", "code": 500, "message": "down"},
        },
        "roll",
        '{"n":',
        {"type": "http_error", "code": 500, "message": "down"},
        True,
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "status": "failed", "result": None, "error": {"code": "x"}},
        "image_generation",
        {},
        {"status": "failed", "error": {"code": "x"}},
        True,
    ),
]


@pytest.mark.parametrize(("item", "name", "args", "result", "failed"), OWN_TOOLS)
def test_tools_that_the_provider_runs(item: dict[str, Any], name: str, args: Any, result: Any, failed: bool) -> None:
    """What OpenAI's own tools were asked and answered comes out in its place, as a call with its result."""
    chunks = chunks_of(*streamed([item, message("Hi")]))
    call, answer = chunks[1:3]
    assert isinstance(call, ToolCall)
    assert isinstance(answer, ToolResult)
    assert (call.tool_call_id, call.tool_name, call.args, call.provider_executed) == (item["id"], name, args, True)
    assert (answer.result, answer.is_error, answer.provider_executed) == (result, failed, True)
    assert chunks[3].type == "text-start"
    assert finish_of(chunks).reason == "stop"


def test_image_that_the_provider_made() -> None:
    """An image that OpenAI's own tool made is a file."""
    item = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "iVBORw==",
        "output_format": "webp",
    }
    (file,) = [chunk for chunk in chunks_of(*streamed([item])) if isinstance(chunk, FileChunk)]
    metadata = {"openai": {"itemId": "ig_1", "itemType": "image_generation_call"}}
    assert file == FileChunk("iVBORw==", "image/webp", provider_metadata=metadata)


@pytest.mark.parametrize("kind", ["computer_call", "custom_tool_call", "mcp_approval_request", "local_shell_call"])
def test_items_that_nobody_can_answer(kind: str) -> None:
    """An answer that waits for what this client cannot do is an error that names it, not an empty answer."""
    with pytest.raises(ModelError, match=kind) as caught:
        chunks_of({"type": "response.output_item.done", "item": {"type": kind, "id": "x"}})
    assert (caught.value.kind, caught.value.retryable) == ("rejected", False)


def test_unknown_events_and_items() -> None:
    """Events and items that are new are left alone."""
    chunks = chunks_of(
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "new_item", "id": "n"}},
        {"type": "response.new.delta", "delta": "?"},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "new_item", "id": "n"}},
        {"type": "keepalive"},
        delta("Hi", output_index=1),
        DONE,
    )
    assert text_of(chunks) == "Hi"


ERRORS: list[dict[str, Any]] = [
    {"type": "error", "code": "server_error", "message": "upstream", "param": None, "sequence_number": 3},
    {"type": "error", "error": {"type": "server_error", "message": "upstream"}},
    {"error": {"code": "server_error", "message": "upstream"}},
    {
        "type": "response.failed",
        "response": response("failed", error={"code": "server_error", "message": "upstream"}),
    },
    response("failed", error={"code": "server_error", "message": "upstream"}),
]


@pytest.mark.parametrize("payload", ERRORS)
def test_errors_in_the_stream(payload: dict[str, Any]) -> None:
    """An error in place of an answer says what the server said (STR-008)."""
    with pytest.raises(ModelError, match="upstream") as caught:
        chunks_of(delta("Hi"), payload)
    assert (caught.value.kind, caught.value.provider_code, caught.value.retryable) == ("stream", "server_error", True)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_end_that_is_none(status: str) -> None:
    """A response that failed or was cancelled without saying why is an error."""
    with pytest.raises(ModelError, match=status):
        chunks_of({"type": f"response.{status}", "response": response(status)})


def test_response_that_is_still_being_made() -> None:
    """A response in the background, of which only the beginning is there, is no answer."""
    with pytest.raises(ModelError, match="without an answer"):
        chunks_of(response("queued"))


def test_error_event() -> None:
    """An event called ``error`` is one, whatever its body looks like."""
    with pytest.raises(ModelError, match="too busy"):
        list(ResponsesAnswer("test/m").read('{"message": "too busy"}', "error"))


def test_event_name_beside_the_data() -> None:
    """A server that names an event only beside its data is understood."""
    answer = ResponsesAnswer("test/m")
    assert text_of(list(answer.read('{"delta": "Hi"}', "response.output_text.delta"))) == "Hi"


@pytest.mark.parametrize("data", ["{", "[]", "5", "not json", "[" * 100_000])
def test_events_that_are_no_objects(data: str) -> None:
    """An event that is no JSON object is an error that shows how it begins."""
    with pytest.raises(ModelError, match="no JSON object") as caught:
        chunks_of(data)
    assert len(str(caught.value)) < 500


def test_secrets_are_not_quoted() -> None:
    """An error does not repeat the key."""
    with pytest.raises(ModelError) as caught:
        list(ResponsesAnswer("test/m", secrets=("k-77",)).read('{"error": {"message": "bad key k-77"}}'))
    assert "k-77" not in f"{caught.value} {caught.value.body}"


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


SHUFFLED = streamed([reasoning("Hmm"), message("Let me see."), function_call('{"city":"Oslo"}'), OWN_TOOLS[0][0]])


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


def test_reading_stays_linear() -> None:
    """Ends that are repeated as often as there are pieces are not joined each time."""
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    answer = ResponsesAnswer("test/m")
    joined = 0

    class Counted(str):
        """Text that tells when it is looked into."""

        def startswith(self, *_: Any) -> bool:
            nonlocal joined
            joined += 1
            return False

    block = answer._block(place, "message", "text", "content_index")  # pyright: ignore[reportPrivateUsage]
    for _ in range(100):
        list(answer.read(json.dumps(delta("word", **place))))
        assert block.streamed.rest(Counted("word")) == ""
    assert joined <= 1
