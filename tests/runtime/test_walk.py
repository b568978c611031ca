"""The walk: sequences, nested workflows, maps, loops, pauses."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.runtime.kit import Doc, blocks, events_of, fails, make, plus, run

from procession.errors import ConditionError, DefinitionError, RunError, StepError
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.workflows.nodes import pick
from procession.workflows.workflow import create_workflow


async def test_each_step_is_given_the_output_before_it() -> None:
    """A chain hands the value from step to step, and the result is the last output."""
    workflow = create_workflow("chain").then(plus("one", 1)).then(plus("ten", 10)).commit()
    result = await run(workflow, 5)
    assert (result.status, result.output) == ("success", 16)
    assert [(path, record.output) for path, record in result.steps.items()] == [("one", 6), ("ten", 16)]


async def test_plain_and_async_functions_mix() -> None:
    """A plain function runs in place, one that returns an awaitable is awaited, and so is an async object."""

    class Doubler:
        async def __call__(self, ctx: StepContext[int]) -> int:
            return ctx.input * 2

    async def later(value: int) -> int:
        return value + 1

    workflow = (
        create_workflow("mixed")
        .then(make("plain", lambda ctx: ctx.input + 1))
        .then(make("awaitable", lambda ctx: later(ctx.input)))
        .then(make("object", Doubler()))
        .commit()
    )
    assert (await run(workflow, 1)).output == 6


async def test_none_is_a_value() -> None:
    """A step that returns ``None`` hands ``None`` on."""
    workflow = create_workflow("none").then(make("a", lambda ctx: None)).then(make("b", lambda ctx: ctx.input)).commit()
    result = await run(workflow, 1)
    assert result.status == "success"
    assert result.output is None
    assert result.steps["a"].status == "success"


async def test_an_error_is_recorded_and_ends_the_run() -> None:
    """A step that raises fails the run with a ``StepError`` whose cause is what it raised; nothing runs after it."""
    workflow = create_workflow("bad").then(make("boom", fails(ValueError("no")))).then(plus("after", 1)).commit()
    result = await run(workflow)
    assert result.status == "failed"
    assert isinstance(result.error, StepError)
    assert result.error.path == "boom"
    assert isinstance(result.error.__cause__, ValueError)
    assert list(result.steps) == ["boom"]
    with pytest.raises(StepError, match="boom"):
        result.unwrap()


async def test_nested_workflows_are_walked_in_place() -> None:
    """A workflow in a workflow has a record of its own, and its steps stand under its path."""
    inner = create_workflow("inner").then(plus("a", 1)).then(plus("b", 1)).commit()
    outer = create_workflow("outer").then(plus("a", 10)).then(inner).commit()
    result = await run(outer)
    assert result.output == 12
    assert list(result.steps) == ["a", "inner", "inner/a", "inner/b"]
    assert result.steps["inner"].output == 12


async def test_an_uncommitted_workflow_does_not_run() -> None:
    """Running a workflow that was not committed is refused, with what to do."""
    with pytest.raises(DefinitionError, match=r"commit\(\)"):
        Runtime().create_run(create_workflow("open").then(plus("a", 1)))


async def test_a_place_where_nothing_stands_passes_the_value_on() -> None:
    """A step with nothing to run is left out of the run, and its parallel key holds the value."""
    empty: Step[Any, Any] = Step(id="nothing")
    workflow = create_workflow("w").then(empty).parallel([empty.renamed("still"), plus("one", 1)]).commit()
    result = await run(workflow, 1)
    assert result.output == {"still": 1, "one": 2}
    assert list(result.steps) == ["one"]


async def test_map_is_a_function_of_the_value() -> None:
    """A map takes the value, plain or async, and may pick the output of an earlier step."""

    async def half(value: int) -> int:
        return value // 2

    workflow = (
        create_workflow("maps")
        .then(plus("a", 1))
        .map(lambda value: value * 10)
        .map(half)
        .map(pick("a"), id="back")
        .commit()
    )
    result = await run(workflow, 3)
    assert result.output == 4
    assert result.steps["map-1"].output == 40
    assert result.steps["map-2"].output == 20


async def test_a_map_that_raises_fails_the_run() -> None:
    """An error in a map is the error of the map's own record."""
    result = await run(create_workflow("w").then(plus("a", 1)).map(lambda value: value["x"]).commit())
    assert result.status == "failed"
    assert result.steps["map-1"].status == "failed"


async def test_a_map_over_a_forkable_value_is_adopted() -> None:
    """What a map makes of a value that can be forked is taken over by the value, which may refuse it."""
    workflow = create_workflow("w").map(lambda doc: None).commit()
    doc = Doc(("a", "b"))
    assert (await run(workflow, doc)).output is doc


async def test_do_while_and_do_until() -> None:
    """A loop runs its body at least once, hands the output round, and counts its paths from 0."""
    loop = create_workflow("w").do_while(plus("up", 1), lambda value: value < 3).commit()
    result = await run(loop)
    assert result.output == 3
    assert list(result.steps) == ["up", "up[0]", "up[1]", "up[2]"]

    async def enough(value: int) -> bool:
        return value >= 2

    body = create_workflow("round").then(plus("up", 1)).commit()
    until = create_workflow("w").do_until(body, enough).commit()
    result = await run(until)
    assert result.output == 2
    assert list(result.steps) == ["round", "round[0]", "round[0]/up", "round[1]", "round[1]/up"]
    assert (await run(until, 100)).output == 101


async def test_a_loop_condition_that_raises_ends_the_run() -> None:
    """A condition that raises is a ``ConditionError`` and a terminal record."""
    result = await run(create_workflow("w").do_while(plus("up", 1), lambda value: value.nothing).commit())
    assert isinstance(result.error, ConditionError)
    assert result.steps["up"].status == "failed"


async def test_max_iterations_bounds_a_loop() -> None:
    """A loop that would go on beyond ``max_iterations`` fails."""
    result = await run(create_workflow("w").do_while(plus("up", 1), lambda value: True, max_iterations=3).commit())
    assert isinstance(result.error, RunError)
    assert "3 times" in str(result.error)


async def test_sleep_lets_the_value_pass() -> None:
    """A pause, also one of a function of the value, plain or async, changes nothing."""

    async def none(value: int) -> float:
        return 0.0

    workflow = create_workflow("w").sleep(0.001).sleep(lambda value: value / 1e6).sleep(none).commit()
    result = await run(workflow, 7)
    assert result.output == 7
    assert result.steps["sleep-1"].seconds > 0


async def test_a_run_that_never_waits_lets_others_work() -> None:
    """A loop of steps that never wait gives other tasks their turn, so that it can be cancelled."""
    workflow = create_workflow("endless").do_while(plus("up", 1), lambda value: True).commit()
    made = Runtime().create_run(workflow)
    async with anyio.create_task_group() as group:
        group.start_soon(made.start, 0)
        await anyio.sleep(0.02)
        made.cancel()
    assert (await made.result()).status == "cancelled"


async def test_bail_ends_the_workflow_that_contains_the_step() -> None:
    """``bail`` makes its value the result of the innermost workflow; ``scope="run"`` that of the run."""

    def bailing(scope: Any) -> Step[Any, Any]:
        return make("out", lambda ctx: ctx.bail("early", scope=scope))

    for scope, expected in (("workflow", "early!"), ("run", "early")):
        inner = create_workflow("inner").then(bailing(scope)).then(plus("never", 1)).commit()
        outer = create_workflow("outer").then(inner).then(make("shout", lambda ctx: ctx.input + "!")).commit()
        result = await run(outer)
        assert (result.status, result.output) == ("success", expected)
        assert result.steps["inner/out"].status == "bailed"
        assert "inner/never" not in result.steps
    top = create_workflow("top").then(bailing("workflow")).then(plus("never", 1)).commit()
    assert (await run(top)).output == "early"


async def test_a_block_stops_the_run() -> None:
    """A tripwire ends the run as blocked, with the verdict in the result."""
    result = await run(create_workflow("w").then(make("guard", blocks("bad"))).then(plus("never", 1)).commit())
    assert result.status == "blocked"
    assert result.tripwire is not None
    assert result.tripwire.processor_id == "bad"
    assert result.steps["guard"].status == "blocked"
    assert result.steps["guard"].tripwire == result.tripwire


async def test_suspension_is_recorded() -> None:
    """A step that suspends ends the run as suspended; the payload stands in the result."""

    @step
    async def ask(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend({"question": ctx.input}, label="yes or no")
        return answer

    inner = create_workflow("inner").then(ask).commit()
    made = Runtime().create_run(create_workflow("w").then(inner).then(plus("never", 1)).commit())
    result = await made.start(3)
    assert result.status == "suspended"
    assert result.suspended == {"inner/ask": {"question": 3}}
    assert result.steps["inner"].status == "suspended"
    assert (await events_of(made))[-1].type == "run.suspended"
