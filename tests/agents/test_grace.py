"""An abort, a stream that is left and a later call on the thread wait for tools within the grace period."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.from_thread
import pytest
from tests.agents.kit import WAYS, Seen, ask
from tests.agents.straggling import SHORT, Straggler, quietly

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.steps.retry import RetryPolicy
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
WHERE: dict[str, Any] = {"thread": "t", "resource": "r"}


async def leave(ctx: Any) -> None:
    """Have nothing more to do."""


@both_ways
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("retried", [False, True])
async def test_an_abort_waits_for_tools_within_the_grace_period(way: str, count: int, retried: bool) -> None:
    """A tool that does not stop is left behind, be it the only one of the step or not."""
    straggler, signal = Straggler(leave), AbortSignal()
    reply: Reply = call_tool("late")
    for _ in range(count - 1):
        reply += call_tool("late")
    tool = straggler.as_tool(retry=RetryPolicy(max_attempts=2) if retried else None)
    agent = Agent("a", model=FakeModel([reply, "end"]), tools=[tool], runtime=Runtime(grace=SHORT))
    seen: list[Seen] = []
    async with quietly(), anyio.create_task_group() as group:
        group.start_soon(_abort_once, straggler.begun, signal)
        seen.append(await ask(agent, way, abort_signal=signal))
        await straggler.end()
    assert seen[0].result.status == "aborted"
    assert seen[0].result.left_behind == (", ".join(["tool 'late'"] * count),)


async def _abort_once(begun: anyio.Event, signal: AbortSignal) -> None:
    await begun.wait()
    signal.abort("enough")


async def test_an_abort_waits_for_a_thread_within_the_grace_period() -> None:
    """A tool in a worker thread cannot be stopped, and is left behind too."""
    signal, released, seen = AbortSignal(), threading.Event(), list[Seen]()

    def execute(args: Any, ctx: ToolContext) -> None:
        anyio.from_thread.run_sync(signal.abort)
        released.wait()

    tool: Tool[Any] = Tool(name="late", parameters={"type": "object"}, execute=execute, blocking=True)
    async with quietly(), Runtime(grace=SHORT) as runtime:  # which waits for what was left behind
        try:
            agent = Agent("a", model=FakeModel([call_tool("late"), "end"]), tools=[tool], runtime=runtime)
            seen.append(await ask(agent, abort_signal=signal))
        finally:
            released.set()
    result = seen[0].result
    assert (result.status, result.left_behind) == ("aborted", ("tool 'late'",))


async def test_leaving_a_stream_waits_for_a_tool_within_the_grace_period() -> None:
    """So does a block that is left early, and whoever takes the call's place."""
    straggler = Straggler(leave)
    agent = Agent(
        "a", model=FakeModel([call_tool("late"), "end"]), tools=[straggler.as_tool()], runtime=Runtime(grace=SHORT)
    )
    async with quietly():
        async with agent.stream("Hi") as stream:
            await straggler.begun.wait()
        result = await stream.result()
        await straggler.end()
    assert (result.status, result.left_behind) == ("aborted", ("tool 'late'",))


async def test_a_call_whose_place_was_taken_waits_for_a_tool_within_the_grace_period() -> None:
    """It comes to its end without the tool, although nobody gave it a signal."""
    straggler = Straggler(leave)
    agent = Agent(
        "a", model=FakeModel([call_tool("late"), "two"]), tools=[straggler.as_tool()], runtime=Runtime(grace=SHORT)
    )
    results: list[AgentResult] = []

    async def first() -> None:
        results.append(await agent.generate("one", **WHERE))

    async with quietly():
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await straggler.begun.wait()
            assert (await agent.generate("two", thread_policy="cancel_previous", **WHERE)).text == "two"
        await straggler.end()
    assert (results[0].status, results[0].left_behind) == ("aborted", ("tool 'late'",))


@both_ways
async def test_the_grace_period_of_the_outer_runtime_holds_for_a_sub_agent(way: str) -> None:
    """An abort waits no longer for a tool of a sub-agent than for one of its own."""
    straggler, signal = Straggler(leave), AbortSignal()
    inner = Agent("in", model=FakeModel([call_tool("late"), "end"]), tools=[straggler.as_tool()])
    outer = Agent(
        "out",
        model=FakeModel([call_tool("agent-in", {"prompt": "Do it."}), "end"]),
        tools=[inner],
        runtime=Runtime(grace=SHORT),
    )
    seen: list[Seen] = []
    async with quietly(), anyio.create_task_group() as group:
        group.start_soon(_abort_once, straggler.begun, signal)
        seen.append(await ask(outer, way, abort_signal=signal))
        await straggler.end()
    assert seen[0].result.status == "aborted"
    assert seen[0].result.left_behind in (("tool 'late'",), ("tool 'agent-in'",))
