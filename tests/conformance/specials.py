"""
Scenarios of a shape of their own, recognised by their setup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import anyio
from tests.conformance.agent_area import Stage
from tests.conformance.counter import estimate_message
from tests.conformance.format import EVERY_HOOK
from tests.conformance.scenario import Json, listing, mapping

from procession.processors.hooks import HOOK_NAMES

__all__ = ["special_form"]

FRAMEWORK = frozenset({
    "apart", "drafts", "hook", "leave_behind", "note", "owner", "processor_id", "report", "scope", "shown",
    "speak_for", "verdict", "violated",
})  # fmt: skip
"""What a context has for the runtime and for the library's own processors."""

Form = Callable[[Mapping[str, Json]], Any]


def special_form(setup: Mapping[str, Json]) -> Form | None:
    """
    Return what runs a scenario of this setup, where it is no usual one.
    """
    if "texts" in setup:
        return _token_estimates
    if EVERY_HOOK in mapping(setup.get("processors")).values():
        return _argument_keys
    calls: list[Mapping[str, Json]] = listing(setup.get("calls"))
    if any(call.get("concurrent") for call in calls):
        return _concurrent
    if not calls and "workflow" in setup:
        return _registered
    return None


async def _token_estimates(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    The counter's own test: each text as a system message.  There is no such message for an empty text.
    """
    pairs = [[text, round(estimate_message("system", text), 9) if text else 0] for text in setup["texts"]]
    return {"text_and_system_tokens": pairs}


async def _argument_keys(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    The fields of the context that each hook is given.
    """
    stage = Stage(setup)
    shown: dict[str, list[list[str]]] = {}

    def watch(hook: str, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def called(ctx: Any) -> Any:
            names = [name for name in dir(ctx) if not name.startswith("_") and name not in FRAMEWORK]
            if names not in shown.setdefault(hook, []):
                shown[hook].append(names)
            return await method(ctx)

        return called

    for key, described in mapping(setup.get("processors")).items():
        if described == EVERY_HOOK:
            processor_class = cast("Any", type(stage.processor(key)))
            for hook in HOOK_NAMES:
                setattr(processor_class, hook, staticmethod(watch(hook, getattr(processor_class, hook))))
    stage = _rebuilt(stage)
    for call in listing(setup.get("calls")):
        await stage.call(call)
    if stage.recorder.unknown is not None:
        raise stage.recorder.unknown
    return {"argument_keys": shown}


def _rebuilt(stage: Stage) -> Stage:
    """
    Make the agent again, now that its processors are watched.
    """
    spec: Mapping[str, Json] = mapping(stage.setup.get("agent"))
    stage.agent = type(stage.agent)("agent", **stage.agent_options(spec))
    return stage


async def _concurrent(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Calls at the same time on one agent: what ``process_output_result`` saw, by text.
    """
    stage = Stage(setup)
    async with anyio.create_task_group() as group:
        for call in setup["calls"]:
            group.start_soon(stage.call, call)
    if stage.recorder.unknown is not None:
        raise stage.recorder.unknown
    seen: list[dict[str, Json]] = []
    for entry in stage.recorder.timeline:
        if entry.get("hook") == "process_output_result":
            state: Mapping[str, Json] = mapping(entry.get("state"))
            seen.append({"text": entry["result"]["text"], **{f"state_{key}": value for key, value in state.items()}})
    return {"process_output_result": sorted(seen, key=lambda each: str(each["text"]))}


async def _registered(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    The workflows that an agent's lists are registered as (D3), and the processors in them.
    """
    stage = Stage(setup)
    spec: Mapping[str, Json] = mapping(setup.get("agent"))
    used = {name for name in ("input", "output", "error") if spec.get(f"{name}_processors")}
    found = [workflow for workflow in stage.agent.processor_workflows if workflow.id.split("-")[1] in used]
    return {
        "workflow_keys": [workflow.id for workflow in found],
        "workflows": [{"id": workflow.id, "steps": [node.id for node in workflow.nodes]} for workflow in found],
        "processor_keys": [node.id.removeprefix("processor:") for workflow in found for node in workflow.nodes],
    }
