"""
Processor workflows made of a scenario's setup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from tests.conformance.scenario import Json, Unknown, is_object
from tests.conformance.trace import Recorder

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


def build_pipeline(spec: Json, resolve: Callable[[str], Any], recorder: Recorder) -> Any:
    """
    Return the committed workflow that a setup describes; *resolve* gives the processors by key.
    """
    if not is_object(spec) or "steps" not in spec:
        raise Unknown("workflow", spec)
    workflow: Any = create_workflow(str(spec.get("id", spec.get("workflow", "wf"))), kind="processor")
    for node in spec["steps"]:
        workflow = _add(workflow, node, resolve, recorder)
    return workflow.commit()


def _add(workflow: Any, node: Json, resolve: Callable[[str], Any], recorder: Recorder) -> Any:
    def part(described: Json) -> Any:
        if is_object(described):
            return build_pipeline(described, resolve, recorder)
        found = resolve(described)
        return found if hasattr(found, "as_step") else processor_step(found)

    match node:
        case {"then": described}:
            return workflow.then(part(described))
        case {"parallel": arms}:
            return workflow.parallel([part(arm) for arm in arms])
        case {"branch": arms}:
            default: Any = None
            pairs: list[tuple[Callable[[HookPayload], bool], Any]] = []
            for arm in arms:
                condition = _condition(arm)
                if condition is None:
                    default = part(arm["then"])
                else:
                    pairs.append((condition, part(arm["then"])))
            return workflow.branch(pairs, default=default)
        case {"map_select": key}:
            return workflow.map(pick(f"processor:{key}"))
        case {"map_log": label}:
            return workflow.map(_logged(label, recorder))
        case _:
            raise Unknown("node of a workflow", sorted(node) if is_object(node) else node)


def _condition(arm: Mapping[str, Any]) -> Callable[[HookPayload], bool] | None:
    unknown = set(arm) - {"if_message_contains", "default", "unless_message_contains", "then"}
    if unknown:
        raise Unknown("condition of a branch", min(unknown))
    if "if_message_contains" in arm:
        return lambda payload: _mentions(payload, arm["if_message_contains"])
    if "unless_message_contains" in arm:
        return lambda payload: not _mentions(payload, arm["unless_message_contains"])
    return None


def _mentions(payload: HookPayload, text: str) -> bool:
    return any(text in message.text for message in payload.messages)


def _described(payload: HookPayload) -> Json:
    found: dict[str, Json] = {
        "phase": PHASES.get(payload.hook.value, payload.hook.value),
        "has_messages": True,
        "messages": [f"{message.role}: {message.text}" for message in payload.messages],
    }
    if payload.hook.value != "process_input" and payload.hook.value != "process_output_result":
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
