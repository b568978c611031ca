"""Traps that other engines have fallen into, in runs that are kept: the numbers are those of the list of pitfalls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.runtime.durable.everything import Death, drive, everything, mortal
from tests.storage.journals import Clock

from procession.errors import ResumeError
from procession.runtime import state as run_state
from procession.runtime.durable.rows import read_rows
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow


def asking(name: str, did: list[str] | None = None) -> Step[Any, Any]:
    """Return a step that asks for what it gives."""

    @step(id=name)
    async def asks(ctx: StepContext[Any]) -> Any:
        if did is not None:
            did.append(ctx.path)
        return await ctx.suspend({"of": ctx.path})

    return asks


@step
async def plus_one(ctx: StepContext[int]) -> int:
    """Add one."""
    return ctx.input + 1


# --- retries and pauses (A12, A22) ----------------------------------------------------------------------------------


async def test_retries_hold_after_a_resume() -> None:
    """A12: a step has all its attempts in a run that was resumed, and those before a crash count."""
    attempts: list[int] = []

    @step(retry=RetryPolicy(3))
    async def fails(ctx: StepContext[int]) -> int:
        attempts.append(ctx.attempt)
        raise ConnectionError

    clock = Clock()
    store = InMemoryJournal(clock=clock)
    workflow = create_workflow("w", int).then(asking("a")).then(fails).commit()
    await Runtime(store).run(workflow, 1, run_id="r")
    with pytest.raises(Death):
        await Runtime(mortal(store, 4)).resume("r", 5, workflow=workflow)  # answer, a, attempt 1, attempt 2
    assert attempts == [1, 2]
    clock.now += 60
    result = await Runtime(store).restart("r", workflow=workflow)
    assert result.status == "failed"
    assert attempts == [1, 2, 3]
    assert result.steps["fails"].attempt == 3


async def test_a_step_that_asks_may_fail_and_be_tried_again() -> None:
    """A12: an answer holds for each further attempt of the step that was given it."""
    attempts: list[tuple[int, int]] = []

    @step(retry=RetryPolicy(3))
    async def asks(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("?")
        attempts.append((ctx.attempt, answer))
        if ctx.attempt < 3:
            raise ConnectionError
        return answer

    runtime = Runtime(InMemoryJournal())
    await runtime.run(create_workflow("w", int).then(asks).commit(), 1, run_id="r")
    assert (await runtime.resume("r", 7)).unwrap() == 7
    assert attempts == [(1, 7), (2, 7), (3, 7)]


async def test_a_pause_is_over_when_it_was_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A22: a run that is restarted in a pause, or after it, waits for what is left of it: here for nothing."""
    clock = Clock()
    store = InMemoryJournal(clock=clock)
    wall = [1_000_000.0]
    monkeypatch.setattr(run_state, "time", SimpleNamespace(time=lambda: wall[0]))
    workflow = create_workflow("w", int).sleep(3600, id="pause").then(plus_one).commit()
    with pytest.raises(Death):
        await Runtime(mortal(store, 2)).run(workflow, 1, run_id="r")
    (row,) = await store.entries("r")
    assert row.kind == "sleeping"
    until = read_rows([row]).waking["pause"]
    assert until == pytest.approx(1_003_600, abs=60)
    clock.now += 60
    wall[0] += 3000
    with anyio.move_on_after(0.05) as limit:
        await Runtime(mortal(store)).restart("r", workflow=workflow)
    assert limit.cancelled_caught  # ten minutes are left
    row_now = await store.row("r")
    assert row_now is not None
    assert row_now.status == "cancelled"
    assert await store.entries("r", after=0) != []
    fresh = InMemoryJournal(clock=clock)
    with pytest.raises(Death):
        await Runtime(mortal(fresh, 2)).run(workflow, 1, run_id="r")
    clock.now += 60
    wall[0] += 4000
    result = await Runtime(fresh).restart("r", workflow=workflow)
    assert result.unwrap() == 2
    assert [row.kind for row in await fresh.entries("r")] == ["sleeping", "completed", "completed"]


# --- completions (A16, A17, A19, A20, B7, B8, B9, B11, B12) ---------------------------------------------------------


async def test_progress_after_an_answer_is_written_down() -> None:
    """A20: after a resume in the same process each completion is kept at once, and a crash then loses nothing."""
    did: list[str] = []

    def noting(name: str) -> Step[int, int]:
        @step(id=name)
        async def note(ctx: StepContext[int]) -> int:
            did.append(name)
            return ctx.input + 1

        return note

    clock = Clock()
    store = InMemoryJournal(clock=clock)
    workflow = create_workflow("w", int).then(asking("a", did)).then(noting("b")).then(noting("c")).commit()
    runtime = Runtime(mortal(store, 5))
    await runtime.run(workflow, 1, run_id="r")  # begins, asks
    with pytest.raises(Death):
        await runtime.resume("r", 5)  # answer, a, b: dies
    rows = [(row.kind, row.path) for row in await store.entries("r")]
    assert rows == [("suspended", "a"), ("answered", "a"), ("completed", "a"), ("completed", "b")]
    reader = await Runtime(store).get("r", workflow=workflow)
    assert (reader.status, reader.waiting, reader.output_of("b")) == ("running", (), 6)
    clock.now += 60
    assert (await Runtime(store).restart("r", workflow=workflow)).unwrap() == 7
    assert did == ["a", "a", "b", "c"]


async def test_a_fork_changes_nothing_of_what_it_comes_from() -> None:
    """A17: whatever is forked, and wherever, the old run and its rows stay as they are."""
    store = InMemoryJournal()
    charged: set[str] = set()
    lines: list[str] = []
    workflow = everything(lines.append, charged.add)
    reader = await drive(Runtime(store), workflow)
    before = await store.row("r"), await store.entries("r")
    runtime = Runtime(store)
    for number, at in enumerate(
        ("remember", "item[1]", "round[1]", "outer/inner/look_up", "calls", "graph/mid-a", "last")
    ):
        lines.clear()
        result = await runtime.fork("r", at, new_run_id=f"f{number}", workflow=workflow)
        while result.status == "suspended":
            result = await runtime.resume(f"f{number}", 100, workflow=workflow)
        assert result.unwrap() == reader.output
        assert any(line.startswith(at) for line in lines), at
        rows = [row.path for row in await store.entries(f"f{number}") if row.kind == "completed"]
        assert len(rows) == len(set(rows))
    assert (await store.row("r"), await store.entries("r")) == before
    assert "f6:last" in charged
    assert "f6:left" not in charged


async def test_items_are_answered_one_by_one() -> None:
    """A19, B6, B7: an answer without an item is refused where several wait; what the others asked stays as it was."""
    did: list[str] = []
    store = InMemoryJournal()
    workflow = create_workflow("w", list[int]).foreach(asking("ask", did), concurrency=3).commit()
    runtime = Runtime(store)
    result = await runtime.run(workflow, [1, 2, 3], run_id="r")
    for given in ({}, {"step": "ask"}):
        with pytest.raises(ResumeError, match="3 steps wait"):
            await runtime.resume("r", 0, **given)  # type: ignore[arg-type]
    assert did == ["ask[0]", "ask[1]", "ask[2]"]
    result = await runtime.resume("r", 20, step="ask[1]")
    assert result.suspended == {"ask[0]": {"of": "ask[0]"}, "ask[2]": {"of": "ask[2]"}}
    reader = await runtime.get("r", workflow=workflow)
    assert {each.path: each.payload for each in reader.waiting} == dict(result.suspended)
    await runtime.resume("r", 10, step="ask[0]")
    assert (await runtime.resume("r", 30, step="ask")).unwrap() == [10, 20, 30]


async def test_items_that_did_not_fail_are_not_done_again() -> None:
    """B8: a fork of a run whose foreach failed does what failed and what had not begun, and no item that was done."""
    did: list[int] = []
    broken = [True]

    @step(id="item")
    async def item(ctx: StepContext[int]) -> int:
        did.append(ctx.input)
        if ctx.input == 3 and broken[0]:
            raise ConnectionError
        return ctx.input * 10

    store = InMemoryJournal()
    workflow = create_workflow("w", list[int]).foreach(item).commit()
    assert (await Runtime(store).run(workflow, [1, 2, 3, 4], run_id="r")).status == "failed"
    assert did == [1, 2, 3]
    broken[0] = False
    assert (await Runtime(store).fork("r", workflow=workflow)).unwrap() == [10, 20, 30, 40]
    assert did == [1, 2, 3, 3, 4]


async def test_what_had_not_begun_is_done_after_an_answer() -> None:
    """B9: items that waited for their turn behind others run all the same, as many at a time as before."""
    running, most, did = [0], [0], list[int]()

    @step(id="item")
    async def item(ctx: StepContext[int]) -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        try:
            did.append(ctx.input)
            if ctx.input in (0, 1):
                return int(await ctx.suspend(ctx.input))
            await anyio.sleep(0.001)
            return ctx.input
        finally:
            running[0] -= 1

    clock = Clock()
    store = InMemoryJournal(clock=clock)
    workflow = create_workflow("w", list[int]).foreach(item, concurrency=lambda items: 2).commit()
    with pytest.raises(Death):
        await Runtime(mortal(store, 3)).run(workflow, list(range(8)), run_id="r")
    clock.now += 60
    result = await Runtime(store).restart("r", workflow=workflow)
    assert list(result.suspended) == ["item[0]", "item[1]"]
    await Runtime(store).resume("r", 100, step="item[1]", workflow=workflow)
    assert (await Runtime(store).resume("r", 50, workflow=workflow)).unwrap() == [50, 100, 2, 3, 4, 5, 6, 7]
    assert most == [2]
    assert all(did.count(number) == 1 for number in range(5, 8))


async def test_nested_workflows_that_are_done_stay_done() -> None:
    """B11, B12: a nested workflow is part of its run: what is done in it is not begun again, and its end is the parent's."""
    did: list[str] = []

    @step
    async def inside(ctx: StepContext[int]) -> int:
        did.append("inside")
        return ctx.input + 1

    inner = create_workflow("inner", int).then(inside).then(asking("ask", did)).commit()
    clock = Clock()
    store = InMemoryJournal(clock=clock)
    workflow = create_workflow("w", int).then(inner).then(plus_one).commit()
    await Runtime(store).run(workflow, 1, run_id="r")
    with pytest.raises(Death):
        await Runtime(mortal(store, 2)).resume("r", 5, workflow=workflow)
    clock.now += 60
    result = await Runtime(store).restart("r", workflow=workflow)
    assert result.unwrap() == 6
    assert did == ["inside", "inner/ask", "inner/ask"]
    assert result.steps["inner"].status == "success"
    assert [row.run_id for row in await store.runs()] == ["r"]


async def test_two_runs_of_one_workflow_share_nothing() -> None:
    """C12: runs of one definition that are kept in one store at the same time keep their own answers and outputs."""
    store = InMemoryJournal()
    runtime = Runtime(store)
    workflow = create_workflow("w", int).then(plus_one).then(asking("a")).commit()
    outputs: dict[int, Any] = {}

    async def one(number: int) -> None:
        first = await runtime.run(workflow, number, run_id=f"r{number}")
        assert first.status == "suspended"
        outputs[number] = (await runtime.resume(f"r{number}", [number])).unwrap()

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    assert outputs == {number: [number] for number in range(20)}
    for number in range(20):
        reader = await runtime.get(f"r{number}", workflow=workflow)
        assert (reader.input, reader.output_of("plus_one"), reader.output) == (number, number + 1, [number])
