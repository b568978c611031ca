"""
Routes that make something of runs: a bundle, a test, a comparison, statistics; and what hooks can be tried with.
"""

from __future__ import annotations

import json
from typing import Any, Final

from typing_extensions import TypedDict

import procession
from procession.errors import RequestRefused
from procession.server.catalog import catalog, listed_named
from procession.server.compare import compare_graphs, compare_runs
from procession.server.endpoint import Asked, Endpoint
from procession.server.errors import not_found
from procession.server.run_found import found_run
from procession.server.run_routes import RunPath
from procession.server.samples import samples
from procession.server.saved_test import saved_test
from procession.server.served import Served
from procession.server.stats import statistics
from procession.server.workflows import workflows_example
from procession.workflows.describe import graph_spec
from procession.workflows.spec import GraphSpec

__all__ = ["routes"]

_MOST: Final = 100_000
"""How many events of a run are read: more than are kept of one."""


class Two(TypedDict):
    """
    What is compared.
    """

    a: str
    b: str


class TestQuery(TypedDict, total=False):
    """
    How the test finds what was run.
    """

    target: str
    """``module:name``, in the project's own code."""


class Sample(TypedDict):
    """
    Something that a hook can be run with.
    """

    hook: str
    title: str
    body: dict[str, Any]


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that make something of runs.
    """
    return [
        Endpoint(
            method="GET", path="/api/workflows/{workflow_id}/samples", handle=_samples, answer=list[Sample],
            summary="Return something to run each hook of a processor workflow with.",
            example=workflows_example(app, kind="processors"),
        ),
        Endpoint(
            method="GET", path="/api/workflows/{workflow_id}/stats", handle=_stats, answer=dict[str, Any],
            summary="Return times, tokens and cost of each node over the runs that are known.",
            example=workflows_example(app),
        ),
        Endpoint(
            method="GET", path=RunPath + "/bundle", handle=_bundle, answer=dict[str, Any],
            summary="Return all that is needed to look at a run without this server.",
        ),
        Endpoint(
            method="GET", path=RunPath + "/test", handle=_test, query=TestQuery, answer=dict[str, Any],
            summary="Return a run as a test: a pytest file and its data.",
        ),
        Endpoint(
            method="GET", path="/api/compare/runs", handle=_compare_runs, query=Two, answer=dict[str, Any],
            summary="Compare two runs, node by node.",
        ),
        Endpoint(
            method="GET", path="/api/compare/graphs", handle=_compare_graphs, query=Two, answer=dict[str, Any],
            summary="Compare two graphs, by the ids of workflows or of runs.",
        ),
    ]  # fmt: skip


async def _samples(asked: Asked) -> Any:
    listed = listed_named(asked)
    return samples(listed.workflow) if listed.kind == "processors" else []


async def _stats(asked: Asked) -> Any:
    app, listed = asked.app, listed_named(asked)
    kind, owner = ("agent", listed.agent) if listed.kind == "loop" else ("workflow", listed.id)
    page = await app.runs.list(owner=owner, kind=kind, limit=500)
    return statistics([await _run(app, one["run_id"]) for one in page["runs"]])


async def _bundle(asked: Asked) -> Any:
    run, events = await _run(asked.app, asked.path["run_id"])
    graph = await _graph_of_run(asked.app, asked.path["run_id"])
    return {
        "procession": procession.__version__,
        "kind": "run",
        "run": run,
        "graph": graph.to_dict() if graph is not None else None,
        "events": events,
    }


async def _test(asked: Asked) -> Any:
    seen = asked.app.runs.get(asked.path["run_id"])
    if seen is None:
        await asked.app.runs.summary(asked.path["run_id"])  # says so where there is none
        raise RequestRefused(
            "the run is known by what was written down alone", status=409, reason="no-test", hint="run it again first"
        )
    return saved_test(asked.app, seen, asked.query.get("target"))


async def _compare_runs(asked: Asked) -> Any:
    a, b = asked.query["a"], asked.query["b"]
    first, second = await _run(asked.app, a), await _run(asked.app, b)
    return compare_runs(*first, *second)


async def _compare_graphs(asked: Asked) -> Any:
    a, b = asked.query["a"], asked.query["b"]
    return compare_graphs(await _graph(asked.app, a), await _graph(asked.app, b))


async def _run(app: Served, run_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    run = await app.runs.summary(run_id)
    return run, (await app.runs.events(run_id, limit=_MOST))["events"]


async def _graph(app: Served, id: str) -> GraphSpec:
    """
    Return the graph of a workflow, or that of the workflow that a run is of.
    """
    listed = catalog(app).get(id)
    if listed is not None:
        return graph_spec(listed.workflow)
    found = await _graph_of_run(app, id)
    if found is None:
        raise not_found("graph of that run any more", hint="its workflow is not one of this app")
    return found


async def _graph_of_run(app: Served, run_id: str) -> GraphSpec | None:
    """
    Return the graph that a run ran on, where it was kept; else that of its workflow as it is now.
    """
    found = await found_run(app, run_id)
    definition = found.agent.workflow if found.agent is not None else found.workflow
    row = await found.runtime.store.row(run_id)
    if row is not None and row.graph_hash:
        kept = await found.runtime.store.graph(row.graph_hash)
        if kept is not None:
            return GraphSpec.from_dict(json.loads(kept))
    return graph_spec(definition) if definition is not None else None
