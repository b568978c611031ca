"""A workflow that says what it gives is held to it: when it is built, and when it runs."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from procession.errors import WorkflowDefinitionError
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.workflows.workflow import Workflow, create_workflow


@step
def length(ctx: StepContext[str]) -> int:
    """Give the length of a text."""
    return len(ctx.input)


def vague(value: Any) -> Step[Any, Any]:
    """Return a step that gives *value*, and does not say so."""
    return Step(id="vague", execute=lambda ctx: value)


async def test_the_output_is_checked_and_converted() -> None:
    """What the last node gives is checked against the type, whatever that node is, and converted as pydantic does."""
    workflow = create_workflow("w", output_type=list[int]).then(vague("no list")).map(lambda value: value).commit()
    result = await Runtime().run(workflow, 1)
    assert result.status == "failed"
    assert "output of workflow 'w'" in str(result.error)
    assert "no list" not in str(result.error)
    converted = create_workflow("w", output_type=int).then(vague("3")).commit()
    assert (await Runtime().run(converted, 1)).unwrap() == 3


async def test_the_output_of_a_nested_workflow_is_checked_too() -> None:
    """A workflow inside another is held to its type, and the error names where."""
    inner: Workflow[Any, Any] = create_workflow("inner", output_type=int).then(vague("x")).commit()
    result = await Runtime().run(create_workflow("outer").then(inner).commit(), 1)
    assert result.status == "failed"
    assert "output of workflow 'inner'" in str(result.error)
    graph = create_workflow("graph", output_type=int).add(vague("4")).commit()
    assert (await Runtime().run(create_workflow("outer").then(graph).commit(), 1)).unwrap() == 4


def test_what_never_fits_is_found_at_once() -> None:
    """``commit`` refuses a last step that never gives the type; what follows the workflow is told its type."""
    with pytest.raises(WorkflowDefinitionError, match="is to give list\\[int\\], and gives int"):
        create_workflow("w", str, output_type=list[int]).then(length).commit()
    inner = create_workflow("w", output_type=list[int]).then(vague([1])).commit()
    assert inner.as_step().output_type == list[int]
    with pytest.raises(WorkflowDefinitionError, match="'length' takes str, and is given list"):
        create_workflow("outer").then(inner).then(length).commit()


def test_places_are_those_of_the_user() -> None:
    """A node's place is the line of its call: in a chain over several lines, in a helper, of a decorated step."""

    def helper(workflow: Workflow[Any, Any]) -> Workflow[Any, Any]:
        return workflow.then(vague(1))

    line = sys._getframe().f_lineno  # pyright: ignore[reportPrivateUsage]
    workflow = (
        create_workflow("w")
        .then(length)
        .parallel(
            [vague(1)],
        )
        .map(lambda value: value)
    )
    helper(workflow)
    assert workflow.source == f"{__file__}:{line + 2}"
    assert [node.source for node in workflow.nodes] == [
        f"{__file__}:{number}" for number in (line + 3, line + 4, line + 7, line - 2)
    ]
    assert length.source is not None
    assert length.source.startswith(f"{__file__}:")
