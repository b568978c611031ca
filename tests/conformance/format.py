"""
The format of a setup: every key that may stand in one, and what may stand there.

What a scenario has beside it is *unknown*, and named: nothing is passed over, also where it would never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from tests.conformance.format_flow import FLOW
from tests.conformance.format_ops import CHOICE, CHUNK, OBJECT, OP, SOURCE, TEXTS
from tests.conformance.scenario import Json, Unknown, is_object
from tests.conformance.shapes import ANYTHING, Each, Form, Items, OneOf, Shape, check_form

from procession.messages.usage import FinishReason
from procession.processors.hooks import HOOK_NAMES

__all__ = ["EVERY_HOOK", "check_setup"]

EVERY_HOOK = "implements every hook; process_api_error returns {retry: true}"
"""How some scenarios describe a processor."""

COUNT = int
MAYBE_COUNT: Shape = (int, type(None))
USAGE = Items((int, type(None)))
FINISH = OneOf((*get_args(FinishReason),))

# -- models and tools

ERROR: Shape = (
    str,
    Form("an error", {"message": str}, {"status": int, "retryable": bool, "kind": OneOf(("plain",))}),
)
TOOL_CALL = Form("a tool call", {"name": str}, {"id": str, "args": ANYTHING, "raw": str, "stream_input": TEXTS})
REPLY = Form(
    "a model's script",
    optional={
        "text": (str, TEXTS),
        "reasoning": (str, TEXTS),
        "tool_calls": Items(TOOL_CALL),
        "finish": FINISH,
        "usage": USAGE,
        "error": ERROR,
        "stream_error": ERROR,
    },
)
MODEL: Shape = (
    Items(REPLY),
    Form("a model", {"script": Items(REPLY)}, {"repeat_last": bool, "provider": str}),
)
TOOL = Form(
    "a tool",
    optional={
        "params": TEXTS,
        "result": ANYTHING,
        "throws": str,
        "client_side": bool,
        "model_output": str,
        "emit": Items(CHUNK),
        "description": str,
    },
)

# -- processors

ON_VIOLATION: Shape = (bool, OneOf(("throw",)))
PROCESSOR: Shape = (
    OneOf((EVERY_HOOK,)),
    Form(
        "a processor",
        optional={
            "id": str,
            "label": str,
            "process_data_parts": bool,
            "process_tool_errors": bool,
            "uses_stream_parts": bool,
            "on_violation": ON_VIOLATION,
            "record_only": TEXTS,
            "brief": bool,
            "hooks": Form("hooks", optional=dict.fromkeys(HOOK_NAMES, Items(OP)), called="hook"),
        },
    ),
)
BUILTIN: Shape = (
    str,
    Form(
        "a built-in",
        {"class": str},
        {"options": ANYTHING, "on_violation": ON_VIOLATION, "observed_costs": Items(ANYTHING)},
    ),
)

# -- the workflow, the agent and its calls

STRUCTURED = Form(
    "structured_output",
    {"fields": TEXTS},
    {"model": str, "errorStrategy": OneOf(("strict", "warn", "fallback")), "fallbackValue": ANYTHING},
)
MEMORY = Each(ANYTHING)
LISTS: Mapping[str, Shape] = {f"{name}_processors": TEXTS for name in ("input", "output", "error")}
AGENT = Form(
    "an agent",
    optional={
        **LISTS,
        **{f"{name}_fn": str for name in LISTS},
        "instructions": str,
        "model": str,
        "tools": TEXTS,
        "max_processor_retries": MAYBE_COUNT,
        "max_steps": COUNT,
        "memory": Form("memory", optional={"options": MEMORY}),
    },
)
OPTIONS = Form(
    "a call's options",
    optional={
        **LISTS,
        "instructions": str,
        "model": str,
        "tools": TEXTS,
        "max_processor_retries": MAYBE_COUNT,
        "max_steps": COUNT,
        "thread": str,
        "resource": str,
        "memory_options": MEMORY,
        "tool_choice": CHOICE,
        "active_tools": TEXTS,
        "model_settings": OBJECT,
        "provider_options": OBJECT,
        "system": (str, Items(ANYTHING), OBJECT),
        "context": (str, Items(ANYTHING), OBJECT),
        "request_context": OBJECT,
        "structured_output": STRUCTURED,
        "prepare_step": Items(OP),
    },
    called="option of a call",
)
CALL = Form(
    "a call",
    {"method": OneOf(("generate", "stream")), "input": (str, Items(ANYTHING), OBJECT)},
    {
        "options": (OPTIONS, type(None)),
        "concurrent": bool,
        "cache_context": OBJECT,
        "resource_id": str,
        "consume": OneOf(("text",)),
    },
)
SCENARIO = Form(
    "a setup",
    optional={
        "models": Each(MODEL),
        "tools": Each(TOOL),
        "processors": Each(PROCESSOR),
        "builtin_processors": Each(BUILTIN),
        "workflow": OBJECT,
        "agent": AGENT,
        "calls": Items(CALL),
        "record": OneOf(("full", "mid", "brief")),
        "capture_logs": bool,
        "texts": TEXTS,
    },
)

# -- operations on a message list

MESSAGE_LIST = Form("a setup", {"ops": Items(OBJECT)})
OPERATIONS: Mapping[str, Form] = {
    "add": Form("add", {"add": (str, Items(ANYTHING), OBJECT)}, {"source": SOURCE}),
    "add_system": Form("add_system", {"add_system": (str, Items(ANYTHING), OBJECT)}, {"tag": str}),
    "remove_ids": Form("remove_ids", {"remove_ids": TEXTS}),
    "update_tool": Form(
        "update_tool",
        {
            "update_tool": Form(
                "a tool call",
                {"state": str, "toolCallId": str, "toolName": str},
                {"args": ANYTHING, "result": ANYTHING, "errorText": str},
            )
        },
    ),
    "drain": Form("drain", {"drain": bool}),
    "view": Form("view", {"view": str}),
    "prompt": Form("prompt", {"prompt": bool}),
    "system": Form("system", {"system": bool}, {"tag": str}),
}


def check_setup(setup: Mapping[str, Json]) -> None:
    """
    Raise ``Unknown`` for the first thing in a setup that the format does not have.
    """
    if "ops" in setup:
        check_form(setup, MESSAGE_LIST)
        for operation in setup["ops"]:
            kind = next((key for key in operation if key in OPERATIONS), None)
            if kind is None:
                raise Unknown("operation on a message list", min(operation, default="nothing"))
            check_form(operation, OPERATIONS[kind])
        return
    if "flow" in setup:
        return check_form(setup, FLOW)
    check_form(setup, SCENARIO)
    if is_object(setup.get("workflow")) and "steps" not in setup["workflow"]:
        raise Unknown("workflow", setup["workflow"])
