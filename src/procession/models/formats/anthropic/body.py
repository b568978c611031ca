"""
A request as the body of Anthropic's Messages: pure functions, no network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from procession.models.formats.anthropic.models import knows_output_format, most_output_tokens
from procession.models.formats.anthropic.prompt import ANTHROPIC, cache_control_of, joined, messages_piece
from procession.models.formats.anthropic.schema import held_schema
from procession.models.loose import as_list, as_mapping
from procession.models.model import CALL_SETTINGS, ModelRequest, ToolChoice, ToolSpec
from procession.models.pieces import changes_of, pieces_of

__all__ = ["ANSWER_TOOL", "StructuredOutput", "messages_body", "options_of"]

StructuredOutput: TypeAlias = Literal["json_schema", "tool", "words"]
"""How a model is asked for JSON: held to the schema, by a tool that it must call, or in a system message."""

ANSWER_TOOL = "answer_in_json"
"""The tool whose arguments are the answer, where a model is asked for JSON by a tool."""

SAMPLING = frozenset({"temperature", "top_k", "top_p"})
"""Settings that versions of the API before 2026-10-21 take."""
_TAKEN = frozenset({
    "cache_control", "container", "diagnostics", "inference_geo", "metadata", "output_config", "service_tier", "speed",
    "thinking", "user_profile_id",
})  # fmt: skip
_MARKS = 4
"""How many places of a request may be marked for the cache."""

Warnings: TypeAlias = list[Mapping[str, Any]]


def messages_body(
    request: ModelRequest,
    *,
    model: str,
    provider: str = ANTHROPIC,
    structured_output: StructuredOutput | None = None,
    takes_sampling: bool = False,
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    """
    Return the body of a streamed call, and what of *request* cannot be sent as it is, as hooks are told (``ctx.warnings``).

    Without a setting ``max_tokens`` an answer may be as long as *model* can make it.  Settings that the format does not
    know are left out and reported; ``provider_options`` go last and may replace anything.

    >>> from procession.messages.parts import TextPart
    >>> from procession.messages.prompt import PromptMessage
    >>> request = ModelRequest(messages=[PromptMessage("user", (TextPart("Hi"),))], settings={"seed": 1})
    >>> body, warnings = messages_body(request, model="claude-haiku-5-5")
    >>> body["max_tokens"], warnings[0]["setting"]
    (128000, 'seed')
    """
    pieces = pieces_of(request.messages, messages_piece, memo=request.memo, key=ANTHROPIC)
    system, messages, changes = joined(pieces)
    warnings = [*changes_of(pieces), *changes]
    options = options_of(request, provider)
    body: dict[str, Any] = {"model": model, "max_tokens": most_output_tokens(model), "messages": messages}
    tools = _tools(request.tools, provider, warnings)
    choice = _tool_choice(request.tool_choice)
    if len(tools) < len(request.tools) and "name" in choice and all(tool["name"] != choice["name"] for tool in tools):
        choice = {"type": "auto"}  # it was left out, and to ask for it would be refused
    if request.response_format is not None:
        way = structured_output or ("json_schema" if knows_output_format(model) else "tool")
        if way == "tool" and _thinks(request.settings or {}, options):
            way = "words"  # a model that thinks can be made to call no tool
        schema = request.response_format.get("schema")
        held = held_schema(schema) if way == "json_schema" else None
        if held is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": held}}
        elif way == "tool" and as_mapping(schema).get("type") == "object":
            tools.append({"name": ANSWER_TOOL, "description": "Gives the answer.", "input_schema": schema})
            choice = {"type": "any", "disable_parallel_tool_use": True}
        else:
            system.append({"type": "text", "text": _wish(schema)})
            warnings.append(_in_words(schema))
    if tools:
        body["tools"] = tools
        if options.get("disable_parallel_tool_use", options.get("disableParallelToolUse")) and choice["type"] != "none":
            choice = {**choice, "disable_parallel_tool_use": True}
        if choice != {"type": "auto"}:
            body["tool_choice"] = choice
    _mark(system, tools, cache_control_of(options))
    if system:
        body["system"] = system
    _take_settings(body, request.settings or {}, takes_sampling, warnings)
    body["messages"] = _without_surplus_marks(messages, [*tools, *system], warnings)
    _take_options(body, options)
    return {**body, "stream": True}, tuple(warnings)


def options_of(request: ModelRequest, provider: str) -> Mapping[str, Any]:
    """
    Return what ``provider_options`` say to the format and, above it, to the *provider*.
    """
    given = request.provider_options or {}
    return {**as_mapping(given.get(ANTHROPIC)), **as_mapping(given.get(provider))}


# --- settings and options ----------------------------------------------------------


def _take_settings(body: dict[str, Any], settings: Mapping[str, Any], takes_sampling: bool, warnings: Warnings) -> None:
    for key, value in settings.items():
        if key in CALL_SETTINGS or value is None:
            continue
        if key == "max_tokens":
            body["max_tokens"] = value
        elif key == "stop":
            body["stop_sequences"] = [value] if isinstance(value, str) else list(as_list(value))
        elif key == "output_config":
            body[key] = {**as_mapping(body.get(key)), **as_mapping(value)}
        elif key in _TAKEN or (takes_sampling and key in SAMPLING):
            body[key] = value
        else:
            details = "Anthropic has no such setting"
            if key in SAMPLING:
                details = 'Anthropic takes it in older versions of its API alone: AnthropicModel(version="2023-06-01")'
            warnings.append({"type": "unsupported-setting", "setting": key, "details": details})


def _thinks(settings: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    thinking = as_mapping(options.get("thinking", settings.get("thinking")))
    return thinking.get("type") in ("enabled", "adaptive")


_OWN_OPTIONS = frozenset({
    "betas", "cacheControl", "cache_control", "disableParallelToolUse", "disable_parallel_tool_use", "effort",
})  # fmt: skip
"""Options that are no fields of the body."""


def _take_options(body: dict[str, Any], options: Mapping[str, Any]) -> None:
    for key, value in options.items():
        if key == "thinking":
            budget = as_mapping(value).get("budgetTokens")
            rest = {name: entry for name, entry in as_mapping(value).items() if name != "budgetTokens"}
            body[key] = {**rest, "budget_tokens": budget} if budget is not None else value
        elif key == "output_config":
            body[key] = {**as_mapping(body.get(key)), **as_mapping(value)}
        elif key not in _OWN_OPTIONS:
            body[key] = value
    if options.get("effort") is not None:
        body["output_config"] = {**as_mapping(body.get("output_config")), "effort": options["effort"]}


# --- tools and JSON ------------------------------------------------------------------


def _tools(specs: Sequence[ToolSpec], provider: str, warnings: Warnings) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    for spec in specs:
        if spec.provider_tool is None:
            tools.append(_tool(spec, warnings))
            continue
        own = as_mapping(spec.provider_tool.get(provider)) or as_mapping(spec.provider_tool.get(ANTHROPIC))
        if own:
            tools.append({"name": spec.name, **own})
        else:
            warnings.append({"type": "other", "message": f"Anthropic does not run the tool {spec.name!r}: left out"})
    return tools


def _tool(spec: ToolSpec, warnings: Warnings) -> dict[str, Any]:
    schema = spec.parameters or {"type": "object", "properties": {}}
    tool: dict[str, Any] = {"name": spec.name, "input_schema": {"type": "object", **schema}}
    if spec.description:
        tool["description"] = spec.description
    if spec.strict:
        held = held_schema(schema)
        if held is not None:
            tool |= {"input_schema": held, "strict": True}
        else:
            details = f"a model cannot be held to the schema of the tool {spec.name!r}"
            warnings.append({"type": "unsupported-setting", "setting": "strict", "details": details})
    return tool


def _tool_choice(choice: ToolChoice) -> dict[str, Any]:
    if isinstance(choice, str):
        return {"type": "any" if choice == "required" else choice}
    name = choice.get("tool_name", choice.get("toolName"))
    return {"type": "tool", "name": name} if name else dict(choice)


def _wish(schema: Any) -> str:
    if schema is None:
        return "Answer with one JSON object and nothing else."
    words = json.dumps(schema, ensure_ascii=False, default=str)
    return f"Answer with JSON that fits this JSON schema, and nothing else: {words}"


def _in_words(schema: Any) -> Mapping[str, Any]:
    return {
        "type": "unsupported-setting",
        "setting": "response_format.schema" if schema is not None else "response_format",
        "details": "the model cannot be held to it: it is asked for JSON in a system message",
    }


# --- the cache -------------------------------------------------------------------------


def _mark(system: list[dict[str, Any]], tools: list[dict[str, Any]], mark: Mapping[str, Any]) -> None:
    """
    Mark the end of the system messages, to which the tools before them belong; without any, the end of the tools.
    """
    last = system or tools
    if mark and last:
        last[-1] = {**last[-1], "cache_control": dict(mark)}


def _without_surplus_marks(
    messages: list[dict[str, Any]], before: Sequence[Mapping[str, Any]], warnings: Warnings
) -> list[dict[str, Any]]:
    """
    Return *messages* with at most four marks in the request, the last ones: Anthropic refuses more.
    """
    marked = [
        (at, index)
        for at, message in enumerate(messages)
        for index, block in enumerate(message["content"])
        if "cache_control" in block
    ]
    surplus = marked[: max(0, len(marked) + sum("cache_control" in block for block in before) - _MARKS)]
    if not surplus:
        return messages
    warnings.append(
        {"type": "other", "message": f"Anthropic takes {_MARKS} marks for the cache: the first are not sent"}
    )
    made = list(messages)
    for at, index in surplus:
        content = list(made[at]["content"])
        content[index] = {key: value for key, value in content[index].items() if key != "cache_control"}
        made[at] = {**made[at], "content": content}
    return made
