"""
FoundRun: whose a run is, and what runs it, by its id alone.
"""

from __future__ import annotations

from typing import Any

from procession.agents.agent import Agent
from procession.errors import InputError, RunNotFound
from procession.messages.value import Value
from procession.runtime.runtime import Runtime
from procession.server.catalog import catalog
from procession.server.served import Served
from procession.workflows.describe import graph_spec
from procession.workflows.workflow import Workflow

__all__ = ["FoundRun", "found_run"]


class FoundRun(Value, kw_only=True):
    """
    Whose a run is.
    """

    owner: str
    runtime: Runtime
    agent: Agent | None = None
    workflow: Workflow[Any, Any] | None = None
    """That of the app; ``None`` where the app has none of that id."""

    def before(self, step: str) -> str:
        """
        Return the path of the step whose output *step* is given.

        Raises ``InputError`` where that is not one step.
        """
        if self.workflow is not None:
            spec = graph_spec(self.workflow)
            ids = {node.path: node.id for node in spec.nodes}
            paths = {
                node.id: node.path for node in spec.nodes if node.kind not in ("start", "fork", "join", "decision")
            }
            sources = [edge.source for edge in spec.edges if edge.target == ids.get(step) and edge.kind != "back"]
            if len(sources) == 1 and sources[0] in paths:
                return paths[sources[0]]
        raise InputError(
            f"the input of {step!r} is not the output of one step",
            hint='give "outputs" of the steps before it; where it is the first, begin a new run',
        )


async def found_run(app: Served, run_id: str) -> FoundRun:
    """
    Return whose run it is.

    Raises ``RunNotFound``.
    """
    seen = app.runs.get(run_id)
    if seen is not None and seen.kind == "agent" and seen.owner in app.agents:
        agent = app.agents[seen.owner]
        return FoundRun(owner=agent.id, runtime=agent.runtime, agent=agent)
    for agent in app.agents.values():
        row = await agent.runtime.store.row(run_id)
        if row is not None and row.owner == agent.id:
            return FoundRun(owner=agent.id, runtime=agent.runtime, agent=agent)
    row = await app.runtime.store.row(run_id)
    if seen is None and row is None:
        raise RunNotFound(f"there is no run {run_id!r}", hint="GET /api/runs lists them")
    owner = row.owner if row is not None else seen.owner if seen is not None else ""
    listed = catalog(app).get(owner)
    return FoundRun(owner=owner, runtime=app.runtime, workflow=listed.workflow if listed is not None else None)
