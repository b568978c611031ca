"""
Served: what is served, and how: all that routes know of an app.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from procession.agents.agent import Agent
from procession.errors import DefinitionError
from procession.messages.shapes import is_form
from procession.runtime.registry import Registry
from procession.runtime.runtime import Runtime
from procession.server.guard import Guard
from procession.server.limits import Limits
from procession.server.redaction import DEFAULT, Redactor
from procession.server.run_calls import RunCalls
from procession.server.runs import Runs
from procession.server.service import Service
from procession.server.shared_calls import SharedCalls
from procession.workflows.workflow import Workflow

__all__ = ["Served"]


class Served:
    """
    What is served, and how.
    """

    def __init__(
        self,
        agents: Iterable[Agent] | Mapping[str, Agent] = (),
        workflows: Iterable[Workflow[Any, Any]] | Mapping[str, Workflow[Any, Any]] = (),
        *,
        runtime: Runtime | None = None,
        token: str | None = None,
        redact: Redactor | Literal["default"] | None = "default",
        read_only: bool = False,
        studio: bool = True,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        trusted: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """
        Register *agents* and *workflows* by their ids; *runtime* runs the workflows.

        *token* is what whoever asks must send as ``Authorization: Bearer ...``; without one the server answers this
        machine alone.  *redact* is a function of each text of what ``/api`` shows of runs; ``None`` shows values.
        *read_only* refuses every change, *studio* says whether the Studio is served.
        *hosts* are the names, beside those of this machine, that the server is reached by, *origins* the origins of
        pages, such as ``"https://ops.example"``, that may ask it.  With *trusted* whatever stands before the app, such as
        the application that mounts it, has checked who asks: no token is needed then.
        *limits* bounds bodies, calls and times.

        Raises ``DefinitionError`` for what is no agent or workflow, for two of one id, and for options that cannot be.
        """
        self.agents: Mapping[str, Agent] = _by_id(agents, Agent)
        self.workflows: Mapping[str, Workflow[Any, Any]] = _by_id(workflows, Workflow)
        self.runtime = runtime if runtime is not None else Runtime()
        self.redact = DEFAULT if redact == "default" else redact
        self.studio = studio
        self.limits = (limits if limits is not None else Limits()).checked()
        self.guard = Guard(token=token, hosts=hosts, origins=origins, read_only=read_only, trusted=trusted)
        """Who may ask."""
        if redact is None:
            _check_shown(self.guard)
        self.service = Service(self.limits, [self.runtime, *(agent.runtime for agent in self.agents.values())])
        """What goes on while the app is served."""
        self.calls = SharedCalls(self.service, self.limits.remembered)
        """The calls of agents that were given an id."""
        self.run_calls = RunCalls(self.service, self.limits.remembered)
        """The runs of workflows that were begun over HTTP."""
        self.runs = Runs(redact=self.redact)
        """The runs of all runtimes, as they are shown."""
        for each in (self.runtime, *(agent.runtime for agent in self.agents.values())):
            self.runs.watch(each)

    def configure(
        self,
        *,
        token: str | None = None,
        read_only: bool | None = None,
        studio: bool | None = None,
        show_values: bool = False,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
    ) -> None:
        """
        Change how the app is served, before it is: what a command line says of one that is made already.

        Raises ``DefinitionError`` where values would be shown by an app that others guard and that has no token.
        """
        guard = self.guard.changed(token=token, hosts=hosts, origins=origins, read_only=read_only)
        if show_values:
            _check_shown(guard)
        self.guard = guard
        self.studio = self.studio if studio is None else studio
        if show_values:
            self.redact = self.runs.redact = None


def _check_shown(guard: Guard) -> None:
    if guard.trusted and not guard.needs_token:
        raise DefinitionError(
            "an App that others guard shows values as they are (redact=None)",
            hint="give it a token of its own, or leave redact out",
        )


def _by_id(things: Iterable[Any] | Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    registry = Registry()
    every: list[Any] = list(things.values()) if is_form(things) else list(things)
    for thing in every:
        if not isinstance(thing, kind):
            raise DefinitionError(f"an App is given {thing!r}", hint=f"give it {kind.__name__} objects")
        registry.add(thing)
    return dict(registry)
