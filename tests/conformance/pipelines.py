"""
Processor workflows made of a scenario's setup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from tests.conformance.scenario import Json, Unknown, is_object
from tests.conformance.shapes import ANYTHING, Form, Items, check_form
from tests.conformance.trace import MESSAGE_HOOKS, STEP_HOOKS, Recorder

from procession.processors.adapter import processor_step
from procession.processors.payloads import HookPayload
from procession.workflows.nodes import pick
from procession.workflows.workflow import create_workflow

__all__ = ["build_pipeline"]

PHASES: Mapping[str, str] = {
    "process_input": "input",
    "process_input_step": "inputStep",
    "process_llm_request": "llmRequest",
    "process_llm_response": "llmResponse",
    "process_output_stream": "outputStream",
    "process_output_step": "outputStep",
    "process_tool_result": "toolResult",
    "process_api_error": "apiError",
    "process_output_result": "outputResult",
}
"""The traces' names of the phases."""

PART = (str, Form("a nested workflow", {"workflow": str, "steps": Items(ANYTHING)}))
ARM = Form(
    "an arm",
    {"then": PART},
    {"if_message_contains": str, "unless_message_contains": str, "default": bool},
    called="condition of a branch",
)
NODES: Mapping[str, Form] = {
    "then": Form("then", {"then": PART}),
    "parallel": Form("parallel", {"parallel": Items(PART)}),
    "branch": Form("branch", {"branch": Items(ARM)}),
    "map_select": Form("map_select", {"map_select": str}),
    "map_log": Form("map_log", {"map_log": str}),
}
WORKFLOW = Form("a workflow", {"steps": Items(ANYTHING)}, {"id": str, "workflow": str})


def build_pipeline(spec: Json, resolve: Callable[[str], Any], recorder: Recorder) -> Any:
    """
    Return the committed workflow that a setup describes; *resolve* gives the processors by key.
    """
    check_form(spec, WORKFLOW)
    workflow: Any = create_workflow(str(spec.get("id", spec.get("workflow", "wf"))), kind="processor")
    after = ""
    for node in spec["steps"]:
        workflow = _add(workflow, node, resolve, recorder, after)
        after = next(iter(node))
    return workflow.commit()


def _add(workflow: Any, node: Json, resolve: Callable[[str], Any], recorder: Recorder, after: str) -> Any:
    def part(described: Json) -> Any:
        if is_object(described):
            return build_pipeline(described, resolve, recorder)
        found = resolve(described)
        return found if hasattr(found, "as_step") else processor_step(found)

    kind = next((key for key in node if key in NODES), None) if is_object(node) else None
    if kind is None:
        raise Unknown("node of a workflow", min(node, default="nothing") if is_object(node) else node)
    check_form(node, NODES[kind])
    match kind:
        case "then":
            return workflow.then(part(node["then"]))
        case "parallel":
            return workflow.parallel([part(arm) for arm in node["parallel"]])
        case "branch":
            default: Any = None
            pairs: list[tuple[Callable[[HookPayload], bool], Any]] = []
            for arm in node["branch"]:
                condition = _condition(arm)
                if condition is None:
                    default = part(arm["then"])
                else:
                    pairs.append((condition, part(arm["then"])))
            return workflow.branch(pairs, default=default)
        case "map_select":
            return workflow.map(_selected(f"processor:{resolve(node['map_select']).id}", after))
        case _:
            return workflow.map(_logged(node["map_log"], recorder))


def _selected(key: str, after: str) -> Any:
    """
    Return a map that picks one branch; the arm of a *branch* may not have run, and nothing picked is no change.
    """

    def select(outputs: Mapping[str, HookPayload]) -> HookPayload | None:
        return outputs.get(key)

    return select if after == "branch" else pick(key)


def _condition(arm: Mapping[str, Any]) -> Callable[[HookPayload], bool] | None:
    wanted, unwanted = arm.get("if_message_contains"), arm.get("unless_message_contains")
    if wanted is None and unwanted is None:
        return None

    def holds(payload: HookPayload) -> bool:
        said = [message.text for message in payload.messages] if payload.hook.value in MESSAGE_HOOKS else []
        return (wanted is None or any(wanted in text for text in said)) and (
            unwanted is None or not any(unwanted in text for text in said)
        )

    return holds


def _described(payload: HookPayload) -> Json:
    hook = payload.hook.value
    found: dict[str, Json] = {"phase": PHASES[hook], "has_messages": hook in MESSAGE_HOOKS}
    if hook in MESSAGE_HOOKS:
        found["messages"] = [f"{message.role}: {message.text}" for message in payload.messages]
    if hook in STEP_HOOKS:
        found["step_number"] = payload.step_number
    return found


def _logged(label: str, recorder: Recorder) -> Callable[[Any], Any]:
    def log(value: Any) -> Any:
        if isinstance(value, Mapping):
            keyed = dict(cast("Mapping[str, HookPayload]", value))
            recorder.note(
                {
                    "map": label,
                    "keyed_by": list(keyed),
                    "input_data": {key: _described(payload) for key, payload in keyed.items()},
                }
            )
            return list(keyed.values())[-1] if keyed else None
        recorder.note({"map": label, "input_data": _described(value)})
        return value

    return log
