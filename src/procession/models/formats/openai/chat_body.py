"""
A request as the body of OpenAI's Chat Completions: pure functions, no network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.models.formats.openai.chat_dialects import ChatDialect, StructuredOutput
from procession.models.formats.openai.chat_prompt import ChatPrompt
from procession.models.formats.openai.models import refused_sampling
from procession.models.formats.openai.tools import chat_tools, named_schema
from procession.models.formats.openai.values import json_text, one_system
from procession.models.loose import as_mapping
from procession.models.model import CALL_SETTINGS, ModelRequest
from procession.models.pieces import changes_of, pieces_of

__all__ = ["chat_body"]

_SCHEMA_IN_WORDS = {
    "type": "unsupported-setting",
    "setting": "response_format.schema",
    "details": "the server knows no JSON schema: the model is asked to fit it in a system message",
}
_DIALECT = ChatDialect()


def chat_body(
    request: ModelRequest,
    *,
    model: str,
    provider: str = "openai",
    system_role: str = "system",
    dialect: ChatDialect = _DIALECT,
    structured_output: StructuredOutput | None = None,
    include_usage: bool = True,
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    """
    Return the body of a streamed call, and what of *request* cannot be sent as it is, as hooks are told (``ctx.warnings``).

    Settings that are not ours go through as they are, but for those that an OpenAI model that thinks refuses;
    ``provider_options[provider]`` goes last and may replace anything.

    Raises ``InputError`` for a file that cannot be sent.

    >>> wanted = {"type": "json", "schema": {"type": "object"}}
    >>> request = ModelRequest(messages=(), response_format=wanted)
    >>> chat_body(request, model="m", structured_output="json_object")[1][0]["setting"]
    'response_format.schema'
    """
    prompt = ChatPrompt(provider, system_role, dialect)
    pieces = pieces_of(request.messages, prompt.piece, memo=request.memo, key=f"chat:{prompt!r}")
    messages = [entry for piece in pieces for entry in piece.entries]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if include_usage:
        body["stream_options"] = {"include_usage": True}
    offered = chat_tools(request, provider)
    if offered.tools:
        body["tools"] = list(offered.tools)
    if offered.choice is not None:
        body["tool_choice"] = offered.choice
    warnings = list(offered.warnings)
    if request.response_format is not None:
        named = named_schema(request.response_format)
        if named is None or (structured_output or dialect.structured_output) == "json_object":
            body["response_format"] = {"type": "json_object"}
            if named is not None:
                messages.insert(0, {"role": system_role, "content": _in_words(request.response_format["schema"])})
                warnings.append(_SCHEMA_IN_WORDS)
        else:
            body["response_format"] = {"type": "json_schema", "json_schema": named}
    if dialect.one_system:
        body["messages"] = one_system(messages, system_role)
    options = as_mapping((request.provider_options or {}).get(provider))
    settings = request.settings or {}
    refused = refused_sampling(model, settings, options.get("reasoning_effort", settings.get("reasoning_effort")))
    left_out = CALL_SETTINGS | {change["setting"] for change in refused}
    for key, value in settings.items():
        if key not in left_out and value is not None:
            body[dialect.max_tokens_key if key == "max_tokens" else key] = value
    body.update(options)
    return body, (*warnings, *refused, *changes_of(pieces))


def _in_words(schema: Any) -> str:
    return f"Answer with one JSON object that fits this JSON schema: {json_text(schema)}"
