"""
What a model call has used, estimated: where the provider has not said it.
"""

from __future__ import annotations

import json
from typing import Any

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.usage import Usage
from procession.models.model import ModelRequest

__all__ = ["estimated_usage"]

_BYTES = 3
"""Bytes of text per token: of English one has four and more, of Chinese about three; rather too many tokens than too few."""

_ENTRY = 4
"""Tokens that a message takes beside its text."""

_FILE = 1_600
"""Tokens of a file: those of a large picture."""


def estimated_usage(request: ModelRequest, said: str = "") -> Usage:
    """
    Return what a call with this *request*, to which the model has *said* so much, has used, as far as can be told.

    >>> estimated_usage(ModelRequest(messages=()), "four tokens")
    Usage(output_tokens=4)
    """
    asked = sum(_message(message) for message in request.messages)
    asked += sum(_tokens(f"{tool.name}{tool.description}{_json(tool.parameters)}") for tool in request.tools)
    return Usage(asked, _tokens(said))


def _message(message: PromptMessage) -> int:
    tokens = _ENTRY
    for part in message.content:
        match part:
            case TextPart() | ReasoningPart():
                tokens += _tokens(part.text)
            case PromptToolCall():
                tokens += _tokens(part.tool_name) + _tokens(_json(part.args))
            case PromptToolResult():
                tokens += _tokens(part.tool_name) + _tokens(_json(part.output))
            case FilePart():
                tokens += _FILE
    return tokens


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
