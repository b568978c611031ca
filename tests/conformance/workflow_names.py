"""
The adapter from our events, records and definitions to the names that the traces of workflows use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from tests.conformance.notation import as_json, error_of
from tests.conformance.scenario import Json, Unknown

from procession.runtime.reference_events import as_reference_events
from procession.workflows.nodes import BranchNode, ForeachNode, LoopNode, MapNode, ParallelNode, SleepNode, StepNode

__all__ = ["events_of", "graph_of", "result_of"]

STATUS: Mapping[str, str] = {"cancelled": "canceled", "blocked": "tripwire"}
CONTAINERS = ("branch", "parallel")
"""The kinds of nodes of which the traces have no events and no records."""
OURS = re.compile(r"(map|sleep)-(\d+)")


def _named(workflow_id: str, step_id: str) -> str:
    """
    Return the traces' name of a map or a sleep, which nobody gave an id, and any other id as it is.
    """
    found = OURS.fullmatch(step_id)
    if found is None:
        return step_id
    return f"mapping_{workflow_id}_{int(found[2]) - 1}" if found[1] == "map" else f"sleep_<id-{found[2]}>"


def _path(path: str) -> str:
    ids = path.split("/")
    workflows = ["wf", *ids]
    return ".".join(_named(workflows[index], each) for index, each in enumerate(ids))


# -- the definition


def graph_of(workflow: Any, suspending: Collection[str]) -> Json:
    """
    Write a committed workflow as a list of its nodes.
    """
    return [_node(node, workflow.id, suspending) for node in workflow.nodes]


def _step(node: StepNode, workflow_id: str, suspending: Collection[str]) -> Json:
    step = node.step
    if step.kind == "map":
        return {"type": "mapping", "id": _named(workflow_id, step.id)}
    if step.body is not None:
        flow = graph_of(step.body, suspending)
        return {"type": "workflow", "id": step.id, "workflow_id": step.id, "step_flow": flow}
    found: dict[str, Json] = {"id": step.id}
    if step.id in suspending:
        found["can_suspend"] = True
    return {"type": "step", "step": found}


def _node(node: Any, workflow_id: str, suspending: Collection[str]) -> Json:
    match node:
        case StepNode():
            return _step(node, workflow_id, suspending)
        case ParallelNode():
            return {"type": "parallel", "steps": [_step(arm, workflow_id, suspending) for arm in node.arms]}
        case BranchNode():
            arms = [arm.node for arm in node.arms]
            return {
                "type": "conditional",
                "steps": [_step(arm, workflow_id, suspending) for arm in arms],
                "condition_ids": [f"{arm.id}-condition" for arm in arms],
            }
        case MapNode():
            return {"type": "mapping", "id": _named(workflow_id, node.id)}
        case ForeachNode():
            body = _step(node.body, workflow_id, suspending)
            return {"type": "foreach", "step": body, "opts": {"concurrency": node.concurrency}}
        case LoopNode():
            return {
                "type": "loop",
                "step": _step(node.body, workflow_id, suspending),
                "condition_id": f"{node.body.id}-condition",
                "loop_type": "dountil" if node.until else "dowhile",
            }
        case SleepNode():
            seconds = node.seconds
            duration = round(seconds * 1000) if isinstance(seconds, (int, float)) else None
            return {"type": "sleep", "id": "sleep_<id>", "duration": duration}
        case _:
            raise Unknown("kind of node", node.kind)


# -- events


async def events_of(run: Any) -> list[Json]:
    """
    Write the events of a run that has ended.
    """
    return [_event(told) async for told in as_reference_events(run.events())]


def _event(told: Mapping[str, Any]) -> Json:
    """
    Write an event of the library's adapter as the traces do: without ids of runs and calls, and without times.
    """
    type = told["type"]
    if type.startswith("data-"):
        return dict(told)
    payload: Mapping[str, Any] = told["payload"]
    found: dict[str, Json] = {"type": type}
    name = payload.get("id", payload.get("stepName"))
    if name is not None:
        found["step"] = _path(name.replace(".", "/"))
    for key, ours in (("status", "status"), ("workflowStatus", "status"), ("output", "output")):
        if key in payload and type != "workflow-step-progress":
            found[ours] = payload[key]
    if type == "workflow-step-start":
        found["input"] = payload["payload"]
    if "error" in payload:
        found["error"] = _error(payload["error"])
    return found


def _error(error: Mapping[str, Any]) -> Json:
    chain: list[str] = []
    seen: Mapping[str, Any] | None = error
    while seen is not None:
        chain.append(seen["message"])
        seen = seen.get("cause")
    return {"name": error["name"], "message": error["message"], "chain": chain}


# -- results


def result_of(result: Any, run: Any, *, stateful: bool, answers: Mapping[str, Json]) -> Json:
    """
    Write the result of a run.
    """
    found: dict[str, Json] = {"status": STATUS.get(result.status, result.status)}
    if result.status == "success":
        found["result"] = as_json(result.output)
    if result.error is not None:
        found["error"] = error_of(result.error)
    if stateful:
        found["state"] = as_json(run.state.shared.values)
    if result.status == "suspended":
        found["suspended"] = [path.split("/") for path in result.suspended]
        found["suspend_payload"] = {path.split("/")[0]: as_json(said) for path, said in result.suspended.items()}
    inputs = {path: record.input for path, record in result.steps.items()}
    found["steps"] = {
        re.sub(r"<id-\d+>", "<id>", _path(path)): _record(record, _last(record, inputs), result.suspended)
        for path, record in result.steps.items()
        if "/" not in path and "[" not in path and record.kind not in CONTAINERS
    }
    for path, answer in answers.items():
        if result.steps[path].status == "success":
            found["steps"][path]["resume_payload"] = as_json(answer)
    return found


def _last(record: Any, inputs: Mapping[str, Any]) -> Any:
    """
    Return what a step was given; a loop in its last round, a foreach that failed for its last item.
    """
    rounds = [path for path in inputs if path.startswith(f"{record.path}[") and path.endswith("]")]
    if rounds and (record.kind == "loop" or record.error is not None):
        return inputs[rounds[-1]]
    return inputs.get(record.path)


def _record(record: Any, given: Any, suspended: Mapping[str, Any]) -> Json:
    found: dict[str, Json] = {"status": STATUS.get(record.status, record.status), "payload": as_json(given)}
    if record.status == "success":
        found["output"] = as_json(record.output)
    elif record.status == "bailed":
        found["output"] = as_json(record.stop.value)
    elif record.status == "suspended":
        found["suspend_payload"] = next(
            (as_json(said) for path, said in suspended.items() if path.split("/")[0] == record.path), None
        )
    if record.error is not None:
        found["error"] = error_of(record.error)
    return found
