"""
The adapter from our events, records and definitions to the names that the traces of workflows use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from tests.conformance.chunks import chunk_of
from tests.conformance.notation import as_json, error_of
from tests.conformance.scenario import Json, Unknown

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


# -- inputs: what a step was given is what the one before it gave


class _Inputs:
    """
    The input of every path of a run, worked out from the definition and the records.
    """

    def __init__(self, run: Any, workflow: Any) -> None:
        self.records: Mapping[str, Any] = run.state.records
        self.found: dict[str, Any] = {}
        self._flow(workflow.nodes, run.state.init_data, "")

    def _output(self, path: str) -> Any:
        record = self.records.get(path)
        return record.output if record is not None else None

    def _enter(self, node: Any, path: str, value: Any) -> None:
        self.found[path] = value
        body = getattr(node.step, "body", None)
        if body is not None:
            self._flow(body.nodes, value, f"{path}/")

    def _flow(self, nodes: Any, value: Any, prefix: str) -> None:
        for node in nodes:
            path = prefix + node.id
            match node:
                case ParallelNode() | BranchNode():
                    for arm in node.children:
                        self._enter(arm, prefix + arm.id, value)
                    value = {
                        arm.id: self._output(prefix + arm.id)
                        for arm in node.children
                        if prefix + arm.id in self.records
                    }
                case StepNode():
                    self._enter(node, path, value)
                    value = self._output(path)
                case LoopNode() | ForeachNode():
                    self.found[path] = value
                    given = value
                    for index in range(len(self.records)):
                        inner = f"{path}[{index}]"
                        if inner in self.records:
                            item = isinstance(node, ForeachNode)
                            self._enter(node.body, inner, value[index] if item else given)
                            given = self._output(inner)
                    value = self._output(path)
                case _:
                    self.found[path] = value
                    value = self._output(path)


# -- events


async def events_of(run: Any, workflow: Any) -> list[Json]:
    """
    Write the events of a run that has ended.
    """
    inputs = _Inputs(run, workflow).found
    kinds = {path: record.kind for path, record in run.state.records.items()}
    loops = {path for path, kind in kinds.items() if kind == "loop"}
    found: list[Json] = []
    async for event in run.events():
        if kinds.get(event.path) not in CONTAINERS:
            found += _event(event, inputs, loops)
    return found


def _event(event: Any, inputs: Mapping[str, Any], loops: Collection[str]) -> list[Json]:
    payload: Mapping[str, Any] = event.payload
    inside, _, _ = event.path.rpartition("[") if event.path.endswith("]") else ("", "", "")
    if event.path in loops or (inside and inside not in loops):
        return []
    step = _path(re.sub(r"\[\d+\]", "", event.path))
    result: dict[str, Json] = {"type": "workflow-step-result", "step": step}
    match event.type:
        case "run.started":
            return [{"type": "workflow-start"}]
        case "node.started" if payload.get("kind") == "sleep":
            return [{"type": "workflow-step-waiting", "step": step, "status": "waiting"}]
        case "node.started":
            given = as_json(inputs.get(event.path))
            return [{"type": "workflow-step-start", "step": step, "status": "running", "input": given}]
        case "node.output":
            return _output(payload, step)
        case "foreach.progress":
            return [{"type": "workflow-step-progress", "step": step}]
        case "node.completed":
            status = "bailed" if "bailed" in payload else "success"
            return [result | {"status": status, "output": as_json(payload["output"])}]
        case "node.failed":
            return [result | {"status": "failed", "error": error_of(payload["error"])}]
        case "node.blocked":
            return [result | {"status": "failed"}]
        case "node.cancelled":
            return [result | {"status": "canceled"}]
        case "node.suspended":
            return [{"type": "workflow-step-suspended", "step": step, "status": "suspended"}]
        case "run.finished" | "run.suspended":
            status = STATUS.get(str(payload["status"]), str(payload["status"]))
            finish: list[Json] = [{"type": "workflow-finish", "status": status, "output": {}}]
            return [{"type": "workflow-canceled"}, *finish] if status == "canceled" else finish
        case _:
            return []


def _output(payload: Mapping[str, Any], step: str) -> list[Json]:
    chunk = payload.get("chunk", payload.get("output"))
    if getattr(chunk, "type", "") == "workflow-step-output":
        return [{"type": "workflow-step-output", "step": step, "output": as_json(chunk.output)}]
    return [chunk_of(chunk)] if hasattr(chunk, "type") else []


# -- results


def result_of(result: Any, run: Any, workflow: Any, *, stateful: bool) -> Json:
    """
    Write the result of a run.
    """
    found: dict[str, Json] = {"status": STATUS.get(result.status, result.status)}
    if result.status == "success":
        found["result"] = as_json(result.output)
    if result.error is not None:
        found["error"] = error_of(result.error)
    if stateful:
        found["state"] = as_json(run.state.state)
    if result.status == "suspended":
        found["suspended"] = [path.split("/") for path in result.suspended]
        found["suspend_payload"] = {path.split("/")[0]: as_json(said) for path, said in result.suspended.items()}
    inputs = _Inputs(run, workflow).found
    found["steps"] = {
        re.sub(r"<id-\d+>", "<id>", _path(path)): _record(record, _last(record, inputs), result.suspended)
        for path, record in result.steps.items()
        if "/" not in path and "[" not in path and record.kind not in CONTAINERS
    }
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
