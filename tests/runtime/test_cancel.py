"""Cancellation, wherever a run may be when it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import Doc, events_of, fails, make, plus, run

from procession.errors import RunError
from procession.messages.chunks import DataChunk
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.workflows.workflow import Workflow, create_workflow


class Stand:
    """A place in a workflow where the run waits until it is cancelled."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.over = 0

    async def wait(self, *_: Any) -> Any:
        """Say that the place is reached, and wait."""
        self.reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.over += 1


def in_a_step(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").then(make("s", stand.wait))


def in_a_thread(stand: Stand) -> Workflow[Any, Any]:
    def work(ctx: Any) -> None:
        anyio.from_thread.run_sync(stand.reached.set)
        threading.Event().wait(0.05)

    return create_workflow("w").then(make("s", work, blocking=True))


def in_a_nested_workflow(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").then(create_workflow("inner").then(make("s", stand.wait)).commit())


def in_a_retry_delay(stand: Stand) -> Workflow[Any, Any]:
    def fail(ctx: Any) -> None:
        stand.reached.set()
        raise ValueError

    return create_workflow("w").then(make("s", fail, retry=RetryPolicy(2, initial=60.0, max_delay=60.0)))


def in_a_sleep(stand: Stand) -> Workflow[Any, Any]:
    def seconds(value: Any) -> float:
        stand.reached.set()
        return 60.0

    return create_workflow("w").sleep(seconds)


def in_a_branch_of_parallel(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").parallel([make("s", stand.wait), make("t", stand.wait), plus("u", 1)])


def in_a_foreach(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").map(lambda value: [1, 2, 3]).foreach(make("s", stand.wait), concurrency=2)


def in_a_condition(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").branch([(stand.wait, plus("a", 1))])


def in_a_loop(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").do_while(make("s", stand.wait), lambda value: True)


def in_a_loop_condition(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").do_while(plus("s", 1), stand.wait)


def in_a_map(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").map(stand.wait)


def in_a_merge(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").parallel([plus("a", 1), plus("b", 1)], merge=stand.wait)


def in_a_graph(stand: Stand) -> Workflow[Any, Any]:
    return create_workflow("w").add(plus("a", 1)).add(make("s", stand.wait), after=["a"]).add(make("t", stand.wait))


def in_a_call(stand: Stand) -> Workflow[Any, Any]:
    both = create_workflow("both").parallel([make("a", stand.wait), make("b", stand.wait)]).commit()
    return create_workflow("w").then(make("s", lambda ctx: ctx.call(both, 0)))


PLACES = [
    in_a_step, in_a_thread, in_a_nested_workflow, in_a_retry_delay, in_a_sleep, in_a_branch_of_parallel,
    in_a_foreach, in_a_condition, in_a_loop, in_a_loop_condition, in_a_map, in_a_merge, in_a_graph, in_a_call,
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
async def test_a_run_can_be_cancelled_anywhere(place: Callable[[Stand], Workflow[Any, Any]]) -> None:
    """A cancelled run ends as cancelled, with one terminal event, no record left running and no task left over."""
    stand = Stand()
    made = Runtime().create_run(place(stand).commit())
    async with anyio.create_task_group() as group:
        group.start_soon(made.start, 0)
        await stand.reached.wait()
        made.cancel()
    result = await made.result()
    assert result.status == "cancelled"
    assert [record.path for record in result.steps.values() if record.status == "running"] == []
    events = await events_of(made)
    assert [event.type for event in events if event.terminal] == ["run.finished"]
    assert events[-1].payload == {"status": "cancelled", "reason": "the run was cancelled"}
    started = {event.path for event in events if event.type == "node.started"}
    ended = {event.path for event in events if event.type in ("node.completed", "node.cancelled", "node.failed")}
    assert started <= ended


@pytest.mark.parametrize("cancellable", [True, False])
@pytest.mark.parametrize("place", PLACES)
async def test_the_task_may_be_cancelled_instead(
    place: Callable[[Stand], Workflow[Any, Any]], cancellable: bool
) -> None:
    """Where the task that awaits the run is cancelled, the run ends as cancelled and the task is."""
    stand = Stand()
    made = Runtime().create_run(place(stand).commit(), cancellable=cancellable)
    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            await stand.reached.wait()
            scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(cancel)
            await made.start(0)
    assert scope.cancelled_caught
    assert (await made.result()).status == "cancelled"


async def test_a_run_cancelled_before_its_start_runs_nothing() -> None:
    """A run that is cancelled before it starts has no steps."""
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit())
    made.cancel()
    result = await made.start(0)
    assert result.status == "cancelled"
    assert len(result.steps) == 0


async def test_a_run_that_cannot_be_cancelled_says_so() -> None:
    """A run that was made without a cancel scope refuses to be cancelled: nothing else would stop it."""
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit(), cancellable=False)
    with pytest.raises(RunError, match="cannot be cancelled"):
        made.cancel()
    assert (await made.start(0)).unwrap() == 1


async def test_a_run_that_has_ended_stays_as_it_is() -> None:
    """Cancelling a run that is over changes nothing."""
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit())
    result = await made.start(0)
    made.cancel()
    assert result.status == "success"
    assert (await made.result()).status == "success"


async def test_a_step_may_clean_up() -> None:
    """Shielded clean-up of a cancelled branch is done before the run goes on."""
    cleaned: list[str] = []

    async def careful(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.005)
                cleaned.append(ctx.path)

    async def late(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError

    result = await run(create_workflow("w").parallel([make("careful", careful), make("bad", late)]).commit())
    assert result.status == "failed"
    assert cleaned == ["careful"]


async def test_a_slow_reader_does_not_keep_a_run_from_being_cancelled() -> None:
    """A run that waits for a reader who has stopped reading can be cancelled."""

    async def chatter(ctx: Any) -> None:
        for number in range(1000):
            await ctx.emit(DataChunk(type="data-n", data=number))

    made = Runtime().create_run(create_workflow("w").then(make("s", chatter)).commit())
    reader = made.events()
    async with anyio.create_task_group() as group:
        group.start_soon(made.start, 0)
        await reader.__anext__()
        await anyio.wait_all_tasks_blocked()
        made.cancel()
    assert (await made.result()).status == "cancelled"
    reader.close()


async def test_a_value_that_cannot_be_forked_fails_the_run() -> None:
    """An error in a value's own ``fork`` is a failure of the parallel, not a crash."""

    class Broken(Doc):
        def fork(self) -> Doc:
            raise RuntimeError("no copies")

    result = await run(create_workflow("w").parallel([plus("a", 1), plus("b", 1)]).commit(), Broken(("a",)))
    assert result.status == "failed"
    assert "no copies" in str(result.error)


async def test_failing_and_waiting_end_alike() -> None:
    """A failure while a sibling waits leaves no task behind: the next run in the same loop is not disturbed."""
    stand = Stand()
    workflow = create_workflow("w").parallel([make("s", stand.wait), make("f", fails(ValueError()))]).commit()
    for _ in range(3):
        assert (await run(workflow)).status == "failed"
    assert stand.over in (0, 3)
