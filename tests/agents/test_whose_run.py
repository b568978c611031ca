"""Whose run it is: what was begun for one resource, another one can neither resume nor see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask
from tests.agents.suspending import doing, go_on

from procession.agents.agent import Agent
from procession.errors import InputError
from procession.processors.memory.memory import Memory
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
YES = {"c1": {"approved": True}}
OWNED: dict[str, Any] = {"thread": "t", "resource": "ada"}


def payer(acted: list[Any], **options: Any) -> Agent:
    """Return an agent that wants to pay."""
    model = FakeModel([call_tool("pay", {}, id="c1"), "Paid."])
    return Agent("payer", model=model, tools=[doing("pay", acted, requires_approval=True)], **options)


DOORS: dict[str, Callable[[Agent, str, dict[str, Any]], Awaitable[Any]]] = {
    "resume": lambda agent, run_id, whose: agent.resume(run_id, YES, **whose),
    "approve": lambda agent, run_id, whose: agent.approve(run_id, **whose),
    "approve by name": lambda agent, run_id, whose: agent.approve(run_id, "c1", **whose),
    "decline": lambda agent, run_id, whose: agent.decline(run_id, **whose),
    "suspended": lambda agent, run_id, whose: agent.suspended(run_id, resource=whose.get("resource")),
    "cancel": lambda agent, run_id, whose: agent.cancel(run_id, resource=whose.get("resource")),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("memory", [True, False])
async def test_another_resource_finds_nothing(door: str, memory: bool) -> None:
    """With another resource the run is as good as not there; without one it is refused; nothing runs (D35)."""
    acted: list[Any] = []
    agent = payer(acted, memory=Memory() if memory else None)
    first = await agent.generate("Hi", **OWNED)
    with pytest.raises(InputError, match="no run .* is suspended here"):
        await DOORS[door](agent, first.run_id, {"resource": "eve"})
    with pytest.raises(InputError, match="begun for a resource"):
        await DOORS[door](agent, first.run_id, {})
    assert acted == []
    assert (await agent.approve(first.run_id, resource="ada")).text == "Paid."


@both_ways
async def test_another_thread_finds_nothing(way: str) -> None:
    """A thread need not be named; one that is another than the run's own is refused."""
    acted: list[Any] = []
    agent = payer(acted)
    first = (await ask(agent, way, **OWNED)).result
    seen = await go_on(agent, way, first.run_id, YES, resource="ada", thread="other")
    assert isinstance(seen.error, InputError)
    assert "no run" in str(seen.error)
    assert acted == []
    assert (await go_on(agent, way, first.run_id, YES, **OWNED)).result.text == "Paid."


async def test_a_run_of_nobody_is_none_of_a_resource() -> None:
    """A run that was begun without a resource is not found by a call with one (D35)."""
    acted: list[Any] = []
    agent = payer(acted)
    first = await agent.generate("Hi")
    with pytest.raises(InputError, match="no run"):
        await agent.resume(first.run_id, YES, resource="ada")
    assert (await agent.approve(first.run_id)).text == "Paid."


async def test_the_request_context_may_be_another() -> None:
    """The values of the request are those of whoever answers: they are given again, and a tool sees them."""
    seen: list[Any] = []

    def act(args: Any, ctx: Any) -> str:
        ctx.suspend("?")
        seen.append(ctx.request_context["user"])
        return "done"

    agent = Agent("clerk", model=FakeModel([call_tool("act", {}, id="c1"), "Done."]), tools=[doing("act", [], act)])
    first = await agent.generate("Hi", request_context={"user": "asker"})
    await agent.resume(first.run_id, {"c1": 1}, request_context={"user": "boss"})
    assert seen == ["boss"]


async def test_a_run_inside_another_is_resumed_through_it_alone() -> None:
    """The run of a sub-agent, whose id can be guessed, goes on only with the run that it stands in."""
    acted: list[Any] = []
    child = payer(acted)
    outer = FakeModel([call_tool("agent-payer", {"prompt": "Pay"}, id="o1"), "Done."])
    agent = Agent("parent", model=outer, tools=[child])
    first = await agent.generate("Hi", **OWNED)
    inner = f"{first.run_id}:o1"
    for door in DOORS.values():
        with pytest.raises(InputError, match="inside another run"):
            await door(child, inner, {})
    assert acted == []
    result = await agent.resume(first.run_id, {"o1": YES}, resource="ada")
    assert (result.text, len(acted)) == ("Done.", 1)
