"""Workflows as tools of an agent: they run inside its run."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents.kit import COST, WAYS, ask, at

from procession.agents.agent import Agent
from procession.agents.workflow_tool import workflow_tool
from procession.errors import DefinitionError
from procession.messages.chunks import ToolError, ToolResult
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


class Order(BaseModel):
    """What is ordered."""

    item: str
    count: int


@step
def price(ctx: StepContext[Order]) -> int:
    """Say what it costs."""
    return ctx.input.count * int(ctx.request_context["each"])


@step
async def stop(ctx: StepContext[int]) -> int:
    """End the workflow early."""
    ctx.bail("early")
    return ctx.input


@step
def break_down(ctx: StepContext[int]) -> int:
    """Fail."""
    raise ValueError("secret")


def flow(id: str, given: Any, *steps: Any) -> Any:
    """Return a workflow of *steps*."""
    made: Any = create_workflow(id, given)
    for each in steps:
        made = made.then(each)
    return made.commit()


async def outcome(workflow: Any, args: Any, way: str = "generate", **options: Any) -> Any:
    """Return what a parent's call of *workflow* comes to."""
    name = f"workflow-{workflow.id}"
    agent = Agent("parent", model=FakeModel([call_tool(name, args), "Done."]), tools=[workflow])
    seen = await ask(agent, way, **options)
    assert seen.result.text == "Done."
    return seen.result


@both_ways
async def test_a_workflow_takes_its_input_as_arguments(way: str) -> None:
    """An object's fields are the arguments; the request's values reach the steps; the output is the result."""
    result = await outcome(flow("price", Order, price), {"item": "pen", "count": 3}, way, request_context={"each": 2})
    assert result.tool_results[0].result == 6


def test_the_schema_says_what_the_workflow_takes() -> None:
    """Objects are told by their fields, other values as ``input``, and nothing where no type is known."""
    assert set(workflow_tool(flow("price", Order, price)).parameters["properties"]) == {"item", "count"}
    assert workflow_tool(flow("stop", int, stop)).parameters["properties"] == {"input": {"type": "integer"}}
    with pytest.raises(DefinitionError, match="not committed"):
        workflow_tool(create_workflow("open", int))


@both_ways
async def test_how_a_workflow_ends_is_told(way: str) -> None:
    """A bail's value is the result; a failure is an error of the tool, without the words inside."""
    assert (await outcome(flow("stop", int, stop), {"input": 1}, way)).tool_results[0].result == "early"
    (failed,) = (await outcome(flow("down", int, break_down), {"input": 1}, way)).tool_results
    assert isinstance(failed, ToolError)
    assert "workflow 'down' failed" in failed.error
    assert "secret" not in failed.error


@both_ways
async def test_an_agent_in_a_workflow_is_charged_and_its_tripwire_marked(way: str) -> None:
    """What blocks an agent inside the workflow is a marked error of the call; its tokens are the parent's."""
    child = Agent(
        "child",
        model=FakeModel(["bad"]),
        output_processors=[at("process_output_result", lambda ctx: ctx.abort("not that"))],
    )
    result = await outcome(flow("asks", str, child), {"input": "Hi"}, way)
    (told,) = result.tool_results
    assert isinstance(told, ToolResult)
    assert told.is_error
    assert told.result["tripwire"]["reason"] == "not that"
    assert result.usage.total_tokens == 3 * COST


tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


@both_ways
async def test_context_variables_that_a_workflow_sets_do_not_come_up(way: str) -> None:
    """A step sees what the caller set, and what it sets neither the hooks nor the caller see."""
    seen: list[str] = []

    @step
    async def move(ctx: StepContext[int]) -> int:
        """Set it."""
        seen.append(tenant.get())
        tenant.set("step")
        return ctx.input

    name = "workflow-moves"
    hook = at("process_output_result", lambda ctx: seen.append(tenant.get()))
    model = FakeModel([call_tool(name, {"input": 1}), "Done."])
    token = tenant.set("acme")
    try:
        await ask(Agent("parent", model=model, tools=[flow("moves", int, move)], output_processors=[hook]), way)
        seen.append(tenant.get())
    finally:
        tenant.reset(token)
    assert seen == ["acme", "acme", "acme"]
