"""
Tools, the choice between them, and schemas of answers, as OpenAI's two formats have them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from procession.messages.value import Value
from procession.models.formats.openai.strict_schema import strict_schema
from procession.models.loose import as_mapping
from procession.models.model import ModelRequest, ToolChoice, ToolSpec

__all__ = ["OfferedTools", "chat_tools", "named_schema", "responses_tools"]

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64


class OfferedTools(Value):
    """
    The tools that a request offers, which of them is to be called, and what could not be offered as asked.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    choice: Any = None
    """``None`` leaves it to the server, which is ``auto``."""
    warnings: tuple[Mapping[str, Any], ...] = ()


def chat_tools(request: ModelRequest, provider: str) -> OfferedTools:
    """
    Return the tools of a request as Chat Completions have them.

    A tool that *provider* runs goes through as it is; OpenAI's own are for Responses.
    """
    tools: list[Mapping[str, Any]] = []
    warnings: list[Mapping[str, Any]] = []
    left_out: set[str] = set()
    for spec in request.tools:
        if spec.provider_tool is not None:
            own = as_mapping(spec.provider_tool.get(provider) if provider != "openai" else None)
            if own:
                tools.append(own)
            else:
                left_out.add(spec.name)
                warnings.append(_left_out(spec, "Chat Completions has no tools that a provider runs"))
            continue
        parameters, strict = _held(spec, warnings)
        function = {"name": spec.name, "description": spec.description, "parameters": parameters}
        tools.append({"type": "function", "function": function if strict is None else {**function, "strict": strict}})
    name = _chosen(request.tool_choice)
    choice = {"type": "function", "function": {"name": name}} if name else _word(request.tool_choice)
    return _offered(tools, None if name in left_out else choice, warnings)


def responses_tools(request: ModelRequest, provider: str) -> OfferedTools:
    """
    Return the tools of a request as Responses have them; a tool that OpenAI runs goes through as it is.
    """
    tools: list[Mapping[str, Any]] = []
    warnings: list[Mapping[str, Any]] = []
    chosen = _chosen(request.tool_choice)
    choice = {"type": "function", "name": chosen} if chosen else _word(request.tool_choice)
    for spec in request.tools:
        if spec.provider_tool is not None:
            own = as_mapping(spec.provider_tool.get(provider)) or as_mapping(spec.provider_tool.get("openai"))
            if own:
                tools.append(own)
            else:
                warnings.append(_left_out(spec, "there is no definition of it for OpenAI"))
            if spec.name == chosen:
                choice = {"type": own["type"]} if "type" in own else None
            continue
        parameters, strict = _held(spec, warnings)
        # Without the word, this format holds a model to any schema, and refuses most.
        tools.append({
            "type": "function", "name": spec.name, "description": spec.description, "parameters": parameters,
            "strict": strict is True,
        })  # fmt: skip
    return _offered(tools, choice, warnings)


def named_schema(wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    Return the name, the schema and the strictness of a wanted answer, or ``None`` where it has no schema.
    """
    schema = wanted.get("schema")
    if schema is None:
        return None
    strict = strict_schema(schema)
    return {
        "name": _NOT_IN_NAMES.sub("_", str(wanted.get("name") or "answer"))[:_LONGEST_NAME],
        "schema": schema if strict is None else strict,
        "strict": strict is not None,
    }


def _held(spec: ToolSpec, warnings: list[Mapping[str, Any]]) -> tuple[Any, bool | None]:
    """
    Return the schema of a tool's arguments, and whether the model is held to it.
    """
    parameters = spec.parameters or {"type": "object", "properties": {}}
    if not spec.strict:
        return parameters, spec.strict
    closed = strict_schema({**parameters, "additionalProperties": False} if not spec.parameters else parameters)
    if closed is not None:
        return closed, True
    warnings.append({
        "type": "unsupported-setting",
        "setting": f"tools.{spec.name}.strict",
        "details": "the server can hold no model to this schema: arguments are checked when they are there",
    })  # fmt: skip
    return parameters, False


def _left_out(spec: ToolSpec, why: str) -> Mapping[str, Any]:
    return {"type": "unsupported-setting", "setting": f"tools.{spec.name}", "details": f"{why}: the tool is left out"}


def _chosen(choice: ToolChoice) -> Any:
    return None if isinstance(choice, str) else choice.get("tool_name", choice.get("toolName"))


def _word(choice: ToolChoice) -> Any:
    word = choice if isinstance(choice, str) else choice.get("type", "auto")
    return None if word == "auto" else word


def _offered(tools: list[Mapping[str, Any]], choice: Any, warnings: list[Mapping[str, Any]]) -> OfferedTools:
    return OfferedTools(tuple(tools), choice if tools else None, tuple(warnings))
