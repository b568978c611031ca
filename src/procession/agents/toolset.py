"""
Tools by name: what an agent's or a call's ``tools`` means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.agents.workflow_tool import workflow_tool
from procession.errors import DefinitionError
from procession.tools.tool import Tool
from procession.workflows.workflow import Workflow

__all__ = ["is_agent", "tools_by_name"]


def tools_by_name(tools: Sequence[Any] | Mapping[str, Any]) -> dict[str, Tool[Any]]:
    """
    Return tools by name; a mapping's keys are the names.  Agents and workflows become tools, ``agent-<id>`` and
    ``workflow-<id>`` where nothing else is said.

    Raises ``DefinitionError`` for what is no tool, and for two with one name.
    """
    named: Sequence[tuple[Any, Any]] = (
        list(tools.items()) if isinstance(tools, Mapping) else [(None, each) for each in tools]
    )
    found: dict[str, Tool[Any]] = {}
    for key, each in named:
        made = _tool(each)
        name = key if isinstance(tools, Mapping) else made.name
        if not isinstance(name, str) or name in found:
            raise DefinitionError(f"two tools are called {name!r}", hint="give one of them another name")
        found[name] = made if made.name == name else made.replace(name=name)  # pyright: ignore[reportUnknownMemberType]
    return found


def is_agent(value: Any) -> bool:
    """
    Whether *value* is an agent.
    """
    return callable(getattr(value, "as_tool", None)) and not isinstance(value, type)


def _tool(thing: Any) -> Tool[Any]:
    if isinstance(thing, Tool):
        return thing  # pyright: ignore[reportUnknownVariableType]
    if isinstance(thing, Workflow):
        return workflow_tool(thing)  # pyright: ignore[reportUnknownArgumentType]
    if is_agent(thing):
        made: Tool[Any] = thing.as_tool()
        return made
    raise DefinitionError(f"{thing!r} is no tool", hint="make it one with @tool, or give an agent or a workflow")
