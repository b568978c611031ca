"""What can be awaited of a stream by its name, and what is raised then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.kit import COST, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import ModelError, RunError, TripwireError
from procession.messages.chunks import Chunk, Finish, ResponseMetadata, TextDelta, TextEnd, TextStart
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say

NAMES = (
    "text", "usage", "finish_reason", "steps", "tool_calls", "tool_results", "object", "messages", "response",
)  # fmt: skip


def two_steps() -> Agent:
    """Return an agent that calls a tool and then answers."""
    tool, _ = counted_tool()
    return Agent("a", model=FakeModel([say("Let ", "me. ") + call_tool("lookup"), "Done."]), tools=[tool])


@pytest.mark.parametrize("name", NAMES)
async def test_everything_of_the_result_can_be_awaited(name: str) -> None:
    """Each value is the result's, as often as it is awaited, before anybody reads and behind the block too."""
    async with two_steps().stream("Hi") as stream:
        later: Any = getattr(stream, name)
        first = await later
        result = await stream.result()
        assert first == getattr(result, name) == await later == await getattr(stream, name)
    assert await later == first


async def test_what_the_values_are() -> None:
    """Text, tokens, reason, steps, tool calls and their results are those of the whole run."""
    async with two_steps().stream("Hi") as stream:
        assert await stream.text == "Let me. Done."
        assert (await stream.usage).total_tokens == 2 * COST
        assert await stream.finish_reason == "stop"
        assert [step.text for step in await stream.steps] == ["Let me. ", "Done."]
        assert [call.tool_name for call in await stream.tool_calls] == ["lookup"]
        assert [each.result for each in await stream.tool_results] == ["found"]  # type: ignore[union-attr]
        assert await stream.object is None
        assert [message.role for message in await stream.messages] == ["assistant"]


async def test_a_value_that_nobody_awaits_is_no_loss() -> None:
    """A value can be looked at without being awaited: it says what it is, and nobody is warned."""
    async with Agent("a", model=FakeModel("x")).stream("Hi") as stream:
        assert repr(stream.text) == "<text of a stream: await it>"
        await stream.result()


async def test_the_response_is_the_last_steps() -> None:
    """``response`` has what the provider said of the last model call, and the messages; each step has its own."""
    async with two_steps().stream("Hi") as stream:
        response = await stream.response
        result = await stream.result()
    assert (response.id, response.model_id, response.messages) == ("fake-2", "fake", result.messages)
    assert [step.response.id for step in result.steps if step.response] == ["fake-1", "fake-2"]


async def test_the_response_keeps_time_and_headers() -> None:
    """What the provider says is kept as it is; one that says nothing has a response all the same."""

    class Model:
        id = "written"

        def __init__(self, *chunks: Any) -> None:
            self.chunks = chunks

        async def stream(self, request: Any) -> AsyncIterator[Chunk]:
            for chunk in (*self.chunks, TextStart(), TextDelta("x"), TextEnd(), Finish("stop")):
                yield chunk

    said = ResponseMetadata("r-1", "m-1", 12.5, {"x-request-id": "7"})
    for way in ("generate", "stream"):
        agent = Agent("a", model=Model(said))
        if way == "generate":
            response = (await agent.generate("Hi")).response
        else:
            async with agent.stream("Hi") as stream:
                response = await stream.response
        assert (response.id, response.model_id, response.timestamp, response.headers) == (
            "r-1", "m-1", 12.5, {"x-request-id": "7"},
        )  # fmt: skip
    silent = (await Agent("a", model=Model()).generate("Hi")).response
    assert (silent.id, silent.headers, len(silent.messages)) == (None, None, 1)


@pytest.mark.parametrize("name", NAMES)
async def test_values_raise_what_generate_raises(name: str) -> None:
    """A model's error, and a tripwire where the caller wants it raised, come out of every value."""
    error = fail("overloaded", status=503)
    async with Agent("a", model=FakeModel(error)).stream("Hi") as stream:
        with pytest.raises(ModelError) as caught:
            await getattr(stream, name)
    assert caught.value is error

    guard = at("process_input", lambda ctx: ctx.abort("no"))
    agent = Agent("a", model=FakeModel("x"), input_processors=[guard], raise_on_tripwire=True)
    async with agent.stream("Hi") as stream:
        with pytest.raises(TripwireError, match="no"):
            await getattr(stream, name)


@pytest.mark.parametrize("name", NAMES)
async def test_values_of_a_blocked_run(name: str) -> None:
    """Where a tripwire is not raised the values are those of the blocked result."""
    guard = at("process_output_step", lambda ctx: ctx.abort("no"))
    async with Agent("a", model=FakeModel("x"), output_processors=[guard]).stream("Hi") as stream:
        value = await getattr(stream, name)
        assert value == getattr(await stream.result(), name)
        assert await stream.finish_reason == "other"
        assert await stream.text == ""


async def test_a_value_of_a_stream_that_was_left_or_not_begun() -> None:
    """Values of a stream that was left are those of an aborted run; one that has not begun says so."""
    stream = Agent("a", model=FakeModel(Reply("x", delay=60))).stream("Hi")
    with pytest.raises(RunError, match="async with"):
        await stream.text
    async with stream:
        pass
    assert (await stream.text, await stream.finish_reason) == ("", "aborted")
