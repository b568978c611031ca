"""
Catalog: all workflows of an app: its own, and of each agent the processor lists and the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from procession.errors import DefinitionError
from procession.messages.value import Value
from procession.processors.hooks import Hook
from procession.server.endpoint import Asked
from procession.server.errors import not_found
from procession.server.served import Served
from procession.workflows.workflow import Workflow

__all__ = ["Listed", "ListedKind", "catalog", "listed_named"]

ListedKind: TypeAlias = Literal["workflow", "processors", "loop"]


class Listed(Value, kw_only=True):
    """
    A workflow of an app.
    """

    workflow: Workflow[Any, Any]
    kind: ListedKind
    agent: str | None = None
    """The id of the agent that it is of."""
    list: str | None = None
    """Of processors: ``input``, ``output`` or ``error``."""

    @property
    def id(self) -> str:
        """
        What it is called.
        """
        return self.workflow.id

    @property
    def hooks(self) -> tuple[str, ...]:
        """
        The hooks at which its processors take part, in the order in which they fire.
        """
        hooks = self.workflow.as_step().hooks
        return tuple(hook.value for hook in Hook if hook.value in hooks)


def catalog(app: Served) -> Mapping[str, Listed]:
    """
    Return the workflows of *app* by their ids.

    Raises ``DefinitionError`` where two have one id.
    """
    found: dict[str, Listed] = {}
    every = [
        Listed(workflow=each, kind="processors" if each.kind == "processor" else "workflow")
        for each in app.workflows.values()
    ]
    for agent in app.agents.values():
        every.append(Listed(workflow=agent.workflow, kind="loop", agent=agent.id))
        for each in agent.processor_workflows:
            which = each.id.removeprefix(f"{agent.id}-").removesuffix("-processor")
            every.append(Listed(workflow=each, kind="processors", agent=agent.id, list=which))
    for one in every:
        if one.id in found:
            raise DefinitionError(
                f"an App has two workflows called {one.id!r}",
                hint="the loop of an agent has the agent's id, its lists <agent>-input-processor and so on",
            )
        found[one.id] = one
    return found


def listed_named(asked: Asked) -> Listed:
    """
    Return the workflow that the path names.

    Raises ``RequestRefused`` where there is none.
    """
    found = catalog(asked.app).get(asked.path["workflow_id"])
    if found is None:
        raise not_found("such workflow", hint="GET /api/workflows lists them")
    return found
