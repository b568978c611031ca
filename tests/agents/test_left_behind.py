"""What ignored its cancellation and was left behind: it reaches its run no more."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.agents.kit import WAYS, ask, at, list_of, text_only
from tests.agents.straggling import SHORT, Straggler, quietly

from procession.agents.agent import Agent
from procession.messages.chunks import DataChunk, ToolOutput
from procession.messages.message import Message
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
NOTE = {"type": "data-late", "data": 1}
LATE = [
    (hook, kind)
    for hook in ("process_input", "process_input_step", "process_output_stream")
    for kind in ("data", "signal", "warning", "answer", "verdict", "message")
    if (hook, kind) != ("process_output_stream", "signal")  # none are sent there
]


def note(told: list[str], of: Callable[[Any], str], value: Any) -> None:
    """Be a callback that notes something *of* what it is told."""
    told.append(of(value))


async def write(ctx: Any) -> None:
    """Write data."""
    await ctx.writer.custom(NOTE)


async def write_all(ctx: ToolContext) -> None:
    """Write data and output, as tools may."""
    await write(ctx)
    await ctx.writer.custom(NOTE, message_id="m1")
    await ctx.writer.write("late")


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
    options: dict[str, Any] = {"on_finish": partial(note, order, lambda result: "on_finish")}
    if way == "stream":
        options["on_chunk"] = partial(note, order, lambda chunk: chunk.type)
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
        elif kind == "message":
            ctx.message_list.add(Message.user("late"))
            ctx.message_list.add_system("late")
        elif kind == "answer":
            ctx.replace_response("late")
        else:
            ctx.abort("late", retry=True)

    return late


@both_ways
@pytest.mark.parametrize(("hook", "kind"), LATE)
async def test_a_hook_reaches_a_run_no_more_that_goes_on_without_it(way: str, hook: str, kind: str) -> None:
    """A processor that timed out and is skipped does nothing later: no data, signal, finding, answer, verdict or message."""
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
        on_violation=partial(note, told, lambda violation: violation.message),
    )
    lists: dict[str, Any] = {"output_processors": []}
    lists.setdefault(list_of(hook), []).append(slow)
    kept: list[str] = []
    look = at(
        "process_output_result", lambda ctx: kept.append(str((*ctx.message_list, *ctx.system_messages))), id="look"
    )
    lists["output_processors"].append(look)
    model = FakeModel([say("let me see ", "now") + call_tool("wait"), straggler.then_say])
    tool: Tool[Any] = Tool(name="wait", parameters={"type": "object"}, execute=lambda args, ctx: "done")
    agent = Agent("a", model=model, tools=[tool], runtime=Runtime(grace=SHORT), max_processor_retries=1, **lists)
    async with quietly():
        seen = await ask(agent, way)
    result = seen.result
    assert (result.status, result.text, result.rejected) == ("completed", "let me see nowend", ())
    assert [each.message for each in result.violations] == told
    assert set(told) <= {
        "slow failed: IgnoredCancellation",
        "slow failed: Overdue",
    }  # of other chunks, on a busy machine
    assert not [chunk for chunk in seen.chunks if isinstance(chunk, DataChunk)]
    assert "late" not in str((result.messages, kept))
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
        await anyio.to_thread.run_sync(over.wait, 1.0)  # on a busy machine it may not have begun at all
        return "end"

    hook = at("process_input", slow, id="slow", blocking=True, timeout=0.1, on_error="skip")
    try:
        async with quietly():
            seen = await ask(Agent("a", model=FakeModel([then_say]), input_processors=[hook]), way)
    finally:
        released.set()
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
