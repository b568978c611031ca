"""
What is not served: agents whose answers would be shared between those who ask, and what has no address.
"""

from __future__ import annotations

from procession.agents.agent import Agent
from procession.errors import DefinitionError
from procession.server.served import Served

__all__ = ["check_served"]


def check_served(app: Served) -> None:
    """
    Raise ``DefinitionError`` for an agent of *app* with a cache that shares its answers with everybody, and for an id by
    which nothing could be asked.

    Where the processors are known only with the request, such a cache answers nothing and keeps nothing: see
    ``processors/tenant.py``.
    """
    for id in (*app.agents, *app.workflows):
        if "/" in id or id.strip(".") == "":
            raise DefinitionError(
                f"{id!r} cannot stand in the path of an address", hint="serve it by an id without a slash"
            )
    for agent in app.agents.values():
        _check_caches(agent)


def _check_caches(agent: Agent) -> None:
    from procession.processors.cache.response_cache import ResponseCache  # only a server looks for it

    for workflow in agent.processor_workflows:
        for step in workflow.walk_steps():
            if isinstance(step.owner, ResponseCache) and step.owner.scope is None:
                raise DefinitionError(
                    f"agent {agent.id!r} is served and has a ResponseCache that shares answers with everybody (scope=None)",
                    hint="leave scope out: answers are kept by resource then; or name the scope",
                )
