"""Generators where functions belong: refused where they are given, or told of, and never taken for an answer."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, counted_tool
from tests.agents.suspending import told

from procession.agents.agent import Agent
from procession.agents.callbacks import CALLBACKS
from procession.errors import DefinitionError, InputError, StepError
from procession.messages.chunks import ToolError
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


def lines(value: Any, ctx: Any = None) -> Any:
    """Yield lines."""
    yield "secret"


async def rows(value: Any, ctx: Any = None) -> Any:
    """Yield rows."""
    yield "secret"


def never(steps: Any) -> bool:
    """Be a condition that is not met."""
    return False


@both_ways
@pytest.mark.parametrize("function", [lines, rows])
async def test_a_tool_that_returns_a_generator_says_so_to_the_model(way: str, function: Any) -> None:
    """The model is told of an error that says what to do, not of the name of an object."""
    tool: Tool[Any] = Tool(name="read", parameters={"type": "object"}, execute=lambda args, ctx: function(args))
    model = FakeModel([call_tool("read", {}), "Done."])
    seen = await ask(Agent("a", model=model, tools=[tool]), way)
    (result,) = seen.result.tool_results
    assert isinstance(result, ToolError)
    assert "generator, which nobody has read" in result.error
    assert "object at 0x" not in repr([told(model.requests[1]), result])


@pytest.mark.parametrize("name", [*CALLBACKS, "stop_when", "require_tool_approval"])
@pytest.mark.parametrize("function", [lines, rows])
async def test_a_callback_that_yields_is_refused(name: str, function: Any) -> None:
    """Neither an agent nor a call takes a generator function for a callback, a condition or an approver."""
    model = FakeModel("Hello.")
    values: list[Any] = [function] if name != "stop_when" else [function, [never, function]]
    for value in values:
        with pytest.raises(DefinitionError, match=f"{name} is a generator function"):
            Agent("a", model=model, **{name: value})
        with pytest.raises(InputError, match=f"{name} is a generator function"):
            await Agent("a", model=model).generate("Hi", **{name: value})
    assert model.requests == []


async def test_prepare_step_that_yields_is_refused() -> None:
    """So is a ``prepare_step`` of a call."""
    with pytest.raises(InputError, match="prepare_step is a generator function"):
        await Agent("a", model=FakeModel("Hello.")).generate("Hi", prepare_step=rows)


@both_ways
async def test_a_condition_that_returns_a_generator_does_not_end_the_run(way: str) -> None:
    """A forgotten ``any()`` would be true whatever the steps: the run stops with an error that names the condition."""
    lookup, ran = counted_tool()

    def too_many(steps: Any) -> Any:
        return (step.text == "x" for step in steps)

    agent = Agent("a", model=FakeModel([call_tool("lookup", {}), "Done."]), tools=[lookup], stop_when=too_many)
    seen = await ask(agent, way)
    assert isinstance(seen.error, StepError)
    assert "stop_when too_many returned generator" in str(seen.error)
    assert ran == [{}]
