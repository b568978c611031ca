"""Conditions that fail (C10, A3, A5), and what they have decided, in runs that are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from procession.errors import ConditionError, RunAlreadyClaimed
from procession.runtime.runtime import Runtime
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


def raises(value: Any) -> bool:
    """Fail, as a condition may."""
    raise ZeroDivisionError("no")


async def raises_later(value: Any) -> bool:
    """Fail after a while."""
    raise ZeroDivisionError("no")


def is_none(value: Any) -> Any:
    """Answer nothing."""
    return None


def is_nan(value: Any) -> Any:
    """Answer what is no number."""
    return float("nan")


def fails_late(value: int) -> bool:
    """Fail in the third round."""
    return value < 3 or raises(value)


def fails_late_until(value: int) -> bool:
    """Fail in the third round."""
    return not fails_late(value)


@pytest.mark.parametrize("condition", [raises, raises_later, is_none, is_nan])
async def test_a_branch_whose_condition_fails_leaves_a_terminal_record(condition: Callable[[Any], Any]) -> None:
    """A3: a condition that raises, or answers neither yes nor no, fails the run, in the journal as well as here."""
    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(plus_one).branch([(condition, asking("arm"))], id="which").commit()
    result = await Runtime(store).run(workflow, 1, run_id="r")
    assert result.status == "failed"
    assert isinstance(result.error, ConditionError)
    reader = await Runtime(store).get("r")
    assert (reader.status, reader.is_held) == ("failed", False)
    assert reader.error is not None
    assert reader.error["type"] == "ConditionError"
    assert {path: record.status for path, record in reader.steps.items()} == {"plus_one": "success", "which": "failed"}
    with pytest.raises(RunAlreadyClaimed):
        await Runtime(store).restart("r", workflow=workflow)


@pytest.mark.parametrize("condition", [raises, raises_later, fails_late, is_none, is_nan])
@pytest.mark.parametrize("until", [False, True])
async def test_a_loop_whose_condition_fails_leaves_a_terminal_record(
    condition: Callable[[Any], Any], until: bool
) -> None:
    """A5: a loop's condition that raises ends the run as failed: the run is not left as one that goes on."""
    store = InMemoryJournal()
    begun: Any = create_workflow("w", int)
    if until and condition is fails_late:
        condition = fails_late_until
    workflow = (begun.do_until if until else begun.do_while)(plus_one, condition).commit()
    result = await Runtime(store).run(workflow, 1, run_id="r")
    assert result.status == "failed"
    assert isinstance(result.error, ConditionError)
    row = await store.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("failed", False)


async def test_a_condition_fails_in_a_resumed_run_too() -> None:
    """A5: what a condition raises after an answer is the run's end, not the caller's error."""
    store = InMemoryJournal()
    workflow = create_workflow("w", int).do_while(asking("a"), raises).commit()
    await Runtime(store).run(workflow, 1, run_id="r")
    result = await Runtime(store).resume("r", 5, workflow=workflow)
    assert isinstance(result.error, ConditionError)
    assert (await Runtime(store).get("r")).status == "failed"


async def test_what_a_condition_decided_is_not_asked_again() -> None:
    """The arms of a branch that were chosen stay so when the run goes on."""
    asked: list[Any] = []

    def yes(value: int) -> bool:
        asked.append(value)
        return len(asked) == 1

    store = InMemoryJournal()
    workflow = create_workflow("w", int).branch([(yes, asking("arm"))]).then(asking("end")).commit()
    await Runtime(store).run(workflow, 1, run_id="r")
    await Runtime(store).resume("r", 5, workflow=workflow)
    assert (await Runtime(store).resume("r", 6, workflow=workflow)).unwrap() == 6
    assert asked == [1]


async def test_rounds_that_were_decided_are_not_asked_again() -> None:
    """A round of a loop that has begun is not asked for again when the run goes on, nor is what a condition then says."""
    asked: list[int] = []

    def again(value: int) -> bool:
        asked.append(value)
        return len(asked) < 3

    store = InMemoryJournal()
    workflow = create_workflow("w", int).do_while(asking("a"), again).then(plus_one).commit()
    result = await Runtime(store).run(workflow, 0, run_id="r")
    for answer in (10, 20, 30):
        assert list(result.suspended) == [f"a[{answer // 10 - 1}]"]
        result = await Runtime(store).resume("r", answer, workflow=workflow)
    assert result.unwrap() == 31
    assert asked == [10, 20, 30]
