"""An agent's stream as the chunks of Chat Completions: whatever the pieces, joined they are the whole answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.errors import RequestRefused
from procession.messages.chunks import FileChunk, StepFinish, StepStart, TextDelta
from procession.server.openai.answer import completion
from procession.server.openai.stream import ChatStream, Hold
from procession.steps.event_loop import run_to_end
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool, client_tool

AT: Any = {"id": "chatcmpl-1", "model": "a", "created": 0}
LOOK: Tool[Any] = Tool(name="look", parameters={"type": "object"}, execute=lambda args, ctx: "seen")
DOOR = client_tool("door", "", {"type": "object"})


async def streamed(agent: Agent, hold: Hold = "nothing", **options: Any) -> tuple[list[dict[str, Any]], AgentResult]:
    """Return what a client gets of a stream, and the result."""
    writer = ChatStream(**AT, hold=hold, **options)
    pieces: list[dict[str, Any]] = []
    async with agent.stream("Hi") as stream:
        async for chunk in stream.full_stream:
            pieces += writer.read(chunk)
        result = await stream.result()
    return pieces + writer.finish(result), result


def joined(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the message that a client makes of a stream."""
    message: dict[str, Any] = {"content": ""}
    for piece in pieces:
        for choice in piece["choices"]:
            delta = dict(choice["delta"])
            message["content"] += delta.pop("content", "")
            for call in delta.pop("tool_calls", ()):
                index = call.pop("index")
                assert index == len(message.setdefault("tool_calls", []))
                message["tool_calls"].append(call)
            message |= delta
            message["finish_reason"] = choice["finish_reason"]
    return message


def whole(result: AgentResult, **options: Any) -> dict[str, Any]:
    """Return the same message of the answer in one piece."""
    choice = completion(result, **AT, **options)["choices"][0]
    message = {**choice["message"], "finish_reason": choice["finish_reason"]}
    return {
        name: value for name, value in {**message, "content": message["content"] or ""}.items() if value is not None
    }


TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=5)
LAST = st.one_of(
    TEXTS.map(lambda pieces: say(*pieces)),
    TEXTS.map(lambda pieces: say(*pieces, finish="length")),
    st.tuples(TEXTS, st.integers(1, 3)).map(
        lambda drawn: sum((call_tool("door", {"n": n}) for n in range(drawn[1])), say(*drawn[0]))
    ),
)


@given(st.lists(TEXTS, max_size=3), LAST, st.sampled_from(["nothing", "step"]))
def test_joined_the_pieces_are_the_whole_answer(before: list[list[str]], last: Reply, hold: Hold) -> None:
    """Text, calls and the reason are those of the answer in one piece, whatever the steps and however they were cut."""
    replies = [say(*pieces) + call_tool("look", {}) for pieces in before]
    agent = Agent("a", model=FakeModel([*replies, last]), tools=[LOOK, DOOR])

    async def main() -> None:
        pieces, result = await streamed(agent, hold)
        assert joined(pieces) == whole(result)

    run_to_end(main, name="main", instead="")


@given(st.lists(TEXTS, max_size=2), TEXTS)
def test_of_an_answer_in_json_the_last_step_alone_is_sent(before: list[list[str]], last: list[str]) -> None:
    """What a model says before it calls a tool is no part of an answer that has to be JSON."""
    replies = [say(*pieces) + call_tool("look", {}) for pieces in before]
    agent = Agent("a", model=FakeModel([*replies, say(*last)]), tools=[LOOK])

    async def main() -> None:
        pieces, result = await streamed(agent, "run")
        assert joined(pieces) == whole(result, whole=False)
        assert joined(pieces)["content"] == "".join(last)

    run_to_end(main, name="main", instead="")


async def test_usage_comes_last_where_it_is_asked_for() -> None:
    """With ``include_usage`` every piece has the field, and the last one alone the figures and no choice."""
    pieces, result = await streamed(Agent("a", model=FakeModel("Hello")), include_usage=True)
    assert [piece["usage"] for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1]["choices"] == []
    assert pieces[-1]["usage"]["total_tokens"] == result.usage.total_tokens > 0
    without, _ = await streamed(Agent("a", model=FakeModel("Hello")))
    assert all("usage" not in piece for piece in without)


async def test_tools_of_the_agent_are_shown_where_that_is_asked_for() -> None:
    """The agent's own tools run on the server; a client that wants to know is told in the field ``procession``."""
    replies: list[Any] = [call_tool("look", {"at": "sky"}), "Blue."]
    shown, result = await streamed(Agent("a", model=FakeModel(replies), tools=[LOOK]), show_tools=True)
    (tools,) = [piece["procession"]["tools"] for piece in shown if "tools" in piece.get("procession", {})]
    told = [{"id": tools[0]["id"], "name": "look", "args": {"at": "sky"}, "result": "seen", "is_error": False}]
    assert tools == told == completion(result, **AT, show_tools=True)["procession"]["tools"]
    hidden, _ = await streamed(Agent("a", model=FakeModel(replies), tools=[LOOK]))
    assert "look" not in str(hidden)


async def test_steps_that_are_used_up_are_a_length() -> None:
    """A run that ends with calls of the agent's own tools was cut: the client has nothing to run."""
    agent = Agent("a", model=FakeModel([call_tool("look", {})]), tools=[LOOK], max_steps=1)
    pieces, result = await streamed(agent)
    assert joined(pieces) == whole(result)
    assert joined(pieces)["finish_reason"] == "length"


def test_what_was_sent_cannot_be_taken_back() -> None:
    """A step that is sent back ends the stream with an error where something of it was sent, and is held where it can be."""
    live = ChatStream(**AT)
    live.read(TextDelta("Wrong"))
    with pytest.raises(RequestRefused) as refusal:
        live.read(StepFinish("retry", True))
    assert refusal.value.reason == "answer-withdrawn"
    live.read(StepStart())
    assert live.read(StepFinish("retry", True)) == []

    held = ChatStream(**AT, hold="step")
    assert held.read(TextDelta("Wrong")) == held.read(StepFinish("retry", True)) == []
    held.read(TextDelta("Right"))
    assert joined(held.read(StepFinish("stop")))["content"] == "Right"


def test_pictures_are_sent_and_other_files_are_not() -> None:
    """Pictures come as routers of models send them; there is no place for other files."""
    writer = ChatStream(**AT)
    (_, piece) = writer.read(FileChunk(b"GIF89a", "image/gif"))
    assert piece["choices"][0]["delta"]["images"][0]["image_url"]["url"] == "data:image/gif;base64,R0lGODlh"
    assert writer.read(FileChunk(b"%PDF-", "application/pdf")) == []
