"""Tools that the provider runs, declared among an agent's: models are told of them, and nothing here executes one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.agents.test_provider_tools import CALL, RESULT, Provider

from procession.agents.agent import Agent
from procession.errors import ApprovalError
from procession.messages.chunks import Finish, TextDelta, ToolError
from procession.models.model import ToolSpec
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.provider_tool import ProviderTool
from procession.workflows.render.draw import draw

both_ways = pytest.mark.parametrize("way", WAYS)
SEARCH = ProviderTool("web_search", openai={"type": "web_search"}, google={"google_search": {}})
SPEC = ToolSpec("web_search", parameters={}, provider_tool=SEARCH.definitions)


def allow(args: Any, ctx: Any) -> bool:
    """Agree to a call without a person."""
    return False


def places(tool: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each way to give an agent a tool: what the agent is made with, and what the call says."""

    def of_the_request(context: Any) -> list[Any]:
        return [tool]

    def of_the_step(ctx: Any) -> dict[str, Any]:
        return {"tools": [tool]}

    step = at("process_input_step", lambda ctx: {"tools": {**ctx.tools, tool.name: tool}})
    return [
        ({"tools": [tool]}, {}),
        ({"tools": {tool.name: tool}}, {}),
        ({"tools": of_the_request}, {}),
        ({}, {"tools": [tool]}),
        ({"input_processors": [step]}, {}),
        ({}, {"prepare_step": of_the_step}),
    ]


@both_ways
@pytest.mark.parametrize("place", range(6))
async def test_models_are_told_wherever_it_is_declared(way: str, place: int) -> None:
    """Agent, call, processors and ``prepare_step`` take it like any tool; the model gets its definitions."""
    settings, options = places(SEARCH)[place]
    model = FakeModel("Found.")
    assert (await ask(Agent("a", model=model, **settings), way, **options)).result.text == "Found."
    assert model.requests[0].tools == (SPEC,)


@both_ways
async def test_it_can_be_chosen_and_left_out(way: str) -> None:
    """``active_tools`` and ``tool_choice`` know it by its name; with ``none`` it is not sent, since nobody here stops it."""
    ours, _ = counted_tool()
    model = FakeModel("Found.", repeat_last=True)
    agent = Agent("a", model=model, tools=[SEARCH, ours])
    chosen = {"type": "tool", "tool_name": "web_search"}
    await ask(agent, way, tool_choice=chosen)
    await ask(agent, way, active_tools=["web_search"])
    await ask(agent, way, active_tools=["lookup"])
    await ask(agent, way, tool_choice="none")
    assert [[spec.name for spec in request.tools] for request in model.requests] == [
        ["web_search", "lookup"], ["web_search"], ["lookup"], [],
    ]  # fmt: skip
    assert model.requests[0].tool_choice == chosen


@both_ways
async def test_what_the_provider_did_comes_with_the_answer(way: str) -> None:
    """Its calls and results are the provider's, as for a tool that nobody declared."""
    call, result = CALL.replace(tool_name="web_search"), RESULT.replace(tool_name="web_search")
    model = Provider((call, result, TextDelta("Found."), Finish("stop")))
    seen = await ask(Agent("a", model=model, tools=[SEARCH]), way)
    assert (seen.result.text, list(seen.result.tool_results)) == ("Found.", [result])


@both_ways
@pytest.mark.parametrize("approval", [False, allow])
async def test_a_call_as_of_a_tool_of_ours_is_an_error_that_the_model_is_told(way: str, approval: Any) -> None:
    """Nothing runs; the model hears that the provider runs it, beside what the agent's own tools answered."""
    ours, ran = counted_tool()
    calls = call_tool("web_search", {"query": "x"}, id="c1") + call_tool("lookup", id="c2")
    model = FakeModel([calls, "So."])
    agent = Agent("a", model=model, tools=[SEARCH, ours], require_tool_approval=approval)
    seen = await ask(agent, way)
    failed, _ = seen.result.tool_results
    assert isinstance(failed, ToolError)
    assert failed.error == "tool 'web_search' is run by the model's provider, not here"
    assert (seen.result.text, len(ran)) == ("So.", 1)


@both_ways
async def test_where_every_call_needs_approval_it_is_not_sent(way: str) -> None:
    """The provider asks nobody: the run fails before the model is asked, and says what to do."""
    model = FakeModel("Found.", repeat_last=True)
    agent = Agent("a", model=model, tools=[SEARCH])
    for options in ({"require_tool_approval": True}, {"require_tool_approval": True, "tools": [SEARCH]}):
        with pytest.raises(ApprovalError, match="the provider runs 'web_search' without asking"):
            _ = (await ask(agent, way, **options)).result
    assert model.requests == []
    assert (await ask(agent, way, require_tool_approval=True, active_tools=[])).result.text == "Found."


def test_pictures_and_explanations_know_it() -> None:
    """An agent with such a tool is drawn like any other, and its explanation says who runs the tool."""
    agent = Agent("a", model=FakeModel([]), tools=[SEARCH])
    assert draw(agent.workflow) == draw(Agent("a", model=FakeModel([])).workflow)
    assert (
        "web_search is run by the provider, without approval (openai, google); other models are not told of it"
        in agent.explain().notes
    )
