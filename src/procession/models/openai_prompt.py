"""
A request as the body of OpenAI's Chat Completions: pure functions, no network.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal

from procession.errors import InputError
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.value import Value
from procession.models.loose import as_list, as_mapping
from procession.models.model import CALL_SETTINGS, ModelRequest, ToolChoice, ToolSpec
from procession.models.pieces import Piece, changes_of, pieces_of
from procession.models.strict_schema import strict_schema

__all__ = ["chat_body", "chat_piece"]

StructuredOutput = Literal["json_schema", "json_object"]
"""How a server is asked for JSON: with the schema, or without it where it knows none."""

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_SCHEMA_IN_WORDS = {
    "type": "unsupported-setting",
    "setting": "response_format.schema",
    "details": "the server knows no JSON schema: the model is asked to fit it in a system message",
}
_FILES_LEFT_OUT = {"type": "other", "message": "files that a model made are not sent"}
_SIGNED_LEFT_OUT = {"type": "other", "message": "reasoning that another provider signed is not sent"}
_RUN_LEFT_OUT = {"type": "other", "message": "what tools of a provider did is not sent"}
_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def chat_body(
    request: ModelRequest,
    *,
    model: str,
    provider: str = "openai",
    system_role: str = "system",
    max_tokens_key: str = "max_tokens",
    structured_output: StructuredOutput = "json_schema",
    include_usage: bool = True,
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    """
    Return the body of a streamed call, and what of *request* cannot be sent as it is, as hooks are told (``ctx.warnings``).

    Settings that are not ours go through as they are; ``provider_options[provider]`` goes last and may replace
    anything.

    >>> wanted = {"type": "json", "schema": {"type": "object"}}
    >>> request = ModelRequest(messages=(), response_format=wanted)
    >>> chat_body(request, model="m", structured_output="json_object")[1][0]["setting"]
    'response_format.schema'
    """
    pieces = pieces_of(
        request.messages, lambda message: chat_piece(message, system_role), memo=request.memo, key=f"chat:{system_role}"
    )
    warnings: list[Mapping[str, Any]] = []
    messages = [entry for piece in pieces for entry in piece.entries]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if include_usage:
        body["stream_options"] = {"include_usage": True}
    left_out = {spec.name: _tool_left_out(spec) for spec in request.tools if spec.provider_tool is not None}
    warnings.extend(left_out.values())
    tools = [_tool(spec) for spec in request.tools if spec.provider_tool is None]
    if tools:
        body["tools"] = tools
        if request.tool_choice != "auto" and _chosen(request.tool_choice) not in left_out:
            body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.response_format is not None:
        body["response_format"] = _response_format(request.response_format, structured_output)
        if structured_output == "json_object" and request.response_format.get("schema") is not None:
            wish = f"Answer with one JSON object that fits this JSON schema: {_json(request.response_format['schema'])}"
            messages.insert(0, {"role": system_role, "content": wish})
            warnings.append(_SCHEMA_IN_WORDS)
    for key, value in (request.settings or {}).items():
        if key not in CALL_SETTINGS and value is not None:
            body[max_tokens_key if key == "max_tokens" else key] = value
    body.update(as_mapping((request.provider_options or {}).get(provider)))
    return body, (*warnings, *changes_of(pieces))


def chat_piece(message: PromptMessage, system_role: str = "system") -> Piece:
    """
    Return one entry of a prompt as Chat Completions' messages.

    Left out, since the format has no place for it: reasoning, files that a model made, and what a provider's own
    tools did.

    Raises ``InputError`` for a file that cannot be sent, naming its type.
    """
    if message.role == "system":
        return Piece(({"role": system_role, "content": message.text},))
    if message.role == "user":
        return Piece(({"role": "user", "content": _user_content(message.content)},))
    if message.role == "tool":
        return Piece(tuple(_tool_results(message.content)))
    entry = _assistant(message)
    changes = [change for part in message.content if (change := _left_out(part)) is not None]
    return Piece(() if entry is None else (entry,), tuple(changes))


def _left_out(part: PromptPart) -> Mapping[str, Any] | None:
    if isinstance(part, FilePart):
        return _FILES_LEFT_OUT
    if isinstance(part, ReasoningPart):
        return _SIGNED_LEFT_OUT if part.signature or part.redacted or part.provider_metadata else None
    if isinstance(part, PromptToolCall):
        return _RUN_LEFT_OUT if part.provider_executed else None
    return None


def _user_content(parts: Sequence[PromptPart]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, FilePart):
            content.append(_file(part))
    return content or ""


def _file(part: FilePart) -> dict[str, Any]:
    kind = part.media_type
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": _url(part)}}
    if kind in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": _base64(part), "format": _AUDIO[kind]}}
    if kind == "application/pdf":
        return {"type": "file", "file": {"filename": part.filename or "document.pdf", "file_data": _url(part)}}
    if kind.startswith("text/") and isinstance(part.data, bytes):
        return {"type": "text", "text": part.data.decode("utf-8", "replace")}
    raise InputError(
        f"a file of type {kind!r} cannot be sent to an OpenAI-compatible model",
        hint="images, WAV, MP3, PDF and text can; read other files with a tool",
    )


def _url(part: FilePart) -> str:
    if isinstance(part.data, str) and part.data.startswith(("http://", "https://", "data:")):
        return part.data
    return f"data:{part.media_type};base64,{_base64(part)}"


def _base64(part: FilePart) -> str:
    if isinstance(part.data, bytes):
        return base64.b64encode(part.data).decode("ascii")
    if part.data.startswith(("http://", "https://")):
        raise InputError(
            f"a file of type {part.media_type!r} cannot be sent as a URL", hint="download it and give its bytes"
        )
    return part.data.partition(",")[2] if part.data.startswith("data:") else part.data


def _assistant(message: PromptMessage) -> dict[str, Any] | None:
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": _arguments(part.args)},
        }
        for part in message.content
        if isinstance(part, PromptToolCall) and not part.provider_executed
    ]
    text = message.text
    if calls:
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    only_thoughts = all(not isinstance(part, TextPart) for part in message.content)
    if only_thoughts and any(isinstance(part, (ReasoningPart, PromptToolCall)) for part in message.content):
        return None
    return {"role": "assistant", "content": text}


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else _json(args)


def _tool_results(parts: Sequence[PromptPart]) -> list[dict[str, Any]]:
    return [
        {"role": "tool", "tool_call_id": part.tool_call_id, "content": _output(part.output)}
        for part in parts
        if isinstance(part, PromptToolResult)
    ]


def _output(output: Mapping[str, Any]) -> str:
    kind, value = output.get("type"), output.get("value")
    if kind in ("text", "error-text"):
        return str(value)
    if kind == "content" and isinstance(value, (list, tuple)):
        return "\n".join(_content_text(entry) for entry in as_list(value))
    return _json(value)


def _content_text(entry: Any) -> str:
    part = as_mapping(entry) or {"text": str(entry)}
    if "text" in part:
        return str(part["text"])
    return f"[{part.get('media_type') or part.get('mediaType') or part.get('type') or 'file'}]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """
    Return what JSON can say of a value that a tool returned.
    """
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(as_mapping(value))
    if isinstance(value, Value):
        return {field: getattr(value, field) for field in type(value).__fields__}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value)


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name, "description": spec.description}
    function["parameters"] = spec.parameters or {"type": "object", "properties": {}}
    if spec.strict is not None:
        function["strict"] = spec.strict
    return {"type": "function", "function": function}


def _tool_left_out(spec: ToolSpec) -> Mapping[str, Any]:
    details = "Chat Completions has no tools that a provider runs: the tool is left out"
    return {"type": "unsupported-setting", "setting": f"tools.{spec.name}", "details": details}


def _chosen(choice: ToolChoice) -> Any:
    return None if isinstance(choice, str) else choice.get("tool_name", choice.get("toolName"))


def _tool_choice(choice: ToolChoice) -> Any:
    if isinstance(choice, str):
        return choice
    name = _chosen(choice)
    return {"type": "function", "function": {"name": name}} if name else choice.get("type", "auto")


def _response_format(wanted: Mapping[str, Any], structured_output: StructuredOutput) -> dict[str, Any]:
    schema = wanted.get("schema")
    if schema is None or structured_output == "json_object":
        return {"type": "json_object"}
    strict = strict_schema(schema)
    named = {
        "name": _NOT_IN_NAMES.sub("_", str(wanted.get("name") or "answer"))[:64],
        "schema": schema if strict is None else strict,
        "strict": strict is not None,
    }
    return {"type": "json_schema", "json_schema": named}
