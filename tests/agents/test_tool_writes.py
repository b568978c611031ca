"""What tools write while they run: text guards look at it, and what a processor decides about it is the run's."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import MessageError, ProcessorError
from procession.messages.chunks import (
    DataChunk,
    TextDelta,
    ToolOutput,
)
from procession.processors.guardrails.pii import PIIDetector
from procession.runtime.runtime import Runtime
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
MAIL = "ann@acme.org"
SPLIT = say("Write to ann@", "acme", ".org to", "day.")
"""An address that lies across four pieces of a text."""


@both_ways
async def test_what_a_tool_writes_is_looked_at_like_what_it_returns(way: str) -> None:
    """A value of ``ctx.writer.write`` passes the text guards, whatever it is made of."""

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look it up."""
        await ctx.writer.write(f"found {MAIL}")
        await ctx.writer.write({"who": [MAIL], "n": 1})
        return "ok"

    agent = Agent(
        "bot",
        model=FakeModel([call_tool("look"), "Done."]),
        tools=[look],
        output_processors=[PIIDetector(redaction="placeholder")],
    )
    seen = await ask(agent, way)
    assert [chunk.output for chunk in seen.chunks if isinstance(chunk, ToolOutput)] == [
        "found [EMAIL]",
        {"who": ["[EMAIL]"], "n": 1},
    ]


@both_ways
async def test_a_tool_cannot_swallow_what_a_stream_processor_decides(way: str) -> None:
    """A verdict on what a tool writes stands, whatever the tool's code does with it (D12)."""

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look it up."""
        try:
            await ctx.writer.write(MAIL)
        except BaseException:
            pass
        return "ok"

    model = FakeModel([call_tool("look"), "Done."])
    agent = Agent("bot", model=model, tools=[look], output_processors=[PIIDetector(strategy="block")])
    seen = await ask(agent, way)
    assert seen.result.status == "blocked"
    assert len(model.requests) == 1


@both_ways
async def test_a_hook_that_fails_at_what_a_tool_writes_fails_the_run(way: str) -> None:
    """It is the processor's error, not the tool's (D17)."""

    def hook(ctx: Any) -> Any:
        if isinstance(ctx.chunk, DataChunk):
            raise ValueError("broken")
        return ctx.chunk

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look it up."""
        await ctx.writer.custom({"type": "data-x", "data": 1})
        return "ok"

    model = FakeModel([call_tool("look"), "Done."])
    hooks = [at("process_output_stream", hook, process_data_parts=True)]
    seen = await ask(Agent("bot", model=model, tools=[look], output_processors=hooks), way)
    assert isinstance(seen.error, ProcessorError)
    assert len(model.requests) == 1


@both_ways
async def test_data_for_a_message_waits_its_turn_in_the_stream_s_processors(way: str) -> None:
    """Two tools write at once, one of them to a message: a hook that waits has one chunk in hand, and loses none."""
    begun, waiting = anyio.Event(), anyio.Event()

    async def hook(ctx: Any) -> Any:
        chunk = ctx.chunk
        if isinstance(chunk, ToolOutput):
            begun.set()
            await waiting.wait()
            await anyio.wait_all_tasks_blocked()
        elif isinstance(chunk, DataChunk):
            return None if "SECRET" in repr(chunk) else ctx.chunk
        return ctx.chunk

    @tool
    async def one(ctx: ToolContext) -> str:
        """Write a value."""
        await ctx.writer.write("fine")
        return "ok"

    @tool
    async def two(ctx: ToolContext) -> str:
        """Write data to the question."""
        await begun.wait()
        waiting.set()
        await ctx.writer.custom({"type": "data-x", "data": "SECRET12"}, message_id=ctx.messages[0].id)
        return "ok"

    model = FakeModel([call_tool("one", id="c1") + call_tool("two", id="c2"), "Done."])
    hooks = [at("process_output_stream", hook, process_data_parts=True)]
    with anyio.fail_after(20):
        seen = await ask(Agent("bot", model=model, tools=[one, two], output_processors=hooks), way)
    assert [chunk.output for chunk in seen.chunks.of(ToolOutput)] == ["fine"]
    assert not seen.chunks.of(DataChunk)
    assert "SECRET12" not in repr(seen.result.messages)


@pytest.mark.parametrize("waits", [False, True])
@both_ways
async def test_a_tool_cannot_swallow_a_verdict_on_data_for_a_message(way: str, waits: bool) -> None:
    """A verdict on it stands, whatever the tool's code does with it; a message that is not there is the tool's error."""
    told: list[str] = []

    def judge(ctx: Any) -> Any:
        if isinstance(ctx.chunk, DataChunk):
            ctx.abort("not that")
        return ctx.chunk

    async def judge_slowly(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return judge(ctx)

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look it up."""
        try:
            await ctx.writer.custom({"type": "data-x", "data": 1}, message_id="nowhere")
        except MessageError as error:
            told.append(str(error))
        try:
            await ctx.writer.custom({"type": "data-x", "data": 1}, message_id=ctx.messages[0].id)
        except BaseException:
            pass
        return "ok"

    model = FakeModel([call_tool("look"), "Done."])
    hooks = [at("process_output_stream", judge_slowly if waits else judge, process_data_parts=True)]
    seen = await ask(Agent("bot", model=model, tools=[look], output_processors=hooks), way)
    assert len(told) == 1
    assert seen.tripwire.reason == "not that"
    assert len(model.requests) == 1


async def test_what_is_left_behind_of_a_call_shows_nothing_more() -> None:
    """A sub-agent that ignores its cancellation cannot complete what guards have let go of at the end of its call."""
    go, gone = anyio.Event(), anyio.Event()

    @tool
    async def stubborn(ctx: ToolContext) -> str:
        """Write on when nobody waits any longer."""
        await ctx.writer.write(TextDelta("ann@"))
        try:
            with anyio.CancelScope(shield=True):
                await go.wait()
                await ctx.writer.write(TextDelta("acme.org"))
        finally:
            gone.set()
        return "ok"

    @tool
    async def let_go() -> str:
        """Let the other go on."""
        go.set()
        await gone.wait()
        return "ok"

    agent = Agent(
        "bot",
        model=FakeModel([call_tool("stubborn"), call_tool("let_go"), "Done."]),
        tools=[stubborn.replace(timeout=0.01), let_go],
        output_processors=[PIIDetector(redaction="placeholder")],
        runtime=Runtime(grace=0.01),
    )
    seen = await ask(agent, "stream")
    written = [chunk.output.text for chunk in seen.chunks if isinstance(chunk, ToolOutput)]
    assert written == ["ann@"]
    assert seen.result.text == "Done."


@pytest.mark.parametrize("strategy", ["redact", "block"])
@both_ways
async def test_a_stream_that_a_tool_passes_on_itself_is_looked_at_like_any(way: str, strategy: Any) -> None:
    """A tool that streams from an agent and writes each chunk shows what guards leave of it."""
    child = Agent("child", model=FakeModel([SPLIT]))

    @tool
    async def delegate(ctx: ToolContext) -> str:
        """Let the child answer, and pass on what it says."""
        async with child.stream("Hi") as stream:
            async for chunk in stream.full_stream:
                await ctx.writer.write(chunk)
        return "ok"

    model = FakeModel([call_tool("delegate", id="c1"), "Done."])
    guard = PIIDetector(strategy=strategy, redaction="placeholder")
    seen = await ask(Agent("parent", model=model, tools=[delegate], output_processors=[guard]), way)
    assert "acme" not in repr([*seen.chunks])
    assert seen.result.status == ("blocked" if strategy == "block" else "completed")
    if strategy == "redact":
        texts = [chunk.output.text for chunk in seen.chunks.of(ToolOutput) if isinstance(chunk.output, TextDelta)]
        assert "".join(texts) == "Write to [EMAIL] today."
