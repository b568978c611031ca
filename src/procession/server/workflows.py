"""
Routes that show workflows: their lists, schemas and graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from starlette.responses import Response
from typing_extensions import TypedDict

from procession.messages.value import Value
from procession.server.catalog import Listed, catalog, listed_named
from procession.server.endpoint import Asked, Endpoint, Example
from procession.server.served import Served
from procession.steps.schema import schema_of
from procession.steps.state_type import ANYTHING
from procession.workflows.describe import graph_spec
from procession.workflows.render.draw import draw

__all__ = ["WorkflowInfo", "routes", "workflows_example"]

_DRAWN_APART = frozenset({"start", "end", "fork", "join", "decision"})
"""The kinds of nodes of a graph that are no steps."""


class WorkflowInfo(TypedDict):
    """
    A workflow; ``agent`` and ``list`` say of which agent's lists it is made.
    """

    id: str
    kind: Literal["workflow", "processors", "loop"]
    agent: str | None
    list: str | None
    description: str
    step_count: int
    graph_hash: str
    hooks: list[str]
    input_schema: dict[str, Any] | None
    state_schema: dict[str, Any] | None


class PictureQuery(TypedDict, total=False):
    """
    How a picture of a graph is drawn.
    """

    run: str
    """The id of a run that is laid over it."""
    direction: Literal["TB", "LR"]
    depth: int
    theme: Literal["auto", "light", "dark"]


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that show workflows.

    Raises ``DefinitionError`` where two workflows have one id.
    """
    example = workflows_example(app)
    return [
        Endpoint(
            method="GET", path="/api/workflows", handle=_list, summary="List the workflows, those of agents included.",
            answer=list[WorkflowInfo], example=Example(),
        ),
        Endpoint(
            method="GET", path="/api/workflows/{workflow_id}", handle=_show, summary="Show one workflow.",
            answer=WorkflowInfo, example=example,
        ),
        Endpoint(
            method="GET", path="/api/workflows/{workflow_id}/graph", handle=_graph,
            summary="Return a workflow's graph as data.", answer=dict[str, Any], example=example,
        ),
        Endpoint(
            method="GET", path="/api/workflows/{workflow_id}/graph.svg", handle=_picture,
            summary="Draw a workflow's graph, with a run laid over it.", query=PictureQuery, media="image/svg+xml",
            example=example,
        ),
    ]  # fmt: skip


def workflows_example(app: Served, body: Any = None, *, kind: str | None = None) -> Example | None:
    """
    Return how an endpoint of a workflow is asked, if there is any of that *kind*.
    """
    found = (id for id, one in catalog(app).items() if kind in (None, one.kind))
    return next((Example(path={"workflow_id": id}, body=body) for id in found), None)


async def _list(asked: Asked) -> Any:
    return [_info(one) for one in catalog(asked.app).values()]


async def _show(asked: Asked) -> Any:
    return _info(listed_named(asked))


async def _graph(asked: Asked) -> Any:
    return graph_spec(listed_named(asked).workflow).to_dict()


async def _picture(asked: Asked) -> Any:
    workflow = listed_named(asked).workflow
    options: dict[str, Any] = {
        name: asked.query[name] for name in ("direction", "depth", "theme") if name in asked.query
    }
    run = asked.query.get("run")
    if run is not None:
        options["run"] = _Ran(await asked.app.runs.summary(run))
    return Response(draw(workflow, "svg", **options), media_type="image/svg+xml")


class _Node(Value):
    """
    What a picture shows of a node of a run.
    """

    status: str
    seconds: float | None
    kind: str | None
    output: None = None


class _Ran:
    """
    A run as far as a picture shows it.
    """

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self.steps: Mapping[str, Any] = {
            node["path"]: _Node(node["status"], node["seconds"], node["kind"])
            for node in summary["nodes"]
            if node["status"] != "pending"
        }


def _info(one: Listed) -> dict[str, Any]:
    workflow = one.workflow
    spec = graph_spec(workflow)
    state = workflow.state_type
    return {
        "id": one.id,
        "kind": one.kind,
        "agent": one.agent,
        "list": one.list,
        "description": workflow.description,
        "step_count": sum(node.kind not in _DRAWN_APART for node in spec.nodes),
        "graph_hash": spec.graph_hash,
        "hooks": list(one.hooks),
        "input_schema": _json_schema(workflow.input_type) if one.kind == "workflow" else None,
        "state_schema": None
        if state is ANYTHING
        else {"type": "object", "properties": {key: _json_schema(type) or {} for key, type in state.types.items()}},
    }


def _json_schema(type: Any) -> dict[str, Any] | None:
    """
    Return the schema of a type; ``None`` where JSON has none for it.
    """
    made = schema_of(type)
    if made is None:
        return None
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        return dict(made.json_schema())
    except PydanticInvalidForJsonSchema:
        return None
