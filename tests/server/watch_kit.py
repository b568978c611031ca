"""What the tests of runs as they are seen share: agents that are watched, and where their graph has what."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from procession.agents.agent import Agent
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.server.runs import Runs
from procession.tools.tool import tool
from procession.workflows.describe import graph_spec
from procession.workflows.spec import GraphSpec
from procession.workflows.workflow import Workflow

_HOOKS = (
    "process_input", "process_input_step", "process_llm_request", "process_llm_response", "process_output_step",
    "process_output_result", "process_tool_result",
)  # fmt: skip


def watched(id: str = "seen", **options: Any) -> tuple[Agent, Runs]:
    """Return an agent whose runs are seen, and who sees them."""
    runs = Runs(redact=None)
    return Agent(id, runtime=Runtime(observers=[runs]), **options), runs


def idle(id: str) -> Processor:
    """Return a processor that takes part in every hook of a list and does nothing."""

    def nothing(self: Any, ctx: Any) -> None:
        return None

    def passed(self: Any, ctx: Any) -> Any:
        return ctx.chunk

    made: Any = type("Idle", (Processor,), {**dict.fromkeys(_HOOKS, nothing), "process_output_stream": passed})
    found: Processor = made(id=id)
    return found


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"seen: {what}"


async def events_of(runs: Runs, run_id: str, *types: str) -> list[dict[str, Any]]:
    """Return a run's events, of these types or of all."""
    page = await runs.events(run_id, types=types or None, limit=100_000)
    found: list[dict[str, Any]] = page["events"]
    return found


def paths_in(workflow: Workflow[Any, Any]) -> set[str]:
    """Return the paths of all nodes of a workflow's graph, those of nested ones included."""
    root = graph_spec(workflow)
    found: set[str] = set()

    def walk(spec: GraphSpec, prefix: str) -> None:
        for node in spec.nodes:
            if node.path:
                found.add(prefix + node.path)
            if node.ref_hash:
                walk(root.workflows[node.ref_hash], f"{prefix}{node.path}/")

    walk(root, "")
    return found


def unplaced(workflow: Workflow[Any, Any], events: Iterable[dict[str, Any]]) -> list[str]:
    """Return the node paths of *events*, and of the stages in them, that the graph of *workflow* does not have."""
    known = paths_in(workflow)
    paths: set[str] = set()
    for event in events:
        paths.add(event["node_path"])
        for stage in event["payload"].get("stages", ()) if event["type"] == "stream.passed" else ():
            paths.add(stage["node_path"])
    return sorted(path for path in paths if path and re.sub(r"\[\d+\]", "", path) not in known)
