"""
Budgets of whole workflows and inside of each other, and what ends otherwise than by its budget.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.budget_kit import both, quick, run, spends, waits_for_ever

from procession.errors import BudgetExceeded, DefinitionError
from procession.messages.tripwire import TripwireInfo
from procession.messages.usage import Usage
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy
from procession.steps.signals import Tripwire
from procession.steps.step import StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.nodes import arm
from procession.workflows.spec import GraphSpec
from procession.workflows.workflow import create_workflow


async def test_a_whole_workflow_has_a_budget() -> None:
    """The run where it is what runs, the workflow where it stands in another; the fallback is its output."""

    def begun(budget: Budget) -> Any:
        return create_workflow("whole", budget=budget).then(quick).then(spends).then(quick.renamed("late")).commit()

    result = await run(begun(Budget(tokens=100)))
    assert result.tripwire is not None and "late" not in result.steps
    assert result.tripwire.metadata["budget"] == {"path": "", "what": "tokens", "limit": 100, "used": 120}
    assert (await run(begun(Budget(tokens=200)))).output == "quick"
    falling = begun(Budget(tokens=100, on_exceed="fallback", fallback="instead"))
    assert (await run(falling)).output == "instead"

    outer = create_workflow("outer").then(falling).then(quick.renamed("after")).commit()
    result = await run(outer)
    assert result.output == "quick"
    assert (result.steps["whole"].status, result.steps["whole"].output) == ("success", "instead")
    blocked = await run(create_workflow("outer").then(begun(Budget(tokens=100))).commit())
    assert blocked.tripwire is not None and blocked.tripwire.metadata["budget"]["path"] == "whole"
    assert blocked.steps["whole"].status == "blocked"
    with pytest.raises(DefinitionError, match="fallback"):
        create_workflow("whole", budget=Budget(tokens=1, on_exceed="skip"))


def test_a_budget_is_in_the_graph_and_not_in_its_hash() -> None:
    """Whoever reads the graph sees it; a run that is kept goes on under another budget."""

    def described(budget: Budget | None) -> GraphSpec:
        return graph_spec(create_workflow("w", budget=budget).parallel([arm(spends, budget=budget), quick]).commit())

    spec = described(Budget(tokens=100, on_exceed="fallback", fallback=quick))
    data = {"tokens": 100, "on_exceed": "fallback", "fallback": "quick"}
    assert {node.id: node.budget for node in spec.nodes if node.budget} == {"@start": data, "spends": data}
    assert GraphSpec.from_json(spec.to_json()) == spec
    assert spec.graph_hash == described(None).graph_hash


async def test_each_round_and_each_run_has_all_of_it() -> None:
    """A budget counts from the start of what has it."""

    @step
    async def adds(ctx: StepContext[int]) -> int:
        ctx.spend(Usage(60))
        return ctx.input + 1

    round = create_workflow("round", int, budget=Budget(tokens=100)).then(adds).commit()
    workflow = create_workflow("rounds", int).do_until(round, lambda value: value >= 3).commit()
    assert (await run(workflow)).output == 3
    assert (await run(workflow)).output == 3


async def test_cancelling_a_run_stops_what_has_a_budget() -> None:
    """The cancellation of the run reaches it, and its record says that it was cancelled."""
    begun = anyio.Event()

    @step
    async def waits(ctx: StepContext[Any]) -> None:
        begun.set()
        await anyio.sleep_forever()

    made = Runtime().create_run(create_workflow("w").then(waits, budget=Budget(tokens=5)).commit())
    async with anyio.create_task_group() as group:
        group.start_soon(made.start, 0)
        await begun.wait()
        made.cancel()
    result = await made.result()
    assert (result.status, result.steps["waits"].status) == ("cancelled", "cancelled")


async def test_a_sibling_that_fails_cancels_what_has_a_budget() -> None:
    """An arm with a budget is cancelled like any other."""

    @step
    async def fails(ctx: StepContext[Any]) -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("no")

    workflow = create_workflow("w").parallel([arm(waits_for_ever, budget=Budget(tokens=5)), fails]).commit()
    result = await run(workflow)
    assert (result.status, result.steps["waits_for_ever"].status) == ("failed", "cancelled")


async def test_a_verdict_that_came_in_time_stands() -> None:
    """A processor that blocks has said so, whatever it has used: a budget that skips it does not undo that."""

    @step
    async def stops(ctx: StepContext[Any]) -> None:
        with suppress(BudgetExceeded):
            ctx.spend(Usage(500))
        raise Tripwire(TripwireInfo("no"))

    result = await run(both(Budget(tokens=100, on_exceed="skip"), stops))
    assert result.tripwire is not None and result.tripwire.reason == "no"


async def test_a_bail_and_a_failure_within_the_budget_are_what_they_were() -> None:
    """A budget that is not used up changes nothing."""

    @step
    def bails(ctx: StepContext[Any]) -> None:
        ctx.bail("out", scope="branch")

    @step
    def raises(ctx: StepContext[Any]) -> None:
        raise ValueError("no")

    assert (await run(both(Budget(tokens=100), bails))).output == {"bails": "out", "quick": "quick"}
    result = await run(both(Budget(tokens=100, on_exceed="skip"), raises))
    assert result.status == "failed" and "no" in str(result.error)


def test_seconds_are_those_of_the_event_loop() -> None:
    """With trio's clock that jumps: an arm of nine hours passes in a budget of ten, and one of eleven does not."""

    async def main(hours: float) -> Any:
        @step(retry=RetryPolicy(3, initial=3600.0, factor=1.0))
        async def works(ctx: StepContext[Any]) -> str:
            await anyio.sleep(hours * 3600.0 / 3 - 1800.0)
            if ctx.attempt < 3:
                raise ValueError("again")
            return "done"

        return await run(both(Budget(seconds=36_000.0, on_exceed="skip"), works))

    clock = trio.testing.MockClock(autojump_threshold=0)
    assert trio.run(main, 9.0, clock=clock).output == {"works": "done", "quick": "quick"}
    clock = trio.testing.MockClock(autojump_threshold=0)
    assert trio.run(main, 12.0, clock=clock).output == {"quick": "quick"}


@given(spent=st.lists(st.lists(st.integers(0, 40), max_size=6), min_size=1, max_size=5), inner=st.booleans())
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_is_counted_is_what_was_reported(backend: str, spent: list[list[int]], inner: bool) -> None:
    """However branches take turns, each arm's budget counts what its arm has reported, and the one around them the sum."""
    counted: dict[str, int] = {}

    def note(name: str) -> Budget:
        def price(usage: Usage, model: str) -> float:
            counted[name] = counted.get(name, 0) + usage.total_tokens
            return 0.0

        return Budget(money=1.0, price=price)

    def spending(index: int, amounts: list[int]) -> Any:
        @step(id=f"s{index}")
        async def spend(ctx: StepContext[Any]) -> None:
            for amount in amounts:
                ctx.spend(Usage(amount))
                for _ in range(amount % 3):
                    await anyio.lowlevel.checkpoint()
                if amount % 2:
                    async with anyio.create_task_group() as group:
                        group.start_soon(later, ctx)

        async def later(ctx: StepContext[Any]) -> None:
            await anyio.lowlevel.checkpoint()
            ctx.spend(Usage(0, 1))

        return spend

    arms = [arm(spending(index, amounts), budget=note(f"s{index}")) for index, amounts in enumerate(spent)]
    options: dict[str, Any] = {"budget": note("all")} if inner else {}
    workflow = create_workflow("w", **options).parallel(arms).commit()
    outer = create_workflow("outer").then(workflow, budget=note("outer")).commit()
    result: RunResult[Any] = anyio.run(run, outer, backend=backend)
    assert result.status == "success"
    sums = {f"s{index}": sum(each + each % 2 for each in amounts) for index, amounts in enumerate(spent)}
    total = sum(sums.values())
    assert {name: counted.get(name, 0) for name in sums} == sums
    assert counted.get("outer", 0) == total
    assert counted.get("all", 0) == (total if inner else 0)
