"""Bail: what it ends, in every place and with every scope (D29)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.runtime.kit import make, plus, run

from procession.errors import DefinitionError
from procession.runtime.run import RunResult
from procession.workflows.workflow import Workflow, create_workflow

SCOPES = ("workflow", "branch", "run")


def waits(ctx: Any) -> Any:
    """Wait until cancelled."""
    return anyio.sleep_forever()


def place(form: str, scope: Any) -> Workflow[Any, Any]:
    """Return a workflow in which a step bails with *scope*; where others run beside it, they wait for ever."""
    out = make("out", lambda ctx: ctx.bail("early", scope=scope))
    beside = make("beside", waits if scope != "branch" else lambda ctx: "rest")
    inner = create_workflow("inner")
    match form:
        case "then":
            inner.then(out)
        case "parallel":
            inner.parallel([beside, out])
        case "branch":
            inner.branch([(lambda value: True, beside), (lambda value: True, out)])
        case "one arm":
            inner.branch([(lambda value: True, out)])
        case "foreach":
            item = make("out", lambda ctx: ctx.bail("early", scope=scope) if ctx.input else ctx.input)
            inner.map(lambda value: [0, 1]).foreach(item)
        case "foreach beside":
            both = create_workflow("item").branch([(lambda n: n == 0, beside)], default=out).map(lambda v: v)
            inner.map(lambda value: [0, 1]).foreach(both.commit(), concurrency=2)
        case "loop":
            inner.do_while(out, lambda value: False)
        case "graph":
            inner.add(beside).add(out)
            return inner.commit()
        case _:
            raise AssertionError(form)
    return inner.then(make("after", lambda ctx: ("after", ctx.input))).commit()


FORMS: dict[str, Any] = {
    # What the workflow gives where the arm alone ends, as opposed to the workflow.
    "then": "early",
    "parallel": ("after", {"beside": "rest", "out": "early"}),
    "branch": ("after", {"beside": "rest", "out": "early"}),
    "one arm": ("after", {"out": "early"}),
    "foreach": ("after", [0, "early"]),
    "loop": "early",
    "graph": {"beside": "rest", "out": "early"},
}


BESIDE = ("parallel", "branch", "graph")
"""The forms in which a step runs beside the one that bails."""


async def ended(workflow: Workflow[Any, Any]) -> RunResult[Any]:
    """Run *workflow* inside another that goes on after it."""
    with anyio.fail_after(10):
        outer = create_workflow("w").then(workflow).then(make("last", lambda ctx: ("last", ctx.input)))
        return await run(outer.commit())


@pytest.mark.parametrize("form", FORMS)
async def test_a_bail_ends_the_workflow_around_it(form: str) -> None:
    """The workflow that contains the step ends with the value, what runs beside it is cancelled, and the outer one goes on."""
    result = await ended(place(form, "workflow"))
    assert result.output == ("last", "early")
    assert "inner/after" not in result.steps
    assert ("inner/beside" in result.steps) == (form in BESIDE)
    if form in BESIDE:
        assert result.steps["inner/beside"].status == "cancelled"


@pytest.mark.parametrize("form", FORMS)
async def test_a_bail_of_a_branch_ends_the_arm(form: str) -> None:
    """The arm, or the item, ends with the value and nothing beside it is cancelled; where there is none, the workflow."""
    result = await ended(place(form, "branch"))
    assert result.output == ("last", FORMS[form])
    assert ("inner/beside" in result.steps) == (form in BESIDE)
    if form in BESIDE:
        assert result.steps["inner/beside"].status == "success"


@pytest.mark.parametrize("form", [*FORMS, "foreach beside"])
async def test_a_bail_of_the_run_ends_it_all(form: str) -> None:
    """The run ends as a success with the value, from any depth, and what runs beside it anywhere is cancelled."""
    result = await ended(place(form, "run"))
    assert (result.status, result.output) == ("success", "early")
    assert "last" not in result.steps
    beside = {path: record.status for path, record in result.steps.items() if path.endswith("beside")}
    assert set(beside.values()) == ({"cancelled"} if form in (*BESIDE, "foreach beside") else set())


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_bail_deep_in_a_branch(scope: Any) -> None:
    """In a workflow inside a branch: its own end, the arm's, or that of the run, whose other branches are cancelled."""
    other = make("other", waits if scope == "run" else lambda ctx: "rest")
    both = (
        create_workflow("w").parallel([place("then", scope), other]).then(make("last", lambda ctx: ctx.input)).commit()
    )
    with anyio.fail_after(10):
        result = await run(both)
    if scope == "run":
        assert result.output == "early"
        assert result.steps["other"].status == "cancelled"
    else:
        assert result.output == {"inner": "early", "other": "rest"}


async def test_a_loop_that_bails_later() -> None:
    """A bail in a later round ends the workflow, or with ``branch`` the same: a loop has no arms."""
    for scope in ("workflow", "branch"):

        def work(ctx: Any, scope: str = scope) -> Any:
            return ctx.bail("early", scope=scope) if ctx.input > 1 else ctx.input + 1

        out = make("out", work)
        workflow = create_workflow("w").do_while(out, lambda value: True).then(plus("never", 1)).commit()
        result = await run(workflow)
        assert result.output == "early"
        assert list(result.steps) == ["out", "out[0]", "out[1]", "out[2]"]


async def test_a_scope_that_is_none_is_refused() -> None:
    """A misspelled scope fails the step instead of ending what nobody meant."""

    def out(ctx: Any) -> Any:
        ctx.bail(1, scope="arm")

    result = await run(create_workflow("w").then(make("out", out)).commit(), 0)
    assert isinstance(result.error, DefinitionError)
    assert "scope='arm'" in str(result.error)
