"""A workflow of everything that can be a step: a function, a tool, an agent and another workflow."""

from __future__ import annotations

from typing import Any

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import fail, say
from procession.tools.tool import tool
from procession.workflows.sources import from_init_data, from_step
from procession.workflows.template import template
from procession.workflows.workflow import create_workflow


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


@step
def measure(ctx: StepContext[str]) -> int:
    """Measure a text."""
    return len(ctx.input)


async def test_every_kind_of_step_in_one_workflow() -> None:
    """Each gives its output to the next, and the map at the end reads them all by their ids."""
    agent = Agent("writer", model=FakeModel("It is sunny."))
    inner = create_workflow("measured", str).then(measure).commit()
    workflow = (
        create_workflow("w", dict[str, str])
        .map({"city": from_init_data("city")})
        .then(weather)
        .map({"prompt": template("Write: ${step.weather}")})
        .map(lambda fields: str(fields["prompt"]))
        .then(agent)
        .then(inner)
        .map({"text": from_step("writer"), "size": from_step("measured"), "weather": from_step("weather")})
        .commit()
    )
    result = await Runtime().run(workflow, {"city": "Rome"})
    assert result.unwrap() == {"text": "It is sunny.", "size": 12, "weather": "sunny in Rome"}
    assert [record.kind for record in result.steps.values() if record.kind != "map"] == [
        "step",
        "step",
        "workflow",
        "step",
    ]


async def test_the_policy_of_a_workflow_is_for_tools_and_agents_too() -> None:
    """A tool and an agent without a policy of their own are tried again by that of the workflow."""
    tried: list[str] = []

    @tool
    def flaky(city: str) -> str:
        """Fail once."""
        tried.append(city)
        if len(tried) == 1:
            raise ValueError("not yet")
        return city

    agent = Agent("writer", model=FakeModel([fail("away"), say("Here.")]))
    to_tool: Any = create_workflow("t", retry=RetryPolicy(2)).then(flaky).commit()
    assert (await Runtime().run(to_tool, {"city": "Rome"})).unwrap() == "Rome"
    assert tried == ["Rome", "Rome"]
    to_agent = create_workflow("a", str, retry=RetryPolicy(2)).then(agent).commit()
    made = await Runtime().run(to_agent, "Hi")
    assert (made.unwrap(), made.steps["writer"].attempt) == ("Here.", 2)
