"""Runs and their results."""

from __future__ import annotations

import pytest
from tests.runtime.kit import Function, blocks, fails, make, plus, run

from procession.errors import RunCancelled, RunError, StepError, TripwireError
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.workflows.workflow import create_workflow


async def test_a_run_starts_once() -> None:
    """Starting a run again is an error that says how to get another."""
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit())
    await made.start(0)
    with pytest.raises(RunError, match="create_run"):
        await made.start(0)


async def test_a_result_raises_what_ended_the_run() -> None:
    """``unwrap`` gives the output of a success and raises what anything else ended in."""

    ends: list[tuple[Function, str, type[Exception]]] = [
        (fails(ValueError()), "failed", StepError),
        (blocks("guard"), "blocked", TripwireError),
        (lambda ctx: ctx.cancel_run(), "cancelled", RunCancelled),
        (lambda ctx: ctx.suspend(), "suspended", RunError),
    ]

    good = await run(create_workflow("w").then(plus("a", 1)).commit())
    good.raise_for_status()
    assert good.unwrap() == 1
    for function, status, error in ends:
        result = await run(create_workflow("w").then(make("s", function)).commit())
        assert result.status == status
        assert result.output is None
        with pytest.raises(error):
            result.unwrap()


async def test_steps_are_found_by_path_or_id() -> None:
    """Records stand under their paths; an id alone finds the last one, and an unknown one is a ``KeyError``."""
    inner = create_workflow("inner").then(plus("a", 1)).commit()
    result = await run(create_workflow("w").do_while(inner, lambda value: value < 2).commit())
    assert result.steps["inner[0]/a"].output == 1
    assert result.steps["a"].output == 2
    assert len(result.steps) == 5
    assert "a" in result.steps
    with pytest.raises(KeyError, match="inner"):
        result.steps["nothing"]


async def test_a_run_belongs_to_a_request() -> None:
    """A run has the scope it was given, or one of its own with the request's values and the run's id."""
    workflow = create_workflow("w").then(plus("a", 1)).commit()
    scope = RequestScope(run_id="r", request_context=RequestContext({"k": 1}))
    made = Runtime().create_run(workflow, scope=scope)
    assert (made.id, made.scope, made.request_context["k"]) == ("r", scope, 1)
    own = Runtime().create_run(workflow, request_context=RequestContext({"k": 2}))
    assert own.scope.run_id == own.id
    assert own.request_context["k"] == 2
    unnamed = RequestScope()
    assert Runtime().create_run(workflow, scope=unnamed).id == unnamed.run_id != ""


async def test_runs_say_what_they_are() -> None:
    """A run, a result and a record tell their state, and no value, where they are printed."""
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit(), run_id="r")
    assert repr(made) == "Run('r', new)"
    result = await made.start(41)
    assert repr(made) == "Run('r', success)"
    assert repr(result) == "RunResult('success', run_id='r')"
    assert repr(result.steps) == "StepsView(a: success)"
    assert repr(result.steps["a"]) == "Record('a', success)"
