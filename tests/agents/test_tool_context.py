"""What a tool can do with the run that it is called in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import InputError, RunCancelled
from procession.messages.chunks import ToolError
from procession.runtime.runtime import run
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.context import ToolContext
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


@step
async def shout(ctx: StepContext[str]) -> str:
    """Say it louder, and where."""
    return f"{ctx.input.upper()} for {ctx.request_context['tenant']}"


loud = create_workflow("loud", str).then(shout).commit()


@tool
async def speak(ctx: ToolContext) -> list[str]:
    """Say two things through a workflow."""
    return [await ctx.call(loud, "hello"), await ctx.call(loud, "bye")]


@both_ways
async def test_a_tool_runs_definitions_inside_the_run(way: str) -> None:
    """What a tool calls runs within the agent's run and sees the request's values."""
    agent = Agent("parrot", model=FakeModel([call_tool("speak"), "done"]), tools=[speak])
    seen = await ask(agent, way, request_context={"tenant": "acme"})
    assert seen.result.tool_results[0].result == ["HELLO for acme", "BYE for acme"]  # type: ignore[union-attr]


async def test_a_tool_of_a_workflow_runs_definitions() -> None:
    """A tool that stands in a workflow may call others just so."""
    said = await run(create_workflow("flow").then(speak).commit(), dict[str, Any](), request_context=None)
    assert said.status == "failed"  # the request has no tenant: the inner error reaches the run
    assert "tenant" in str(said.error)


@both_ways
async def test_what_fails_inside_is_the_tools_failure(way: str) -> None:
    """An error of what a tool calls is told to the model like an error of the tool itself."""
    agent = Agent("parrot", model=FakeModel([call_tool("speak"), "done"]), tools=[speak])
    seen = await ask(agent, way)
    (error,) = seen.result.tool_results
    assert isinstance(error, ToolError)
    assert "tenant" in error.error


async def test_outside_a_run_there_is_nothing_to_run_in() -> None:
    """A tool run by hand is told that it has no run."""
    with pytest.raises(InputError, match="outside a run"):
        await speak.run({})


@both_ways
async def test_what_tracing_needs_goes_everywhere(way: str) -> None:
    """``tracing_context`` of a call is there in its tools, in inner agents and in what they run, the same object."""
    span = object()
    seen: list[Any] = []

    @tool
    def look(ctx: ToolContext) -> str:
        """Look at it."""
        seen.append(ctx.tracing_context)
        return "ok"

    hook = at("process_input", lambda ctx: seen.append(ctx.tracing_context))
    child = Agent("child", model=FakeModel([call_tool("look"), "ok"]), tools=[look], input_processors=[hook])
    flow = create_workflow("flow", str).then(Agent("inner", model=FakeModel("ok"), input_processors=[hook])).commit()
    script = [call_tool("look"), call_tool("agent-child", {"prompt": "x"}), call_tool("workflow-flow", {"input": "x"})]
    agent = Agent("parent", model=FakeModel([*script, "Done."]), tools=[look, child, flow])
    await ask(agent, way, tracing_context=span)
    assert seen == [span] * 4


@both_ways
async def test_without_it_there_is_nothing_to_trace(way: str) -> None:
    """A call that says nothing of tracing has ``None``, and one call's is not another's."""
    seen: list[Any] = []
    agent = Agent(
        "parrot", model=FakeModel("ok", repeat_last=True),
        input_processors=[at("process_input", lambda ctx: seen.append(ctx.tracing_context))],
    )  # fmt: skip
    await ask(agent, way, tracing_context="one")
    await ask(agent, way)
    assert seen == ["one", None]
    assert ToolContext().tracing_context is None


@both_ways
@pytest.mark.parametrize("scope", ["workflow", "branch", "run"])
@pytest.mark.parametrize("whole", [True, False])
async def test_a_called_step_that_bails_ends_its_call(way: str, scope: Any, whole: bool) -> None:
    """What a step bails with is what the tool is given; the agent's run goes on."""

    @step
    def leave(ctx: StepContext[int]) -> int:
        ctx.bail(ctx.input + 1, scope=scope)
        return 0

    @tool
    async def count(ctx: ToolContext) -> int:
        """Count."""
        called: Any = create_workflow("leaving", int).then(leave).commit() if whole else leave
        counted: int = await ctx.call(called, 1)
        return counted

    result = (await ask(Agent("a", model=FakeModel([call_tool("count"), "end"]), tools=[count]), way)).result
    assert (result.status, result.text, [getattr(one, "result", None) for one in result.tool_results]) == (
        "completed",
        "end",
        [2],
    )


@both_ways
@pytest.mark.parametrize("inside", ["tool", "workflow"])
async def test_a_run_that_a_step_cancels_says_so(way: str, inside: str) -> None:
    """Where a step cancels the run it stands in, the stream has a last chunk that says so, as for any failure."""

    @step
    def leave(ctx: StepContext[Any]) -> None:
        ctx.cancel_run()

    @tool
    async def count(ctx: ToolContext) -> None:
        """Count."""
        await ctx.call(leave, 1)

    gone = (
        create_workflow("gone", kind="processor").then(at("process_output_step", lambda ctx: None)).then(leave).commit()
    )
    agent = Agent(
        "a",
        model=FakeModel([call_tool("count"), "end"]),
        tools=[count],
        output_processors=[gone] if inside == "workflow" else [],
    )
    seen = await ask(agent, way)
    assert isinstance(seen.error, RunCancelled)
    assert seen.chunks.types[-1] == "error"
    assert seen.chunks.types.count("error") == 1
