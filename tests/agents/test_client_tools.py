"""Tools of the client: the run ends with a call that it can be made of, and only with such a one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask
from tests.agents.suspending import told

from procession.agents.agent import Agent
from procession.messages.chunks import ToolResult
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool, client_tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DOOR = client_tool("door", "Opens a door.", PARAMETERS)


@both_ways
@pytest.mark.parametrize(
    "call",
    [
        call_tool("door", {}),
        call_tool("door", {"n": "two"}),
        call_tool("door", raw='{"n": tr'),
        call_tool("door", raw="[1]"),
    ],
)
async def test_the_client_gets_no_call_that_cannot_be_run(way: str, call: Any) -> None:
    """Wrong arguments of a client's tool are told to the model, as those of any other tool, and it can mend its call."""
    model = FakeModel([call, call_tool("door", {"n": 2}, id="c2")])
    seen = await ask(Agent("a", model=model, tools=[DOOR]), way)
    (result,) = seen.result.tool_results
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert result.result["error"] is True
    assert "door" in told(model.requests[1])[0]["message"]
    assert [one.tool_call_id for one in seen.result.tool_calls][-1] == "c2"
    assert seen.result.finish_reason == "tool-calls"


@both_ways
async def test_a_good_call_beside_a_wrong_one_ends_the_run(way: str) -> None:
    """The good call is the client's, the wrong one is answered already."""
    model = FakeModel([call_tool("door", {}, id="c1") + call_tool("door", {"n": 2}, id="c2"), "Never."])
    seen = await ask(Agent("a", model=model, tools=[DOOR]), way)
    assert [result.tool_call_id for result in seen.result.tool_results] == ["c1"]
    assert len(model.requests) == 1
    assert seen.result.finish_reason == "tool-calls"


@both_ways
async def test_a_wrong_call_stays_answered_over_a_suspension(way: str) -> None:
    """A step that waited for a person goes on where the client's tool has nothing to do any more."""
    pay: Tool[Any] = Tool(
        name="pay", parameters={"type": "object"}, execute=lambda args, ctx: "paid", requires_approval=True
    )
    model = FakeModel([call_tool("door", {}, id="c1") + call_tool("pay", {}, id="c2"), "Done."])
    agent = Agent("a", model=model, tools=[DOOR, pay])
    seen = await ask(agent, way)
    result = await agent.resume(seen.result.run_id, {"c2": {"approved": True}})
    assert [one.tool_call_id for one in result.tool_results] == ["c1", "c2"]
    assert result.final_text == "Done."


@both_ways
async def test_no_tool_runs_where_none_was_offered(way: str) -> None:
    """With ``tool_choice="none"`` a call all the same runs nothing, and the model is told that there are no tools."""
    ran: list[Any] = []
    pay: Tool[Any] = Tool(name="pay", parameters={"type": "object"}, execute=lambda args, ctx: ran.append(args))
    model = FakeModel([call_tool("pay", {}) + call_tool("door", {"n": 1}), "Done."])
    seen = await ask(Agent("a", model=model, tools=[pay, DOOR]), way, tool_choice="none")
    assert ran == []
    assert seen.result.text == "Done."
    assert told(model.requests[1]) == [
        'Tool "pay" not found. Available tools: none.',
        'Tool "door" not found. Available tools: none.',
    ]


@both_ways
async def test_a_hook_that_forbids_tools_is_obeyed(way: str) -> None:
    """So it is where ``prepare_step`` takes the tools away for one step; the next one has them again."""
    ran: list[Any] = []
    pay: Tool[Any] = Tool(name="pay", parameters={"type": "object"}, execute=lambda args, ctx: ran.append(args))
    model = FakeModel([call_tool("pay", {"n": 1}), call_tool("pay", {"n": 2}), "Done."])

    def prepare(ctx: Any) -> Any:
        return {"tool_choice": "none"} if ctx.step_number == 0 else None

    await ask(Agent("a", model=model, tools=[pay]), way, prepare_step=prepare)
    assert ran == [{"n": 2}]


@both_ways
async def test_a_choice_of_a_tool_takes_no_other_away(way: str) -> None:
    """``tool_choice`` that names a tool is the provider's to heed: every tool was offered, so that each may run."""
    ran: list[Any] = []
    pay: Tool[Any] = Tool(name="pay", parameters={"type": "object"}, execute=lambda args, ctx: ran.append(args))
    model = FakeModel([call_tool("pay", {}), "Done."])
    await ask(Agent("a", model=model, tools=[pay, DOOR]), way, tool_choice={"type": "tool", "tool_name": "door"})
    assert [spec.name for spec in model.requests[0].tools] == ["pay", "door"]
    assert ran == [{}]
