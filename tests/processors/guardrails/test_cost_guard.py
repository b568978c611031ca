"""CostGuard: what a run has cost is booked to the last unit, whoever was asked, and what is too much is stopped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorDefinitionError, ProcessorError, StoreError
from procession.messages.message import Message
from procession.messages.usage import Usage
from procession.models.ask import ask
from procession.models.fallback import FallbackModel
from procession.processors.contexts import InputContext, OutputStepContext, OutputStreamContext
from procession.processors.guardrails.cost_guard import CostGuard, CostGuardProcessor, TokenCostControl
from procession.processors.processor import Processor
from procession.processors.violation import Violation
from procession.steps.request_context import RequestContext
from procession.steps.step import StepContext
from procession.storage.costs import UNIT, CostBalance, CostEntry, CostStore, Reservation
from procession.storage.memory_costs import InMemoryCosts
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

PRICES = {"fake": {"input": "1000", "output": "10000"}, "other": {"input": "500", "output": "500"}}
CALL = 60_000_000_000
"""What a call of the fake model costs: ten tokens in at a tenth of a cent, five out at a cent."""
RESOURCE = '["resource", null, "user-1"]'


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return "sunny"


def guard(store: CostStore | None = None, **options: Any) -> CostGuard:
    """Return a guard of a resource's costs with prices for the fake models."""
    given: dict[str, Any] = {"max_cost": 100, "prices": PRICES, "store": store or InMemoryCosts()}
    return CostGuard(**{**given, **options})


def agent(model: Any, *processors: Any, **options: Any) -> Agent:
    """Return an agent with these input processors."""
    return Agent("agent", model=model, input_processors=list(processors), tools=[look], **options)


def for_user(user: str = "user-1", **more: Any) -> dict[str, Any]:
    """Return the options of a call for a user."""
    return {"request_context": RequestContext({"resource_id": user, **more})}


async def spent(store: CostStore, account: str = RESOURCE) -> CostBalance:
    """Return how an account stands."""
    return await store.balance(account)


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


class Judgement(BaseModel):
    """What a guard asks for."""

    bad: bool


class Asks(Processor):
    """Asks a model about the input, in *process_input*, before the first model call."""

    id = "asks"

    def __init__(self, *, bad: bool = False, script: Any = None) -> None:
        super().__init__()
        self.model = FakeModel(script or f'{{"bad": {str(bad).lower()}}}', id="other", repeat_last=True)

    async def process_input(self, ctx: InputContext) -> None:
        """Ask."""
        found = await ask(self.model, instructions="Bad?", content="Hi", schema=Judgement, scope=ctx.scope)
        if found.bad:
            ctx.abort("bad")


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


# -- what is stopped


async def test_the_limit_stops_before_the_next_call() -> None:
    """Once the limit is reached no further model call is made: in this run, and in the next one."""
    store, model = InMemoryCosts(), FakeModel([call_tool("look", {"city": "A"}), "never"])
    told: list[Violation] = []
    stops = guard(store, max_cost="0.06", on_violation=told.append, include_breakdown=True)
    result = await agent(model, stops).generate("Hi", **for_user())
    assert result.tripwire is not None
    assert result.tripwire.reason == "Cost control: estimated cost limit exceeded (0.06/0.06)"
    assert result.tripwire.metadata == {
        "processorId": "token-cost-control",
        "usage": {"estimatedCost": 0.06, "costUnit": "USD"},
        "maxCost": 0.06,
        "scope": "resource",
        "scopeKey": "resource:user-1",
        "threshold": "hard",
        "breakdown": [{"model": "fake", "estimatedCost": 0.06}],
    }
    assert len(model.requests) == 1
    assert [one.outcome for one in told] == ["blocked"]
    assert (await agent(FakeModel([]), stops).generate("Hi", **for_user())).status == "blocked"
    assert (await agent(FakeModel("Hi."), stops).generate("Hi", **for_user("user-2"))).status == "completed"


async def test_a_window_passes() -> None:
    """What was spent counts for as long as the window says, by name or in seconds."""
    now = [1000.0]
    store = InMemoryCosts(clock=lambda: now[0])
    for window, seconds in (("1h", 3600), (90, 90)):
        stops = guard(store, max_cost="0.06", window=window)
        assert (await agent(FakeModel("Hi."), stops).generate("Hi", **for_user(str(window)))).status == "completed"
        assert (await agent(FakeModel("Hi."), stops).generate("Hi", **for_user(str(window)))).status == "blocked"
        now[0] += seconds
        assert (await agent(FakeModel("Hi."), stops).generate("Hi", **for_user(str(window)))).status == "completed"


async def test_a_run_has_its_own_account() -> None:
    """With the scope ``run`` a run is stopped for what it has spent itself, and needs no store that lasts."""
    stops = CostGuard(max_cost="0.06", scope="run", prices=PRICES)
    for _ in range(2):
        result = await agent(FakeModel([call_tool("look", {"city": "A"}), "never"]), stops).generate("Hi")
        assert (result.status, len(result.steps)) == ("blocked", 1)


@pytest.mark.parametrize(
    ("scope", "one", "other"),
    [
        ("user", {"user_id": "a", "organization_id": "x"}, {"user_id": "a", "organization_id": "y"}),
        ("session", {"session_id": "a", "organization_id": "x"}, {"session_id": "a", "organization_id": "y"}),
        ("organization", {"organization_id": "x"}, {"organization_id": "y"}),
        ("thread", {"thread_id": "t", "resource_id": "a"}, {"thread_id": "t", "resource_id": "b"}),
        ("thread", {"thread_id": 'b", "t', "resource_id": "a"}, {"thread_id": "t", "resource_id": 'a", "b'}),
        ("resource", {"resource_id": "1"}, {"resource_id": "1 "}),
    ],
)
async def test_no_tenant_pays_for_another(scope: Any, one: Mapping[str, str], other: Mapping[str, str]) -> None:
    """One id in two tenants is two accounts, whatever the ids look like (D35)."""
    stops = guard(max_cost="0.06", scope=scope)
    for context, status in ((one, "completed"), (one, "blocked"), (other, "completed"), (other, "blocked")):
        result = await agent(FakeModel("Hi."), stops).generate("Hi", request_context=RequestContext(context))
        assert result.status == status


async def test_the_memorys_thread_and_resource_are_the_key() -> None:
    """The thread and the resource that a call names are its own, also for an agent inside that names none."""
    store = InMemoryCosts()
    inner = Agent("inner", model=FakeModel("In."), input_processors=[guard(store, scope="thread")], description="In.")
    outer = Agent(
        "outer", model=FakeModel([call_tool("agent-inner", {"prompt": "Go"}), "Out."]), tools=[inner.as_tool()]
    )
    await outer.generate("Hi", thread="t", resource="r")
    assert (await spent(store, '["thread", "r", "t"]')).spent == CALL


@pytest.mark.parametrize("value", [None, "", 1.5, True, ["x"]])
async def test_a_request_without_a_key_is_stopped(value: Any) -> None:
    """A request that does not say whose it is could not be counted: it is stopped, or goes on where that was asked for."""
    context = RequestContext({"user_id": value})
    result = await agent(FakeModel([]), guard(scope="user")).generate("Hi", request_context=context)
    assert result.tripwire is not None
    assert result.tripwire.metadata == {"kind": "guard_failed", "processorId": "token-cost-control", "scope": "user"}
    skips = guard(scope="user", on_missing_key="skip")
    result = await agent(FakeModel([call_tool("look", {"city": "A"}), "Hi."]), skips).generate(
        "Hi", request_context=context
    )
    assert [one.outcome for one in result.violations] == ["skipped"]


async def test_a_limit_of_the_request() -> None:
    """A function of the request context says the limit, plain or async; infinity is none, and anything else fails closed."""
    limits = {"free": 0, "paid": Decimal("0.12"), "staff": math.inf, "odd": None}

    async def limit(context: RequestContext) -> Any:
        return limits[context["plan"]]

    stops = guard(max_cost=limit)
    statuses = {}
    for plan in limits:
        model = FakeModel([call_tool("look", {"city": "A"})] * 3 + ["Hi."])
        result = await agent(model, stops).generate("Hi", **for_user(plan, plan=plan))
        statuses[plan] = (result.status, len(result.steps))
    assert statuses == {
        "free": ("blocked", 0),
        "paid": ("blocked", 2),
        "staff": ("completed", 4),
        "odd": ("blocked", 0),
    }


async def test_warnings_come_once() -> None:
    """Beyond the soft threshold, and beyond the limit where it only warns, it is said once in a run."""
    script = [call_tool("look", {"city": "A"})] * 4 + ["Hi."]
    warns = guard(max_cost="0.12", strategy="warn", warn_at_percent=50, message="{usage} of {limit}")
    result = await agent(FakeModel(script), warns).generate("Hi", **for_user())
    assert (result.status, len(result.steps)) == ("completed", 5)
    assert [(one.message, one.outcome) for one in result.violations] == [
        ("Cost control: 50% of the limit are spent (0.06/0.12)", "warned"),
        ("0.12 of 0.12", "warned"),
    ]
    assert result.violations[1].detail == {
        "usage": 0.12,
        "limit": 0.12,
        "totalUsage": {"estimatedCost": 0.12, "costUnit": "USD"},
        "scope": "resource",
        "scopeKey": "resource:user-1",
        "threshold": "hard",
    }


async def test_a_monitor_changes_nothing() -> None:
    """In monitor mode it says what it would have stopped."""
    watches = guard(max_cost="0.06", mode="monitor")
    result = await agent(FakeModel([call_tool("look", {"city": "A"}), "Hi."]), watches).generate("Hi", **for_user())
    assert (result.status, [one.outcome for one in result.violations]) == ("completed", ["would_block"])


# -- what cannot be known


class Down(InMemoryCosts):
    """A store that fails, from some call on."""

    def __init__(self, works: int = 0) -> None:
        super().__init__()
        self.works = works

    async def book(self, *args: Any, **options: Any) -> CostBalance:
        """Fail."""
        self._count()
        return await super().book(*args, **options)

    async def balance(self, *args: Any, **options: Any) -> CostBalance:
        """Fail."""
        self._count()
        return await super().balance(*args, **options)

    def _count(self) -> None:
        self.works -= 1
        if self.works < 0:
            raise StoreError("down")


async def test_a_store_that_fails_stops_the_run() -> None:
    """Where it cannot be known what was spent, nothing more is; a guard that only warns is left out (D17, 08 #6)."""
    result = await agent(FakeModel([]), guard(Down())).generate("Hi", **for_user())
    assert result.tripwire is not None
    assert result.tripwire.metadata == {"kind": "guard_failed"}
    with pytest.raises(ProcessorError, match="could not book"):
        await agent(FakeModel("Hi."), guard(Down(works=1))).generate("Hi", **for_user())
    result = await agent(FakeModel("Hi."), guard(Down(), strategy="warn")).generate("Hi", **for_user())
    assert (result.status, [one.outcome for one in result.violations]) == ("completed", ["error"])


async def test_a_model_without_a_price_is_not_asked() -> None:
    """A model whose price is not known is refused before it is asked, also inside of several as one, saying what to do."""
    for model in (FakeModel([], id="new"), FallbackModel([FakeModel([]), FakeModel([], id="new")])):
        result = await agent(model, guard()).generate("Hi", **for_user())
        assert result.tripwire is not None
        assert result.tripwire.reason == "Cost control: no price is known of new"
        metadata: Any = result.tripwire.metadata
        assert (metadata["kind"], metadata["models"]) == ("guard_failed", ["new"])
        assert "prices=" in metadata["hint"]


async def test_one_that_turns_out_later_ends_the_run() -> None:
    """A fallback or a guard's model without a price stops the run before the next call, and else fails it at its end."""
    models = [FakeModel(fail("down", status=503)), FakeModel([call_tool("look", {"city": "A"}), "never"], id="new")]
    result = await agent(models, guard()).generate("Hi", **for_user())
    assert result.tripwire is not None
    assert "new" in result.tripwire.reason
    models = [FakeModel(fail("down", status=503)), FakeModel("Hi.", id="new")]
    with pytest.raises(ProcessorError, match="knows no price of new"):
        await agent(models, guard()).generate("Hi", **for_user())


async def test_it_may_only_warn_of_a_price() -> None:
    """With ``unknown="warn"`` the run goes on, is told of once, and what is booked is marked as estimated."""
    store = InMemoryCosts()
    warns = guard(store, unknown="warn")
    result = await agent(FakeModel([call_tool("look", {"city": "A"}), "Hi."], id="new"), warns).generate(
        "Hi", **for_user()
    )
    assert [(one.outcome, one.message) for one in result.violations] == [
        ("warned", "Cost control: no price is known of new")
    ]
    assert await store.by_model(RESOURCE) == {"new": 0}


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
    result = await agent(FakeModel([]), guard(store, max_cost=1, reserve=lambda ctx: "0.30")).generate(
        "Hi", **for_user()
    )
    assert result.tripwire is not None
    metadata: Any = result.tripwire.metadata
    assert metadata["usage"] == {"estimatedCost": 0.75, "costUnit": "USD", "reserved": 0.5}
    assert (metadata["maxCost"], metadata["reserve"]) == (1, 0.3)
    assert (await spent(store)).reserved == UNIT // 2


async def test_an_estimate_is_held() -> None:
    """An estimated reservation is the prompt's and *reserve_tokens* of an answer, at the dearest of the models."""
    store = InMemoryCosts()
    held: list[int] = []

    async def look_at(request: Any) -> str:
        held.append((await spent(store)).reserved)
        return "Hi."

    cheap = FakeModel([], id="other")
    model = FallbackModel([FakeModel(look_at), cheap])
    stops = guard(store, reserve="estimate", reserve_tokens=100)
    await agent(model, stops, instructions="").generate([Message.user("Hello")], **for_user())
    assert held == [(6 * 1000 + 100 * 10_000) * UNIT // 10**6]
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


# -- where it stands


async def test_it_works_in_a_workflow_and_in_parallel() -> None:
    """In a workflow of processors, and beside another one, it stops as it does in a list."""
    for build in (
        lambda stops: create_workflow("w", kind="processor").then(stops.as_step()).commit(),
        lambda stops: create_workflow("w", kind="processor").parallel([stops.as_step(), Asks().as_step()]).commit(),
    ):
        store = InMemoryCosts()
        result = await agent(
            FakeModel([call_tool("look", {"city": "A"}), "never"]), build(guard(store, max_cost="0.05"))
        ).generate("Hi", **for_user())
        assert (result.status, len(result.steps)) == ("blocked", 1)
        assert (await store.by_model(RESOURCE))["fake"] == CALL


@pytest.mark.parametrize(
    "options",
    [
        {"max_cost": 0},
        {"max_cost": -1},
        {"max_cost": "much"},
        {"max_cost": True},
        {"max_cost": math.inf},
        {"scope": "tenant"},
        {"window": "1w"},
        {"window": 0},
        {"window": 400 * 86_400.0},
        {"store": None},
        {"strategy": "stop"},
        {"mode": "off"},
        {"warn_at_percent": 100},
        {"warn_at_percent": 0},
        {"reserve": 0},
        {"reserve": "some"},
        {"reserve_tokens": 0},
        {"reserve_seconds": -1},
        {"unknown": "free"},
        {"prices": {"m": {"input": 1}}},
        {"prices": 3},
        {"prices": "no-such-file.json"},
        {"on_missing_key": "ignore"},
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    """A wrong option is refused where it is given."""
    given = {"max_cost": 1, "store": InMemoryCosts(), **options}
    with pytest.raises(ProcessorDefinitionError) as caught:
        CostGuard(**given)
    assert caught.value.hint or "prices" in str(caught.value)


def test_the_documents_names() -> None:
    """The documents' names are the same class."""
    assert CostGuard is CostGuardProcessor is TokenCostControl
