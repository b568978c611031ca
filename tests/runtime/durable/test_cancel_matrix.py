"""Cancelling runs that are kept (C6, B15, B21): wherever they are, by whomever, there is one end and nothing is left."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.durable.faults import faulty

from procession.errors import RunAlreadyClaimed, RunNotFound
from procession.runtime.durable import holding
from procession.runtime.run import Run
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow


class Place:
    """Where a run is when it is cancelled: it hangs there, and says so."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.after: list[str] = []

    async def hang(self) -> Any:
        """Say that the run is here, and never go on."""
        self.reached.set()
        await anyio.sleep_forever()

    def never(self) -> Step[Any, int]:
        """Return the step that comes next, which is not to run."""

        @step(id="never")
        async def never(ctx: StepContext[Any]) -> int:
            self.after.append("never")
            return 0

        return never


@step
async def first(ctx: StepContext[int]) -> int:
    """Add one."""
    return ctx.input + 1


def hanging(place: Place, name: str = "hangs") -> Step[Any, int]:
    """Return a step that hangs."""

    @step(id=name)
    async def hangs(ctx: StepContext[Any]) -> int:
        await place.hang()
        return 0

    return hangs


def in_a_step(place: Place) -> Any:
    """Hang in a step."""
    return create_workflow("w", int).then(first).then(hanging(place)).then(place.never()).commit()


def in_a_retry_delay(place: Place) -> Any:
    """Wait for the next attempt."""

    @step(retry=RetryPolicy(5, initial=10_000, max_delay=10_000))
    async def fails(ctx: StepContext[int]) -> int:
        place.reached.set()
        raise ConnectionError

    return create_workflow("w", int).then(first).then(fails).then(place.never()).commit()


def in_a_pause(place: Place) -> Any:
    """Sleep."""

    def seconds(value: int) -> float:
        place.reached.set()
        return 10_000

    return create_workflow("w", int).then(first).sleep(seconds, id="pause").then(place.never()).commit()


def in_a_queue(place: Place) -> Any:
    """Hang in two items, while others have not begun."""

    def four(value: int) -> list[int]:
        return [1, 2, 3, 4]

    return create_workflow("w", int).map(four).foreach(hanging(place), concurrency=2).then(place.never()).commit()


def in_a_condition(place: Place) -> Any:
    """Hang in the condition of a branch."""

    async def asks(value: int) -> bool:
        return bool(await place.hang())

    return create_workflow("w", int).then(first).branch([(asks, place.never())]).commit()


def in_a_loop_condition(place: Place) -> Any:
    """Hang in the condition of a loop."""

    async def asks(value: int) -> bool:
        return bool(await place.hang())

    return create_workflow("w", int).do_while(first, asks).then(place.never()).commit()


def in_a_merge(place: Place) -> Any:
    """Hang in the function that merges branches."""

    async def merge(value: Any, outputs: Any) -> Any:
        return await place.hang()

    second = first.replace(id="second")
    return create_workflow("w", int).parallel([first, second], merge=merge).then(place.never()).commit()


def in_a_map(place: Place) -> Any:
    """Hang in a map."""

    async def function(value: int) -> int:
        return int(await place.hang())

    return create_workflow("w", int).then(first).map(function).then(place.never()).commit()


def in_branches(place: Place) -> Any:
    """Hang in both branches of a nested workflow, called by a step."""
    inner = create_workflow("inner", int).parallel([hanging(place, "a"), hanging(place, "b")]).commit()

    @step
    async def calls(ctx: StepContext[int]) -> Any:
        return await ctx.call(inner, ctx.input)

    return create_workflow("w", int).then(first).then(calls).then(place.never()).commit()


def in_a_graph(place: Place) -> Any:
    """Hang in a step of an explicit graph."""
    graph = create_workflow("w", int).add(first).add(hanging(place, "a"), after=["first"])
    return graph.add(place.never(), after=["a"]).commit()


PLACES = [
    in_a_step, in_a_retry_delay, in_a_pause, in_a_queue, in_a_condition, in_a_loop_condition, in_a_merge, in_a_map, in_branches,
    in_a_graph,
]  # fmt: skip

Cancels = Callable[[Runtime, JournalStore, Run[Any, Any]], Awaitable[None]]


async def by_its_handle(runtime: Runtime, store: JournalStore, run: Run[Any, Any]) -> None:
    """Cancel the run itself."""
    run.cancel()


async def by_its_id(runtime: Runtime, store: JournalStore, run: Run[Any, Any]) -> None:
    """Cancel by the runtime that runs it."""
    assert await runtime.cancel("r") is True


async def from_elsewhere(runtime: Runtime, store: JournalStore, run: Run[Any, Any]) -> None:
    """Cancel by a runtime of another process."""
    assert await Runtime(store).cancel("r") is True


async def agree(runtime: Runtime, store: JournalStore, run: Run[Any, Any]) -> None:
    """Check that a run that was cancelled has one end, on which the journal and the result agree, and nothing is left."""
    result = await run.result()
    assert result.status == "cancelled"
    row = await store.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("cancelled", False)
    kept: dict[str, str] = {}
    for entry in await store.entries("r"):
        status = json.loads(entry.data or "{}").get("status")
        if entry.kind in ("completed", "stopped"):
            kept[entry.path] = "success" if entry.kind == "completed" else status
    told = {path: record.status for path, record in result.steps.items()}
    assert "running" not in told.values()
    assert all(told[path] == status for path, status in kept.items()), (told, kept)
    assert {path for path, status in told.items() if status == "cancelled"} <= kept.keys()
    reader = await runtime.get("r")
    assert (reader.status, reader.waiting) == ("cancelled", ())
    assert await runtime.cancel("r") is False
    with pytest.raises(RunAlreadyClaimed):
        await runtime.restart("r")
    with pytest.raises(RunAlreadyClaimed):
        await runtime.resume("r", 1)


@pytest.mark.parametrize("cancel", [by_its_handle, by_its_id, from_elsewhere])
@pytest.mark.parametrize("place", PLACES)
async def test_a_run_is_cancelled_wherever_it_is(
    place: Callable[[Place], Any], cancel: Cancels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever cancels, and wherever: the run ends as cancelled, here and in the store, and does nothing more."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    here = Place()
    store = InMemoryJournal()
    runtime = Runtime(store)
    async with runtime.stream(place(here), 1, run_id="r") as run:
        await here.reached.wait()
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        await cancel(runtime, store, run)
        await agree(runtime, store, run)
    assert here.after == []


@pytest.mark.parametrize("cancel", [by_its_handle, by_its_id, from_elsewhere])
async def test_a_run_is_cancelled_while_it_is_written_down(cancel: Cancels, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that hangs with a write is not waited for; the end is still written."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    here = Place()

    async def hang(run_id: str, token: str, rows: Any = (), **how: Any) -> None:
        if rows and not how and rows[0].path == "first":
            await here.hang()

    store: JournalStore = faulty(InMemoryJournal(), write=hang)
    runtime = Runtime(store)
    workflow = create_workflow("w", int).then(first).then(here.never()).commit()
    async with runtime.stream(workflow, 1, run_id="r") as run:
        await here.reached.wait()
        await cancel(runtime, store, run)
        await agree(runtime, store, run)
    assert here.after == []


async def test_a_run_is_cancelled_before_it_is_known() -> None:
    """Cancelled while the store is told of it, a run does not begin, also where the store had heard of it."""
    here = Place()
    kept = InMemoryJournal()

    class Slow(InMemoryJournal):
        async def add(self, *args: Any, **kwargs: Any) -> bool:
            added = await kept.add(*args, **kwargs)
            await here.hang()
            return added

        async def write(self, *args: Any, **kwargs: Any) -> bool:
            return await kept.write(*args, **kwargs)

    workflow = create_workflow("w", int).then(here.never()).commit()
    async with anyio.create_task_group() as group:
        group.start_soon(Runtime(Slow()).create_run(workflow, run_id="r").start, 1)
        await here.reached.wait()
        group.cancel_scope.cancel()
    row = await kept.row("r")
    assert row is not None
    assert row.status == "cancelled"
    assert here.after == []


@step
async def asks(ctx: StepContext[int]) -> int:
    """Wait for an answer."""
    answer: int = await ctx.suspend("?", label="q")
    return answer


async def test_what_waits_is_cancelled_in_the_store() -> None:
    """A suspended run is cancelled by its id alone; what waited in it is cancelled with it, and cannot be answered."""
    store = InMemoryJournal()
    workflow = create_workflow("w", int).parallel([asks, first]).commit()
    assert (await Runtime(store).run(workflow, 1, run_id="r")).status == "suspended"
    other = Runtime(store)
    assert await other.cancel("r") is True
    assert await other.cancel("r") is False
    reader = await other.get("r", workflow=workflow)
    assert (reader.status, reader.waiting, reader.labels) == ("cancelled", (), {})
    assert {path: record.status for path, record in reader.steps.items()} == {"asks": "cancelled", "first": "success"}
    with pytest.raises(RunAlreadyClaimed, match="has ended: cancelled"):
        await other.resume("r", 1, workflow=workflow)
    with pytest.raises(RunNotFound):
        await other.cancel("nobody")


async def test_an_answer_that_waits_is_refused_when_the_run_is_cancelled() -> None:
    """An answer that waits for the run's other branches hears that the run was cancelled."""
    here = Place()
    runtime = Runtime(InMemoryJournal())
    workflow = create_workflow("w", int).parallel([asks, hanging(here)]).then(here.never()).commit()
    heard: list[str] = []

    async def answer() -> None:
        with pytest.raises(RunAlreadyClaimed, match="has ended: cancelled"):
            await runtime.resume("r", 1)
        heard.append("refused")

    async with runtime.stream(workflow, 1, run_id="r") as run, anyio.create_task_group() as group:
        await here.reached.wait()
        while "asks" not in run.steps or run.steps["asks"].status != "suspended":
            await anyio.lowlevel.checkpoint()
        group.start_soon(answer)
        await anyio.lowlevel.checkpoint()
        assert await runtime.cancel("r") is True
    assert heard == ["refused"]
    assert here.after == []


async def test_what_has_ended_stays_as_it_is() -> None:
    """A21: cancelling a run that has ended changes nothing, neither here nor in the store."""
    store = InMemoryJournal()
    runtime = Runtime(store)
    run = runtime.create_run(create_workflow("w", int).then(first).commit(), run_id="r")
    result = await run.start(1)
    before = await store.row("r"), await store.entries("r")
    run.cancel()
    assert await runtime.cancel("r") is False
    assert await Runtime(store).cancel("r") is False
    assert await store.request_cancel("r") is False
    assert (await store.row("r"), await store.entries("r")) == before
    assert (result.status, (await run.result()).status) == ("success", "success")


async def test_two_may_cancel_at_once() -> None:
    """A run that several cancel has one end."""
    here = Place()
    store = InMemoryJournal()
    runtime = Runtime(store)
    told: list[bool] = []

    async def cancel(by: Runtime) -> None:
        told.append(await by.cancel("r"))

    async with runtime.stream(in_a_step(here), 1, run_id="r") as run:
        await here.reached.wait()
        async with anyio.create_task_group() as group:
            for by in (runtime, runtime, Runtime(store)):
                group.start_soon(cancel, by)
        await agree(runtime, store, run)
    assert True in told


async def test_a_request_that_nobody_heard_holds() -> None:
    """A run that was to be cancelled when its process died, or came to wait, is not taken up again: it is cancelled."""
    here = Place()
    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(asks).then(here.never()).commit()
    await Runtime(store).run(workflow, 1, run_id="r")
    assert await store.request_cancel("r")
    with pytest.raises(RunAlreadyClaimed, match="was to be cancelled"):
        await Runtime(store).resume("r", 1, workflow=workflow)
    row = await store.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("cancelled", False)

    @step
    async def asks_and_hears(ctx: StepContext[int]) -> int:
        assert await store.request_cancel("s")
        return int(await ctx.suspend("?"))

    workflow = create_workflow("w", int).then(asks_and_hears).then(here.never()).commit()
    result = await Runtime(store).run(workflow, 1, run_id="s")
    assert result.status == "cancelled"
    assert (await Runtime(store).get("s")).status == "cancelled"
    assert here.after == []


async def test_a_run_that_cannot_be_cancelled_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run made so that only its task can end it keeps its lease, whatever is asked."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    store = InMemoryJournal()
    asked = anyio.Event()

    @step
    async def waits(ctx: StepContext[int]) -> int:
        assert await Runtime(store).cancel("r")
        for _ in range(10):
            await anyio.sleep(0.001)
        asked.set()
        return 1

    workflow = create_workflow("w", int).then(waits).commit()
    result = await Runtime(store).create_run(workflow, run_id="r", cancellable=False).start(1)
    assert result.unwrap() == 1
