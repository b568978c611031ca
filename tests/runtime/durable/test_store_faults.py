"""Stores that fail: the run says so and stops, and what is written down can be taken up again."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.durable.faults import failing, faulty
from tests.storage.journals import Clock

from procession.errors import ResumeError, RunError, RunNotFound, StoreError
from procession.runtime.durable import holding
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.base import RunStatus
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow

RUNNING: tuple[RunStatus] = ("running",)


def counting(name: str, ran: list[str]) -> Step[int, int]:
    """Return a step that notes that it ran, and adds one."""

    @step(id=name)
    async def count(ctx: StepContext[int]) -> int:
        ran.append(name)
        return ctx.input + 1

    return count


def chain(ran: list[str], names: str = "abc") -> Workflow[int, int]:
    """Return a workflow of one step after the other."""
    workflow = create_workflow("chain", int)
    for name in names:
        workflow = workflow.then(counting(name, ran))
    return workflow.commit()


@pytest.mark.parametrize("error", [StoreError, OSError])
async def test_a_write_that_fails_ends_the_run_and_can_be_done_again(error: type[Exception]) -> None:
    """A run whose store fails in the middle fails with that, does nothing more, and is free for a restart at once."""
    ran: list[str] = []
    workflow = chain(ran)
    kept = InMemoryJournal()
    store = faulty(kept, write=failing(2, error=error))
    result = await Runtime(store).run(workflow, 0, run_id="r")
    assert result.status == "failed"
    assert isinstance(result.error, StoreError)
    assert "the disk is gone" in str(result.error)
    assert ran == ["a", "b"]
    row = await kept.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("running", False)
    assert (await Runtime(kept).restart("r", workflow=workflow)).unwrap() == 3
    assert ran == ["a", "b", "b", "c"]


async def test_branches_stop_with_the_store() -> None:
    """Where siblings are waited for as well, none goes on that could not write down what it does."""
    ran: list[str] = []
    failed = anyio.Event()

    @step
    async def waits(ctx: StepContext[int]) -> int:
        await failed.wait()
        await anyio.lowlevel.checkpoint()
        ran.append("waits")
        return 1

    async def fail(*args: Any, **kwargs: Any) -> None:
        failed.set()
        raise StoreError("the disk is gone")

    workflow = create_workflow("both", int).parallel([counting("a", ran), waits], on_failure="wait").commit()
    result = await Runtime(faulty(InMemoryJournal(), write=fail)).run(workflow, 0)
    assert isinstance(result.error, StoreError)
    assert ran == ["a"]
    assert result.steps["waits"].status == "cancelled"


async def test_code_cannot_swallow_that_nothing_is_kept() -> None:
    """A step that catches what its memo raised, or is tried again, does not go on without a journal."""
    ran: list[int] = []

    @step(retry=RetryPolicy(3))
    async def memo(ctx: StepContext[int]) -> int:
        ran.append(ctx.attempt)

        async def work() -> int:
            return 1

        try:
            return int(await ctx.memoize("work", work))
        except StoreError:
            await anyio.lowlevel.checkpoint()
            return -1

    store = faulty(InMemoryJournal(), write=failing(1, error=StoreError))
    result = await Runtime(store).run(create_workflow("memo", int).then(memo).commit(), 0)
    assert isinstance(result.error, StoreError)
    assert ran == [1]


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_items_do_not_collect_faults_of_the_store(concurrency: int) -> None:
    """An item whose output could not be kept is no failed item: the run fails."""
    ran: list[str] = []
    begun = create_workflow("each", list[int])
    each = begun.foreach(counting("item", ran), on_error="collect", concurrency=concurrency).commit()
    kept = InMemoryJournal()
    result = await Runtime(faulty(kept, write=failing(2, error=StoreError))).run(each, [1, 2, 3], run_id="r")
    assert isinstance(result.error, StoreError)
    assert (await Runtime(kept).restart("r", workflow=each)).unwrap() == [2, 3, 4]


@pytest.mark.parametrize("method", ["add", "save_graph"])
async def test_a_run_that_cannot_be_written_down_does_not_begin(method: str) -> None:
    """Where the store fails at the beginning, nothing is done, and whoever waits for the run is told."""
    ran: list[str] = []
    kept = InMemoryJournal()
    runtime = Runtime(faulty(kept, **{method: failing(1, 2, error=StoreError)}))
    workflow = chain(ran)
    run = runtime.create_run(workflow, run_id="r")
    with pytest.raises(StoreError, match="the disk is gone"):
        await run.start(0)
    assert isinstance((await run.result()).error, StoreError)
    async with runtime.stream(workflow, 0, run_id="r2") as streamed:
        events = [event.type async for event in streamed.events()]
        assert isinstance((await streamed.result()).error, StoreError)
    assert events == ["run.started", "run.finished"]
    assert (ran, await kept.runs()) == ([], [])
    assert (await runtime.run(workflow, 0, run_id="r")).unwrap() == 3


async def test_an_end_that_cannot_be_written_is_no_success() -> None:
    """A run that came to its end, which could not be written, says so; it is restarted without doing anything again."""
    ran: list[str] = []
    workflow = chain(ran)
    kept = InMemoryJournal()
    result = await Runtime(faulty(kept, write=failing(4, error=StoreError))).run(workflow, 0, run_id="r")
    assert isinstance(result.error, StoreError)
    assert (await Runtime(kept).restart("r", workflow=workflow)).unwrap() == 3
    assert ran == ["a", "b", "c"]


async def test_a_store_that_is_slow_is_waited_for() -> None:
    """Nothing begins before what it depends on is kept, however long that takes."""
    log: list[str] = []

    async def slow(run_id: str, token: str, rows: Any = (), **how: Any) -> None:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        log.extend(f"kept {row.path}" for row in rows)

    ran: list[str] = log
    assert (await Runtime(faulty(InMemoryJournal(), write=slow)).run(chain(ran), 0)).unwrap() == 3
    assert log == ["a", "kept a", "b", "kept b", "c", "kept c"]


async def test_a_store_that_never_answers_holds_nobody_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the end of a run is not written for as long as its lease holds, the run says so."""
    monkeypatch.setattr(holding, "LEASE", 0.01)
    ran: list[str] = []

    async def hang(*args: Any, status: str | None = None, **kwargs: Any) -> None:
        if status is not None:
            await anyio.sleep_forever()

    result = await Runtime(faulty(InMemoryJournal(), write=hang)).run(chain(ran), 0)
    assert isinstance(result.error, StoreError)
    assert "not written down within" in str(result.error)


async def test_a_runtime_that_closes_gives_its_runs_back() -> None:
    """Runs that still go on in the background of a runtime that closes are free at once, and recover() takes them up."""
    ran: list[str] = []
    blocked, go_on = anyio.Event(), anyio.Event()

    @step
    async def slow(ctx: StepContext[int]) -> int:
        ran.append("slow")
        blocked.set()
        await go_on.wait()
        return ctx.input + 1

    kept = InMemoryJournal()
    workflow = create_workflow("w", int).then(counting("a", ran)).then(slow).then(counting("b", ran)).commit()
    async with Runtime(kept, drain=0, grace=1) as runtime:
        run = runtime.start(workflow, 0, run_id="r")
        await blocked.wait()
    assert (await run.result()).status == "cancelled"
    row = await kept.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("running", False)
    go_on.set()
    later = Runtime(kept)
    assert await later.recover() == []  # it does not know the workflow
    later.registry.add(workflow)
    (result,) = await later.recover()
    assert (result.run_id, result.unwrap()) == ("r", 3)
    assert ran == ["a", "slow", "slow", "b"]
    assert await later.recover() == []


async def test_recover_goes_on_where_one_run_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run that can no longer be read, or is held, does not keep the others from being recovered."""
    clock, ran = Clock(), list[str]()
    kept = InMemoryJournal(clock=clock)
    workflow = chain(ran)
    for name in ("first", "second", "third"):
        store = faulty(kept, write=failing(1, error=StoreError))
        await Runtime(store).run(workflow, 0, run_id=name)
        clock.now += 1
    assert await kept.claim("first", "somebody", 30, of=RUNNING) is not None
    assert await kept.claim("second", "x", 30, of=RUNNING) is not None
    assert await kept.write("second", "x", data='{"input":{"out":{"$kept":1}}}', release=True)
    runtime = Runtime(kept)
    runtime.registry.add(workflow)
    recovered = await runtime.recover()
    assert [result.run_id for result in recovered] == ["third"]
    row = await kept.row("second")
    assert row is not None
    assert (row.status, row.claimed) == ("running", False)


async def test_a_fork_is_there_as_a_whole_or_not_at_all() -> None:
    """Where what a fork goes on from could not be written down, there is no fork."""
    ran: list[str] = []
    workflow = chain(ran)
    kept = InMemoryJournal()
    await Runtime(kept).run(workflow, 0, run_id="old")
    runtime = Runtime(faulty(kept, write=failing(1, error=StoreError)))
    with pytest.raises(StoreError, match="the disk is gone"):
        await runtime.fork("old", "b", new_run_id="new", workflow=workflow)
    assert await kept.row("new") is None
    assert (await runtime.fork("old", "b", new_run_id="new", workflow=workflow)).unwrap() == 3
    with pytest.raises(RunError, match="has a run 'new' already"):
        await runtime.fork("old", "b", new_run_id="new", workflow=workflow)


async def test_whoever_leaves_while_an_answer_is_written_has_given_it_or_not() -> None:
    """An answer whose caller is cancelled while it is written is there as a whole, or not; the run is free either way."""
    written = anyio.Event()

    @step
    async def ask(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("?")
        return answer

    class Slow(InMemoryJournal):
        """A store that answers its caller late."""

        async def write(self, run_id: str, token: str, rows: Any = (), **how: Any) -> bool:
            """Write, and hold up whoever answers."""
            kept = await super().write(run_id, token, rows, **how)
            if rows and rows[0].kind == "answered":
                written.set()
                await anyio.sleep_forever()
            return kept

    store = Slow()
    runtime = Runtime(store)
    workflow = create_workflow("asks", int).then(ask).commit()
    runtime.registry.add(workflow)
    await runtime.run(workflow, 0, run_id="r")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.resume, "r", 7)
        await written.wait()
        tasks.cancel_scope.cancel()
    reader = await runtime.get("r")
    assert (reader.status, reader.is_held, reader.waiting) == ("running", False, ())
    with pytest.raises(ResumeError, match="restart"):
        await runtime.resume("r", 8)
    (result,) = await runtime.recover()
    assert result.unwrap() == 7


async def test_an_answer_that_was_not_kept_leaves_the_run_waiting() -> None:
    """Where the store fails while an answer is written, the question is still open, and the run is free."""

    @step
    async def ask(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("?")
        return answer

    kept = InMemoryJournal()
    workflow = create_workflow("asks", int).then(ask).commit()
    await Runtime(kept).run(workflow, 0, run_id="r")
    with pytest.raises(StoreError):
        await Runtime(faulty(kept, write=failing(1, error=StoreError))).resume("r", 1, workflow=workflow)
    reader = await Runtime(kept).get("r")
    assert (reader.status, reader.is_held, len(reader.waiting)) == ("suspended", False, 1)
    with pytest.raises(StoreError):
        await Runtime(faulty(kept, entries=failing(1, error=StoreError))).resume("r", 1, workflow=workflow)
    assert (await Runtime(kept).resume("r", 7, workflow=workflow)).unwrap() == 7
    with pytest.raises(RunNotFound):
        await Runtime(kept).restart("r2")
