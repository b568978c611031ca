"""The model that plays a script."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from procession.errors import InputError, ModelError
from procession.messages.chunks import (
    Chunk,
    Finish,
    ResponseMetadata,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from procession.messages.usage import Usage
from procession.models.model import LanguageModel, ModelRequest
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall, ScriptEntry
from procession.testing.recorder import Recording, record
from procession.testing.script import call_tool, fail, say

STREAM = ModelRequest(messages=())
WHOLE = ModelRequest(messages=(), streaming=False)


async def played(script: ScriptEntry | list[ScriptEntry], request: ModelRequest = STREAM) -> Recording[Chunk]:
    """Play the first entry of a script."""
    return await record(FakeModel(script).stream(request))


async def test_order_of_chunks() -> None:
    """Metadata, reasoning, text, tool calls and the end come in this order."""
    reply = Reply(["Let me ", "check."], reasoning=["hm"], tool_calls=[ScriptedCall("weather", {"city": "Paris"})])
    assert (await played(reply)).types == [
        "response-metadata",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "tool-call",
        "finish",
    ]


async def test_answer_in_one_piece() -> None:
    """A caller that does not stream gets the text in one chunk, and tool calls with their arguments before them."""
    recording = await played(say("Let me ", "check.") + call_tool("weather", {"city": "Paris"}, id="c1"), WHOLE)
    assert recording[2:-1] == [
        TextDelta("Let me check."),
        TextEnd(),
        ToolInputStart("c1", "weather"),
        ToolInputDelta("c1", '{"city": "Paris"}', "weather"),
        ToolInputEnd("c1"),
        ToolCall("c1", "weather", {"city": "Paris"}),
    ]


async def test_arguments_in_pieces() -> None:
    """Arguments that are scripted in pieces stream in these pieces before the call."""
    recording = await played(call_tool("weather", {"city": "Paris"}, id="c", stream_input=['{"city":', '"Paris"}']))
    assert recording.types[1:-1] == [
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
    ]
    assert [chunk.args_text for chunk in recording.of(ToolInputDelta)] == ['{"city":', '"Paris"}']


@pytest.mark.parametrize(("raw", "args"), [('{"a": 1}', {"a": 1}), ('{"a": tr', '{"a": tr'), ("[1]", "[1]"), ("", "")])
async def test_raw_arguments(raw: str, args: Any) -> None:
    """Arguments written as text arrive as an object where they are one, else as text."""
    (call,) = (await played(call_tool("f", raw=raw))).of(ToolCall)
    assert call.args == args


async def test_ids_of_calls() -> None:
    """Calls without an id get one that no other call of the model has."""
    model = FakeModel([call_tool("f") + call_tool("f"), call_tool("f")])
    ids = [call.tool_call_id for _ in range(2) for call in (await record(model.stream(STREAM))).of(ToolCall)]
    assert ids == ["call-1", "call-2", "call-3"]


async def test_end_says_why_and_what_it_cost() -> None:
    """A reply ends with ``stop`` or ``tool-calls`` and costs 10 and 5 tokens, unless it says otherwise."""
    ends = [
        (await played(entry)).of(Finish)[0]
        for entry in (say("x"), call_tool("f"), say("x", finish="length", usage=Usage(1, 2)))
    ]
    assert ends == [
        Finish("stop", Usage(10, 5)),
        Finish("tool-calls", Usage(10, 5)),
        Finish("length", Usage(1, 2)),
    ]


@pytest.mark.parametrize("text", ["", (), []])
async def test_no_text_no_block(text: Any) -> None:
    """A reply without text has no text block."""
    assert (await played(Reply(text))).types == ["response-metadata", "finish"]


async def test_call_n_gets_entry_n() -> None:
    """Each call plays the next entry, and what was asked is recorded."""
    model = FakeModel(["one", say("two")], id="test/m")
    texts = [(await record(model.stream(request))).text for request in (STREAM, WHOLE)]
    assert texts == ["one", "two"]
    assert model.requests == [STREAM, WHOLE]


async def test_metadata_names_call_and_model() -> None:
    """The response is named after the model and the number of the call."""
    model = FakeModel("x", id="test/m", repeat_last=True)
    names = [(await record(model.stream(STREAM))).of(ResponseMetadata)[0] for _ in range(2)]
    assert names == [ResponseMetadata("test/m-1", "test/m"), ResponseMetadata("test/m-2", "test/m")]


async def test_script_that_is_over() -> None:
    """A call beyond the script is refused, saying how long the script was."""
    model = FakeModel(["one", "two"])
    for _ in range(2):
        await record(model.stream(STREAM))
    with pytest.raises(InputError, match="called 3 times, but its script has 2 entries"):
        await record(model.stream(STREAM))
    with pytest.raises(InputError, match="but its script has 2 entries"):
        await record(model.stream(STREAM))


async def test_last_entry_repeats_where_asked() -> None:
    """With ``repeat_last`` the last entry answers all further calls."""
    model = FakeModel(["one", "two"], repeat_last=True)
    assert [(await record(model.stream(STREAM))).text for _ in range(4)] == ["one", "two", "two", "two"]


async def test_script_without_end() -> None:
    """A generator is a script, of which no more is made than is played."""

    def endless() -> Iterator[ScriptEntry]:
        number = 0
        while True:
            number += 1
            yield f"answer {number}"

    model = FakeModel(endless())
    assert [(await record(model.stream(STREAM))).text for _ in range(2)] == ["answer 1", "answer 2"]


async def test_entries_that_are_functions() -> None:
    """A function of the request, plain or async, decides what is answered."""

    async def later(request: ModelRequest) -> str:
        return f"later: {request.streaming}"

    def fails(request: ModelRequest) -> Exception:
        return fail("no", status=400)

    model = FakeModel([lambda request: f"now: {request.streaming}", later, fails])
    assert [(await record(model.stream(STREAM))).text for _ in range(2)] == ["now: True", "later: True"]
    with pytest.raises(ModelError, match="no"):
        await record(model.stream(STREAM))


async def test_entries_that_are_none_of_these() -> None:
    """An entry that cannot be played is refused, showing it."""
    script: Any = [["not", "a", "reply"]]
    with pytest.raises(InputError, match="cannot play"):
        await record(FakeModel(script).stream(STREAM))


async def test_failing_calls() -> None:
    """An exception in the script is raised before anything is said, and the next call goes on."""
    error = fail("overloaded", status=503, retryable=True)
    model = FakeModel([error, Reply(error=fail("weird", plain=True)), "fine"])
    with pytest.raises(ModelError) as caught:
        await record(model.stream(STREAM))
    assert (caught.value.kind, caught.value.status_code, caught.value.retryable) == ("unavailable", 503, True)
    with pytest.raises(RuntimeError, match="weird"):
        await record(model.stream(STREAM))
    assert (await record(model.stream(STREAM))).text == "fine"


async def test_streams_that_break() -> None:
    """A stream error comes after the text and before tool calls and the end."""
    broken = say("Hel") + Reply(stream_error=ModelError("gone", kind="stream")) + call_tool("f")
    recording = await record(FakeModel(broken).stream(STREAM), catch=ModelError)
    assert recording.types == ["response-metadata", "text-start", "text-delta", "text-end"]
    assert isinstance(recording.error, ModelError)


async def test_text_is_read_as_it_goes() -> None:
    """A generator of text is read piece by piece, so that a long answer takes no room."""
    made = 0

    def pieces() -> Iterator[str]:
        nonlocal made
        for _ in range(1_000_000):
            made += 1
            yield "x"

    stream = FakeModel(Reply(pieces())).stream(STREAM)
    for _ in range(5):
        await anext(stream)
    await stream.aclose()
    assert made == 3


async def test_unfinished_calls_are_counted() -> None:
    """A call that was closed or cancelled before its end is counted, one that failed or ended is not."""
    model = FakeModel([say("a", "b"), Reply("c", delay=math.inf), "d", fail("no")])
    stream = model.stream(STREAM)
    await anext(stream)
    await stream.aclose()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await record(model.stream(STREAM))
    await record(model.stream(STREAM))
    await record(model.stream(STREAM), catch=ModelError)
    assert model.unfinished == 2


async def test_slow_models() -> None:
    """A reply may wait before it begins, and before each piece of its text."""
    assert (await played(Reply(["a", "b"], delay=0.001, pause=0.001))).text == "ab"


def test_replies_add_up() -> None:
    """The sum of replies says and asks what each of them does, and ends as the last one that says how."""
    both = say("a", usage=Usage(1, 1)) + call_tool("f") + call_tool("g", finish="length") + say("b")
    assert list(both.text) == ["a", "b"]
    assert [call.name for call in both.tool_calls] == ["f", "g"]
    assert (both.finish, both.usage) == ("length", Usage(1, 1))


def test_fake_model_is_a_language_model() -> None:
    """The fake stands where a model stands."""
    model = FakeModel("x", id="anthropic/claude", provider="anthropic")
    assert isinstance(model, LanguageModel)
    assert (model.id, model.provider) == ("anthropic/claude", "anthropic")
    assert repr(model) == "FakeModel('anthropic/claude', calls=0)"
