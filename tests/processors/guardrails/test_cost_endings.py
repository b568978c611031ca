"""What CostGuard books where a run does not simply end: suspended and resumed, hung up on, structured, in parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.processors.guardrails.cost_kit import CALL, PRICES, RESOURCE, agent, for_user, guard, look, spent

from procession.agents.agent import Agent
from procession.errors import ProcessorError, StoreError
from procession.messages.chunks import Chunk, ResponseMetadata, TextDelta, TextStart
from procession.models.model import ModelRequest
from procession.models.structured_output import StructuredOutput
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.contexts import OutputResultContext, OutputStreamContext
from procession.processors.guardrails.cost_guard import CostGuard
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.storage.costs import CostBalance
from procession.storage.memory_cache import InMemoryCacheStore
from procession.storage.memory_costs import InMemoryCosts
from procession.storage.sqlite.costs import SQLiteCosts
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool

YES = {"approved": True}
OTHER = 15 * 500 * 10**6
"""What a call of the other fake model costs."""


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


async def test_a_resumed_run_goes_on_with_its_account() -> None:
    """A run that waits has its calls booked, and resumed it counts on: nothing twice, and a limit of the run holds."""
    store = InMemoryCosts()
    model = FakeModel([call_tool("pay", {"amount": 1}), call_tool("pay", {"amount": 2}), "never"])
    limit = CostGuard(max_cost="0.12", scope="run", store=store, prices=PRICES)
    made = Agent("agent", model=model, input_processors=[limit], tools=[pay])
    first = await made.generate("Pay.", run_id="run-1")
    account = '["run", null, "run-1"]'
    assert (first.status, await spent(store, account)) == ("suspended", CostBalance(spent=CALL))
    second = await made.resume("run-1", {one.question_id: YES for one in first.suspended})
    assert (second.status, await spent(store, account)) == ("suspended", CostBalance(spent=2 * CALL))
    third = await made.resume("run-1", {one.question_id: YES for one in second.suspended})
    assert (third.status, await spent(store, account)) == ("blocked", CostBalance(spent=2 * CALL))
    assert len(model.requests) == 2


async def test_an_inner_run_that_waits_is_booked_by_the_outer_one() -> None:
    """What an agent inside spends counts for the run around it, before it waits and when it goes on."""
    store = InMemoryCosts()
    inner = Agent("inner", model=FakeModel([call_tool("pay", {"amount": 1}), "In."], id="other"), tools=[pay])
    outer = Agent(
        "outer",
        model=FakeModel([call_tool("agent-inner", {"prompt": "Go"}), "Out."]),
        input_processors=[guard(store)],
        tools=[inner.as_tool()],
    )
    first = await outer.generate("Hi", run_id="run-2", **for_user())
    assert first.status == "suspended"
    assert await store.by_model(RESOURCE) == {"fake": CALL, "other": OTHER}
    (waiting,) = first.suspended
    payload: Any = waiting.payload
    answers = {waiting.question_id: {one["question_id"]: YES for one in payload["calls"]}}
    second = await outer.resume("run-2", answers, **for_user())
    assert (second.status, second.text) == ("completed", "Out.")
    assert await store.by_model(RESOURCE) == {"fake": 2 * CALL, "other": 2 * OTHER}


class Slow:
    """A model that says one word, and then thinks."""

    id = "fake"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Answer."""
        yield ResponseMetadata("r", self.id)
        yield TextStart()
        yield TextDelta("Well, ")
        await anyio.sleep_forever()


async def test_a_reader_that_hangs_up() -> None:
    """Whoever leaves a stream in the middle has paid for it as far as can be told."""
    store = InMemoryCosts()
    async with agent(Slow(), guard(store)).stream("Hello there, how are you?", **for_user()) as answer:
        async for chunk in answer.full_stream:
            if chunk.type == "text-delta":
                break
    stands = await spent(store)
    assert stands.spent == stands.estimated > 2 * 10_000 * 10**6


async def test_a_run_that_is_cancelled_in_its_second_step() -> None:
    """What was booked before stays booked, once, and what was under way is estimated."""
    store = InMemoryCosts()
    begun = anyio.Event()

    async def forever(request: ModelRequest) -> str:
        begun.set()
        await anyio.sleep_forever()
        return ""

    made = agent(FakeModel([call_tool("look", {"city": "A"}), forever]), guard(store))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: made.generate("Hi", **for_user()))
        await begun.wait()
        group.cancel_scope.cancel()
    stands = await spent(store)
    assert CALL + stands.estimated == stands.spent
    assert stands.estimated > 0


class Answer(BaseModel):
    """What is asked for."""

    city: str


async def test_the_second_model_of_structured_output_is_booked() -> None:
    """The model that makes a value of the answer is paid for as well."""
    store = InMemoryCosts()
    wanted = StructuredOutput(Answer, model=FakeModel('{"city": "Rome"}', id="other"))
    result = await agent(FakeModel("It is Rome."), guard(store)).generate(
        "Where?", structured_output=wanted, **for_user()
    )
    assert result.object == Answer(city="Rome")
    assert await store.by_model(RESOURCE) == {"fake": CALL, "other": OTHER}


class Trips(Processor):
    """Stops at the first text."""

    id = "trips"

    def process_output_stream(self, ctx: OutputStreamContext) -> Any:
        """Look at a chunk."""
        if ctx.chunk.type == "text-delta":
            ctx.abort("no")
        return ctx.chunk


async def test_an_answer_in_one_piece_is_counted_to_its_end() -> None:
    """An answer that is complete already is booked with what it used, also where a guard turns it down (D13)."""
    store = InMemoryCosts()
    result = await agent(FakeModel("Hello."), guard(store), output_processors=[Trips()]).generate("Hi", **for_user())
    assert (result.status, await spent(store)) == ("blocked", CostBalance(spent=CALL))


@pytest.mark.parametrize("runs", [20])
async def test_one_guard_serves_many_at_once(runs: int) -> None:
    """One guard object, many requests at the same time: each has its own account."""
    store = InMemoryCosts()
    shared = guard(store, max_cost="0.12")
    statuses: dict[str, str] = {}

    async def one(user: str) -> None:
        model = FakeModel([call_tool("look", {"city": "A"})] * 3)
        result = await Agent("agent", model=model, input_processors=[shared], tools=[look]).generate(
            "Hi", **for_user(user)
        )
        statuses[user] = result.status

    async with anyio.create_task_group() as group:
        for number in range(runs):
            group.start_soon(one, f"user-{number}")
    assert set(statuses.values()) == {"blocked"}
    for number in range(runs):
        assert await spent(store, f'["resource", null, "user-{number}"]') == CostBalance(spent=2 * CALL)


async def test_a_cached_answer_is_free() -> None:
    """What comes from the cache was paid for when it was made, and by nobody since."""
    store, model = InMemoryCosts(), FakeModel("Hello.")
    made = agent(model, guard(store, reserve=1), ResponseCache(cache=InMemoryCacheStore()))
    for _ in range(2):
        assert (await made.generate("Hi", **for_user())).text == "Hello."
    assert (len(model.requests), await spent(store)) == (1, CostBalance(spent=CALL))


def test_a_task_that_asyncio_cancels(tmp_path: Path) -> None:
    """asyncio's own cancelling, which no shield keeps off, leaves what the call has cost in the file, and nothing held."""

    async def main() -> CostBalance:
        begun = asyncio.Event()

        async def forever(request: ModelRequest) -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        async with SQLiteCosts(tmp_path / "costs.db") as store:
            run = agent(FakeModel(forever), guard(store, reserve=1)).generate("Hello there", **for_user())
            task = asyncio.ensure_future(run)
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await spent(store)

    stands = asyncio.run(main())
    assert 0 < stands.spent == stands.estimated
    assert stands.reserved == 0


async def test_an_aborted_run_whose_answer_is_dropped_is_booked() -> None:
    """Whoever aborts while the whole answer is looked at, for too long, keeps nothing of it and has paid all the same."""
    store, signal = InMemoryCosts(), AbortSignal()

    class Stuck(Processor):
        id = "stuck"

        async def process_output_result(self, ctx: OutputResultContext) -> None:
            signal.abort()
            await anyio.sleep_forever()

    made = agent(FakeModel("Hi."), guard(store, reserve=1), output_processors=[Stuck()], runtime=Runtime(grace=0.01))
    result = await made.generate("Hi", abort_signal=signal, **for_user())
    assert (result.status, result.text) == ("aborted", "")
    assert await spent(store) == CostBalance(spent=CALL)


class Failing(InMemoryCosts):
    """A store that does what is said once it is."""

    instead: Any = None

    async def book(self, account: str, *args: Any, **options: Any) -> CostBalance:
        """Book, unless something else is to happen."""
        if self.instead is not None:
            await self.instead()
        return await super().book(account, *args, **options)


class Breaks(Processor):
    """Breaks a store once the run is all but over."""

    id = "breaks"

    def __init__(self, store: Failing, instead: Any) -> None:
        super().__init__()
        self.store, self.instead = store, instead

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Break it."""
        self.store.instead = self.instead


@pytest.mark.parametrize("first", [True, False])
async def test_a_store_that_fails_at_the_end_keeps_no_other_from_booking(first: bool) -> None:
    """Of two stores one fails when the run has ended: the run fails, and the other one has what it cost."""

    async def fails() -> None:
        raise StoreError("gone")

    broken, store = Failing(), InMemoryCosts()
    guards = [guard(broken, id="one"), guard(store, id="two")]
    made = agent(FakeModel("Hi."), *(guards if first else guards[::-1]), output_processors=[Breaks(broken, fails)])
    with pytest.raises(ProcessorError, match="'one' could not book what the run has cost: StoreError"):
        await made.generate("Hi", **for_user())
    assert (await spent(store)).spent == CALL


@pytest.mark.parametrize("on_error", ["stop", "skip"])
async def test_a_store_that_hangs_at_the_end_is_not_waited_for(on_error: Any) -> None:
    """The guard's ``timeout`` holds for the last booking, too."""
    store = Failing()
    made = agent(
        FakeModel("Hi."),
        guard(store, timeout=0.01, on_error=on_error),
        output_processors=[Breaks(store, anyio.sleep_forever)],
    )
    if on_error == "skip":
        assert (await made.generate("Hi", **for_user())).text == "Hi."
        return
    with pytest.raises(ProcessorError, match="could not book what the run has cost: TimeoutError"):
        await made.generate("Hi", **for_user())


@pytest.mark.parametrize("reserve", [None, 1])
async def test_whoever_cancels_while_the_rest_is_booked_has_paid_for_it(reserve: int | None) -> None:
    """A run that is cancelled in its very last booking books it all the same, once, and gives back what is held."""
    store, other = Failing(), InMemoryCosts()
    booking = anyio.Event()

    async def slow() -> None:
        store.instead = None
        booking.set()
        await anyio.sleep_forever()

    guards = [guard(other, id="other"), guard(store, reserve=reserve)]
    made = agent(FakeModel("Hi."), *guards, output_processors=[Breaks(store, slow)])
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: made.generate("Hi", **for_user()))
        await booking.wait()
        group.cancel_scope.cancel()
    assert await spent(store) == await spent(other) == CostBalance(spent=CALL)
