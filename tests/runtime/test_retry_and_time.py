"""Retries and times: of a step, of all its attempts, of a workflow and of the run."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.runtime.kit import blocks, make, plus, run

from procession.errors import DefinitionError, RunTimeout, SchemaError, StepError, StepTimeout
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.workflows.compile import plan_for
from procession.workflows.plan import CALL, Leaf
from procession.workflows.workflow import Workflow, create_workflow

THREE = RetryPolicy(3)


def flaky(id: str, failures: int, **options: Any) -> tuple[Step[Any, Any], list[int]]:
    """Return a step that fails the first *failures* times, and the attempts it notes."""
    seen: list[int] = []

    def work(ctx: Any) -> Any:
        seen.append(ctx.attempt)
        if len(seen) <= failures:
            raise ValueError("not yet")
        return ctx.input

    return make(id, work, **options), seen


def forever(ctx: Any) -> Any:
    """Wait until cancelled."""
    return anyio.sleep_forever()


def cancels(ctx: Any) -> Any:
    """Cancel the run."""
    return ctx.cancel_run()


def bails(ctx: Any) -> Any:
    """End the workflow."""
    return ctx.bail(1)


def nested(inner: Step[Any, Any], **options: Any) -> Workflow[Any, Any]:
    """Return a committed workflow of one step."""
    return create_workflow("inner", **options).then(inner).commit()


async def test_a_workflow_has_a_policy_for_its_steps() -> None:
    """Steps without a policy of their own have that of the workflow; with one attempt a step is kept from it."""
    a, tried = flaky("a", 2)
    workflow = create_workflow("w", retry=THREE).then(a).commit()
    result = await run(workflow)
    assert (result.status, tried, result.steps["a"].attempt) == ("success", [1, 2, 3], 3)
    b, tried = flaky("b", 1, retry=RetryPolicy(1))
    assert (await run(create_workflow("w", retry=THREE).then(b).commit())).status == "failed"
    assert tried == [1]
    c, tried = flaky("c", 3, retry=RetryPolicy(4))
    assert (await run(create_workflow("w", retry=THREE).then(c).commit())).status == "success"


async def test_workflows_inside_inherit_the_policy() -> None:
    """A workflow inside has the policy of the one around it, unless it has one; alone it has none."""
    a, tried = flaky("a", 2)
    inner = nested(a)
    middle = create_workflow("middle").parallel([inner, plus("x", 1)]).commit()
    assert (await run(create_workflow("w", retry=THREE).then(middle).commit())).status == "success"
    assert tried == [1, 2, 3]
    b, tried = flaky("b", 2)
    assert (await run(create_workflow("w", retry=THREE).then(nested(b, retry=RetryPolicy(1))).commit())).error
    assert tried == [1]
    c, tried = flaky("c", 2)
    alone = nested(c)
    create_workflow("w", retry=THREE).then(alone).commit()
    assert (await run(alone)).status == "failed"


def test_where_nothing_is_said_nothing_is_paid() -> None:
    """A step without limits, in workflows without any, is called and nothing more."""
    plan = plan_for(create_workflow("w").then(plus("a", 1)).commit())
    (leaf,) = plan.nodes
    assert isinstance(leaf, Leaf)
    assert leaf.mode == CALL


async def test_verdicts_and_misfits_are_not_tried_again() -> None:
    """A block, a cancellation and a value that does not fit end a step at the first attempt, whatever the policy."""
    seen: list[str] = []

    def noted(name: str, function: Any) -> Any:
        def work(ctx: Any) -> Any:
            seen.append(name)
            return function(ctx)

        return work

    @step
    def typed(ctx: StepContext[int]) -> int:
        seen.append("typed")
        return "no number"  # type: ignore[return-value]

    ends: list[Any] = [
        make("block", noted("block", blocks("no"))),
        make("cancel", noted("cancel", cancels)),
        make("bail", noted("bail", bails)),
        typed,
    ]
    results = [await run(create_workflow("w", retry=THREE).then(each).commit()) for each in ends]
    assert [result.status for result in results] == ["blocked", "cancelled", "success", "failed"]
    assert isinstance(results[3].error, SchemaError)
    assert seen == ["block", "cancel", "bail", "typed"]


async def test_all_attempts_together_have_a_time() -> None:
    """``total_timeout`` ends a step between and in its attempts, and says how many there were."""
    step, tried = flaky("a", 9, retry=RetryPolicy(9, initial=60.0, max_delay=60.0), total_timeout=0.01)
    result = await run(create_workflow("w").then(step).commit())
    assert isinstance(result.error, StepTimeout)
    assert (result.error.path, tried) == ("a", [1])
    assert "0.01 s in 2 attempts" in str(result.error)
    slow = make("slow", forever, total_timeout=0.01)
    assert "in 1 attempt " in str((await run(create_workflow("w").then(slow).commit())).error)


@pytest.mark.parametrize("form", ["then", "parallel", "foreach", "loop"])
async def test_a_workflow_inside_has_a_time(form: str) -> None:
    """A nested workflow over its timeout fails with its path; the step it was at is cancelled, and nothing runs on."""
    inner = create_workflow("inner", timeout=0.01).then(make("wait", forever)).then(plus("b", 1)).commit()
    outer = create_workflow("w")
    path = {"foreach": "inner[0]", "loop": "inner[0]"}.get(form, "inner")
    if form == "then":
        outer.then(inner)
    elif form == "parallel":
        outer.parallel([inner, make("x", lambda ctx: 1)])
    elif form == "foreach":
        outer.foreach(inner)
    else:
        outer.do_while(inner, lambda value: False)
    result = await run(outer.commit(), [1])
    assert isinstance(result.error, StepTimeout)
    assert result.error.path == path
    assert result.steps[f"{path}/wait"].status == "cancelled"
    assert f"{path}/b" not in result.steps


async def test_a_run_has_a_time() -> None:
    """The timeout of the workflow that is run is that of the run."""
    workflow = create_workflow("w", int, timeout=0.01).then(plus("a", 1)).then(make("wait", forever)).commit()
    result = await run(workflow, 1)
    assert isinstance(result.error, RunTimeout)
    assert result.status == "failed"
    assert {path: record.status for path, record in result.steps.items()} == {"a": "success", "wait": "cancelled"}
    quick = create_workflow("w", timeout=60).then(plus("a", 1)).commit()
    assert (await run(quick, 1)).output == 2


async def test_a_workflow_called_in_a_step_has_its_time() -> None:
    """A workflow that a step calls is held to its timeout too; the step may go on without it."""
    inner = create_workflow("inner", timeout=0.01).then(make("wait", forever)).commit()

    async def calls(ctx: Any) -> str:
        try:
            await ctx.call(inner, 1)
        except StepTimeout as error:
            return str(error.path)
        return "in time"

    assert (await run(create_workflow("w").then(make("calls", calls)).commit())).output == "calls/inner"


async def test_a_timeout_of_an_attempt_is_tried_again() -> None:
    """``timeout`` is for each attempt: one that took too long is tried again, and the error tells the last."""
    begun: list[int] = []

    async def slow(ctx: Any) -> int:
        begun.append(ctx.attempt)
        if ctx.attempt < 3:
            await anyio.sleep_forever()
        return 7

    workflow = create_workflow("w", retry=THREE).then(make("s", slow, timeout=0.01)).commit()
    assert ((await run(workflow)).output, begun) == (7, [1, 2, 3])


async def test_the_delay_before_another_attempt_can_be_cancelled() -> None:
    """A run that waits to try again is cancelled at once; the step is tried no more."""
    failing, tried = flaky("a", 9)
    made = Runtime().create_run(create_workflow("w", retry=RetryPolicy(9, 60.0, max_delay=60.0)).then(failing).commit())
    async with made.stream(1) as running:
        async for event in running.events():
            if event.type == "node.retrying":
                running.cancel()
    result = await made.result()
    assert (result.status, tried) == ("cancelled", [1])


async def test_only_what_the_policy_names_is_tried_again() -> None:
    """An error that ``retry_on`` does not name ends the step."""
    step, tried = flaky("a", 2)
    result = await run(create_workflow("w", retry=RetryPolicy(3, retry_on=(TimeoutError,))).then(step).commit())
    assert (type(result.error), tried) == (StepError, [1])


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "1", True])
def test_times_that_cannot_be_are_refused(seconds: Any) -> None:
    """A timeout is more than nothing: for a step, for all its attempts, for a workflow."""
    with pytest.raises(DefinitionError, match="workflow 'w' has timeout="):
        create_workflow("w", timeout=seconds)
    for options in ({"timeout": seconds}, {"total_timeout": seconds}):
        with pytest.raises(DefinitionError, match="step 'forever' has .*timeout="):
            step(**options)(forever)


def test_policies_that_cannot_be_are_refused() -> None:
    """No attempt at all, and times that are none, are errors where they are written."""
    wrongs: list[dict[str, Any]] = [
        {"max_attempts": 0},
        {"initial": -1.0},
        {"max_delay": float("nan")},
        {"jitter": -0.5},
    ]
    for wrong in wrongs:
        with pytest.raises(DefinitionError, match="RetryPolicy"):
            RetryPolicy(**wrong)


async def test_a_loop_of_maps_alone_can_be_cancelled() -> None:
    """What is done without any step lets others have their turn too: a time ends it."""
    body = create_workflow("body").map(lambda n: n + 1).commit()
    workflow = create_workflow("w", timeout=0.05).do_while(body, lambda n: True, max_iterations=200_000).commit()
    assert isinstance((await run(workflow, 0)).error, RunTimeout)
