"""What has a budget goes on where the run does: what was used counts, and what was decided stays so."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio.lowlevel
import pytest
from tests.runtime.durable.test_restart import Death, Dying

from procession.errors import RunAlreadyClaimed, StepError
from procession.messages.usage import Usage
from procession.runtime.runtime import Runtime
from procession.steps.budget import Budget
from procession.steps.step import StepContext, step
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.workflows.nodes import arm
from procession.workflows.workflow import create_workflow

STORES = pytest.mark.parametrize("store", [None, InMemoryJournal], ids=["kept-late", "kept"])


def runtime(store: type[JournalStore] | None) -> Runtime:
    return Runtime(store()) if store is not None else Runtime()


@step
async def asks(ctx: StepContext[Any]) -> int:
    answer: int = await ctx.suspend("how many?")
    return answer


async def test_what_was_used_before_a_crash_counts() -> None:
    """Completed steps are not run again, and what they have used is still used."""
    now = [100.0]
    ran: list[str] = []

    def uses(name: str) -> Any:
        @step(id=name)
        async def use(ctx: StepContext[int]) -> int:
            ran.append(name)
            ctx.spend(Usage(40, 10), model="m")
            await anyio.lowlevel.checkpoint()
            return ctx.input + 1

        return use

    inner = create_workflow("inner", int).then(uses("a")).then(uses("b")).then(uses("c")).commit()
    workflow = create_workflow("outer", int).parallel([arm(inner, budget=Budget(tokens=100))]).commit()
    store = Dying(clock=lambda: now[0])
    store.left = 2
    with pytest.raises(Death):
        await Runtime(store).run(workflow, 0, run_id="r")
    store.left = 10**9
    now[0] += 1e6
    result = await Runtime(store).restart("r", workflow=workflow)
    assert ran.count("a") == 1 and result.status == "blocked"
    assert result.tripwire is not None
    assert result.tripwire.metadata["budget"] == {"path": "inner", "what": "tokens", "limit": 100, "used": 150}


@STORES
@pytest.mark.parametrize("way", ["skip", "value", "step"])
async def test_what_was_decided_stays_so(store: type[JournalStore] | None, way: str) -> None:
    """An arm that has used up its budget is not begun again when its sibling has its answer; its fallback ran once."""
    ran: list[str] = []

    @step
    async def greedy(ctx: StepContext[int]) -> int:
        ran.append("greedy")
        ctx.spend(Usage(500))
        return 1

    @step
    async def cheap(ctx: StepContext[int]) -> int:
        ran.append("cheap")
        return ctx.input + 1

    if way == "skip":
        budget = Budget(tokens=100, on_exceed="skip")
    else:
        budget = Budget(tokens=100, on_exceed="fallback", fallback=cheap if way == "step" else 7)
    workflow = create_workflow("w", int).parallel([arm(greedy, budget=budget), asks]).commit()
    kept = runtime(store)
    waiting = await kept.run(workflow, 6, run_id="r")
    assert waiting.status == "suspended"
    result = await kept.resume("r", 3, workflow=workflow)
    assert result.output == ({"asks": 3} if way == "skip" else {"greedy": 7, "asks": 3})
    assert ran == (["greedy", "cheap"] if way == "step" else ["greedy"])
    assert result.steps["greedy"].status == ("skipped" if way == "skip" else "success")


@STORES
async def test_what_waits_under_a_budget_is_answered(store: type[JournalStore] | None) -> None:
    """The answer finds the step, and is of its type; the budget of a whole workflow is still there."""

    @step
    async def uses(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(ctx.input))
        await anyio.lowlevel.checkpoint()
        return ctx.input

    typed = asks.replace(resume_type=int)
    inner = create_workflow("inner", budget=Budget(tokens=1000)).then(typed).then(uses).commit()
    workflow = (
        create_workflow("w", budget=Budget(tokens=100)).parallel([arm(inner, budget=Budget(tokens=1000))]).commit()
    )
    kept = runtime(store)
    for run_id, answer in (("few", 5), ("many", 500)):
        waiting = await kept.run(workflow, None, run_id=run_id)
        assert waiting.status == "suspended"
        result = await kept.resume(run_id, answer, workflow=workflow)
        assert result.status == ("success" if run_id == "few" else "blocked")
    assert result.tripwire is not None and result.tripwire.metadata["budget"]["path"] == ""


@STORES
async def test_a_workflow_and_the_arm_that_it_is_have_budgets_of_their_own(store: type[JournalStore] | None) -> None:
    """That the one was used up, and what stood in its place, is not taken for the other's when the run goes on."""

    @step
    async def greedy(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(500))
        return 1

    budget = Budget(tokens=100, on_exceed="fallback", fallback=7)
    inner = create_workflow("inner", int, budget=budget).then(greedy).commit()
    around = Budget(tokens=1000, on_exceed="skip")
    workflow = create_workflow("w", int).parallel([arm(inner, budget=around), asks]).commit()
    kept = runtime(store)
    assert (await kept.run(workflow, 6, run_id="r")).status == "suspended"
    assert (await kept.resume("r", 3, workflow=workflow)).output == {"inner": 7, "asks": 3}


async def test_who_observes_a_run_later_is_told_of_its_budgets() -> None:
    """The events made of what is kept say what was skipped, and what was used."""

    @step
    async def greedy(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(500))
        return 1

    workflow = create_workflow("w", int).parallel([arm(greedy, budget=Budget(tokens=100, on_exceed="skip"))]).commit()
    kept = Runtime(InMemoryJournal())
    await kept.run(workflow, 6, run_id="r")
    (skipped,) = [event async for event in kept.observe("r") if event.type == "node.skipped"]
    assert (skipped.node_path, skipped.payload["reason"]) == ("greedy", "budget")
    assert skipped.payload["budget"] == {"what": "tokens", "limit": 100, "used": 500}


async def test_a_fork_begins_a_budget_anew_where_it_stands() -> None:
    """Forked at the arm, what it was decided of it before does not hold."""
    fails = [True]

    @step
    async def greedy(ctx: StepContext[int]) -> str:
        if fails:
            ctx.spend(Usage(500))
        return "done"

    budget = Budget(tokens=100, on_exceed="skip")
    workflow = create_workflow("w", int).parallel([arm(greedy, budget=budget)]).commit()
    kept = Runtime(InMemoryJournal())
    assert (await kept.run(workflow, 6, run_id="r")).output == {}
    fails.clear()
    assert (await kept.fork("r", "greedy", workflow=workflow)).output == {"greedy": "done"}


@pytest.mark.parametrize("fails", [False, True], ids=["passes", "fails"])
async def test_what_a_called_step_has_used_counts_once_when_the_run_goes_on(fails: bool) -> None:
    """It is not what the step that called it has used as well; where it fails and the caller goes on, it is the caller's."""

    @step
    async def uses(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(40, 0), model="m")
        if fails:
            raise ValueError("too late")
        return ctx.input

    @step
    async def calls(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(5, 0), model="m")
        with suppress(StepError):
            await ctx.call(uses, ctx.input)
        return ctx.input

    counted: list[int] = []

    def price(usage: Usage, model: str) -> float:
        counted.append(usage.total_tokens)
        return 0.0

    workflow = create_workflow("w", int, budget=Budget(money=1, price=price)).then(calls).then(asks).commit()
    rt = Runtime(InMemoryJournal())
    assert (await rt.run(workflow, 0, run_id="r")).status == "suspended"
    counted.clear()
    assert (await rt.resume("r", 7, step="asks")).unwrap() == 7
    assert sorted(counted) == [5, 40]


@STORES
@pytest.mark.parametrize("way", ["skip", "value", "step"])
async def test_nothing_is_asked_any_more_where_a_budget_is_used_up(store: type[JournalStore] | None, way: str) -> None:
    """A step that waited inside of it waits no more, and the questions of others are as they were."""

    @step
    async def greedy(ctx: StepContext[int]) -> int:
        await ctx.suspend("go on?")
        ctx.spend(Usage(500))
        return 1

    inner = create_workflow("inner", int).parallel([greedy, asks.clone("beside")]).commit()
    if way == "skip":
        budget = Budget(tokens=100, on_exceed="skip")
    else:
        budget = Budget(tokens=100, on_exceed="fallback", fallback=asks.clone("instead") if way == "step" else 7)
    workflow = create_workflow("w", int).parallel([arm(inner, budget=budget), asks]).commit()
    kept = runtime(store)
    first = await kept.run(workflow, 6, run_id="r")
    assert sorted(first.suspended) == ["asks", "inner/beside", "inner/greedy"]
    open = ["asks", "inner/@fallback"] if way == "step" else ["asks"]
    second = await kept.resume("r", True, step="inner/greedy", workflow=workflow)
    assert sorted(second.suspended) == open
    assert sorted(one.path for one in (await kept.get("r", workflow=workflow)).waiting) == open
    with pytest.raises(RunAlreadyClaimed, match="waits for no answer any more"):
        await kept.resume("r", True, step="inner/beside", workflow=workflow)
    if way == "step":
        third = await kept.resume("r", 7, step="inner/@fallback", workflow=workflow)
        assert sorted(third.suspended) == ["asks"]
    last = await kept.resume("r", 3, workflow=workflow)
    assert last.output == ({"asks": 3} if way == "skip" else {"inner": 7, "asks": 3})
    assert not last.suspended and last.steps["inner/beside"].status == "cancelled"


async def test_nothing_is_asked_where_the_budget_of_a_run_is_used_up() -> None:
    """Also where all of the run has it, and the fallback is what asks."""

    @step
    async def greedy(ctx: StepContext[int]) -> int:
        await ctx.suspend("go on?")
        ctx.spend(Usage(500))
        return 1

    budget = Budget(tokens=100, on_exceed="fallback", fallback=asks)
    workflow = create_workflow("w", int, budget=budget).parallel([greedy, asks.clone("beside")]).commit()
    kept = Runtime(InMemoryJournal())
    await kept.run(workflow, 6, run_id="r")
    second = await kept.resume("r", True, step="greedy", workflow=workflow)
    assert list(second.suspended) == ["@workflow-fallback"]
    last = await kept.resume("r", 3, workflow=workflow)
    assert last.output == 3 and not last.suspended
