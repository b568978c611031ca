"""What is written down holds: restarts, forks, cancellation, and runs by their id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.runtime.durable.faults import left_by_a_dead_process

from procession.errors import DefinitionError, GraphChanged, ResumeError, RunAlreadyClaimed, RunError, RunNotFound
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow


class Dying(InMemoryJournal):
    """A store whose process dies before the write of a number: nothing is written from then on."""

    left = 10**9

    async def write(self, *args: object, **kwargs: object) -> bool:
        """Write, or die."""
        if kwargs.get("status") is None and self.left <= 0:
            raise Death
        if kwargs.get("status") is not None and self.left <= 0:
            return False
        self.left -= 1
        return await super().write(*args, **kwargs)  # type: ignore[arg-type]


class Death(BaseException):
    """What a process dies of, in a test."""


def counting(name: str, ran: list[str]) -> Step[int, int]:
    """Return a step that notes that it ran, and adds one."""

    @step(id=name)
    async def count(ctx: StepContext[int]) -> int:
        ran.append(name)
        return ctx.input + 1

    return count


async def test_a_run_that_lost_its_process_goes_on() -> None:
    """A restart does what was not written down, and nothing that was."""
    now = [100.0]
    ran: list[str] = []
    workflow = create_workflow("three", int)
    for name in "abc":
        workflow = workflow.then(counting(name, ran))
    workflow.commit()
    store = Dying(clock=lambda: now[0])
    store.left = 1
    with pytest.raises(Death):
        await Runtime(store).run(workflow, 0, run_id="r")
    assert ran == ["a", "b"]
    store.left = 100
    runtime = Runtime(store)
    runtime.registry.add(workflow)
    with pytest.raises(RunAlreadyClaimed):
        await runtime.restart("r")
    now[0] += 60
    assert (await runtime.restart("r")).unwrap() == 3
    assert ran == ["a", "b", "b", "c"]
    assert (await runtime.get("r")).output == 3
    with pytest.raises(RunAlreadyClaimed):
        await runtime.restart("r")


async def test_the_process_may_be_another(tmp_path: Path) -> None:
    """SUS-005: a run that was suspended is resumed by a runtime that has only the file and the workflow."""
    ran: list[str] = []

    @step(resume_type=int)
    async def ask(ctx: StepContext[int]) -> int:
        ran.append("ask")
        answer: int = await ctx.suspend("how much?")
        return ctx.input + answer

    inner = create_workflow("inner", int).then(counting("b", ran)).then(ask).commit()
    outer = create_workflow("outer", int).then(counting("a", ran)).then(inner).then(counting("c", ran)).commit()
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        assert (await Runtime(store).run(outer, 1, run_id="r")).status == "suspended"
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        runtime = Runtime(store)
        waiting = (await runtime.get("r", workflow=outer)).waiting
        assert [(each.path, each.payload) for each in waiting] == [("inner/ask", "how much?")]
        result = await runtime.resume("r", 10, workflow=outer)
        assert result.unwrap() == 14
        assert result.steps["inner"].output == 13
    assert ran == ["a", "b", "ask", "ask", "c"]


async def test_attempts_of_before_a_crash_count() -> None:
    """A step that may be tried three times and failed twice before the crash is tried once more."""
    now = [100.0]
    attempts: list[int] = []
    third = anyio.Event()

    @step(retry=RetryPolicy(3))
    async def fails(ctx: StepContext[int]) -> int:
        attempts.append(ctx.attempt)
        if attempts == [1, 2, 3]:
            third.set()
            await anyio.sleep_forever()
        raise ValueError

    workflow = create_workflow("fails", int).then(fails).commit()
    store = InMemoryJournal(clock=lambda: now[0])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Runtime(store).create_run(workflow, run_id="r").start, 0)
        await third.wait()
        store = left_by_a_dead_process(store, lambda: now[0])
        tasks.cancel_scope.cancel()
    now[0] += 60
    assert (await Runtime(store).restart("r", workflow=workflow)).status == "failed"
    assert attempts == [1, 2, 3, 3]


async def test_loops_and_items_go_on_where_they_were() -> None:
    """Rounds and items that were completed are not done again after an answer."""
    ran: list[str] = []

    @step(resume_type=int)
    async def ask(ctx: StepContext[int]) -> int:
        ran.append(f"{ctx.path} {ctx.input}")
        if ctx.input == 2:
            answer: int = await ctx.suspend("?")
            return answer
        return ctx.input + 1

    loop = create_workflow("loop", int).do_while(ask, lambda value: value < 4).commit()
    runtime = Runtime(InMemoryJournal())
    result = await runtime.run(loop, 0, run_id="loop")
    assert list(result.suspended) == ["ask[2]"]
    assert (await runtime.resume("loop", 3)).unwrap() == 4
    assert ran == ["ask[0] 0", "ask[1] 1", "ask[2] 2", "ask[2] 2", "ask[3] 3"]

    ran.clear()
    each = create_workflow("each", list[int]).foreach(ask, concurrency=2).commit()
    listed = await runtime.run(each, [1, 2, 2, 5], run_id="each")
    assert list(listed.suspended) == ["ask[1]", "ask[2]"]
    with pytest.raises(ResumeError, match="2 steps wait"):
        await runtime.resume("each", 7)
    assert (await runtime.resume("each", 7, step="ask[2]")).status == "suspended"
    assert (await runtime.resume("each", 8)).unwrap() == [2, 8, 7, 6]
    assert sorted(ran) == ["ask[0] 1", "ask[1] 2", "ask[1] 2", "ask[2] 2", "ask[2] 2", "ask[3] 5"]


async def test_a_fork_leaves_the_old_run_as_it_is() -> None:
    """A fork runs again from a step on, with what was completed before it, under an id of its own."""
    ran: list[str] = []
    workflow = create_workflow("abc", int)
    for name in "abc":
        workflow = workflow.then(counting(name, ran))
    workflow.commit()
    runtime = Runtime(InMemoryJournal())
    await runtime.run(workflow, 0, run_id="old")
    ran.clear()
    result = await runtime.fork("old", "b", outputs={"a": 10}, new_run_id="new")
    assert result.unwrap() == 12
    assert ran == ["b", "c"]
    assert (await runtime.get("old")).output == 3
    made = await runtime.get("new")
    assert (made.row.parent_run_id, made.row.forked_at, made.output) == ("old", "b", 12)
    assert [row.run_id for row in await runtime.list("abc", parent_run_id="old")] == ["new"]
    with pytest.raises(ResumeError, match="no step at 'nope'"):
        await runtime.fork("old", "nope")


async def test_a_failed_run_is_forked_where_it_failed() -> None:
    """SUS-011: a fork of a failed run does the failed step again, as its next attempt, and not those before it."""
    ran: list[str] = []

    @step
    async def asks(ctx: StepContext[int]) -> int:
        ran.append("asks")
        answer: int = await ctx.suspend("?")
        return ctx.input + answer

    @step
    async def fails_once(ctx: StepContext[int]) -> int:
        ran.append(f"fails_once {ctx.attempt}")
        if ctx.attempt == 1:
            raise ValueError
        return ctx.input

    workflow = create_workflow("w", int).then(counting("a", ran)).then(asks).then(fails_once).commit()
    runtime = Runtime(InMemoryJournal())
    await runtime.run(workflow, 0, run_id="r")
    assert (await runtime.resume("r", 5)).status == "failed"
    result = await runtime.fork("r")
    assert result.unwrap() == 6
    assert ran == ["a", "asks", "asks", "fails_once 1", "fails_once 2"]


async def test_runs_are_cancelled_wherever_they_are() -> None:
    """A run that waits is cancelled in the store, one that goes on here is told; what has ended stays as it is."""
    started = anyio.Event()

    @step
    async def hangs(ctx: StepContext[int]) -> int:
        started.set()
        await anyio.sleep_forever()
        return 0

    @step
    async def asks(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("?")
        return answer

    runtime = Runtime(InMemoryJournal())
    waits = create_workflow("waits", int).then(asks).commit()
    await runtime.run(waits, 0, run_id="waits")
    assert await runtime.cancel("waits")
    assert not await runtime.cancel("waits")
    with pytest.raises(RunAlreadyClaimed):
        await runtime.resume("waits", 1)
    goes_on = create_workflow("goes-on", int).then(hangs).commit()
    async with runtime.stream(goes_on, 0, run_id="goes-on") as run:
        await started.wait()
        assert await runtime.cancel("goes-on")
        assert (await run.result()).status == "cancelled"
    assert (await runtime.get("goes-on")).status == "cancelled"
    assert await runtime.delete("goes-on")
    with pytest.raises(RunNotFound):
        await runtime.get("goes-on")


async def test_a_run_id_is_used_once() -> None:
    """A second run under an id that the store knows is refused, and the first is as it was."""
    workflow = create_workflow("w", int).then(counting("a", [])).commit()
    runtime = Runtime(InMemoryJournal())
    await runtime.run(workflow, 0, run_id="r")
    with pytest.raises(RunError, match="has a run 'r' already"):
        await runtime.run(workflow, 0, run_id="r")
    assert (await runtime.get("r")).output == 1


async def test_a_changed_workflow_refuses_to_go_on() -> None:
    """A run is not resumed by a workflow of another shape, unless each difference is accepted."""

    @step
    async def asks(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("?")
        return answer

    def made(*names: str) -> object:
        workflow = create_workflow("w", int).then(asks)
        for name in names:
            workflow = workflow.then(counting(name, []))
        return workflow.commit()

    store = InMemoryJournal()
    await Runtime(store).run(made("a"), 0, run_id="r")  # type: ignore[arg-type]
    runtime = Runtime(store)
    with pytest.raises(GraphChanged) as raised:
        await runtime.resume("r", 1, workflow=made("a", "b"))  # type: ignore[arg-type]
    assert any("b" in difference for difference in raised.value.differences)
    assert (await runtime.get("r")).status == "suspended"
    result = await runtime.resume("r", 1, workflow=made("a", "b"), accept_changes=["b"])  # type: ignore[arg-type]
    assert result.unwrap() == 3


async def test_a_status_that_there_is_not_is_refused() -> None:
    """Runs of a misspelt status are no empty list."""
    wrong: Any = "finished"
    with pytest.raises(DefinitionError, match=r"list\(\) has status='finished' \(hint: it is 'pending' or "):
        await Runtime().list(status=wrong)
    assert await Runtime().list(status=("success", "failed")) == []
