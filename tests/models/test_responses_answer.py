"""One Responses answer, event by event."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.responses_events import (
    DONE,
    USAGE,
    calls_of,
    chunks_of,
    delta,
    finish_of,
    function_call,
    message,
    reasoning,
    response,
    streamed,
    text_of,
)

from procession.errors import ModelError
from procession.messages.chunks import (
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ResponseMetadata,
    TextDelta,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
)
from procession.messages.usage import Usage


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


def test_incomplete_for_no_reason() -> None:
    """An answer that is cut, and does not say why, was cut for its length: it is not gone on with."""
    finish = finish_of(chunks_of(*streamed([message("Once")], end=response("incomplete", [message("Once")]))))
    assert (finish.reason, finish.raw_reason) == ("length", "incomplete")


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


def test_index_that_counts_pieces() -> None:
    """A server that counts the index of a part up with every piece of it is understood (vLLM)."""
    thought = [
        {"type": "response.reasoning_text.delta", "item_id": "rs_1", "content_index": at, "delta": text}
        for at, text in enumerate(["Let", " me", " see."], 5)
    ]
    said = [delta(text, item_id="msg_1", content_index=at) for at, text in enumerate(["He", "ll", "o"], 90)]
    item = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Let me see."}]}
    ended = [{"type": "response.output_item.done", "item": it} for it in (item, message("Hello"))]
    chunks = chunks_of(*thought, *said, *ended, DONE)
    assert [chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)] == ["Let", " me", " see."]
    assert text_of(chunks) == "Hello"
    assert [chunk.type for chunk in chunks].count("reasoning-start") == 1
    assert [chunk.type for chunk in chunks].count("text-start") == 1


def test_texts_of_one_message() -> None:
    """The parts of a message that a server announces are blocks of their own, also where only their end has the text."""
    item = message("One")
    item["content"].append({"type": "output_text", "text": "Two", "annotations": []})
    chunks = chunks_of(*streamed([item]))
    assert [chunk.type for chunk in chunks].count("text-start") == 2
    events = [event for event in streamed([item]) if event.get("content_index") != 1]
    assert text_of(chunks_of(*events)) == text_of(chunks) == "OneTwo"
