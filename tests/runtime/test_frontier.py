"""The frontier: what could run next."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.kit import make, plus, run

from procession.runtime.frontier import frontier
from procession.runtime.records import Records
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.compile import plan_for
from procession.workflows.workflow import Workflow, create_workflow


def ask(id: str) -> Step[Any, Any]:
    """Return a step that waits for an answer."""
    return make(id, lambda ctx: ctx.suspend("?"))


def cases() -> list[tuple[Workflow[Any, Any], tuple[str, ...], tuple[str, ...]]]:
    """Return workflows, with their frontier at the start and where they have stopped."""
    inner = create_workflow("inner").then(plus("x", 1)).then(ask("y")).commit()
    graph = create_workflow("w").add(plus("a", 1)).add(ask("b")).add(plus("c", 1), after=["a"])
    graph.add(plus("d", 1), after=["b", "c"])
    return [
        (create_workflow("w").then(plus("a", 1)).then(ask("b")).then(plus("c", 1)), ("a",), ("b",)),
        (create_workflow("w").then(inner).then(plus("c", 1)), ("inner/x",), ("inner/y",)),
        (
            create_workflow("w").parallel([ask("a"), plus("b", 1), inner]).map(lambda value: value),
            ("a", "b", "inner/x"),
            ("a", "inner/y"),
        ),
        (
            create_workflow("w").branch([(lambda n: True, ask("a")), (lambda n: False, plus("b", 1))], id="which"),
            ("which",),
            ("a",),
        ),
        (create_workflow("w").map(lambda n: [1, 2]).foreach(ask("a"), concurrency=2), ("map-1",), ("a[0]", "a[1]")),
        (create_workflow("w").do_while(inner, lambda n: True), ("inner",), ("inner[0]/y",)),
        (graph, ("a", "b"), ("b",)),
        (create_workflow("w").sleep(0).then(ask("a")), ("sleep-1",), ("a",)),
    ]


@pytest.mark.parametrize("number", range(len(cases())))
async def test_the_frontier_of_a_run(number: int) -> None:
    """The frontier begins with what has no dependency, and stands where a run is suspended."""
    workflow, first, stopped = cases()[number]
    plan = plan_for(workflow.commit())
    assert frontier(plan, {}) == first
    result = await run(workflow, 1)
    assert result.status == "suspended"
    assert frontier(plan, result.steps) == stopped


async def test_a_run_that_is_over_has_none() -> None:
    """Nothing is left to run after a success, nor after a failure."""
    good = create_workflow("w").parallel([plus("a", 1), plus("b", 1)]).map(lambda both: 0).foreach(plus("c", 1))
    result = await run(good.commit())
    assert result.status == "failed"
    assert frontier(plan_for(good), result.steps) == ()
    good = create_workflow("w").do_while(plus("a", 1), lambda n: n < 3).then(plus("b", 1)).commit()
    assert frontier(plan_for(good), (await run(good)).steps) == ()


async def test_every_step_that_begins_was_in_the_frontier() -> None:
    """At each moment of a run, what begins next is what the frontier said could begin."""
    workflow = create_workflow("w").then(plus("a", 1)).parallel([plus("b", 1), plus("c", 1)]).map(lambda both: 0)
    workflow.then(create_workflow("inner").then(plus("d", 1)).then(plus("e", 1)).commit()).commit()
    plan = plan_for(workflow)
    made = Runtime().create_run(workflow)
    await made.start(0)
    records: Records = {}
    for path, record in made.steps.items():
        if record.kind == "step":
            assert path in frontier(plan, records)
        if record.kind != "workflow":
            records[path] = record
    assert frontier(plan, records) == ("inner",)
