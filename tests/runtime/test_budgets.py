"""
What has a budget is stopped once that is used up, alone, and what was used is counted exactly.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.runtime.budget_kit import TINY, both, quick, run, spends, waits_for_ever

from procession.errors import BudgetExceeded, DefinitionError
from procession.messages.usage import Usage
from procession.runtime.runtime import Runtime
from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, step
from procession.workflows.nodes import arm
from procession.workflows.workflow import create_workflow


def free(usage: Usage, model: str) -> float:
    return 0.0


WRONG: list[dict[str, Any]] = [
    {},
    {"seconds": 0},
    {"seconds": float("nan")},
    {"tokens": 1.5},
    {"tokens": True},
    {"money": -1},
    {"tokens": 1, "on_exceed": "stop"},
    {"tokens": 1, "on_exceed": "fallback"},
    {"tokens": 1, "fallback": 3},
    {"tokens": 1, "price": free},
]


async def test_an_arm_that_takes_too_long_blocks_the_run() -> None:
    """By default what has used up its budget blocks: the tripwire names the arm, the limit and what was used."""
    result = await run(both(Budget(seconds=TINY)))
    assert result.status == "blocked"
    info = result.tripwire
    assert info is not None and not info.retry and "waits_for_ever" in info.reason
    assert info.metadata["kind"] == "budget_exceeded"
    budget = info.metadata["budget"]
    assert (budget["path"], budget["what"], budget["limit"]) == ("waits_for_ever", "seconds", TINY)
    assert budget["used"] >= TINY * 0.9
    assert result.steps["waits_for_ever"].status == "blocked"


async def test_a_skipped_arm_is_left_out_and_the_siblings_go_on() -> None:
    """An arm that is skipped has no key in what goes on, and its record says so."""
    result = await run(both(Budget(seconds=TINY, on_exceed="skip")))
    assert result.output == {"quick": "quick"}
    assert result.steps["waits_for_ever"].status == "skipped"


async def test_a_fallback_value_stands_in_its_place() -> None:
    """A value may stand for the output, None among them."""
    result = await run(both(Budget(seconds=TINY, on_exceed="fallback", fallback=None)))
    assert result.output == {"waits_for_ever": None, "quick": "quick"}


async def test_a_fallback_step_runs_outside_the_budget() -> None:
    """The step that runs instead is given what the arm was given, and is not stopped by the budget."""

    @step
    async def cheaper(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(1000, 0))
        await anyio.lowlevel.checkpoint()
        return ctx.input + 1

    result = await run(both(Budget(tokens=50, on_exceed="fallback", fallback=cheaper), spends), 41)
    assert result.output == {"spends": 42, "quick": "quick"}
    assert result.steps["spends/@fallback"].status == "success"
    assert result.steps["spends/@budget"].output == {"what": "tokens", "limit": 50, "used": 80}


async def test_tokens_stop_an_arm_with_the_call_that_goes_beyond() -> None:
    """What is reported counts at once; the call that exceeds is counted with the rest."""
    result = await run(both(Budget(tokens=100), spends))
    assert result.status == "blocked"
    assert result.tripwire is not None
    assert result.tripwire.metadata["budget"] == {"path": "spends", "what": "tokens", "limit": 100, "used": 120}


async def test_exactly_the_limit_is_within_it() -> None:
    """A budget is exceeded by more than its limit, not by all of it."""
    result = await run(both(Budget(tokens=200), spends))
    assert result.output == {"spends": "spent", "quick": "quick"}


async def test_an_output_that_came_beyond_the_limit_does_not_count() -> None:
    """Whether the cancellation still found something to stop makes no difference."""

    @step
    def once(ctx: StepContext[Any]) -> str:
        try:
            ctx.spend(Usage(500))
        except BudgetExceeded as error:
            assert error.what == "tokens"
        return "done"

    result = await run(both(Budget(tokens=100, on_exceed="skip"), once))
    assert result.output == {"quick": "quick"}


async def test_money_is_what_the_price_says_and_what_steps_report() -> None:
    """Both are added up; the price is given the id of the model."""
    asked: list[str] = []

    def price(usage: Usage, model: str) -> float:
        asked.append(model)
        return usage.total_tokens * 0.01

    @step
    async def pays(ctx: StepContext[Any]) -> str:
        ctx.spend(Usage(10), model="small")
        ctx.spend(money=0.5)
        await anyio.lowlevel.checkpoint()
        ctx.spend(Usage(50), money=0.25, model="large")
        await anyio.lowlevel.checkpoint()
        return "paid"

    result = await run(both(Budget(money=1.0, price=price), pays))
    assert result.tripwire is not None
    assert result.tripwire.metadata["budget"]["used"] == pytest.approx(1.35)
    assert asked == ["small", "large"]


async def test_a_price_that_raises_uses_the_budget_up() -> None:
    """A call whose price cannot be told is one too many: closed, not open."""

    def price(usage: Usage, model: str) -> float:
        raise KeyError(model)

    result = await run(both(Budget(money=1.0, price=price), spends))
    assert result.status == "blocked"
    assert result.tripwire is not None and result.tripwire.metadata["budget"]["unpriced"] == "KeyError"


async def test_what_is_no_amount_fails_the_step() -> None:
    """A negative amount would give budget back."""

    @step
    def refunds(ctx: StepContext[Any]) -> None:
        ctx.spend(money=-1.0)

    result = await run(both(Budget(money=1.0), refunds))
    assert result.status == "failed" and "money is -1.0" in str(result.error)

    @step
    def unspends(ctx: StepContext[Any]) -> None:
        ctx.spend(Usage(-1))

    result = await run(both(Budget(tokens=1), unspends))
    assert result.status == "failed" and "a usage is -1" in str(result.error)


async def test_what_has_used_up_its_budget_is_not_tried_again() -> None:
    """A retry policy is for failures."""
    runs = 0

    @step
    async def eager(ctx: StepContext[Any]) -> None:
        nonlocal runs
        runs += 1
        ctx.spend(Usage(500))

    retried = eager.replace(retry=RetryPolicy(3))
    result = await run(both(Budget(tokens=100), retried))
    assert result.status == "blocked" and runs == 1


async def test_nested_budgets_each_count() -> None:
    """What is spent inside counts for every budget around it, and the outer one can be the first to be used up."""
    inner = create_workflow("inner").parallel([arm(spends, budget=Budget(tokens=1000)), quick]).commit()
    outer = create_workflow("outer").parallel([arm(inner, budget=Budget(tokens=100)), quick]).commit()
    result = await run(outer)
    assert result.tripwire is not None
    assert result.tripwire.metadata["budget"] == {"path": "inner", "what": "tokens", "limit": 100, "used": 120}
    assert isinstance(result.steps["inner/spends"].error, BudgetExceeded)
    assert result.steps["inner"].status == "blocked"

    inner = create_workflow("inner").parallel([arm(spends, budget=Budget(tokens=100)), quick]).commit()
    outer = create_workflow("outer").parallel([arm(inner, budget=Budget(tokens=1000)), quick]).commit()
    result = await run(outer)
    assert result.tripwire is not None and result.tripwire.metadata["budget"]["path"] == "inner/spends"


async def test_arms_of_one_run_count_apart() -> None:
    """Two arms that spend at the same time have each their own meter, and those without a budget have none."""
    other = spends.renamed("other")
    workflow = (
        create_workflow("apart")
        .parallel([
            arm(spends, budget=Budget(tokens=200)), arm(other, budget=Budget(tokens=100, on_exceed="skip")),
            spends.renamed("free"),
        ])
        .commit()
    )  # fmt: skip
    result = await run(workflow)
    assert result.output == {"spends": "spent", "free": "spent"}


async def test_an_arm_that_ignores_its_cancellation_is_left_behind() -> None:
    """The grace period is as for other work that is cancelled."""
    release = anyio.Event()

    @step
    async def stubborn(ctx: StepContext[Any]) -> str:
        with anyio.CancelScope(shield=True):
            await release.wait()
        return "late"

    made = Runtime(grace=TINY).create_run(both(Budget(seconds=TINY, on_exceed="skip"), stubborn))
    result = await made.start(0)
    assert result.output == {"quick": "quick"}
    assert made.scope.left_behind == ("stubborn",)
    assert result.steps["stubborn"].status == "skipped"
    release.set()
    await anyio.wait_all_tasks_blocked()
    assert result.steps["stubborn"].status == "skipped"


async def test_a_thread_that_spends_too_much_is_told() -> None:
    """Plain code in a worker thread counts for the same budget; it cannot be cancelled, so reporting raises."""
    raised: list[BudgetExceeded] = []
    over = threading.Event()

    @step(blocking=True)
    def works(ctx: StepContext[Any]) -> str:
        try:
            while True:
                ctx.spend(Usage(10))
        except BudgetExceeded as error:
            raised.append(error)
            raise
        finally:
            over.set()

    result = await run(both(Budget(tokens=100, on_exceed="skip"), works))
    assert result.output == {"quick": "quick"}
    await anyio.to_thread.run_sync(over.wait)
    assert raised[0].what == "tokens"


async def test_a_thread_without_the_steps_context_variables_counts_too() -> None:
    """A pool of threads knows nothing of the step that it works for, but the step's context does."""

    @step(blocking=True)
    def works(ctx: StepContext[Any]) -> str:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ctx.spend, Usage(30)).result()
            pool.submit(ctx.spend, Usage(30)).result()
        return "done"

    for limit, output in ((60, "done"), (59, "other")):
        budget = Budget(tokens=limit, on_exceed="fallback", fallback="other")
        result = await run(both(budget, works))
        assert result.output == {"works": output, "quick": "quick"}


async def test_then_and_foreach_have_budgets_too() -> None:
    """A step that is skipped lets the value pass as it was; each item has the whole budget."""

    @step
    async def spoils(ctx: StepContext[list[int]]) -> list[int]:
        ctx.input.append(3)
        await anyio.sleep_forever()
        return ctx.input

    @step
    async def costs(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(ctx.input * 100))
        await anyio.lowlevel.checkpoint()
        return ctx.input

    workflow = (
        create_workflow("each", list[int])
        .then(spoils, budget=Budget(seconds=TINY, on_exceed="skip"))
        .foreach(costs, concurrency=2, budget=Budget(tokens=150, on_exceed="fallback", fallback=-1))
        .commit()
    )
    result = await run(workflow, [1, 2])
    assert result.output == [1, -1]


async def test_a_branch_with_one_arm_may_skip_it() -> None:
    """Where the only arm is skipped nothing is in what goes on."""
    workflow = (
        create_workflow("one")
        .branch([arm(waits_for_ever, when=lambda value: True, budget=Budget(seconds=TINY, on_exceed="skip"))])
        .commit()
    )
    assert (await run(workflow)).output == {}


async def test_the_arm_is_skipped_in_the_events_with_the_reason() -> None:
    """node.skipped says that it was the budget, and what was used."""
    made = Runtime().create_run(both(Budget(tokens=100, on_exceed="skip"), spends))
    await made.start(0)
    seen = [event async for event in made.events() if event.node_path == "spends"]
    assert [event.type for event in seen] == ["node.started", "node.skipped"]
    assert seen[1].payload["reason"] == "budget"
    assert seen[1].payload["budget"] == {"what": "tokens", "limit": 100, "used": 120}


async def test_a_blocked_arm_is_blocked_in_the_events() -> None:
    """One node.blocked, and no cancellation beside it."""
    made = Runtime().create_run(both(Budget(tokens=100), spends))
    await made.start(0)
    seen = [event.type async for event in made.events() if event.node_path == "spends"]
    assert seen == ["node.started", "node.blocked"]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_budget_that_cannot_be_kept_to_is_refused(wrong: dict[str, Any]) -> None:
    """Nothing is taken for a limit that is none."""
    with pytest.raises(DefinitionError):
        Budget(**wrong)


def test_what_is_needed_cannot_be_skipped() -> None:
    """A foreach and a loop need an output, and a budget must be one."""
    with pytest.raises(DefinitionError, match="fallback"):
        create_workflow("w").foreach(quick, budget=Budget(tokens=1, on_exceed="skip"))
    with pytest.raises(DefinitionError, match="fallback"):
        create_workflow("w").do_until(arm(quick, budget=Budget(tokens=1, on_exceed="skip")), lambda v: True)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="Budget"):
        create_workflow("w").then(quick, budget=5)  # type: ignore[call-overload]


def test_a_limit_may_be_any_whole_number() -> None:
    """A limit of tokens that no float can say is a limit like any other."""
    assert Budget(tokens=10**400).limits == {"tokens": 10**400}
