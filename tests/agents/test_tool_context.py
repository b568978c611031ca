"""What a tool can do with the run that it is called in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask

from procession.agents.agent import Agent
from procession.errors import InputError
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
