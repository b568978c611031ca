"""
Recorder: what a run did, written down as the traces have it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.chunks import chunk_of
from tests.conformance.notation import (
    as_json,
    error_of,
    message_text,
    prompt_text,
    settings_of,
    shown_text,
    step_texts,
    tool_choice_of,
    usage_of,
)
from tests.conformance.scenario import Json, Unknown, is_object, mapping

from procession.models.model import ModelRequest

__all__ = ["MESSAGE_HOOKS", "STEP_HOOKS", "Recorder", "Watch"]

STEP_HOOKS = frozenset({
    "process_input_step", "process_llm_request", "process_llm_response", "process_output_step",
    "process_tool_result", "process_api_error",
})  # fmt: skip
MESSAGE_HOOKS = frozenset({
    "process_input", "process_input_step", "process_output_step", "process_tool_result", "process_output_result",
    "process_api_error",
})  # fmt: skip
CALL_SETTINGS: Mapping[str, str] = {"max_tokens": "max_output_tokens", "stop": "stop_sequences"}
"""Our names of settings that have another one in a model call of a trace."""
SYSTEM_HOOKS = frozenset({"process_input", "process_input_step", "process_output_step", "process_tool_result"})


@dataclass(frozen=True, slots=True)
class Watch:
    """
    How the invocations of one processor are recorded.
    """

    label: str
    brief: bool = False
    only: Collection[str] | None = None
    """The chunk types for which ``process_output_stream`` is recorded."""
    stream_parts: bool = False
    """Whether it reads ``ctx.stream_parts``."""


@dataclass(slots=True)
class Recorder:
    """
    The timeline and the model calls of one scenario, at one level of detail: full, mid or brief.
    """

    level: str = "full"
    timeline: list[Json] = field(default_factory=list[Json])
    model_calls: list[Json] = field(default_factory=list[Json])
    unknown: Unknown | None = None
    """What a hook met that the runner does not know: the agent wraps what a hook raises."""

    def hook(self, watch: Watch, hook: str, ctx: Any, stream_calls: int) -> None:
        """
        Record that *hook* of a processor was called with *ctx*.
        """
        entry: dict[str, Json] = {"processor": watch.label, "hook": hook}
        level = "brief" if watch.brief else self.level
        if hook == "process_output_stream":
            part = chunk_of(ctx.chunk, client=False)
            if watch.only is not None and part["type"] not in watch.only:
                return
            entry["part"] = part
            if ctx.retry_count > 0:
                entry["retry_count"] = ctx.retry_count
            if watch.stream_parts:
                entry |= {"stream_parts": len(ctx.stream_parts), "stream_calls": stream_calls}
        else:
            if hook in STEP_HOOKS:
                entry["step"] = ctx.step_number
            entry["retry_count"] = ctx.retry_count
            if level != "brief":
                entry |= self._shown(hook, ctx)
        if level == "full":
            entry |= self._fully(hook, ctx)
        self.timeline.append(entry)

    def _shown(self, hook: str, ctx: Any) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if hook in MESSAGE_HOOKS:
            found["messages"] = [message_text(message) for message in ctx.view]
        match hook:
            case "process_llm_request":
                found["prompt"] = [prompt_text(entry) for entry in ctx.prompt]
            case "process_llm_response":
                found["from_cache"] = ctx.from_cache
                found["chunk_types"] = [chunk.type for chunk in ctx.chunks]
            case "process_output_step":
                found |= {"text": ctx.text, "finish_reason": ctx.finish_reason, "usage": usage_of(ctx.usage)}
                found["shown_text"] = step_texts(ctx.view, ctx.steps[-1].text)
                if ctx.tool_calls:
                    found["tool_calls"] = [
                        {"tool_name": call.tool_name, "tool_call_id": call.tool_call_id, "args": as_json(call.args)}
                        for call in ctx.tool_calls
                    ]
            case "process_tool_result":
                found |= {"tool_name": ctx.tool_name, "tool_call_id": ctx.tool_call_id}
                found |= {"args": as_json(ctx.args), "result": as_json(ctx.result)}
            case "process_output_result":
                result = ctx.result
                found["result"] = {
                    "text": result.text,
                    "finish_reason": result.finish_reason,
                    "steps": len(result.steps),
                    "usage": usage_of(result.usage),
                }
                found["shown_text"] = [shown_text(ctx.view)]
            case "process_api_error":
                found["error"] = error_of(ctx.error)
            case _:
                pass
        return found

    def _fully(self, hook: str, ctx: Any) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if hook in SYSTEM_HOOKS:
            found["system"] = [message.text for message in ctx.system_messages]
        if hook in STEP_HOOKS:
            found["steps_so_far"] = len(ctx.steps)
        if hook == "process_input_step":
            found |= {"model": model_name(ctx.model), "tool_choice": tool_choice_of(ctx.tool_choice)}
            found |= {"tools": list(ctx.tools), "model_settings": settings_of(ctx.model_settings)}
            if ctx.active_tools is not None:
                found["active_tools"] = list(ctx.active_tools)
            if ctx.provider_options:
                found["provider_options"] = as_json(ctx.provider_options)
        if ctx.state:
            found["state"] = as_json(ctx.state)
        return found

    def model_call(self, name: str, call: int, request: ModelRequest) -> None:
        """
        Record what reached a model.
        """
        self.timeline.append({"model_call": f"{name}#{call}"})
        entry: dict[str, Json] = {
            "model": name,
            "call": call,
            "kind": "stream" if request.streaming else "generate",
            "prompt": [prompt_text(message) for message in request.messages],
        }
        if request.tools:
            entry["tools"] = [tool.name for tool in request.tools]
        if request.tools or request.tool_choice != "auto":
            choice = tool_choice_of(request.tool_choice)
            entry["tool_choice"] = choice if is_object(choice) else {"type": choice}
        for name, value in mapping(request.settings).items():
            if value is not None and name != "max_retries":
                entry[CALL_SETTINGS.get(name, name)] = as_json(value)
        if request.provider_options:
            entry["provider_options"] = as_json(request.provider_options)
        if request.response_format is not None:
            entry["response_format"] = request.response_format.get("type")
        self.model_calls.append(entry)

    def note(self, entry: Mapping[str, Json]) -> None:
        """
        Record something else than a hook: a tool that runs, a chunk that is emitted, a map.
        """
        self.timeline.append(dict(entry))


def model_name(model: Any) -> str:
    """
    Return the scenario's name of a model.
    """
    return str(getattr(model, "id", model)).rpartition("/")[2]
