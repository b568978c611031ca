"""Recovering: what others left is taken up together, and given back where that is broken off."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.runtime.durable.faults import failing, faulty

from procession.errors import DefinitionError, InputError, StoreError
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import RunRow
from procession.storage.memory import InMemoryJournal
from procession.workflows.describe import graph_spec
from procession.workflows.workflow import Workflow, create_workflow


async def left_alone(store: InMemoryJournal, workflow: Workflow[int, int], *run_ids: str) -> None:
    """Keep runs of the workflow that begin with nothing done, and whose process has died."""
    for number, run_id in enumerate(run_ids):
        row = RunRow(
            run_id=run_id,
            owner="w",
            kind="workflow",
            status="running",
            data=f'{{"input":{{"out":{number}}}}}',
            graph_hash=graph_spec(workflow).graph_hash,
        )
        assert await store.add(row)


def known(store: Any, workflow: Workflow[int, int]) -> Runtime:
    """Return a runtime that knows the workflow."""
    runtime = Runtime(store)
    runtime.registry.add(workflow)
    return runtime


async def test_runs_are_recovered_at_the_same_time() -> None:
    """A run that takes long, such as one that sleeps for days, holds up no other, and the results are in order."""
    over = anyio.Event()

    @step
    async def works(ctx: StepContext[int]) -> int:
        if ctx.input == 2:
            over.set()
        await over.wait()
        return ctx.input

    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(works).commit()
    await left_alone(store, workflow, "first", "second", "third")
    runtime = known(store, workflow)
    with anyio.fail_after(5):
        results = await runtime.recover()
    assert [(result.run_id, result.output) for result in results] == [("first", 0), ("second", 1), ("third", 2)]


async def test_no_more_than_that_go_on_at_the_same_time() -> None:
    """concurrency limits how many runs go on, and is a number of runs."""
    going_on: list[int] = []
    most = 0

    @step
    async def works(ctx: StepContext[int]) -> int:
        nonlocal most
        going_on.append(ctx.input)
        most = max(most, len(going_on))
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        going_on.remove(ctx.input)
        return ctx.input

    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(works).commit()
    await left_alone(store, workflow, *"abcdefg")
    runtime = known(store, workflow)
    with pytest.raises(InputError, match="concurrency=0"):
        await runtime.recover(concurrency=0)
    assert len(await runtime.recover(concurrency=2)) == 7
    assert most == 2


async def test_what_is_recovered_is_given_back() -> None:
    """Where recover() is cancelled its runs are free at once, and not cancelled: nobody has asked for their end."""
    reached, go_on = anyio.Event(), anyio.Event()

    @step
    async def works(ctx: StepContext[int]) -> int:
        reached.set()
        await go_on.wait()
        return ctx.input

    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(works).commit()
    await left_alone(store, workflow, "first", "second")
    runtime = known(store, workflow)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.recover)
        await reached.wait()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert [(row.status, row.claimed) for row in await store.runs()] == [("running", False)] * 2
    go_on.set()
    assert [result.status for result in await runtime.recover()] == ["success", "success"]


async def test_what_is_recovered_can_be_cancelled() -> None:
    """A run that goes on in recover() and is cancelled by its id has ended."""
    reached = anyio.Event()

    @step
    async def works(ctx: StepContext[int]) -> int:
        reached.set()
        await anyio.sleep_forever()
        return 0

    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(works).commit()
    await left_alone(store, workflow, "first")
    runtime = known(store, workflow)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.recover)
        await reached.wait()
        assert await runtime.cancel("first")
    assert [row.status for row in await store.runs()] == ["cancelled"]


async def test_a_store_that_fails_ends_the_recovery_and_no_run() -> None:
    """Where the store cannot be used, recover() says so; what it had begun before has come to its end."""
    reached = anyio.Event()

    @step
    async def works(ctx: StepContext[int]) -> int:
        await reached.wait()
        return ctx.input

    async def second(run_id: str, *args: Any, **kwargs: Any) -> None:
        if run_id == "second":
            reached.set()
            raise StoreError("the disk is gone")

    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(works).commit()
    await left_alone(store, workflow, "first", "second")
    with pytest.raises(StoreError, match="the disk is gone"):
        await known(faulty(store, claim=second), workflow).recover()
    assert {row.run_id: row.status for row in await store.runs()} == {"first": "success", "second": "running"}


async def test_what_waits_elsewhere_is_not_given_up_with_a_run_that_goes_on() -> None:
    """What waits for a step is ended with its run, and stays where the run has only ended here: it can be taken up."""
    given_up: list[str] = []

    async def give_up(key: str, store: Any) -> None:
        given_up.append(key)

    @step(resume_type=int)
    async def asks(ctx: StepContext[int]) -> int:
        return int(await ctx.suspend("?"))

    @step
    async def slow(ctx: StepContext[int]) -> int:
        await anyio.wait_all_tasks_blocked()
        return ctx.input

    waits = asks.replace(abandon=give_up)
    workflow: Any = create_workflow("w", int).parallel([waits, slow]).commit()
    store = InMemoryJournal()
    broken = faulty(store, write=failing(1, error=StoreError))
    assert (await Runtime(broken).run(workflow, 1, run_id="r")).status == "failed"
    assert given_up == []
    runtime = known(store, workflow)
    assert (await runtime.restart("r")).status == "suspended"
    assert await runtime.cancel("r")
    assert given_up == ["r:asks"]


async def test_a_run_that_is_deleted_meanwhile_hides_no_other() -> None:
    """Where the last run of a page is deleted before the next page is read, all others are taken up, each once."""
    done: list[int] = []

    @step
    async def note(ctx: StepContext[int]) -> int:
        done.append(ctx.input)
        return ctx.input

    workflow = create_workflow("w", int).then(note).commit()

    class Losing(InMemoryJournal):
        """A store that loses a run after its first page."""

        lost: str | None = None

        async def runs(self, **options: Any) -> list[RunRow]:
            """Return a page, and lose its last run once."""
            page = await super().runs(**options)
            if self.lost is None:
                self.lost = page[-1].run_id
                assert await self.delete(self.lost)
            return page

    store = Losing()
    await left_alone(store, workflow, *[f"r{number}" for number in range(120)])
    results = await known(store, workflow).recover()
    assert len(results) == 119
    assert store.lost not in {result.run_id for result in results}
    assert len(done) == len(set(done)) == 119


async def test_a_page_of_none_is_refused() -> None:
    """A list on pages of no run, or of less, is a mistake, and not a list of all."""
    for limit in (0, -1):
        with pytest.raises(DefinitionError, match=f"limit={limit}"):
            await Runtime().list(limit=limit)
