"""
Nesting: a workflow as one step of another.
"""

from __future__ import annotations

from typing import Any

from procession.steps.step import Step
from procession.workflows.definition import WorkflowDefinition
from procession.workflows.typeflow import Either, Outputs
from procession.workflows.validate import output_type

__all__ = ["step_of"]


def step_of(workflow: WorkflowDefinition) -> Step[Any, Any]:
    """
    Return *workflow* as a step that takes part in the hooks its steps take part in.
    """
    hooks: set[str] = set()
    mutates = False
    for node in workflow.nodes:
        for child in node.children:
            hooks |= child.step.hooks if child.on is None else child.step.hooks & child.on
            mutates = mutates or child.step.mutates
    made = output_type(workflow)
    return Step(
        id=workflow.id,
        kind="workflow",
        body=workflow,
        hooks=frozenset(hooks),
        mutates=mutates,
        input_type=workflow.input_type,
        output_type=dict if isinstance(made, Outputs) else None if isinstance(made, Either) else made,
        description=workflow.description,
        timeout=workflow.timeout,
        owner=workflow,
        source=workflow.source,
    )
