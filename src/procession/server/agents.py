"""
Routes that say which agents there are.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from procession.agents.agent import Agent
from procession.models.model import LanguageModel
from procession.runtime.event_json import plain
from procession.server.endpoint import Asked, Endpoint, Example
from procession.server.errors import not_found
from procession.server.served import Served

__all__ = ["AgentInfo", "agent_named", "agents_example", "routes"]


class ToolInfo(TypedDict):
    """
    A tool that an agent has.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    approval: bool
    """Whether every call of it needs a person's yes."""


class HookInfo(TypedDict):
    """
    Who runs at a hook, in order.
    """

    hook: str
    processors: list[str]


class AgentInfo(TypedDict):
    """
    An agent: its models, tools and processors; what depends on a request is left out.
    """

    id: str
    description: str
    models: list[str]
    tools: list[ToolInfo]
    hooks: list[HookInfo]
    workflows: list[str]
    """The workflows of its processor lists, by id."""
    loop: str
    """The id of its loop, which is a workflow too."""
    memory: bool
    threads: bool
    """Whether its conversations can be listed."""


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that say which agents there are.
    """
    return [
        Endpoint(
            method="GET", path="/api/agents", handle=_list, summary="List the agents.", answer=list[AgentInfo],
            example=Example(),
        ),
        Endpoint(
            method="GET", path="/api/agents/{agent_id}", handle=_show, summary="Show one agent.", answer=AgentInfo,
            example=agents_example(app),
        ),
    ]  # fmt: skip


def agents_example(app: Served, body: Any = None) -> Example | None:
    """
    Return how an endpoint of an agent is asked, if there is any agent.
    """
    return next((Example(path={"agent_id": id}, body=body) for id in app.agents), None)


def agent_named(asked: Asked) -> Agent:
    """
    Return the agent that the path names.

    Raises ``RequestRefused`` where there is none.
    """
    agent = asked.app.agents.get(asked.path["agent_id"])
    if agent is None:
        raise not_found("such agent", hint="GET /api/agents lists them")
    return agent


async def _list(asked: Asked) -> Any:
    return [_info(agent) for agent in asked.app.agents.values()]


async def _show(asked: Asked) -> Any:
    return _info(agent_named(asked))


def _info(agent: Agent) -> dict[str, Any]:
    explained = agent.explain()
    hooks: dict[str, list[str]] = {}
    for place in explained.places:
        hooks.setdefault(place.hook.value, []).append(place.processor_id)
    models: Any = agent.models
    tools: Any = agent.tools
    return {
        "id": agent.id,
        "description": agent.description,
        "models": [] if callable(models) else [_model_id(model) for model in models],
        "tools": []
        if callable(tools)
        else [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": plain(tool.parameters),
                "approval": tool.requires_approval is True,
            }
            for tool in tools.values()
        ],
        "hooks": [{"hook": hook, "processors": ids} for hook, ids in hooks.items()],
        "workflows": [workflow.id for workflow in agent.processor_workflows],
        "loop": agent.workflow.id,
        "memory": agent.memory is not None,
        "threads": agent.memory is not None,
    }


def _model_id(model: LanguageModel) -> str:
    return model.id
