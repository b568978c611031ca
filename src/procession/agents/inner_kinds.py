"""
Inner kinds: how the tools are told apart that are agents or workflows, and what a run is that waits inside another.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from procession.tools.tool import Tool
from procession.workflows.workflow import Workflow

if TYPE_CHECKING:  # to define a tool takes little
    from procession.agents.caller import Caller
    from procession.agents.suspended_call import SuspendedCall

__all__ = ["AgentExecute", "Inner", "WorkflowExecute", "inner_of"]


class AgentExecute(partial[Coroutine[Any, Any, str]]):
    """
    What a tool executes that is an agent, with the agent as its first argument.
    """

    __slots__ = ()


class WorkflowExecute(partial[Coroutine[Any, Any, Any]]):
    """
    What a tool executes that is a workflow, with the workflow as its first argument.
    """

    __slots__ = ()


class Inner(NamedTuple):
    """
    Whose a run is that waits inside another one: the agent that is the tool, or the one round a workflow.
    """

    agent: Caller
    workflow: Workflow[Any, Any] | None = None


def inner_of(call: SuspendedCall, tools: Mapping[str, Tool[Any]] | Callable[..., Any], outer: Caller) -> Inner:
    """
    Return whose run *call* waits for; where that is not known, *outer*, whose store may have the run.
    """
    found = None if callable(tools) else tools.get(call.tool_name)
    execute = found.execute if found is not None else None
    if isinstance(execute, AgentExecute):
        return Inner(execute.args[0])
    return Inner(outer, execute.args[0] if isinstance(execute, WorkflowExecute) else None)
