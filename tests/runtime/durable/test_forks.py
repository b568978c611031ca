"""Forks: from every kind of place, with other outputs, and what cannot be forked is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from tests.runtime.durable.everything import ANSWER, RUN, drive, everything

from procession.errors import ResumeError
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow


def counting(name: str, ran: list[str]) -> Step[int, int]:
    """Return a step that notes where it ran, and adds one."""

    @step(id=name)
    async def count(ctx: StepContext[int]) -> int:
        ran.append(ctx.path)
        return ctx.input + 1

    return count


@step
async def total(ctx: StepContext[list[int]]) -> int:
    """Return the sum."""
    return sum(ctx.input)


async def test_a_step_of_a_workflow_that_bailed_runs_again() -> None:
    """What a workflow bailed with holds no longer, once a step inside of it is to run again."""
    ran: list[str] = []

    @step
    async def gate(ctx: StepContext[int]) -> int:
        ran.append(ctx.path)
        if ctx.input < 100:
            ctx.bail(7)
        return ctx.input

    inner = create_workflow("inner", int).then(counting("a", ran)).then(gate).then(counting("c", ran)).commit()
    runtime = Runtime(InMemoryJournal())
    workflow = create_workflow("w", int).then(inner).then(counting("z", ran)).commit()
    assert (await runtime.run(workflow, 0, run_id="old")).unwrap() == 8
    ran.clear()
    assert (await runtime.fork("old", "inner/a")).unwrap() == 8
    assert ran == ["inner/a", "inner/gate", "z"]
    ran.clear()
    assert (await runtime.fork("old", "inner/gate", outputs={"inner/a": 500})).unwrap() == 502
    assert ran == ["inner/gate", "inner/c", "z"]
    ran.clear()
    assert (await runtime.fork("old", "z")).unwrap() == 8
    assert ran == ["z"]


async def test_a_step_of_an_item_that_failed_runs_again() -> None:
    """A failure that was collected holds no longer, once a step of that item is to run again; the others' outputs do."""
    ran: list[str] = []

    @step
    async def fragile(ctx: StepContext[int]) -> int:
        ran.append(ctx.path)
        if ctx.input == 3 and len(ran) < 4:
            raise ValueError(ctx.input)
        return ctx.input

    item = create_workflow("item", int).then(counting("a", [])).then(fragile).commit()
    workflow = create_workflow("w", list[int]).foreach(item, on_error="collect").commit()
    runtime = Runtime(InMemoryJournal())
    result: Any = await runtime.run(workflow, [1, 2, 3], run_id="old")
    assert [type(each).__name__ for each in result.output] == ["int", "ItemError", "int"]
    ran[:] = ["", "", "", ""]
    assert (await runtime.fork("old", "item[1]/fragile")).unwrap() == [2, 3, 4]
    assert ran[4:] == ["item[1]/fragile"]


async def test_a_failure_that_was_collected_stays_where_a_later_step_runs_again() -> None:
    """An item whose failure was collected is not done again, nor counted as an attempt, by a fork of what follows it."""
    ran: list[str] = []

    @step
    async def fragile(ctx: StepContext[int]) -> int:
        ran.append(ctx.path)
        if ctx.input == 3:
            raise ValueError(ctx.input)
        return ctx.input

    @step
    async def kinds(ctx: StepContext[list[Any]]) -> list[str]:
        ran.append(ctx.path)
        return [type(each).__name__ for each in ctx.input]

    begun: Any = create_workflow("w", list[int])
    workflow = begun.foreach(fragile, on_error="collect").then(kinds).commit()
    runtime = Runtime(InMemoryJournal())
    assert (await runtime.run(workflow, [1, 3], run_id="old")).unwrap() == ["int", "ItemError"]
    ran.clear()
    assert (await runtime.fork("old", "kinds")).unwrap() == ["int", "ItemError"]
    assert ran == ["kinds"]


def with_rounds(ran: list[str]) -> Workflow[list[int], int]:
    """Return a workflow with items, and rounds after them."""
    item = create_workflow("item", int).then(counting("a", ran)).then(counting("b", ran)).commit()
    body = create_workflow("body", int).then(counting("x", ran)).commit()
    return create_workflow("w", list[int]).foreach(item).then(total).do_while(body, lambda value: value < 10).commit()


@pytest.mark.parametrize(
    "at",
    [
        "item[1",
        "item[x]/a",
        "item[-1]/a",
        "item[]/a",
        "item[7]/a",
        "item[1]/",
        "body[9]/x",
        "body[x]/x",
        "body[",
        "",
        "w",
    ],
)
async def test_places_that_are_none_are_refused(at: str) -> None:
    """A fork at an item or a round that the run never had, or at what is no path, is refused, and nothing runs."""
    ran: list[str] = []
    store = InMemoryJournal()
    runtime = Runtime(store)
    assert (await runtime.run(with_rounds(ran), [1, 2, 3], run_id="old")).unwrap() == 13
    ran.clear()
    with pytest.raises(ResumeError):
        await runtime.fork("old", at)
    assert ran == []
    assert [row.run_id for row in await store.runs()] == ["old"]


async def test_an_arm_that_was_not_taken_is_refused_or_taken() -> None:
    """Forked at an arm that the branch did not take, nothing would be done: that is refused, unless it is to take it."""
    ran: list[str] = []

    @step
    async def either(ctx: StepContext[Mapping[str, int]]) -> int:
        return sum(ctx.input.values())

    up, down = counting("up", ran), counting("down", ran)
    workflow = create_workflow("w", int).branch([(lambda v: v > 0, up), (lambda v: v <= 0, down)], id="way")
    runtime = Runtime(InMemoryJournal())
    assert (await runtime.run(workflow.then(either).commit(), 1, run_id="old")).unwrap() == 2
    with pytest.raises(ResumeError, match="'down' stands in an arm that 'way' did not take"):
        await runtime.fork("old", "down")
    for nonsense in ("down", ["sideways"], {"down": 4}, None, 3):
        with pytest.raises(ResumeError, match="a list of its arms: up, down"):
            await runtime.fork("old", "either", outputs={"way": nonsense})
    ran.clear()
    assert (await runtime.fork("old", "down", outputs={"way": ["down"]})).unwrap() == 2
    assert ran == ["down"]


async def test_an_output_of_a_map_is_replaced_by_its_type() -> None:
    """An output that takes the place of a map's is kept as the map's annotation says."""

    def day(number: int) -> date:
        return date(2026, 1, number)

    @step
    async def told(ctx: StepContext[date]) -> str:
        return ctx.input.isoformat()

    workflow = create_workflow("w", int).map(day, id="day").sleep(0, id="nap").then(told).commit()
    runtime = Runtime(InMemoryJournal())
    assert (await runtime.run(workflow, 1, run_id="old")).unwrap() == "2026-01-01"
    assert (await runtime.fork("old", "told", outputs={"day": date(2027, 2, 2)})).unwrap() == "2027-02-02"
    with pytest.raises(ResumeError, match="'nap' has no output"):
        await runtime.fork("old", "told", outputs={"nap": 1})


async def test_forks_are_forked() -> None:
    """A fork of a fork that waits is answered by itself; those before it wait as they did."""

    @step(resume_type=int)
    async def asks(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("?")
        return ctx.input + answer

    ran: list[str] = []
    runtime = Runtime(InMemoryJournal())
    workflow = create_workflow("w", int).then(counting("a", ran)).then(asks).then(counting("z", ran)).commit()
    await runtime.run(workflow, 1, run_id="old")
    assert (await runtime.fork("old", new_run_id="first")).status == "suspended"
    assert (await runtime.fork("first", outputs={"a": 70}, new_run_id="second")).status == "suspended"
    assert (await runtime.resume("second", 5)).unwrap() == 76
    assert (await runtime.resume("first", 5)).unwrap() == 8
    assert (await runtime.fork("second", "z", new_run_id="third")).unwrap() == 76
    assert await runtime.cancel("old")
    assert (await runtime.fork("old")).status == "suspended"
    assert ran == ["a", "z", "z", "z"]


async def test_every_place_can_be_forked_at() -> None:
    """
    A fork at any place of a run of every construct does that again and what needs it, nothing of what had ended before
    it began, and comes to the same end, with the same state.
    """
    did: list[str] = []
    store = InMemoryJournal()
    runtime = Runtime(store)
    workflow = everything(did.append, lambda key: None)
    old = await drive(runtime, workflow)
    assert old.status == "success"
    places = {path: record for path, record in old.steps.items() if not path.startswith("calls/")}
    around = ["outer", "outer/inner", "short", "foreach-1", "item", "round", "item[1]", "round[1]"]
    forked: list[str] = []
    for at in [*places, *(path for path in around if path not in places)]:
        did.clear()
        try:
            run = await runtime.fork(RUN, at, new_run_id=f"at {at}")
        except ResumeError as error:
            assert "has no step at" in str(error), at
            continue
        while run.status == "suspended":
            run = await runtime.resume(run.run_id, ANSWER, step=next(iter(run.suspended)))
        assert run.output == old.output, at
        forked.append(at)
        again = {line.partition(" ")[0] for line in did}
        record = places.get(at)
        if record is None:
            assert any(path.startswith((at + "/", at + "[")) or path == at for path in again), at
            continue
        if record.kind == "step":
            assert at in again
        ended = {path for path, other in places.items() if other.ended < record.started and other.kind == "step"}
        assert not ended & again, at
    assert {"remember", "left", "flaky", "high", "total-2", "item[1]", "round[1]", "pause"} < {*forked}
    assert {"outer", "outer/inner", "outer/inner/approve", "short", "short/leave_early", "approve", "graph/mid-a"} < {
        *forked
    }
