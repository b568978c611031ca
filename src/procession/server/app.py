"""
App: agents and workflows that are served together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from procession.agents.agent import Agent
from procession.errors import DefinitionError
from procession.runtime.registry import Registry
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow

__all__ = ["App"]


class App:
    """
    Agents and workflows that are served together, over HTTP and in the Studio.

    >>> from procession.agents.agent import Agent
    >>> from procession.server.app import App
    >>> from procession.testing.fake_model import FakeModel
    >>> app = App(agents=[Agent("parrot", model=FakeModel(["Hello!"]), instructions="You are a parrot.")])
    >>> list(app.agents)
    ['parrot']
    """

    def __init__(
        self,
        agents: Iterable[Agent] | Mapping[str, Agent] = (),
        workflows: Iterable[Workflow[Any, Any]] | Mapping[str, Workflow[Any, Any]] = (),
        *,
        runtime: Runtime | None = None,
    ) -> None:
        """
        Register *agents* and *workflows* by their ids; *runtime* runs the workflows.

        Raises ``DefinitionError`` for what is neither, and for two of one id.
        """
        self.agents: Mapping[str, Agent] = _by_id(agents, Agent)
        self.workflows: Mapping[str, Workflow[Any, Any]] = _by_id(workflows, Workflow)
        self.runtime = runtime if runtime is not None else Runtime()

    def __repr__(self) -> str:
        return f"App(agents={list(self.agents)}, workflows={list(self.workflows)})"


def _by_id(things: Iterable[Any] | Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    registry = Registry()
    for thing in things.values() if isinstance(things, Mapping) else things:
        if not isinstance(thing, kind):
            raise DefinitionError(f"an App is given {thing!r}", hint=f"give it {kind.__name__} objects")
        registry.add(thing)
    return dict(registry)
