"""The state of a run: typed, given at the start, and of every step once, whatever was tried, asked or taken up again."""

from __future__ import annotations

from typing import Any, TypedDict

import anyio
import pytest
from tests.runtime.kit import fails, make, plus, run

from procession.errors import SchemaError
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.storage.memory import InMemoryJournal
from procession.workflows.sources import from_state
from procession.workflows.workflow import create_workflow


class Notes(TypedDict, total=False):
    """What steps note."""

    log: list[str]
    count: int


def add(old: Any, new: Any) -> Any:
    """Add what is new."""
    return old + new


def workflow_of(*steps: Any, **options: Any) -> Any:
    """Return a workflow of *steps* that ends in the state."""
    workflow = create_workflow("w", reducers={"log": add, "count": add}, state_type=Notes, **options)
    for step in steps:
        workflow.then(step)
    return workflow.then(make("all", lambda ctx: ctx.state)).commit()


def given(ctx: Any) -> Any:
    """Give what was given."""
    return ctx.input


def noting(id: str, then: Any = given) -> Any:
    """Return a step that notes its id and a count of one, and goes on to *then*."""

    def work(ctx: Any) -> Any:
        ctx.set_state(log=[id], count=1)
        return then(ctx)

    return make(id, work)


async def test_a_run_begins_with_the_state_that_it_is_given() -> None:
    """What is given is there from the first, checked, and the caller's own stays as it was."""
    begin = {"log": ["start"]}
    made = Runtime().create_run(workflow_of(noting("a")), state=begin)
    assert (await made.start(0)).output == {"log": ["start", "a"], "count": 1}
    assert begin == {"log": ["start"]}
    for wrong in ({"log": 3}, {"other": 1}):
        with pytest.raises(SchemaError):
            Runtime().create_run(workflow_of(noting("a")), state=wrong)


async def test_writes_that_do_not_fit_fail_the_step() -> None:
    """A key that the state has not, or a value of another type, is an error of the step that sets it."""
    wrong: list[dict[str, Any]] = [{"other": 1}, {"count": "many"}]
    for values in wrong:

        def sets(ctx: Any, values: dict[str, Any] = values) -> None:
            ctx.set_state(**values)

        result = await run(workflow_of(make("a", sets)))
        assert isinstance(result.error, SchemaError)
        assert result.error.path == "a"


async def test_an_attempt_that_is_tried_again_counts_once() -> None:
    """What a failed attempt has set is taken back, what it called inside too: a reducer counts it once."""
    inner = noting("inner")

    async def flaky(ctx: Any) -> Any:
        ctx.set_state(log=["flaky"], count=10)
        await ctx.call(inner, 0)
        if ctx.attempt < 3:
            raise ValueError
        return ctx.input

    result = await run(workflow_of(noting("a"), make("flaky", flaky, retry=RetryPolicy(3))))
    assert result.output == {"log": ["a", "flaky", "inner"], "count": 12}


async def test_an_item_that_fails_leaves_nothing_behind() -> None:
    """Where failures are collected, a failed item has set nothing."""

    def work(ctx: Any) -> Any:
        ctx.set_state(count=ctx.input)
        if ctx.input == 2:
            raise ValueError
        return ctx.input

    workflow = create_workflow("w", reducers={"count": add}).map(lambda value: [1, 2, 4])
    workflow.foreach(make("x", work), on_error="collect").map({"count": from_state("count")}).commit()
    assert (await run(workflow)).output == {"count": 5}


async def test_keys_are_taken_away() -> None:
    """``unset_state`` takes keys out, at once."""

    def forget(ctx: Any) -> Any:
        ctx.unset_state("log", "count")
        return ctx.state

    assert (await run(create_workflow("w").then(noting("a")).then(make("b", forget)).commit())).output == {}


@pytest.mark.parametrize("store", [None, InMemoryJournal()])
async def test_a_step_that_asks_counts_once(store: InMemoryJournal | None) -> None:
    """What a step set before it asked is taken back; resumed, the rest of the state is as it was, given values too."""

    async def asks(ctx: Any) -> Any:
        ctx.set_state(log=["asks"], count=1)
        answer = await ctx.suspend("?")
        ctx.unset_state("count")
        return answer

    runtime = Runtime(store)
    workflow = workflow_of(noting("a"), make("asks", asks), noting("b"))
    made = runtime.create_run(workflow, state={"log": ["start"], "count": 100})
    assert (await made.start(0)).status == "suspended"
    result = await runtime.resume(made.id, "yes", workflow=workflow)
    assert result.output == {"log": ["start", "a", "asks", "b"], "count": 1}


async def test_a_forked_run_has_the_state_of_what_it_keeps() -> None:
    """A run forked at a step has what the steps before it had set, and what it was begun with."""
    runtime = Runtime(InMemoryJournal())
    workflow = workflow_of(noting("a"), noting("b"), make("c", fails(ValueError("no"))))
    made = runtime.create_run(workflow, state={"log": ["start"]})
    assert (await made.start(0)).status == "failed"
    fixed = workflow_of(noting("a"), noting("b"), plus("c", 1))
    forked = await runtime.fork(made.id, at="b", workflow=fixed)
    assert forked.output == {"log": ["start", "a", "b"], "count": 2}


async def test_branches_add_to_one_key() -> None:
    """Branches and items set one key with a reducer, and each counts once; without one that is a conflict."""
    workflow = create_workflow("w", reducers={"count": add}).parallel([noting("a"), noting("b"), noting("c")])
    counted = workflow.clone("v")
    counted.reducers = {"count": add, "log": add}
    result = await run(counted.then(make("all", lambda ctx: ctx.state["count"])).commit())
    assert result.output == 3
    assert "state 'log' was set to different values" in str((await run(workflow.commit())).error)


async def test_what_is_not_set_is_no_conflict() -> None:
    """B18: branches that read what others set, and set keys of their own, are at odds about nothing."""

    def reads_and_sets(key: str) -> Any:
        def work(ctx: Any) -> Any:
            ctx.set_state(**{key: [*ctx.state.get("log", []), key]})
            return sorted(ctx.state)

        return create_workflow(f"of-{key}").then(make("step", work)).commit()

    workflow = create_workflow("w").then(make("first", lambda ctx: ctx.set_state(log=["first"])))
    workflow.parallel([reads_and_sets("a"), reads_and_sets("b")]).map(
        {"log": from_state("log"), "a": from_state("a"), "b": from_state("b")}
    )
    result = await run(workflow.commit())
    assert result.output == {"log": ["first"], "a": ["first", "a"], "b": ["first", "b"]}


@pytest.mark.parametrize("ends", ["fails", "bails"])
async def test_what_a_cancelled_step_has_set_is_taken_back(ends: str) -> None:
    """How far it had come when the step beside it ended both is nothing that the run goes on with."""
    begun = anyio.Event()

    async def waits(ctx: Any) -> None:
        ctx.set_state(n=1)
        begun.set()
        await anyio.sleep_forever()

    async def ends_it(ctx: Any) -> Any:
        await begun.wait()
        return ctx.bail() if ends == "bails" else 1 // 0

    both = create_workflow("both").parallel([make("waits", waits), make("ends", ends_it)]).commit()
    workflow = create_workflow("w").map(lambda value: [0]).foreach(both, on_error="collect")
    workflow.then(make("look", lambda ctx: ctx.state)).commit()
    assert (await run(workflow)).output == {}
