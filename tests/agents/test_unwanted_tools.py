"""No tool starts once a run is no longer wanted, whatever a processor or a model's client makes of its cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, Seen, ask, at, list_of
from tests.agents.straggling import SHORT, quietly
from tests.agents.suspending import go_on

from procession.agents.agent import Agent
from procession.messages.chunks import Chunk, Finish, ToolCall, ToolOutput
from procession.models.model import ModelRequest
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
one_or_two = pytest.mark.parametrize("count", [1, 2])
plain_or_async = pytest.mark.parametrize("plain", [True, False])
alone_or_inside = pytest.mark.parametrize("inside", [False, True])


def leave(ctx: Any) -> None:
    """Have nothing to say."""


def lookups(count: int, name: str = "lookup") -> Reply:
    """Return a reply that calls a tool *count* times."""
    reply = call_tool(name, id="c0")
    for number in range(1, count):
        reply += call_tool(name, id=f"c{number}")
    return reply


def noting(plain: bool = False) -> tuple[Tool[Any], list[Any]]:
    """Return a tool that does what it does before it first waits, and the list of what it was called with."""
    calls: list[Any] = []

    def execute(args: Any, ctx: ToolContext) -> None:
        calls.append(args)

    async def execute_async(args: Any, ctx: ToolContext) -> None:
        calls.append(args)

    return Tool(name="lookup", parameters={"type": "object"}, execute=execute if plain else execute_async), calls


def around(agent: Agent, inside: bool, **options: Any) -> Agent:
    """Return *agent*, or one that calls it as a tool."""
    if not inside:
        return agent
    return Agent("out", model=FakeModel([call_tool("agent-a", {"prompt": "Do it."}), "end"]), tools=[agent], **options)


class Swallowing:
    """A hook that waits for ever, and lets nothing through that ends it."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

    async def wait(self, ctx: Any) -> None:
        """Wait."""
        self.begun.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            pass


class Shielded:
    """A model whose client shields itself until it is let go, and then asks for a tool at once."""

    id = "shielded"

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.released = anyio.Event()
        self.over = anyio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer late."""
        self.begun.set()
        try:
            with anyio.CancelScope(shield=True):
                await self.released.wait()
            yield ToolCall("c0", "lookup", {})
            yield Finish("tool-calls")
        finally:
            self.over.set()

    async def release(self) -> None:
        """Let it go as soon as nothing else goes on."""
        await anyio.wait_all_tasks_blocked()
        self.released.set()


@both_ways
@one_or_two
@alone_or_inside
@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("hook", ["process_llm_response", "process_output_step"])
async def test_after_a_plain_hook_that_aborts(hook: str, looked_at: bool, inside: bool, count: int, way: str) -> None:
    """A hook without an ``await`` may set the signal: nothing waits between it and the tools."""
    signal, (tool, calls) = AbortSignal(), noting()
    hooks: dict[str, Any] = {"output_processors": [at("process_tool_result", leave, id="results")] if looked_at else []}
    hooks.setdefault(list_of(hook), []).append(at(hook, lambda ctx: signal.abort("enough")))
    agent = Agent("a", model=FakeModel([lookups(count), "end"]), tools=[tool], **hooks)
    seen = await ask(around(agent, inside), way, abort_signal=signal)
    assert (seen.result.status, seen.result.abort_reason, calls) == ("aborted", "enough", [])


@both_ways
@one_or_two
@alone_or_inside
async def test_after_a_hook_that_swallows_the_callers_cancellation(inside: bool, count: int, way: str) -> None:
    """The scope round a call is cancelled while a guard waits for its verdict, which it never gives."""
    hook, (tool, calls) = Swallowing(), noting()
    agent = around(
        Agent(
            "a",
            model=FakeModel([lookups(count), "end"]),
            tools=[tool],
            output_processors=[at("process_output_step", hook.wait)],
        ),
        inside,
    )
    async with quietly(), anyio.create_task_group() as group:
        group.start_soon(ask, agent, way)
        await hook.begun.wait()
        group.cancel_scope.cancel()
    assert calls == []


@plain_or_async
@one_or_two
@alone_or_inside
async def test_after_a_hook_that_swallows_the_end_of_its_stream(inside: bool, count: int, plain: bool) -> None:
    """The reader leaves while a guard waits for its verdict, which it never gives."""
    hook, (tool, calls) = Swallowing(), noting(plain)
    agent = around(
        Agent(
            "a",
            model=FakeModel([lookups(count), "end"]),
            tools=[tool],
            output_processors=[at("process_output_step", hook.wait)],
        ),
        inside,
    )
    with anyio.fail_after(5):  # not with logs captured: steps that are logged have waits between them
        async with agent.stream("Hi") as stream:
            await hook.begun.wait()
        assert (await stream.result()).status == "aborted"
    assert calls == []


@plain_or_async
@alone_or_inside
async def test_after_a_model_that_shields_itself_from_the_end_of_its_stream(inside: bool, plain: bool) -> None:
    """The reader leaves while the model's client holds on to its connection."""
    model, (tool, calls) = Shielded(), noting(plain)
    agent = around(Agent("a", model=model, tools=[tool]), inside)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            async with agent.stream("Hi") as stream:
                await model.begun.wait()
                group.start_soon(model.release)
            assert (await stream.result()).status == "aborted"
    assert calls == []


@both_ways
@plain_or_async
@alone_or_inside
async def test_after_a_model_that_shields_itself_from_an_abort(inside: bool, plain: bool, way: str) -> None:
    """The signal is set while the model's client holds on to its connection."""
    model, signal, (tool, calls) = Shielded(), AbortSignal(), noting(plain)
    agent = around(Agent("a", model=model, tools=[tool]), inside)
    seen: list[Seen] = []

    async def call() -> None:
        seen.append(await ask(agent, way, abort_signal=signal))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await model.begun.wait()
            signal.abort("enough")
            await model.release()
    assert (seen[0].result.status, calls) == ("aborted", [])


@both_ways
async def test_after_a_model_that_shields_itself_from_the_callers_scope(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scope round a call is cancelled while the model's client holds on, and the client waits for nothing after."""
    monkeypatch.setattr("procession.runtime.state.BREATH", 0.0)
    model, (tool, calls) = Shielded(), noting()
    agent = Agent("a", model=model, tools=[tool])
    async with anyio.create_task_group() as outer:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as inner:
                inner.start_soon(ask, agent, way)
                await model.begun.wait()
                scope.cancel()
                outer.start_soon(model.release)
    assert calls == []


@both_ways
@pytest.mark.parametrize("limit", [1, 3])
async def test_after_another_tool_of_the_step(limit: int, way: str) -> None:
    """A tool sets the signal: those of its step that have not started do not."""
    signal, calls = AbortSignal(), list[str]()

    def execute(args: Any, ctx: ToolContext) -> None:
        calls.append(ctx.tool_call_id)
        signal.abort("enough")

    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=execute)
    agent = Agent("a", model=FakeModel([lookups(3), "end"]), tools=[tool], tool_concurrency=limit)
    seen = await ask(agent, way, abort_signal=signal)
    assert (seen.result.status, calls) == ("aborted", ["c0"])


@both_ways
async def test_after_it_was_asked_whether_it_needs_approval(way: str) -> None:
    """What says whether a call needs approval may be what is cancelled."""
    signal, calls = AbortSignal(), list[Any]()

    async def needed(*_: Any) -> bool:
        signal.abort("enough")
        await Swallowing().wait(None)
        return False

    def execute(args: Any, ctx: ToolContext) -> None:
        calls.append(args)

    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=execute, requires_approval=needed)
    agent = Agent("a", model=FakeModel([lookups(1), "end"]), tools=[tool])
    with anyio.fail_after(5):
        seen = await ask(agent, way, abort_signal=signal)
    assert (seen.result.status, calls) == ("aborted", [])


@both_ways
@pytest.mark.parametrize("where", ["tool", "process_tool_result"])
async def test_of_those_that_were_answered(where: str, way: str) -> None:
    """A resumed run that is aborted runs no more of the tools that were approved."""
    signal, calls = AbortSignal(), list[str]()

    def execute(args: Any, ctx: ToolContext) -> None:
        calls.append(ctx.tool_call_id)
        if where == "tool":
            signal.abort("enough")

    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=execute, requires_approval=True)
    hooks = [at(where, lambda ctx: signal.abort("enough"))] if where != "tool" else []
    agent = Agent("a", model=FakeModel([lookups(2), "end"]), tools=[tool], output_processors=hooks)
    waiting = (await ask(agent)).result
    answers = {call.question_id: {"approved": True} for call in waiting.suspended}
    seen = await go_on(agent, way, waiting.run_id, answers, abort_signal=signal)
    assert (seen.result.status, calls) == ("aborted", ["c0"])


class Trips(Processor):
    """A processor of the stream that stops the run at what a tool writes."""

    def process_output_stream(self, ctx: Any) -> Any:
        if isinstance(ctx.chunk, ToolOutput) and ctx.chunk.output == "trip":
            ctx.abort("stopped")
        return ctx.chunk


@both_ways
async def test_of_an_inner_agent_that_was_left_behind(way: str) -> None:
    """The outer run was blocked while the model of an inner one shielded itself: the inner one's tools do not run."""
    model, (tool, calls) = Shielded(), noting()

    async def trip(args: Any, ctx: ToolContext) -> None:
        await model.begun.wait()
        await ctx.writer.write("trip")

    inner = Agent("a", model=model, tools=[tool])
    outer = Agent(
        "out",
        model=FakeModel([call_tool("agent-a", {"prompt": "Do it."}) + call_tool("trip"), "end"]),
        tools=[inner, Tool(name="trip", parameters={"type": "object"}, execute=trip)],
        output_processors=[Trips(id="trips")],
        runtime=Runtime(grace=SHORT),
    )
    async with quietly():
        seen = await ask(outer, way)
        assert seen.result.status == "blocked"
        model.released.set()
        await model.over.wait()
        await anyio.wait_all_tasks_blocked()
    assert calls == []
