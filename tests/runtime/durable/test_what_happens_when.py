"""The table "What happens when" of docs/runtime.md: where a run is when its process, runtime, task or itself comes to an end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.runtime.durable.everything import Death, mortal
from tests.runtime.durable.faults import left_by_a_dead_process
from tests.storage.journals import Clock

from procession.errors import RunAlreadyClaimed
from procession.messages.chunks import TripwireInfo
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.signals import Tripwire
from procession.steps.step import Step, StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow

PLACES = ("in a step", "in a retry delay", "asleep", "suspended", "answered")


class Scene:
    """A run that comes to a place and stays there, until whoever takes it up finds everything in order."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.now = 1_000.0
        self.ran: list[str] = []
        self.reached = anyio.Event()
        self.fine = False
        self.store = InMemoryJournal(clock=lambda: self.now)
        self.workflow = self.made()

    async def stay(self) -> None:
        """Be at the place, unless all is in order."""
        self.reached.set()
        if not self.fine:
            await anyio.sleep_forever()

    def made(self) -> Any:
        """Return a workflow that does something, comes to the place, and does something more."""

        @step
        async def first(ctx: StepContext[int]) -> int:
            self.ran.append("first")
            return ctx.input + 1

        @step
        async def works(ctx: StepContext[int]) -> int:
            self.ran.append("works")
            await self.stay()
            return ctx.input

        @step(retry=RetryPolicy(3, initial=10_000, max_delay=10_000))
        async def fails(ctx: StepContext[int]) -> int:
            self.ran.append(f"fails {ctx.attempt}")
            self.reached.set()
            if not self.fine:
                raise ConnectionError
            return ctx.input

        @step(resume_type=int)
        async def asks(ctx: StepContext[int]) -> int:
            self.ran.append("asks")
            if self.place == "suspended":
                self.reached.set()
            answer: int = await ctx.suspend("how many?")
            self.ran.append(f"answered {answer}")
            if self.place == "answered":
                await self.stay()
            return ctx.input

        @step
        async def last(ctx: StepContext[int]) -> int:
            self.ran.append("last")
            return ctx.input + 1

        def seconds(value: int) -> float:
            self.ran.append("asked how long")
            self.reached.set()
            return 0 if self.fine else 10_000

        middle: dict[str, Step[int, int]] = {"in a step": works, "in a retry delay": fails}
        begun = create_workflow("w", int).then(first)
        if self.place == "asleep":
            return begun.sleep(seconds, id="pause").then(last).commit()
        return begun.then(middle.get(self.place, asks)).then(last).commit()

    async def arrive(self, runtime: Runtime) -> None:
        """Run until the place is reached."""
        if self.place in ("suspended", "answered"):
            await runtime.run(self.workflow, 1, run_id="r")
        if self.place == "answered":
            await runtime.resume("r", 7)
        elif self.place != "suspended":
            await runtime.run(self.workflow, 1, run_id="r")

    async def written(self) -> None:
        """Wait until the run is there, and what is written about the place is written."""
        await self.reached.wait()
        await anyio.wait_all_tasks_blocked()

    def later(self) -> Runtime:
        """Return the runtime of a process that comes later, when all is in order."""
        self.fine = True
        self.ran.clear()
        runtime = Runtime(self.store)
        runtime.registry.add(self.workflow)
        return runtime


async def wakes_at(runtime: Runtime) -> float:
    """Return when the run that sleeps here is to wake."""
    async for event in runtime.observe("r"):
        if "wakes_at" in event.payload:
            moment: float = event.payload["wakes_at"]
            return moment
    raise AssertionError("it does not sleep")


async def assert_sleeps_until(moment: float, runtime: Runtime, here: Scene) -> None:
    """Take up the run, and check that it sleeps for what is left, without asking again how long."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.recover)
        await anyio.wait_all_tasks_blocked()
        assert await wakes_at(runtime) == pytest.approx(moment, abs=1)
        assert here.ran == []
        tasks.cancel_scope.cancel()


@pytest.fixture(params=PLACES)
def scene(request: pytest.FixtureRequest) -> Callable[[], Scene]:
    """Return what makes the scene of a place."""
    return lambda: Scene(request.param)


# What whoever takes the run up does, after the process died or the runtime closed.
DONE_LATER = {
    "in a step": ["works", "last"],
    "in a retry delay": ["fails 2", "last"],
    "answered": ["asks", "answered 7", "last"],
}


async def test_the_process_is_killed(scene: Callable[[], Scene]) -> None:
    """What was done is not done again: steps run again, attempts count on, a pause ends when it was to, answers hold."""
    here = scene()
    first, moment = Runtime(here.store), 0.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.arrive, first)
        await here.written()
        if here.place == "asleep":
            moment = await wakes_at(first)
        here.store = left_by_a_dead_process(here.store, lambda: here.now)
        tasks.cancel_scope.cancel()
    runtime = here.later()
    if here.place == "suspended":
        assert (await runtime.resume("r", 7)).unwrap() == 3
        assert here.ran == ["asks", "answered 7", "last"]
        return
    assert await runtime.recover() == []
    with pytest.raises(RunAlreadyClaimed, match="30 s"):
        await runtime.restart("r")
    here.now += 31
    if here.place == "asleep":
        await assert_sleeps_until(moment, runtime, here)
        return
    (result,) = await runtime.recover()
    assert result.unwrap() == 3
    assert here.ran == DONE_LATER[here.place]


async def test_the_runtime_closes(scene: Callable[[], Scene]) -> None:
    """A run in the background that is broken off is given back, so that another process takes it up at once."""
    here = scene()
    if here.place in ("suspended", "answered"):
        await Runtime(here.store).run(here.workflow, 1, run_id="r")
    moment = 0.0
    async with Runtime(here.store, drain=0) as runtime:
        runtime.registry.add(here.workflow)
        if here.place == "answered":
            runtime.background(runtime.resume, "r", 7)
        elif here.place != "suspended":
            runtime.start(here.workflow, 1, run_id="r")
        if here.place != "suspended":
            await here.written()
        if here.place == "asleep":
            moment = await wakes_at(runtime)
    runtime = here.later()
    if here.place == "suspended":
        assert (await runtime.resume("r", 7)).unwrap() == 3
        return
    assert (await runtime.get("r")).status == "running"
    if here.place == "asleep":
        await assert_sleeps_until(moment, runtime, here)
        return
    (result,) = await runtime.recover()
    assert result.unwrap() == 3
    assert here.ran == DONE_LATER[here.place]


async def test_the_task_is_cancelled(scene: Callable[[], Scene]) -> None:
    """Whoever cancels the task that a run goes on in cancels the run, for good; one that waits has no task."""
    here = scene()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.arrive, Runtime(here.store))
        await here.written()
        tasks.cancel_scope.cancel()
    runtime = here.later()
    assert (await runtime.get("r")).status == ("suspended" if here.place == "suspended" else "cancelled")
    assert (await runtime.get("r")).output_of("first") == 2
    assert await runtime.recover() == []
    assert here.ran == []


async def test_the_run_is_cancelled(scene: Callable[[], Scene]) -> None:
    """A run that is cancelled by its id is cancelled for good, wherever it is."""
    here = scene()
    runtime = Runtime(here.store)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.arrive, runtime)
        await here.written()
        assert await runtime.cancel("r")
    runtime = here.later()
    assert (await runtime.get("r")).status == "cancelled"
    assert await runtime.recover() == []
    with pytest.raises(RunAlreadyClaimed):
        await runtime.resume("r", 7)
    assert (await runtime.get("r")).output_of("first") == 2
    assert here.ran == []
    forked = await runtime.fork("r")
    assert forked.status == ("suspended" if here.place in ("suspended", "answered") else "success")  # it asks again
    assert "first" not in here.ran


# -- how runs end


@step
async def unchanged(ctx: StepContext[int]) -> int:
    """Give what it was given."""
    return ctx.input


def _fails(ctx: StepContext[Any]) -> Any:
    raise ValueError("it fails")


def _blocks(ctx: StepContext[Any]) -> Any:
    raise Tripwire(TripwireInfo("no", processor_id="guard"))


def _bails(ctx: StepContext[Any]) -> Any:
    return ctx.bail("early")


def _cancels(ctx: StepContext[Any]) -> Any:
    return ctx.cancel_run()


ENDS: dict[str, Callable[[Any], Any]] = {
    "failed": _fails,
    "blocked": _blocks,
    "success": _bails,
    "cancelled": _cancels,
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("at", range(1, 8))
async def test_whatever_ends_a_run_ends_it_in_the_store(at: int, end: Any) -> None:
    """B14, B16, B17: after any crash and its recovery no run is left as one that goes on, and readers see one end."""
    clock = Clock()
    store = InMemoryJournal(clock=clock)
    ends = Step[Any, Any](id="ends", execute=ENDS[end])
    workflow: Any = create_workflow("w", int).then(unchanged)
    workflow = workflow.parallel([unchanged.replace(id="b"), ends], on_failure="wait", on_block="wait").commit()
    runtime = Runtime(store)
    try:
        await Runtime(mortal(store, at)).run(workflow, 1, run_id="r")
    except Death:
        clock.now += 60
        runtime.registry.add(workflow)
        await runtime.recover()
    row = await store.row("r")
    assert row is not None
    assert (row.status, row.claimed) == (end, False)
    with anyio.fail_after(10):
        told = [event async for event in runtime.observe("r")]
    assert [event.payload["status"] for event in told if event.terminal] == [end]
