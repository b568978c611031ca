"""Settings that are functions of the request context: what they may return, and that nothing else of an agent breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, counted_tool

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError
from procession.messages.shapes import is_dict
from procession.steps.request_context import RequestContext
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.render.draw import draw

both_ways = pytest.mark.parametrize("way", WAYS)
Maker = Callable[[Any], Callable[[RequestContext], Any]]


def plain(value: Any) -> Callable[[RequestContext], Any]:
    """Return a function of the request that looks *value* up by the request's plan where it is a mapping of plans."""

    def choose(context: RequestContext) -> Any:
        return value[context["plan"]] if is_dict(value) and context.get("plan") in value else value

    return choose


def later(value: Any) -> Callable[[RequestContext], Any]:
    """Do what ``plain`` does, as an async function."""

    async def choose(context: RequestContext) -> Any:
        return plain(value)(context)

    return choose


both_kinds = pytest.mark.parametrize("of_request", [plain, later])


@both_ways
@both_kinds
async def test_settings_are_resolved_for_each_request(way: str, of_request: Maker) -> None:
    """Instructions, model and tools are what the request's functions say, request by request."""
    small, big = FakeModel("small", repeat_last=True), FakeModel("big", repeat_last=True)
    tool, _ = counted_tool()
    agent = Agent(
        "guide",
        model=of_request({"free": small, "paid": big}),
        instructions=of_request({"free": "Be brief.", "paid": None}),
        tools=of_request({"free": [], "paid": [tool]}),
    )
    free = (await ask(agent, way, request_context={"plan": "free"})).result
    paid = (await ask(agent, way, request_context={"plan": "paid"})).result
    assert (free.text, paid.text) == ("small", "big")
    assert [message.text for message in small.requests[0].messages] == ["Be brief.", "Hi"]
    assert [message.text for message in big.requests[0].messages] == ["Hi"]
    assert [spec.name for spec in small.requests[0].tools] == []
    assert [spec.name for spec in big.requests[0].tools] == ["lookup"]


@both_ways
async def test_a_call_says_otherwise(way: str) -> None:
    """A call's model and instructions win without asking the function; its tools come on top of the function's."""

    def never(context: RequestContext) -> Any:
        raise AssertionError

    lookup, lookups = counted_tool()
    search, searches = counted_tool("search")
    model = FakeModel([call_tool("lookup") + call_tool("search"), "done"])
    agent = Agent("guide", model=never, instructions=never, tools=lambda context: {"lookup": lookup})
    result = (await ask(agent, way, model=model, instructions="Be kind.", tools=[search])).result
    assert (result.text, len(lookups), len(searches)) == ("done", 1, 1)
    assert model.requests[0].messages[0].text == "Be kind."


RETURNED: list[tuple[str, Any, type[Exception], str, str]] = [
    ("model", None, InputError, "model is a function that returned None", "return a model"),
    ("model", 5, InputError, "model is a function that returned int", "return a model"),
    ("model", [], InputError, "model is a function that returned list", "return a model"),
    ("model", "nowhere", InputError, "'nowhere'", ""),
    ("instructions", 5, InputError, "instructions is a function that returned int", "None for no instructions"),
    ("instructions", ["Be brief."], InputError, "instructions is a function that returned list", "return a text"),
    ("tools", None, InputError, "tools is a function that returned None", "[] for none"),
    ("tools", "lookup", InputError, "tools is a function that returned str", "[] for none"),
    ("tools", [5], DefinitionError, "tools is a function, and in what it returned 5 is no tool", "@tool"),
]


@both_ways
@both_kinds
@pytest.mark.parametrize(("name", "value", "kind", "said", "hint"), RETURNED)
async def test_what_a_function_may_not_return(
    way: str, of_request: Maker, name: str, value: Any, kind: type[Exception], said: str, hint: str
) -> None:
    """A wrong return value is refused, naming the setting and what to return, before a model is asked."""
    model = FakeModel("x")
    settings: dict[str, Any] = {"model": model, name: of_request(value)}
    seen = await ask(Agent("guide", **settings), way)
    assert isinstance(seen.error, kind)
    assert said in seen.error.message
    assert hint in (seen.error.hint or "")
    assert model.requests == []


def test_an_agent_with_functions_can_be_looked_at() -> None:
    """Such an agent is drawn and printed like any other, and no function is asked."""

    def never(context: RequestContext) -> Any:
        raise AssertionError

    agent = Agent("guide", model=never, instructions=never, tools=never)
    assert "model-call (model)" in draw(agent.workflow)
    assert repr(agent) == "Agent('guide', model of the request)"
    assert agent.model is never
    assert Agent("guide", model=FakeModel(say("x"), id="m")).__repr__() == "Agent('guide', model='m')"


@pytest.mark.parametrize("name", ["model", "instructions", "tools"])
def test_a_class_is_no_function_of_the_request(name: str) -> None:
    """A class, or a single tool, is refused when the agent is made."""
    settings: dict[str, Any] = {"model": FakeModel("x"), name: FakeModel}
    with pytest.raises(DefinitionError, match=f"{name} is type"):
        Agent("guide", **settings)
    with pytest.raises(DefinitionError, match="tools is Tool"):
        Agent("guide", model=FakeModel("x"), tools=counted_tool()[0])  # type: ignore[arg-type]
