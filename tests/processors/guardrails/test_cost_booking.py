"""What CostGuard books: every model call of a run, to the last unit, whoever was asked and however it ended."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.processors.guardrails.cost_kit import CALL, RESOURCE, Asks, agent, for_user, guard, spent

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.usage import Usage
from procession.models.fallback import FallbackModel
from procession.processors.contexts import OutputStepContext, OutputStreamContext
from procession.processors.processor import Processor
from procession.steps.step import StepContext
from procession.storage.costs import UNIT, CostBalance
from procession.storage.memory_costs import InMemoryCosts
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say
from procession.workflows.workflow import create_workflow

# -- what is booked


@pytest.mark.parametrize("stream", [False, True])
async def test_every_call_is_booked(stream: bool) -> None:
    """Each step's call is booked at its price when the run has ended, in a stream as in one piece."""
    store = InMemoryCosts()
    made = agent(FakeModel([call_tool("look", {"city": "A"}), "Sunny."]), guard(store))
    if stream:
        async with made.stream("Hi", **for_user()) as answer:
            await answer.result()
    else:
        await made.generate("Hi", **for_user())
    assert await spent(store) == CostBalance(spent=2 * CALL)
    assert await store.by_model(RESOURCE) == {"fake": 2 * CALL}


async def test_it_is_booked_before_the_next_step() -> None:
    """What a step has cost is in the store before the next model call is made."""
    store = InMemoryCosts()
    seen: list[int] = []

    async def second(request: Any) -> str:
        seen.append((await spent(store)).spent)
        return "Sunny."

    await agent(FakeModel([call_tool("look", {"city": "A"}), second]), guard(store)).generate("Hi", **for_user())
    assert seen == [CALL]


async def test_tokens_of_every_kind_are_priced() -> None:
    """What came from a cache, was written into one, and what was thought is priced as the provider counts it."""
    store = InMemoryCosts()
    prices = {"fake": {"input": 10, "output": 100, "cached_input": 1, "cache_write": 20}}
    usage = Usage(1000, 50, reasoning_tokens=40, cached_input_tokens=600, cache_creation_input_tokens=100)
    await agent(FakeModel(say("Hi.", usage=usage)), guard(store, prices=prices)).generate("Hi", **for_user())
    assert (await spent(store)).spent == (300 * 10 + 600 * 1 + 100 * 20 + 50 * 100) * UNIT // 10**6


class Sends(Processor):
    """Sends the first answer back."""

    id = "sends"

    def process_output_step(self, ctx: OutputStepContext) -> None:
        """Send it back."""
        if not ctx.retry_count:
            ctx.abort("again", retry=True)


async def test_rejected_attempts_are_booked() -> None:
    """An attempt that was sent back has been paid for."""
    store = InMemoryCosts()
    made = agent(FakeModel(["No.", "Yes."]), guard(store), output_processors=[Sends()], max_processor_retries=1)
    assert (await made.generate("Hi", **for_user())).text == "Yes."
    assert (await spent(store)).spent == 2 * CALL


async def test_a_fallback_is_priced_by_who_answered() -> None:
    """Of an agent's models, and of several as one, the one that answered is paid, and one that failed what it counted."""
    store = InMemoryCosts()
    down, other = FakeModel(fail("down", status=503), id="fake"), FakeModel("Hi.", id="other", repeat_last=True)
    await agent([down, other], guard(store)).generate("Hi", **for_user())
    assert await store.by_model(RESOURCE) == {"other": 15 * 500 * UNIT // 10**6}
    empty = FakeModel(Reply(finish="error", usage=Usage(7, 1)), id="fake")
    result = await agent(FallbackModel([empty, other]), guard(store)).generate("Hi", **for_user())
    assert result.usage == Usage(17, 6)
    assert await store.by_model(RESOURCE) == {
        "other": 2 * 15 * 500 * UNIT // 10**6,
        "fake": (7 * 1000 + 10_000) * UNIT // 10**6,
    }


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("bad", [True, False])
async def test_what_guards_ask_is_booked(first: bool, bad: bool) -> None:
    """A guard's own model call is paid for too: wherever the guard stands, and also where it stops the run."""
    store = InMemoryCosts()
    both = [guard(store), Asks(bad=bad)]
    result = await agent(FakeModel("Hi."), *(both if first else reversed(both))).generate("Hi", **for_user())
    assert result.status == ("blocked" if bad else "completed")
    costs = await store.by_model(RESOURCE)
    assert costs == {"other": 15 * 500 * UNIT // 10**6} | ({} if bad else {"fake": CALL})


async def test_an_inner_agents_calls_are_booked_once() -> None:
    """What an agent inside has cost counts for the run around it, and once where both have a guard of the same store."""
    for inner_guarded in (False, True):
        store = InMemoryCosts()
        inner = Agent(
            "inner",
            model=FakeModel("Inside.", id="other"),
            input_processors=[guard(store)] if inner_guarded else [],
            description="Answers.",
        )
        outer = Agent(
            "outer",
            model=FakeModel([call_tool("agent-inner", {"prompt": "Go"}), "Done."]),
            input_processors=[guard(store)],
            tools=[inner.as_tool()],
        )
        assert (await outer.generate("Hi", **for_user())).text == "Done."
        assert await store.by_model(RESOURCE) == {"fake": 2 * CALL, "other": 15 * 500 * UNIT // 10**6}


async def test_two_guards_of_one_store_book_once() -> None:
    """Limits over two windows share their account: no call counts twice."""
    store = InMemoryCosts()
    both = [guard(store, window="1h", id="hour"), guard(store, window="30d", id="month")]
    await agent(FakeModel([call_tool("look", {"city": "A"}), "Sunny."]), *both).generate("Hi", **for_user())
    assert await spent(store) == CostBalance(spent=2 * CALL)


async def test_what_a_step_reports_is_booked() -> None:
    """A workflow that is a tool may say what its own calls have cost, in tokens of a model or in money."""
    store = InMemoryCosts()

    async def work(ctx: StepContext[str]) -> str:
        ctx.spend(Usage(10, 5), model="other")
        ctx.spend(money=0.25)
        return "done"

    workflow = create_workflow("work", str, description="Works.").then(work).commit()
    model = FakeModel([call_tool("workflow-work", {"input": "x"}), "Done."])
    made = Agent("agent", model=model, input_processors=[guard(store)], tools=[workflow])
    await made.generate("Hi", **for_user())
    assert (await spent(store)).spent == 2 * CALL + 15 * 500 * UNIT // 10**6 + UNIT // 4


async def test_a_response_that_a_processor_gave_costs_nothing() -> None:
    """What comes from a cache is not paid for again."""

    class Cached(Processor):
        id = "cached"

        def process_llm_request(self, ctx: Any) -> Any:
            chunks = [
                {"type": "text-delta", "text": "Hi."},
                {"type": "finish", "reason": "stop", "usage": {"input_tokens": 9}},
            ]
            return {"response": {"chunks": chunks}}

    store = InMemoryCosts()
    result = await agent(FakeModel([]), guard(store), Cached()).generate("Hi", **for_user())
    assert (result.text, (await spent(store)).spent) == ("Hi.", 0)


# -- what was broken off


class Trips(Processor):
    """Stops the stream at its second piece."""

    id = "trips"

    def process_output_stream(self, ctx: OutputStreamContext) -> Any:
        """Look at a chunk."""
        if getattr(ctx.chunk, "text", "") == "two":
            ctx.abort("no")
        return ctx.chunk


async def test_a_call_that_is_stopped_in_the_stream_is_estimated() -> None:
    """What the provider never came to count is estimated from what was sent and said, and marked."""
    store = InMemoryCosts()
    made = agent(FakeModel(say("one", "two", "three")), guard(store), output_processors=[Trips()])
    async with made.stream("Hello there, how are you?", **for_user()) as answer:
        result = await answer.result()
    stands = await spent(store)
    assert result.status == "blocked"
    assert stands.spent == stands.estimated > 9 * 1000 * UNIT // 10**6


async def test_one_that_breaks_is_estimated_and_one_that_is_refused_is_free() -> None:
    """A stream that breaks after some text has been paid for; a request that was turned down has not."""
    store = InMemoryCosts()
    broken = FakeModel(Reply("Some text", stream_error=ModelError("broke", kind="stream")))
    with pytest.raises(ModelError):
        await agent(broken, guard(store)).generate("Hi", **for_user())
    stands = await spent(store)
    assert 0 < stands.spent == stands.estimated
    late = FakeModel(ModelError("took too long", kind="timeout"))
    with pytest.raises(ModelError):  # it was sent, and nobody knows what became of it
        await agent(late, guard(store)).generate("Hi", **for_user("user-3"))
    assert (await spent(store, RESOURCE.replace("1", "3"))).estimated > 0
    with pytest.raises(ModelError):
        await agent(FakeModel(fail("no", status=400)), guard(store)).generate("Hi", **for_user("user-2"))
    assert await spent(store, RESOURCE.replace("1", "2")) == CostBalance()


@pytest.mark.parametrize("reserve", [None, 1])
async def test_a_cancelled_call_is_estimated(reserve: int | None) -> None:
    """Whoever cancels in the middle has paid for it all the same; what was held for the call is given back."""
    store = InMemoryCosts()
    begun = anyio.Event()

    async def waits(request: Any) -> str:
        begun.set()
        await anyio.sleep_forever()
        return ""

    made = agent(FakeModel(waits), guard(store, reserve=reserve))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: made.generate("Hello there, how are you?", **for_user()))
        await begun.wait()
        assert (await spent(store)).reserved == (UNIT if reserve else 0)
        group.cancel_scope.cancel()
    stands = await spent(store)
    assert stands.spent == stands.estimated > 0
    assert stands.reserved == 0


async def test_a_provider_that_counts_nothing_is_estimated() -> None:
    """Where a server tells of no tokens, the call is not free."""
    store = InMemoryCosts()
    await agent(FakeModel(say("Hello.", usage=Usage())), guard(store)).generate("Hi", **for_user())
    stands = await spent(store)
    assert 0 < stands.spent == stands.estimated
