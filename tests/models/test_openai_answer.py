"""One answer, event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import ModelError
from procession.messages.chunks import (
    Chunk,
    Finish,
    ReasoningDelta,
    ResponseMetadata,
    TextDelta,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from procession.messages.usage import Usage
from procession.models.formats.openai.chat_answer import ChatAnswer


def chunks_of(*payloads: Any, done: bool = True) -> list[Chunk]:
    """Read events and the end of the answer."""
    answer = ChatAnswer("test/m")
    events = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    chunks = [chunk for event in [*events, *(["[DONE]"] if done else [])] for chunk in answer.read(event)]
    return [*chunks, *answer.finish()]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of a stream."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def part(args: Any = None, **fields: Any) -> dict[str, Any]:
    """One fragment of a tool call."""
    function = {"name": fields.pop("name", None), "arguments": args}
    return {**fields, "function": {key: value for key, value in function.items() if value is not None}}


def calls_of(chunks: list[Chunk]) -> list[tuple[str, Any]]:
    """Return name and arguments of each tool call."""
    return [(chunk.tool_name, chunk.args) for chunk in chunks if isinstance(chunk, ToolCall)]


def finish_of(chunks: list[Chunk]) -> Finish:
    """Return the end, which is the last chunk and the only one of its kind."""
    last = chunks[-1]
    assert isinstance(last, Finish)
    assert sum(isinstance(chunk, Finish) for chunk in chunks) == 1
    return last


def test_blocks_follow_each_other() -> None:
    """Reasoning, text and tool calls are blocks that begin, go on and end, in the order in which they come."""
    chunks = chunks_of(
        delta(reasoning_content="hm"),
        delta(content="Let me "),
        delta(content="check."),
        delta(tool_calls=[part("{}", index=0, id="c", name="now")]),
        delta("tool_calls"),
    )
    assert [chunk.type for chunk in chunks] == [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
        "finish",
    ]


def test_arguments_stream() -> None:
    """The arguments of a call are shown as they come, under the id of the call."""
    chunks = chunks_of(
        delta(tool_calls=[part("", index=0, id="c", name="find")]),
        delta(tool_calls=[part('{"q":', index=0)]),
        delta(tool_calls=[part('"x"}', index=0)]),
        delta("tool_calls"),
    )
    assert chunks[:5] == [
        ToolInputStart("c", "find"),
        ToolInputDelta("c", '{"q":', "find"),
        ToolInputDelta("c", '"x"}', "find"),
        ToolInputEnd("c"),
        ToolCall("c", "find", {"q": "x"}),
    ]


@pytest.mark.parametrize("args", ["", "   ", None, "null", "{}", {}])
def test_no_arguments(args: Any) -> None:
    """Whatever a server sends for no arguments, the call has none (TOOL-001)."""
    chunks = chunks_of(delta(tool_calls=[part(args, index=0, id="c", name="now")]), delta("tool_calls"))
    assert calls_of(chunks) == [("now", {})]


def test_arguments_as_an_object() -> None:
    """A server that sends arguments as an object, not as its text, is understood."""
    chunks = chunks_of(delta(tool_calls=[part({"a": 1}, index=0, id="c", name="f")]), delta("tool_calls"))
    assert calls_of(chunks) == [("f", {"a": 1})]


def test_calls_without_an_index() -> None:
    """Without an index a new id or a new name begins a call, and all else continues the last one."""
    chunks = chunks_of(
        delta(tool_calls=[part('{"a"', id="1", name="f")]),
        delta(tool_calls=[part(":1}")]),
        delta(tool_calls=[part('{"a":2}', id="2", name="f")]),
        delta(tool_calls=[part('{"a":3}', name="f")]),
        delta("tool_calls"),
    )
    assert calls_of(chunks) == [("f", {"a": 1}), ("f", {"a": 2}), ("f", {"a": 3})]


def test_id_and_name_in_every_fragment() -> None:
    """A server that repeats id and name with every fragment sends one call."""
    chunks = chunks_of(
        delta(tool_calls=[part('{"a"', index=0, id="1", name="f")]),
        delta(tool_calls=[part(":1}", index=0, id="1", name="f")]),
        delta("tool_calls"),
    )
    assert calls_of(chunks) == [("f", {"a": 1})]


def test_one_index_for_calls_without_ids() -> None:
    """Calls that share an index and have no id are told apart by a name after complete arguments."""
    chunks = chunks_of(
        delta(tool_calls=[part('{"a":1}', index=0, name="f"), part('{"a":2}', index=0, name="f")]),
        delta("tool_calls"),
    )
    assert calls_of(chunks) == [("f", {"a": 1}), ("f", {"a": 2})]
    ids = [chunk.tool_call_id for chunk in chunks if isinstance(chunk, ToolCall)]
    assert len(set(ids)) == 2
    assert all(ids)


def test_order_is_that_of_the_index() -> None:
    """Calls come out in the order of their index, whichever begins first."""
    chunks = chunks_of(
        delta(tool_calls=[part("{}", index=1, id="b", name="second"), part("{}", index=0, id="a", name="first")]),
        delta("tool_calls"),
    )
    assert [name for name, _ in calls_of(chunks)] == ["first", "second"]


def test_arguments_that_are_no_object_stay_text() -> None:
    """Arguments that are no JSON object go on as the model wrote them, for the tool to refuse."""
    chunks = chunks_of(delta(tool_calls=[part('{"a": tru', index=0, id="c", name="f")]), delta("tool_calls"))
    assert calls_of(chunks) == [("f", '{"a": tru')]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize("args", ['{"cmd": "rm -rf /data/old', "", '{"a": 1', "null"])
def test_cut_calls_do_not_come_out(reason: str, args: str) -> None:
    """What was cut, or may not have begun, is no call; the complete one before it is (TOOL-006)."""
    chunks = chunks_of(
        delta(tool_calls=[part('{"a": 1}', index=0, id="a", name="f"), part(args, index=1, id="b", name="g")]),
        delta(reason),
    )
    assert calls_of(chunks) == [("f", {"a": 1})]
    assert finish_of(chunks).provider_metadata == {
        "dropped_tool_calls": [{"tool_call_id": "b", "tool_name": "g", "args_text": args}]
    }


def test_cut_call_in_a_stream_without_a_reason() -> None:
    """A stream that ends in the middle of a call without saying why is an error."""
    with pytest.raises(ModelError, match="before it was complete"):
        chunks_of(delta(tool_calls=[part('{"a":', index=0, id="a", name="f")]))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool-calls"),
        ("function_call", "tool-calls"),
        ("content_filter", "content-filter"),
        ("eos", "stop"),
        ("something new", "other"),
    ],
)
def test_reasons(raw: str, reason: str) -> None:
    """Each server's reason for ending becomes ours, and its own is kept."""
    finish = finish_of(chunks_of(delta(content="x"), delta(raw)))
    assert (finish.reason, finish.raw_reason) == (reason, raw)


def test_tool_calls_that_end_with_stop() -> None:
    """Tool calls that a server ends with ``stop`` end with ``tool-calls``."""
    chunks = chunks_of(delta(tool_calls=[part("{}", index=0, id="c", name="f")]), delta("stop"))
    assert finish_of(chunks).reason == "tool-calls"


@pytest.mark.parametrize("end", ["[DONE]", " [DONE] ", '"[DONE]"', "[done]"])
def test_ends(end: str) -> None:
    """The end is recognised in whatever way it is written, and nothing after it is read."""
    answer = ChatAnswer("test/m")
    chunks = [*answer.read(json.dumps(delta(content="x"))), *answer.read(end)]
    assert answer.done
    assert list(answer.read(json.dumps(delta(content="more")))) == []
    assert finish_of([*chunks, *answer.finish()]).reason == "stop"


def test_end_without_done() -> None:
    """An answer that gave its reason is complete, whether or not ``[DONE]`` follows."""
    assert finish_of(chunks_of(delta("stop", content="x"), done=False)).reason == "stop"


def test_end_without_reason_and_done() -> None:
    """An answer that just stops is an error that may be tried again."""
    with pytest.raises(ModelError) as caught:
        chunks_of(delta(content="x"), done=False)
    assert (caught.value.kind, caught.value.retryable) == ("stream", True)


def test_empty_answer_with_a_reason() -> None:
    """A model may say nothing: an empty answer that ends with a reason is an answer."""
    assert [chunk.type for chunk in chunks_of(delta("stop"))] == ["finish"]


def test_usage_details() -> None:
    """Cached and reasoning tokens are counted."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    chunks = chunks_of(delta("stop", content="x"), {"choices": [], "usage": usage})
    assert finish_of(chunks).usage == Usage(10, 5, reasoning_tokens=3, cached_input_tokens=4)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "12"}, [], "none"])
def test_usage_of_no_use(usage: Any) -> None:
    """Usage that says nothing does not replace usage that did."""
    first = {**delta(content="x"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    chunks = chunks_of(first, {**delta("stop"), "usage": usage})
    assert finish_of(chunks).usage == Usage(1, 1)


def test_answer_that_is_not_streamed() -> None:
    """A server that answers in one piece gives the same chunks."""
    message = {"role": "assistant", "content": "Hi", "tool_calls": [part("{}", id="c", name="now")]}
    chunks = chunks_of({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}, done=False)
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["Hi"]
    assert calls_of(chunks) == [("now", {})]


def test_content_in_parts() -> None:
    """Content that comes as a list of parts is text, where the parts are."""
    chunks = chunks_of(delta(content=[{"type": "text", "text": "a"}, {"type": "image"}, "odd"]), delta("stop"))
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["a"]


def test_refusal_is_text() -> None:
    """A refusal reaches the reader as text."""
    chunks = chunks_of(delta(refusal="I cannot."), delta("stop"))
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["I cannot."]


def test_reasoning_under_either_name() -> None:
    """Reasoning is found under both of its names, and once where a server sends both."""
    chunks = chunks_of(delta(reasoning="a"), delta(reasoning="b", reasoning_content="b"), delta("stop"))
    assert [chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)] == ["a", "b"]


ERRORS: list[dict[str, Any]] = [
    {"error": {"message": "upstream", "code": 503}},
    {"error": {"message": "upstream", "code": "503"}},
    {"object": "error", "message": "upstream", "code": 503},
    {"choices": [{"delta": {}, "finish_reason": "error"}], "error": {"message": "upstream", "code": 503}},
    {"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "upstream", "code": 503}}]},
]


@pytest.mark.parametrize("payload", ERRORS)
def test_errors_in_the_stream(payload: dict[str, Any]) -> None:
    """An error in place of an answer is raised with its status, and says what the server said."""
    with pytest.raises(ModelError, match="upstream") as caught:
        chunks_of(payload)
    assert (caught.value.kind, caught.value.status_code, caught.value.retryable) == ("stream", 503, True)


def test_reason_that_is_an_error() -> None:
    """An answer that ends with ``error`` is one, though the server does not say which."""
    with pytest.raises(ModelError, match="gave up"):
        chunks_of(delta("error", content="x"))


def test_error_event() -> None:
    """An event called ``error`` is one, whatever its body looks like."""
    with pytest.raises(ModelError, match="too busy"):
        list(ChatAnswer("test/m").read('{"message": "too busy"}', "error"))


@pytest.mark.parametrize("data", ["{", "[]", "5", "not json", "[" * 100_000])
def test_events_that_are_no_objects(data: str) -> None:
    """An event that is no JSON object is an error that shows how it begins."""
    with pytest.raises(ModelError, match="no JSON object") as caught:
        chunks_of(data)
    assert len(str(caught.value)) < 500


KEYS = [
    "choices",
    "delta",
    "message",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "index",
    "id",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "error",
    "code",
    "model",
    "created",
    "reasoning",
    "type",
    "text",
    "reasoning_details",
    "thinking_blocks",
    "thinking",
    "signature",
    "annotations",
    "url_citation",
    "images",
    "image_url",
    "function_call",
    "extra_content",
    "refusal",
    "x_groq",
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("stop")
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON | st.fixed_dictionaries({"choices": st.lists(JSON, max_size=2)}), max_size=4))
def test_whatever_comes_is_read_or_refused(payloads: list[Any]) -> None:
    """Whatever JSON a server sends gives chunks or a ``ModelError``, and never anything else."""
    try:
        chunks = chunks_of(*payloads)
    except ModelError:
        return
    assert isinstance(chunks[-1], Finish)
    json.dumps([chunk.args for chunk in chunks if isinstance(chunk, ToolCall)])


def test_warnings_of_a_server_that_tells_nothing_of_itself() -> None:
    """What was not done as asked is told also where no event has an id or a model's name."""
    answer = ChatAnswer("test/m", warnings=[{"type": "other", "message": "left out"}])
    event = '{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}'
    told = [chunk for chunk in (*answer.read('{"choices": []}'), *answer.read(event), *answer.read(event))]
    assert [(chunk.id, chunk.warnings) for chunk in told if isinstance(chunk, ResponseMetadata)] == [
        (None, [{"type": "other", "message": "left out"}])
    ]
    assert isinstance(told[0], ResponseMetadata)
