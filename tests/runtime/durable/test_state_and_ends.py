"""What a run goes on with beside outputs: its shared state, and ends that are no outputs and yet let others go on."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import pytest
from tests.runtime.kit import blocks, fails, make

from procession.runtime.runtime import Runtime
from procession.steps.item_error import ItemError
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow


@pytest.fixture(params=["late", "eager"])
def store(request: pytest.FixtureRequest) -> JournalStore | None:
    """Return a store that is written to all along, or nothing: then a run is written down once it is suspended."""
    return InMemoryJournal() if request.param == "eager" else None


def asks(id: str = "ask") -> Step[Any, Any]:
    """Return a step that counts in the state, asks, counts and gives the answer."""

    async def ask(ctx: Any) -> Any:
        ctx.set_state(total=1)
        answer = await ctx.suspend()
        ctx.set_state(total=10)
        return answer

    return make(id, ask)


def counts(id: str = "count") -> Step[Any, Any]:
    """Return a step that counts twice in the state."""

    def count(ctx: Any) -> Any:
        ctx.set_state(total=100)
        ctx.set_state(total=100)
        return ctx.input

    return make(id, count)


async def answered(workflow: Workflow[Any, Any], store: JournalStore | None, value: Any = 0) -> tuple[Any, Any]:
    """Run, answer the one question, and return output and state."""
    runtime = Runtime(store)
    assert (await runtime.run(workflow, value, run_id="r")).status == "suspended"
    async with runtime.resume_stream("r", "yes", workflow=workflow) as run:
        result = await run.result()
    if store is not None:
        ended = [row.path for row in await store.entries("r") if row.kind in ("completed", "stopped")]
        assert len(ended) == len(set(ended))  # what ended is written down once
    return result.unwrap(), run.state.shared.values


async def test_the_state_goes_on(store: JournalStore | None) -> None:
    """What completed steps have set is there after a resume, once; of a step that asked, what it set when it was done."""
    workflow = create_workflow("w", reducers={"total": lambda old, new: old + new})
    workflow = workflow.then(counts()).parallel([asks(), counts("other")])
    _, state = await answered(workflow.commit(), store)
    assert state == {"total": 411}


@pytest.mark.parametrize("last", [1, 2])
async def test_an_attempt_that_fails_sets_nothing(last: int) -> None:
    """What an attempt has set is taken back where it fails; what others have set meanwhile stays."""

    async def tries(ctx: Any) -> int:
        ctx.set_state(total=1, mine="mine")
        if ctx.attempt < 3:
            raise ValueError("not yet")
        return 0

    policy = RetryPolicy(last + 1)
    body = make("tries", tries, retry=policy)
    workflow = create_workflow("w", reducers={"total": lambda old, new: old + new})
    workflow = workflow.then(counts()).map(lambda value: [value]).foreach(body, on_error="collect")
    run = Runtime().create_run(workflow.commit())
    (await run.start(0)).unwrap()
    assert run.state.shared.values == ({"total": 201, "mine": "mine"} if last == 2 else {"total": 200})


async def test_an_arm_that_bailed_has_done_so(store: JournalStore | None) -> None:
    """An arm that ended with a bail before a step beside it asked still has its value when that is answered."""
    began = 0

    def bails(ctx: Any) -> Any:
        nonlocal began
        began += 1
        ctx.set_state(total=1000)
        ctx.bail("early", scope="branch")

    workflow = create_workflow("w", reducers={"total": lambda old, new: old + new})
    output, state = await answered(workflow.parallel([make("bails", bails), asks()]).commit(), store)
    assert (output, state, began) == ({"bails": "early", "ask": "yes"}, {"total": 1011}, 1)


async def test_a_workflow_that_bailed_has_done_so(store: JournalStore | None) -> None:
    """A workflow that a step has ended, cancelling those beside it, is not begun again when the run goes on."""
    began: list[str] = []

    async def waits(ctx: Any) -> None:
        began.append("waits")
        await anyio.sleep_forever()

    async def bails(ctx: Any) -> Any:
        began.append("bails")
        await anyio.lowlevel.checkpoint()
        ctx.bail("early")

    inner = create_workflow("inner").parallel([make("waits", waits), make("bails", bails)]).commit()
    output, _ = await answered(create_workflow("w").parallel([inner, asks()]).commit(), store)
    assert output == {"inner": "early", "ask": "yes"}
    assert sorted(began) == ["bails", "waits"]


async def test_an_item_that_failed_has_done_so(store: JournalStore | None) -> None:
    """An item whose failure was collected, and what it cancelled, stays as it was while another item asks."""
    began: list[str] = []

    async def waits(ctx: Any) -> None:
        began.append("waits")
        await anyio.sleep_forever()

    def when(value: Any) -> bool:
        return bool(value)

    bad = create_workflow("bad").parallel([make("waits", waits), make("no", fails(ValueError("no number")))]).commit()
    body = create_workflow("body").branch([(when, bad)], default=asks()).commit()
    workflow = create_workflow("w").foreach(body, on_error="collect").commit()
    output, _ = await answered(workflow, store, [1, 0])
    assert output == [ItemError("ValueError", "no number", "body[0]/bad/no", 0), {"ask": "yes"}]
    assert began == ["waits"]


async def test_a_failure_keeps_its_name(store: JournalStore | None) -> None:
    """A failure that is no exception of the step's own, such as a wrong value, is told as what it was."""
    inner = create_workflow("inner").foreach(counts()).commit()
    each = create_workflow("each").foreach(inner, on_error="collect").commit()
    output, _ = await answered(create_workflow("w").parallel([each, asks()]).commit(), store, [1])
    (failed,) = output["each"]
    assert (failed.type, failed.path) == ("SchemaError", "each/inner[0]/count")


async def test_collected_failures_are_kept_beside_typed_outputs() -> None:
    """A run whose output holds failures is kept whatever type the step's outputs have."""

    @step
    async def invert(ctx: StepContext[float]) -> float:
        return 1 / ctx.input

    workflow = create_workflow("w", list[float]).foreach(invert, on_error="collect").commit()
    result = await Runtime(InMemoryJournal()).run(workflow, [2.0, 0.0])
    found = result.unwrap()
    assert found[0] == 0.5
    assert isinstance(found[1], ItemError)
    assert found[1].type == "ZeroDivisionError"


async def test_a_swallowed_end_is_written_down_as_one(store: JournalStore | None) -> None:
    """A verdict, a bail, a question or a cancellation that a step's code has swallowed is none the less how it ended."""

    async def swallow(ctx: Any) -> str:
        with suppress(BaseException):
            await ctx.call(make("guard", ends[ctx.input]), 1)
        return "as if nothing had been"

    async def ask(ctx: Any) -> Any:
        return await ctx.suspend("?")

    def cancel(ctx: Any) -> Any:
        ctx.cancel_run()

    ends: dict[str, Any] = {"blocked": blocks("bad"), "suspended": ask, "cancelled": cancel}
    workflow = create_workflow("w").then(make("s", swallow)).then(make("never", fails(ValueError()))).commit()
    runtime = Runtime(store)
    for end in ends:
        result = await runtime.run(workflow, end, run_id=end)
        assert (result.status, set(result.steps)) == (end, {"s", "s/guard"})
        if store is not None:
            assert (await runtime.get(end, workflow=workflow)).status == end
            assert not [row for row in await store.entries(end) if row.kind == "completed"]


async def test_a_swallowed_bail_is_written_down_as_one(store: JournalStore | None) -> None:
    """A step whose code goes on after its own bail has bailed, and stays so when the run goes on."""
    began: list[str] = []

    async def goes_on(ctx: Any) -> str:
        began.append("goes on")
        with suppress(BaseException):
            ctx.bail("early", scope="branch")
        return "late"

    output, _ = await answered(create_workflow("w").parallel([make("bails", goes_on), asks()]).commit(), store)
    assert (output, began) == ({"bails": "early", "ask": "yes"}, ["goes on"])
