"""CostGuard: what is too much is stopped before the next call, and so is what cannot be known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from tests.processors.guardrails.cost_kit import CALL, PRICES, RESOURCE, Asks, Judgement, agent, for_user, guard, spent

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError, ProcessorError, StoreError
from procession.models.fallback import FallbackModel
from procession.models.structured_output import StructuredOutput
from procession.processors.guardrails.cost_guard import CostGuard, CostGuardProcessor, TokenCostControl
from procession.processors.utility.model_selection import ModelChoice, ModelSelection
from procession.processors.violation import Violation
from procession.steps.request_context import RequestContext
from procession.storage.costs import CostBalance
from procession.storage.memory_costs import InMemoryCosts
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail
from procession.workflows.workflow import create_workflow

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


async def test_a_fallback_without_a_price_is_not_asked() -> None:
    """Where the model with a price has failed, one without is refused before it is asked, whoever chose it."""
    new = FakeModel([], id="new")
    pick = ModelSelection(choices=[ModelChoice(model=new)], select=lambda text, context: "new")
    for made in (
        agent([FakeModel(fail("down", status=503)), new], guard()),
        agent(FakeModel([]), guard(), pick),
        agent(FakeModel([]), guard(reserve=1), pick),
    ):
        result = await made.generate("Hi", **for_user())
        assert result.tripwire is not None
        assert result.tripwire.reason == "Cost control: no price is known of new"
    assert new.requests == []


async def test_what_turns_out_later_ends_the_run() -> None:
    """A model of a guard without a price stops the run before its call, and fails one that has ended."""
    asks = Asks()
    asks.model.id = "new"
    result = await agent(FakeModel([]), guard(), asks).generate("Hi", **for_user())
    assert result.tripwire is not None
    assert "new" in result.tripwire.reason
    wanted = StructuredOutput(Judgement, model=FakeModel('{"bad": false}', id="new"))
    with pytest.raises(ProcessorError, match="knows no price of new"):
        await agent(FakeModel("Hi."), guard()).generate("Hi", structured_output=wanted, **for_user())


@pytest.mark.parametrize("options", [{"mode": "monitor"}, {"strategy": "warn"}, {"on_error": "skip"}])
async def test_who_only_watches_fails_no_run_at_its_end(options: dict[str, Any]) -> None:
    """What turns out after the last call is noted, and changes nothing, where the guard is not to stop anything (D36)."""
    wanted = StructuredOutput(Judgement, model=FakeModel('{"bad": false}', id="new"))
    watching = agent(FakeModel("Hi."), guard(**options))
    result = await watching.generate("Hi", structured_output=wanted, **for_user())
    assert (result.status, result.text) == ("completed", "Hi.")
    assert [(one.outcome, one.detail) for one in result.violations] == [("error", {"models": ["new"]})]


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


# -- where it stands


async def test_it_works_in_a_workflow_and_in_parallel() -> None:
    """In a workflow of processors, and beside another one, it stops as it does in a list."""
    for beside in (None, Asks()):
        store, model = InMemoryCosts(), FakeModel([call_tool("look", {"city": "A"}), "never"])
        stops = guard(store, max_cost="0.05").as_step()
        empty: Any = create_workflow("w", kind="processor")
        flow = empty.then(stops) if beside is None else empty.parallel([stops, beside.as_step()])
        result = await agent(model, flow.commit()).generate("Hi", **for_user())
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
        {"on_error": "maybe"},
        {"timeout": -1},
        {"timeout": math.nan},
        {"message": 3},
        {"max_cost": "1e999999"},
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    """A wrong option is refused where it is given."""
    given: dict[str, Any] = {"max_cost": 1, "store": InMemoryCosts(), **options}
    with pytest.raises(ProcessorDefinitionError) as caught:
        CostGuard(**given)
    assert caught.value.hint or "prices" in str(caught.value)


def test_the_documents_names() -> None:
    """The documents' names are the same class."""
    assert CostGuard is CostGuardProcessor is TokenCostControl
