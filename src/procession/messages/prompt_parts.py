"""
Prompt parts: what of a message's parts a model is sent, and in which shape.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from procession.messages.parts import FilePart, Part, ReasoningPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.shapes import is_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from procession.messages.message import Message

__all__ = [
    "ANSWERED", "OUTPUT_TYPES", "legal_name", "plain_file", "signal_content", "step_entries", "tool_output", "user_content",
]  # fmt: skip

ANSWERED = frozenset({"result", "output-error", "output-denied"})
"""The states of tool calls that a prompt has."""
OUTPUT_TYPES = frozenset({"text", "json", "error-text", "error-json", "content"})
"""The types that the output of an answered tool call may have."""
_DENIED = "The call of this tool was not allowed."
_illegal = re.compile(r"[^A-Za-z0-9_-]")
_illegal_attribute = re.compile(r"[^A-Za-z0-9_.:-]")


def step_entries(parts: Iterable[Part]) -> list[PromptMessage]:
    """
    Return the entries for one step of an assistant's message: what it said and called, then what its tools answered.

    Calls without an answer are left out, since no provider takes them; so are data, sources and errors.
    """
    content: list[PromptPart] = []
    results: list[PromptPart] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            if part.state in ANSWERED:
                name = legal_name(part.tool_name)
                content.append(
                    PromptToolCall(part.tool_call_id, name, part.args, part.provider_executed, part.provider_metadata)
                )
                result = PromptToolResult(part.tool_call_id, name, tool_output(part))
                # What a provider ran itself, it wants back in the place where it said so.
                (content if part.provider_executed else results).append(result)
        elif isinstance(part, TextPart):
            if part.text:
                content.append(part)
        elif isinstance(part, ReasoningPart):
            if part.text or part.signature or part.redacted or part.provider_metadata:
                content.append(part)
        elif isinstance(part, FilePart):
            content.append(plain_file(part))
    entries: list[PromptMessage] = []
    if content:
        entries.append(PromptMessage("assistant", tuple(content)))
    if results:
        entries.append(PromptMessage("tool", tuple(results)))
    return entries


@lru_cache(maxsize=512)
def legal_name(name: str) -> str:
    """
    Return the name of a tool as providers take it.
    """
    return _illegal.sub("_", name) or "tool"


def user_content(parts: Iterable[Part], notes: Mapping[str, Any] | None = None) -> tuple[PromptPart, ...]:
    """
    Return what a user's message sends: its texts and files.

    *notes* are the message's ``provider_metadata``: those of its last part, where it has none of the same name.
    """
    content = tuple(
        plain_file(part) if isinstance(part, FilePart) else part
        for part in parts
        if isinstance(part, (TextPart, FilePart))
    )
    if notes and content:
        *before, last = content
        content = (*before, last.replace(provider_metadata={**notes, **(last.provider_metadata or {})}))
    return content


def tool_output(call: ToolCallPart) -> Mapping[str, Any]:
    """
    Return the output of an answered tool call: what was made for the model, else the result or the error.

    >>> tool_output(ToolCallPart("c1", "clock", {}, "result", "noon"))
    {'type': 'text', 'value': 'noon'}
    """
    if call.state == "output-error":
        return {"type": "error-text", "value": call.error_text or ""}
    if call.state == "output-denied":
        reason = call.approval.reason if call.approval is not None else None
        return {"type": "error-text", "value": reason or call.error_text or _DENIED}
    output: Any = call.result
    if call.model_output is not None:
        output = call.model_output
        if is_form(output) and "value" in output and output.get("type") in OUTPUT_TYPES:
            return output
    kind = "text" if isinstance(output, str) else "json"
    return {"type": f"error-{kind}" if call.is_error else kind, "value": output}


def signal_content(message: Message) -> tuple[PromptPart, ...]:
    """
    Return what a signal sends: its text between tags, with its attributes, so that no text can pose as one.
    """
    note: dict[str, Any] = (message.metadata or {}).get("signal") or {}
    tag = note.get("tagName") or note.get("tag_name")
    text = message.text
    if tag is None:
        tag = None if str(note.get("type", "")).startswith("user") else "system-reminder"
    if tag is not None:
        tag = _illegal.sub("_", str(tag))
        given: dict[str, Any] = note.get("attributes") or {}
        attributes = "".join(
            f' {_illegal_attribute.sub("_", str(name))}="{_escaped(_shown(value))}"'
            for name, value in given.items()
            if value is not None
        )
        text = f"<{tag}{attributes}>{_escaped(text, quotes=False)}</{tag}>"
    files = (plain_file(part) for part in message.parts if isinstance(part, FilePart))
    return (TextPart(text), *files)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if quotes else text


def plain_file(part: FilePart) -> FilePart:
    """
    Reduce a ``data:`` URI to what it holds.
    """
    if not isinstance(part.data, str) or not part.data.startswith("data:"):
        return part
    head, comma, body = part.data[5:].partition(",")
    if not comma:
        return part
    kind, *settings = head.split(";")
    if "base64" in settings:
        return part.replace(data=body, media_type=kind or part.media_type)
    from urllib.parse import unquote_to_bytes  # here, as few need it and all would wait for its import

    data = unquote_to_bytes(body)
    return part.replace(data=data, media_type=kind or part.media_type)
