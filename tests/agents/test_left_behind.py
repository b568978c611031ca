"""What ignores its cancellation: it is waited for within the grace period, and then it reaches its run no more."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, Seen, ask, at, list_of, text_only

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.messages.chunks import DataChunk, ToolOutput
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.steps.retry import RetryPolicy
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
NOTE = {"type": "data-late", "data": 1}
SHORT = 0.01
"""Seconds."""


class Straggler:
    """Code that shields itself until it is let go, and then does what it should not get done."""

    def __init__(self, late: Callable[[Any], Awaitable[None]]) -> None:
        self.late = late
        self.begun = anyio.Event()
        self.released = anyio.Event()
        self.over = anyio.Event()
        self.raised: BaseException | None = None

    async def __call__(self, ctx: Any) -> None:
        """Wait, and be late."""
        self.begun.set()
        with anyio.CancelScope(shield=True):
            await self.released.wait()
            try:
                await self.late(ctx)
            except BaseException as error:
                self.raised = error
                raise
            finally:
                self.over.set()

    async def end(self, *_: Any) -> None:
        """Let it go, and wait until it is over."""
        self.released.set()
        await self.over.wait()

    async def then_say(self, request: Any) -> str:
        """Be a model that answers once it is over."""
        await self.end()
        return "end"

    def as_tool(self, **options: Any) -> Tool[Any]:
        """Return a tool that does so."""

        async def execute(args: Any, ctx: ToolContext) -> None:
            await self(ctx)

        return Tool(name="late", parameters={"type": "object"}, execute=execute, **options)


@asynccontextmanager
async def quietly() -> AsyncIterator[None]:
    """Do something with its logs captured, and not for ever."""
    with capture_logs(), anyio.fail_after(5):
        yield


async def write(ctx: Any) -> None:
    """Write data."""
    await ctx.writer.custom(NOTE)


async def write_all(ctx: ToolContext) -> None:
    """Write data and output, as tools may."""
    await write(ctx)
    await ctx.writer.custom(NOTE, message_id="m1")
    await ctx.writer.write("late")


async def leave(ctx: Any) -> None:
    """Have nothing more to do."""


# -- what was left behind reaches nobody


@both_ways
@pytest.mark.parametrize("ends", ["finish", "tripwire", "error"])
async def test_a_tool_writes_nothing_behind_the_last_chunk(way: str, ends: str) -> None:
    """The run's last chunk stays the last one, and no callback is called after ``on_finish`` (D13)."""
    straggler, order = Straggler(write_all), list[str]()

    def stop(ctx: Any) -> None:
        if ctx.step_number == 1:
            if ends == "error":
                raise ValueError
            ctx.abort("no")

    agent = Agent(
        "a",
        model=FakeModel([call_tool("late"), "end"]),
        tools=[straggler.as_tool(timeout=SHORT)],
        output_processors=[] if ends == "finish" else [at("process_output_step", stop)],
        runtime=Runtime(grace=SHORT),
    )
    options: dict[str, Any] = {"on_finish": lambda result: order.append("on_finish")}
    if way == "stream":
        options["on_chunk"] = lambda chunk: order.append(chunk.type)
    async with quietly():
        seen = await ask(agent, way, **options)
        types = seen.chunks.types if way == "generate" else order
        before = list(types)
        await straggler.end()
    assert straggler.raised is None
    assert types == before
    assert seen.chunks.types[-1] == ends
    if ends == "finish":
        assert seen.result.left_behind == ("tool 'late'",)


@both_ways
async def test_a_tool_writes_nothing_into_a_run_that_goes_on(way: str) -> None:
    """Its call has ended with an error: what it says later is neither told nor kept."""
    straggler = Straggler(write_all)
    agent = Agent(
        "a",
        model=FakeModel([call_tool("late"), straggler.then_say]),
        tools=[straggler.as_tool(timeout=SHORT)],
        runtime=Runtime(grace=SHORT),
    )
    async with quietly():
        seen = await ask(agent, way)
    assert (seen.result.status, seen.result.text, straggler.raised) == ("completed", "end", None)
    assert not [chunk for chunk in seen.chunks if isinstance(chunk, (DataChunk, ToolOutput))]
    assert "data-late" not in [part.type for part in seen.result.messages[0].parts]


@both_ways
async def test_only_the_attempt_that_was_left_behind_is_not_heard(way: str) -> None:
    """The next attempt of the same call writes and asks as ever, and the late one asks nobody."""
    late: list[BaseException | None] = []

    async def ask_late(ctx: ToolContext) -> None:
        await write(ctx)
        try:
            await ctx.call(create_workflow("w", str).then(Agent("b", model=FakeModel("x"))).commit(), "Hi")
        except Exception as error:
            late.append(error)
        ctx.suspend("late?")

    straggler = Straggler(ask_late)

    async def execute(args: Any, ctx: ToolContext) -> str:
        if ctx.attempt == 1:
            await straggler(ctx)
        else:
            await straggler.end()
        await ctx.writer.custom({"type": "data-mine", "data": 2})
        return "found"

    tool: Tool[Any] = Tool(
        name="late",
        parameters={"type": "object"},
        execute=execute,
        timeout=0.2,
        retry=RetryPolicy(max_attempts=2, initial=0.0),
    )
    agent = Agent("a", model=FakeModel([call_tool("late"), "end"]), tools=[tool], runtime=Runtime(grace=SHORT))
    async with quietly():
        seen = await ask(agent, way)
    assert (seen.result.status, seen.result.text) == ("completed", "end")
    assert [chunk.type for chunk in seen.chunks if isinstance(chunk, DataChunk)] == ["data-mine"]
    assert "left behind" in str(late[0])


def late_decisions(kind: str) -> Callable[[Any], Awaitable[None]]:
    """Return what a hook does that comes too late."""

    async def late(ctx: Any) -> None:
        if kind == "data":
            await ctx.writer.custom(NOTE)
            await ctx.writer.custom(NOTE, message_id="m1")
        elif kind == "signal":
            await ctx.send_signal({"type": "reactive", "contents": "late"})
        elif kind == "warning":
            ctx.warn("late")
        elif kind == "answer":
            ctx.replace_response("late")
        else:
            ctx.abort("late", retry=True)

    return late


@both_ways
@pytest.mark.parametrize("kind", ["data", "signal", "warning", "answer", "verdict"])
@pytest.mark.parametrize("hook", ["process_input", "process_input_step", "process_output_stream"])
async def test_a_hook_reaches_a_run_no_more_that_goes_on_without_it(way: str, hook: str, kind: str) -> None:
    """A processor that timed out and is skipped does nothing later: no data, signal, finding, answer or verdict."""
    if kind == "signal" and hook == "process_output_stream":
        pytest.skip("no signals are sent there")
    straggler, told = Straggler(late_decisions(kind)), list[str]()

    async def act(ctx: Any) -> None:
        if not straggler.begun.is_set():
            await straggler(ctx)

    slow = at(
        hook,
        text_only(act),
        id="slow",
        timeout=SHORT,
        on_error="skip",
        on_violation=lambda violation: told.append(violation.message),
    )
    lists: dict[str, Any] = {list_of(hook): [slow]}
    model = FakeModel([say("let me see ", "now") + call_tool("wait"), straggler.then_say])
    tool: Tool[Any] = Tool(name="wait", parameters={"type": "object"}, execute=lambda args, ctx: "done")
    agent = Agent("a", model=model, tools=[tool], runtime=Runtime(grace=SHORT), max_processor_retries=1, **lists)
    async with quietly():
        seen = await ask(agent, way)
    result = seen.result
    assert (result.status, result.text, result.rejected) == ("completed", "let me see nowend", ())
    assert [each.message for each in result.violations] == ["slow failed: IgnoredCancellation"] == told
    assert not [chunk for chunk in seen.chunks if isinstance(chunk, DataChunk)]
    assert "late" not in str(result.messages)
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool"]
    assert result.left_behind == (f"processor 'slow' in {hook}",)


@both_ways
async def test_a_thread_that_was_given_up_reaches_its_run_no_more(way: str) -> None:
    """A hook in a worker thread cannot be stopped; what it finds once its time is over is not listed."""
    released, over = threading.Event(), threading.Event()

    def slow(ctx: Any) -> None:
        released.wait()
        ctx.warn("late")
        over.set()

    async def then_say(request: Any) -> str:
        released.set()
        await anyio.to_thread.run_sync(over.wait)
        return "end"

    hook = at("process_input", slow, id="slow", blocking=True, timeout=SHORT, on_error="skip")
    async with quietly():
        seen = await ask(Agent("a", model=FakeModel([then_say]), input_processors=[hook]), way)
    assert seen.result.text == "end"
    assert [each.outcome for each in seen.result.violations] == ["timeout"]


@both_ways
async def test_a_branch_reaches_a_run_no_more_that_goes_on_without_it(way: str) -> None:
    """A parallel branch without a time limit, left behind by a verdict that sends the step back, is not heard either."""

    async def late(ctx: Any) -> None:
        ctx.warn("late")
        await ctx.writer.custom(NOTE)

    straggler = Straggler(late)

    class Slow(Processor):
        id = "slow"

        async def process_output_step(self, ctx: Any) -> None:
            if ctx.retry_count == 0:
                await straggler(ctx)

    async def once(ctx: Any) -> None:
        await straggler.begun.wait()
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    both = (
        create_workflow("both", kind="processor")
        .parallel([Slow(), at("process_output_step", once, id="once")])
        .commit()
    )
    agent = Agent(
        "a",
        model=FakeModel(["no", straggler.then_say]),
        output_processors=[both],
        max_processor_retries=1,
        runtime=Runtime(grace=SHORT),
    )
    async with quietly():
        seen = await ask(agent, way)
    assert (seen.result.text, len(seen.result.left_behind)) == ("end", 1)
    assert [each.message for each in seen.result.violations] == ["again"]
    assert not [chunk for chunk in seen.chunks if isinstance(chunk, DataChunk)]


# -- a tool is waited for within the grace period


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
    async with quietly(), anyio.create_task_group() as group:
        group.start_soon(_abort_once, straggler.begun, signal)
        result = (await ask(agent, way, abort_signal=signal)).result
        await straggler.end()
    assert result.status == "aborted"
    assert result.left_behind == (", ".join(["tool 'late'"] * count),)


async def _abort_once(begun: anyio.Event, signal: AbortSignal) -> None:
    await begun.wait()
    signal.abort("enough")


async def test_an_abort_waits_for_a_thread_within_the_grace_period() -> None:
    """A tool in a worker thread cannot be stopped, and is left behind too."""
    signal, released = AbortSignal(), threading.Event()

    def execute(args: Any, ctx: ToolContext) -> None:
        anyio.from_thread.run_sync(signal.abort)
        released.wait()

    tool: Tool[Any] = Tool(name="late", parameters={"type": "object"}, execute=execute, blocking=True)
    agent = Agent("a", model=FakeModel([call_tool("late"), "end"]), tools=[tool], runtime=Runtime(grace=SHORT))
    async with quietly():
        try:
            result = await agent.generate("Hi", abort_signal=signal)
        finally:
            released.set()
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
    straggler, where = Straggler(leave), {"thread": "t", "resource": "r"}
    agent = Agent(
        "a", model=FakeModel([call_tool("late"), "two"]), tools=[straggler.as_tool()], runtime=Runtime(grace=SHORT)
    )
    results: list[AgentResult] = []

    async def first() -> None:
        results.append(await agent.generate("one", **where))

    async with quietly():
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await straggler.begun.wait()
            assert (await agent.generate("two", thread_policy="cancel_previous", **where)).text == "two"
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
