"""The executor: validation, retries, timeouts, threads, and how signals are caught."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import anyio
import pytest
from tests.runtime.kit import blocks, events_of, fails, make, run

from procession.errors import ModelError, SchemaError, StepError, StepTimeout
from procession.messages.chunks import TripwireInfo
from procession.runtime.runtime import Runtime
from procession.steps.result import Blocked
from procession.steps.retry import RetryPolicy
from procession.steps.signals import Tripwire
from procession.steps.step import StepContext, step
from procession.workflows.workflow import create_workflow


async def forever(ctx: Any) -> None:
    """Wait until cancelled."""
    await anyio.sleep_forever()


def raises(error: BaseException) -> Any:
    """Return a step function that raises *error*."""

    def step(ctx: Any) -> None:
        raise error

    return step


class Flaky:
    """A step function that fails a number of times before it succeeds."""

    def __init__(self, failures: int, error: BaseException | None = None) -> None:
        self.left = failures
        self.error = error or ConnectionError("down")
        self.calls = 0

    def __call__(self, ctx: Any) -> int:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return self.calls


async def test_inputs_and_outputs_are_validated() -> None:
    """What crosses a step's border fits its annotations, or fails the step that it belongs to."""

    @step
    def double(ctx: StepContext[int]) -> int:
        return ctx.input * 2

    @step
    def lie(ctx: StepContext[int]) -> int:
        return "not a number"  # type: ignore[return-value]

    assert (await run(create_workflow("w").then(double).commit(), "4")).output == 8
    wrong = await run(create_workflow("w").then(double).commit(), "four")
    assert isinstance(wrong.error, SchemaError)
    assert "input of step 'double'" in str(wrong.error)
    assert "four" not in str(wrong.error)
    lied = await run(create_workflow("w").then(lie).commit(), 1)
    assert isinstance(lied.error, SchemaError)
    assert "output of step 'lie'" in str(lied.error)
    assert lied.steps["lie"].status == "failed"


async def test_a_workflow_checks_its_input() -> None:
    """The input of a workflow, nested or not, must fit the type it was created with."""
    inner = create_workflow("inner", int).then(make("a", lambda ctx: ctx.input)).commit()
    assert isinstance((await run(inner, "x")).error, SchemaError)
    outer = await run(create_workflow("outer").then(inner).commit(), "x")
    assert isinstance(outer.error, SchemaError)
    assert outer.steps["inner"].status == "failed"


async def test_a_failed_step_is_tried_again() -> None:
    """A retry policy runs the step again, counts the attempts and tells of them."""
    flaky = Flaky(2)
    made = Runtime().create_run(create_workflow("w").then(make("s", flaky, retry=RetryPolicy(3))).commit())
    result = await made.start(0)
    assert result.output == 3
    assert result.steps["s"].attempt == 3
    retries = [event for event in await events_of(made) if event.type == "node.retrying"]
    assert [event.attempt for event in retries] == [2, 3]


async def test_a_policy_gives_up() -> None:
    """After the last attempt the error is the step's; an error the policy does not name is never tried again."""
    flaky = Flaky(9)
    result = await run(create_workflow("w").then(make("s", flaky, retry=RetryPolicy(2))).commit())
    assert isinstance(result.error, StepError)
    assert flaky.calls == 2
    flaky = Flaky(9)
    policy = RetryPolicy(5, retry_on=(TimeoutError,))
    await run(create_workflow("w").then(make("s", flaky, retry=policy)).commit())
    assert flaky.calls == 1


async def test_verdicts_and_validation_are_never_tried_again() -> None:
    """A tripwire, a bail and a wrong value end the step at its first attempt."""
    blocked = Flaky(9, Tripwire(TripwireInfo("no")))
    result = await run(create_workflow("w").then(make("s", blocked, retry=RetryPolicy(5))).commit())
    assert (result.status, blocked.calls) == ("blocked", 1)
    calls = 0

    @step(retry=RetryPolicy(5))
    def wrong(ctx: StepContext[Any]) -> int:
        nonlocal calls
        calls += 1
        return "x"  # type: ignore[return-value]

    assert isinstance((await run(create_workflow("w").then(wrong).commit())).error, SchemaError)
    assert calls == 1


async def test_a_step_may_take_only_so_long() -> None:
    """An async step over its timeout is cancelled and fails; the limit holds for each attempt."""
    calls = 0

    async def slow(ctx: Any) -> None:
        nonlocal calls
        calls += 1
        await anyio.sleep_forever()

    result = await run(create_workflow("w").then(make("s", slow, timeout=0.01)).commit())
    assert isinstance(result.error, StepTimeout)
    await run(create_workflow("w").then(make("s", slow, timeout=0.01, retry=RetryPolicy(2))).commit())
    assert calls == 3


async def test_a_timeout_error_of_the_step_is_its_own() -> None:
    """A ``TimeoutError`` that the step raises is no timeout of the engine."""
    result = await run(create_workflow("w").then(make("s", fails(TimeoutError("mine")), timeout=5.0)).commit())
    assert isinstance(result.error, StepError)
    assert isinstance(result.error.__cause__, TimeoutError)


async def test_blocking_steps_run_in_a_thread() -> None:
    """With ``blocking=True`` a plain function leaves the event loop free; its signals are heard."""
    names: list[str] = []

    def work(ctx: Any) -> Any:
        names.append(threading.current_thread().name)
        return ctx.input + 1

    result = await run(create_workflow("w").then(make("s", work, blocking=True)).commit(), 1)
    assert result.output == 2
    assert names != [threading.main_thread().name]
    blocked = await run(create_workflow("w").then(make("s", blocks("guard"), blocking=True)).commit())
    assert blocked.status == "blocked"
    bailed = await run(create_workflow("w").then(make("s", lambda ctx: ctx.bail(5), blocking=True)).commit())
    assert bailed.output == 5


async def test_a_thread_that_goes_on_is_left_behind() -> None:
    """A blocking step over its timeout fails at once; its thread ends by itself."""
    released = threading.Event()
    workflow = create_workflow("w").then(make("s", lambda ctx: released.wait(5), blocking=True, timeout=0.01)).commit()
    try:
        assert isinstance((await run(workflow)).error, StepTimeout)
    finally:
        released.set()


async def test_a_swallowed_verdict_is_seen() -> None:
    """A step cannot swallow its own bail, nor the verdict of what it has called."""
    guard = make("guard", blocks("bad"))

    async def swallow(ctx: Any) -> str:
        with suppress(BaseException):
            await ctx.call(guard, 1)
        return "as if nothing had been"

    async def raise_another(ctx: Any) -> str:
        try:
            ctx.bail("early")
        except BaseException:
            raise ValueError from None
        return ""

    result = await run(create_workflow("w").then(make("s", swallow)).commit())
    assert result.status == "blocked"
    assert isinstance(result.steps["s"].stop, Blocked)
    assert (await run(create_workflow("w").then(make("s", raise_another)).commit())).output == "early"


async def test_a_failure_of_what_was_called_may_be_caught() -> None:
    """An error, unlike a verdict, is the step's to handle."""

    async def handle(ctx: Any) -> str:
        try:
            await ctx.call(make("bad", fails(ValueError("x"))), 1)
        except StepError as error:
            return f"handled {error.path}"
        return ""

    result = await run(create_workflow("w").then(make("s", handle)).commit())
    assert result.output == "handled s/bad"


async def test_a_signal_in_a_task_group_of_the_step_is_heard() -> None:
    """A tripwire that a step's own task group has wrapped still blocks."""
    guard = make("guard", blocks("bad"))

    async def group(ctx: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ctx.call, guard, 1)
            tasks.start_soon(anyio.sleep_forever)

    assert (await run(create_workflow("w").then(make("s", group)).commit())).status == "blocked"


async def test_errors_of_the_library_stay_as_they_are() -> None:
    """An error that says what it is, is not wrapped."""
    error = ModelError("down", kind="unavailable")
    assert (await run(create_workflow("w").then(make("s", fails(error))).commit())).error is error


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_cancellation_of_another_task_is_a_failure(anyio_backend: str) -> None:
    """A step that waits for a task which somebody cancelled has failed; the run was not cancelled."""
    import asyncio

    async def wait(ctx: Any) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    result = await run(create_workflow("w").then(make("s", wait)).commit())
    assert result.status == "failed"


class Odd(BaseException):
    """An exception that is neither an error, nor a signal, nor a cancellation."""


async def test_what_is_no_error_comes_out() -> None:
    """A ``BaseException`` of another kind ends the run and is raised to the caller, from a branch as well."""
    workflows = [
        create_workflow("w").then(make("s", raises(Odd()))).commit(),
        create_workflow("w").parallel([make("s", raises(Odd())), make("t", forever)]).commit(),
    ]
    for workflow in workflows:
        made = Runtime().create_run(workflow)
        with pytest.raises(Odd):
            await made.start(0)
        assert (await made.result()).status == "cancelled"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_step_that_cancels_its_own_task_ends_the_run(anyio_backend: str) -> None:
    """A branch whose task is cancelled behind the engine's back gives no output, and the run is cancelled."""
    import asyncio

    async def suicide(ctx: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    result = await run(create_workflow("w").parallel([make("s", suicide), make("t", forever)]).commit())
    assert result.status == "cancelled"
    assert {record.status for record in result.steps.values()} == {"cancelled"}
