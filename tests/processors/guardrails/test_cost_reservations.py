"""CostGuard with reservations: runs at the same time stay within the limit."""

from __future__ import annotations

from typing import Any

import anyio
from tests.processors.guardrails.cost_kit import CALL, RESOURCE, agent, for_user, guard, spent

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.models.estimate import estimated_usage
from procession.models.fallback import FallbackModel
from procession.processors.contexts import LLMRequestContext
from procession.storage.costs import UNIT, CostBalance, CostEntry, Reservation
from procession.storage.memory_costs import InMemoryCosts
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

# -- many at the same time


class Counting(InMemoryCosts):
    """A store that notes the most that was ever spent and held."""

    most = 0

    async def book(self, account: str, *args: Any, **options: Any) -> CostBalance:
        """Note how the account stands."""
        await anyio.lowlevel.checkpoint()
        stands = await super().book(account, *args, **options)
        self.most = max(self.most, (await super().balance(account)).total)
        await anyio.lowlevel.checkpoint()
        return stands


async def test_runs_at_the_same_time_stay_within_the_limit() -> None:
    """With a reservation as large as a call, fifty runs at once spend the limit to the last unit, and no more."""
    store = Counting()
    stops = guard(store, max_cost="0.60", reserve="0.06")
    statuses: list[str] = []

    async def one() -> None:
        result = await agent(FakeModel("Hi."), stops).generate("Hi", **for_user())
        statuses.append(result.status)

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(one)
    assert (statuses.count("completed"), statuses.count("blocked")) == (10, 40)
    assert store.most <= 60 * UNIT // 100
    assert await spent(store) == CostBalance(spent=60 * UNIT // 100)


async def test_a_refused_reservation_says_so() -> None:
    """What others hold is told of, and what this call would have needed."""
    store = InMemoryCosts()
    await store.book(RESOURCE, reserve=Reservation(id="else", amount=UNIT // 2, limit=UNIT, seconds=60))
    await store.book(RESOURCE, [CostEntry(id="before", amount=UNIT // 4)])

    def needed(ctx: LLMRequestContext) -> str:
        return "0.30"

    result = await agent(FakeModel([]), guard(store, max_cost=1, reserve=needed)).generate("Hi", **for_user())
    assert result.tripwire is not None
    metadata: Any = result.tripwire.metadata
    assert metadata["usage"] == {"estimatedCost": 0.75, "costUnit": "USD", "reserved": 0.5}
    assert (metadata["maxCost"], metadata["reserve"]) == (1, 0.3)
    assert (await spent(store)).reserved == UNIT // 2


async def test_an_estimate_is_held() -> None:
    """An estimated reservation is that of the prompt, its tools and *reserve_tokens* of an answer, at the dearest model."""
    store = InMemoryCosts()
    held: list[int] = []
    asked: list[int] = []

    async def look_at(request: Any) -> str:
        held.append((await spent(store)).reserved)
        asked.extend(estimated_usage(one).input_tokens for one in (request, request.replace(tools=())))
        return "Hi."

    cheap = FakeModel([], id="other")
    model = FallbackModel([FakeModel(look_at), cheap])
    stops = guard(store, reserve="estimate", reserve_tokens=100)
    await agent(model, stops, instructions="").generate([Message.user("Hello")], **for_user())
    assert asked[0] > asked[1] == 6
    assert held == [(asked[0] * 1000 + 100 * 10_000) * UNIT // 10**6]
    assert await spent(store) == CostBalance(spent=CALL)


async def test_a_run_does_not_wait_for_itself() -> None:
    """What the outer run holds for a call that has ended does not keep an agent inside from its own."""
    store = InMemoryCosts()
    inner = Agent(
        "inner", model=FakeModel("In."), input_processors=[guard(store, max_cost=1, reserve="0.6")], description="In."
    )
    outer = Agent(
        "outer",
        model=FakeModel([call_tool("agent-inner", {"prompt": "Go"}), "Out."]),
        input_processors=[guard(store, max_cost=1, reserve="0.6")],
        tools=[inner.as_tool()],
    )
    result = await outer.generate("Hi", **for_user())
    assert (result.status, result.text) == ("completed", "Out.")
    assert await spent(store) == CostBalance(spent=3 * CALL)


async def test_a_monitor_holds_nothing() -> None:
    """A guard that only watches says that there was no room for the call, and takes none from others."""
    store = InMemoryCosts()
    held: list[int] = []

    async def look_at(request: Any) -> str:
        held.append((await spent(store)).reserved)
        return "Hi."

    watches = guard(store, max_cost="0.5", reserve=1, mode="monitor")
    result = await agent(FakeModel(look_at), watches).generate("Hi", **for_user())
    assert (held, [one.outcome for one in result.violations]) == ([0], ["would_block"])
