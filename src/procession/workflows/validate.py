"""
Validation: what ``commit()`` finds.

Each finding has a code; the tests hold one example of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from procession.errors import Finding, Fix
from procession.workflows.checks.branches import check_branches
from procession.workflows.checks.finder import Finder
from procession.workflows.checks.flow import check_flow
from procession.workflows.checks.names import check_names
from procession.workflows.checks.shapes import check_shapes
from procession.workflows.definition import WorkflowDefinition
from procession.workflows.typeflow import Type

__all__ = ["Check", "find", "inspect_workflow", "output_type", "register_check"]


Check: TypeAlias = Callable[[Any], Iterable[Finding]]
"""Finds something in a workflow; for rooms above this one, which know more of certain steps."""

_checks: list[Check] = []


def register_check(check: Check) -> Check:
    """
    Let *check* take part in every ``commit()`` from now on.
    """
    if check not in _checks:
        _checks.append(check)
    return check


def find(workflow: WorkflowDefinition) -> list[Finding]:
    """
    Return everything wrong with *workflow*, errors and warnings, in the order of its nodes.
    """
    return inspect_workflow(workflow)[0]


def inspect_workflow(workflow: WorkflowDefinition) -> tuple[list[Finding], Type]:
    """
    Return everything wrong with *workflow*, and the type of its output as far as annotations tell.
    """
    finder = Finder(workflow)
    check_names(finder)
    if not workflow.nodes:
        finder.say(
            "empty-workflow",
            f"workflow {workflow.id!r} has no steps",
            None,
            "add a step: .then(step)",
            fix=Fix("add", code=".then(step)"),
        )
        return finder.findings, None
    if check_shapes(finder):  # it contains itself: whoever looked into it would not come back
        return finder.findings, None
    made = check_flow(finder)
    check_branches(finder)
    for check in _checks:
        finder.findings += check(workflow)
    return finder.findings, made


def output_type(workflow: WorkflowDefinition) -> Type:
    """
    Return the type of the workflow's output, or ``None`` where it is not known.
    """
    if workflow.committed:
        return workflow.made
    return check_flow(Finder(workflow)) if workflow.nodes else workflow.output_type
