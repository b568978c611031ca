"""
A list of processors, workflows and functions as one workflow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

from procession.errors import DefinitionError, ProcessorDefinitionError
from procession.processors.adapter import processor_step
from procession.processors.protocols import is_processor
from procession.steps.request_context import RequestContext
from procession.steps.step import Step
from procession.workflows.workflow import Workflow, create_workflow

__all__ = ["ProcessorList", "chain", "is_workflow", "owners", "processor_steps", "taking_part"]

ProcessorList: TypeAlias = Sequence[Any] | Callable[[RequestContext], Any]
"""
Processors, workflows, functions made with ``@processor``, or any object with an id and a hook; or a function of the
request context that returns such a list, plain or async.
"""


def processor_steps(things: Sequence[Any], *, where: str) -> list[Step[Any, Any]]:
    """
    Return the steps of a processor list.

    Raises ``ProcessorDefinitionError``, naming *where* and the place in the list, for what is no processor and for two
    different processors with one id (D11).
    """
    if isinstance(things, (str, bytes)) or not hasattr(things, "__iter__"):
        raise ProcessorDefinitionError(f"{where} is {type(things).__name__}", hint="give a list of processors")
    steps = [_step_of(thing, f"{where}[{index}]") for index, thing in enumerate(things)]
    by_id: dict[str, Any] = {}
    for owner in owners(steps):
        other = by_id.setdefault(owner.id, owner)
        if other is not owner:
            raise ProcessorDefinitionError(
                f"{where} has two different processors with the id {owner.id!r}: they would share their state",
                hint="give one of them an id of its own with id=...",
            )
    return steps


def _step_of(thing: Any, where: str) -> Step[Any, Any]:
    if is_workflow(thing):
        workflow = thing
        try:
            workflow.commit()
        except DefinitionError as error:
            raise ProcessorDefinitionError(f"{where}: {error.message}", hint=error.hint) from error
        if not workflow.as_step().hooks:
            raise ProcessorDefinitionError(
                f"{where}: workflow {workflow.id!r} has no processor in it and would do nothing",
                hint="put processors into it, or leave it out of the list",
            )
        return workflow.as_step()
    if is_step(thing):
        step = thing
        if not step.hooks:
            raise ProcessorDefinitionError(
                f"{where}: step {step.id!r} is no processor", hint="make it one with @processor(hook=...)"
            )
        return step
    if inspect.isroutine(thing):
        raise ProcessorDefinitionError(
            f"{where}: {getattr(thing, '__name__', thing)!r} is a plain function",
            hint="say which hook it is for: @processor(hook='process_input')",
        )
    try:
        if is_processor(thing) and callable(getattr(thing, "as_step", None)):
            return cast("Step[Any, Any]", thing.as_step())
        return processor_step(thing)
    except ProcessorDefinitionError as error:
        raise ProcessorDefinitionError(f"{where}: {error.message}", hint=error.hint) from error


def is_workflow(thing: object) -> TypeGuard[Workflow[Any, Any]]:
    """
    Whether *thing* is a workflow.
    """
    return isinstance(thing, Workflow)


def is_step(thing: object) -> TypeGuard[Step[Any, Any]]:
    """
    Whether *thing* is a step.
    """
    return isinstance(thing, Step)


def owners(steps: Iterable[Step[Any, Any]]) -> Iterator[Any]:
    """
    Yield the processors behind *steps*, nested workflows included, in order.
    """
    for step in steps:
        if step.kind == "processor":
            yield step.owner
        elif is_workflow(step.body):
            for inner in step.body.walk_steps():
                if inner.kind == "processor":
                    yield inner.owner


def taking_part(workflow: Workflow[Any, Any], hook: str) -> Iterator[Any]:
    """
    Yield the processors in *workflow* that take part in *hook*, in order.
    """
    for node in workflow.nodes:
        for child in node.children:
            step = child.step
            if hook not in step.hooks or (child.on is not None and hook not in child.on):
                continue
            if is_workflow(step.body):
                yield from taking_part(step.body, hook)
            elif step.kind == "processor":
                yield step.owner


def chain(steps: Sequence[Step[Any, Any]], id: str) -> Workflow[Any, Any] | None:
    """
    Return the workflow that runs *steps* one after the other, or ``None`` where there are none.
    """
    if not steps:
        return None
    workflow = create_workflow(id, kind="processor")
    for step in steps:
        workflow.then(step)
    return workflow.commit()
