"""
A workflow as a tool: it runs inside the run of the agent that calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from procession.agents.inner_kinds import WorkflowExecute
from procession.errors import DefinitionError, InputError, RunError, RunSuspended, TripwireError
from procession.steps.left import is_left_behind
from procession.steps.own_context import OwnContext
from procession.steps.signals import Suspend, Tripwire
from procession.tools.context import ToolContext
from procession.tools.tool import Approver, Tool
from procession.workflows.workflow import Workflow

__all__ = ["tool_name", "workflow_tool"]


def tool_name(kind: str, id: str) -> str:
    """
    Return the name of the tool that an agent or a workflow called *id* becomes, as providers take it.

    >>> tool_name("agent", "web.search")
    'agent-web_search'
    """
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]', '_', id)}"[:64]


def workflow_tool(
    workflow: Workflow[Any, Any],
    *,
    name: str | None = None,
    description: str | None = None,
    requires_approval: Approver = False,
) -> Tool[Any]:
    """
    Return a tool that runs *workflow* inside the run of the agent that calls it, and returns its output.

    Its arguments are those of the workflow's input type where that is an object in JSON (a pydantic model, a dataclass,
    a ``TypedDict``); else it takes ``{"input": ...}``.  A workflow that a processor blocks gives a result that is marked
    as an error and says why; one that fails is an error of the tool.  One that waits for an answer suspends the agent's
    run, which goes on inside the workflow once it is given.

    >>> from procession.workflows.workflow import create_workflow
    >>> from procession.steps.step import StepContext, step
    >>> @step
    ... def double(ctx: StepContext[int]) -> int:
    ...     return 2 * ctx.input
    >>> made = workflow_tool(create_workflow("double-it", int).then(double).commit())
    >>> made.name, made.parameters["properties"]
    ('workflow-double-it', {'input': {'type': 'integer'}})

    Raises ``DefinitionError`` where the workflow is not committed.
    """
    if not workflow.committed:
        raise DefinitionError(f"workflow {workflow.id!r} is not committed", hint="end its definition with .commit()")
    parameters, whole = _parameters(workflow.input_type)

    return Tool(
        name=name or tool_name("workflow", workflow.id),
        description=description if description is not None else workflow.description or f"Run {workflow.id}.",
        parameters=parameters,
        execute=WorkflowExecute(_execute, workflow, whole),
        requires_approval=requires_approval,
    )


async def _execute(workflow: Workflow[Any, Any], whole: bool, args: Mapping[str, Any], ctx: ToolContext) -> Any:
    agent = ctx.scope.resources.get("agent")
    value = args if whole else args.get("input")
    try:
        if agent is None or is_left_behind():  # a workflow runs the tool, or somebody by hand
            return await OwnContext(ctx.call(workflow, value))
        from procession.agents.workflow_run import WorkflowRun

        run = WorkflowRun(workflow, agent, ctx)
        resumed = ctx.inner_run if ctx.resumed else None
        return await OwnContext(run.begin(value) if resumed is None else run.resume(resumed))
    except Tripwire as tripped:
        raise TripwireError(tripped.info) from None
    except (Suspend, RunSuspended):  # the latter of an agent in it
        if ctx.question is not None:
            raise
        raise RunError(
            f"workflow {workflow.id!r} was suspended, and cannot be resumed where no agent runs it",
            hint="make the workflow a step, or a tool of an agent",
        ) from None
    except InputError as error:
        if error.__class__ is InputError:
            raise
        raise RunError(f"workflow {workflow.id!r} was given a wrong value: {error.message}") from error
    except Exception as error:
        raise RunError(f"workflow {workflow.id!r} failed: {type(error).__name__}") from error


def _parameters(input_type: Any) -> tuple[Mapping[str, Any], bool]:
    """
    Return the schema of the arguments, and whether they are the input itself.
    """
    from procession.steps.schema import schema_of

    schema = schema_of(input_type)
    if schema is None:
        return {"type": "object", "properties": {"input": {}}}, False
    said = schema.json_schema()
    if said.get("type") == "object" and "properties" in said:
        return said, True
    inner = {name: value for name, value in said.items() if name != "$defs"}
    made: dict[str, Any] = {"type": "object", "properties": {"input": inner}, "required": ["input"]}
    if "$defs" in said:
        made["$defs"] = said["$defs"]
    return made, False
