"""
Prompt reading: a prompt as the documents write it, plain objects with a role and a content, as entries of a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.errors import MessageError
from procession.messages.part_reading import read_part, take
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.prompt_parts import OUTPUT_TYPES
from procession.messages.serial import from_data
from procession.messages.shapes import is_form, is_items, is_sequence
from procession.messages.value import Value

__all__ = ["PROMPT_FORM", "read_prompt"]

PROMPT_FORM = (
    'PromptMessage("user", (TextPart("Hi"),)), or {"role": "user", "content": [{"type": "text", "text": "Hi"}]}'
)
"""How an entry may be given, for hints."""

_PARTS: Mapping[str, frozenset[type[Value]]] = {
    "system": frozenset({TextPart}),
    "user": frozenset({TextPart, FilePart}),
    "assistant": frozenset({TextPart, FilePart, ReasoningPart, PromptToolCall, PromptToolResult}),
    "tool": frozenset({PromptToolResult}),
}
"""What the content of an entry may hold, by its role."""


def read_prompt(given: Any) -> list[PromptMessage]:
    """
    Return the entries that *given* holds: those of a prompt, and the documents' objects, in camel or snake case.

    >>> read_prompt([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}])
    [PromptMessage(role='user', content=(TextPart(text='Hi'),))]

    Raises ``MessageError``, naming the entry and the part, for what no model takes.
    """
    if not is_sequence(given):
        raise MessageError(f"the prompt is {type(given).__name__}", hint=f"give a list of entries: {PROMPT_FORM}")
    return [_entry(one, at) for at, one in enumerate(given)]


def _entry(given: Any, at: int) -> PromptMessage:
    entry = given
    if is_form(given):
        entry = from_data(dict(given)) if "$type" in given else _read(given, at)
    if not isinstance(entry, PromptMessage):
        raise MessageError(
            f"entry {at} is {type(entry).__name__}, which is no entry of a prompt", hint=f"an entry is {PROMPT_FORM}"
        )
    fitting = _PARTS.get(entry.role)
    if fitting is None:
        raise _role(at)
    if not is_items(entry.content):
        raise MessageError(f"entry {at} has content={type(entry.content).__name__}", hint=f"an entry is {PROMPT_FORM}")
    for number, part in enumerate(entry.content):
        if part.__class__ not in fitting:
            raise MessageError(
                f"entry {at}, part {number} is {type(part).__name__}, which an entry of role {entry.role!r} has not",
                hint=f"it has {', '.join(sorted(kind.__name__ for kind in fitting))}",
            )
    return entry


def _role(at: int) -> MessageError:
    return MessageError(f"entry {at} has none of the roles of a prompt", hint=f"a role is one of {', '.join(_PARTS)}")


def _read(form: Mapping[Any, Any], at: int) -> PromptMessage:
    role, content = form.get("role"), form.get("content")
    if not isinstance(role, str) or role not in _PARTS:
        raise _role(at)
    if isinstance(content, str):
        content = (TextPart(content),)
    elif is_items(content):
        content = tuple(_part(one, f"entry {at}, part {number}") for number, one in enumerate(content))
    return PromptMessage(role, content)  # type: ignore[arg-type]  # looked at with those that were entries already


def _part(form: Any, where: str) -> PromptPart:
    part: Any
    if not is_form(form):
        part = read_part(form, where)
    elif "$type" in form:
        part = from_data(dict(form))
    elif form.get("type") == "tool-call":
        part = PromptToolCall(
            *_call(form, where),
            take(form, "input", "args", default={}),
            bool(take(form, "providerExecuted", "provider_executed", default=False)),
            _notes(form),
        )
    elif form.get("type") == "tool-result":
        part = PromptToolResult(*_call(form, where), _output(form, where), _notes(form))
    else:
        part = read_part(form, where)
    if isinstance(part, (TextPart, ReasoningPart)) and not isinstance(part.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise MessageError(f"{where} has text={type(part.text).__name__}", hint=f"an entry is {PROMPT_FORM}")
    fit: PromptPart = part
    return fit


def _call(form: Mapping[str, Any], where: str) -> tuple[str, str]:
    found: list[str] = []
    for camel, snake in (("toolCallId", "tool_call_id"), ("toolName", "tool_name")):
        value = take(form, camel, snake)
        if not isinstance(value, str):
            raise MessageError(f"{where} of type {form.get('type')!r} has no {snake!r}", hint="give it as a text")
        found.append(value)
    return found[0], found[1]


def _notes(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    notes: Mapping[str, Any] | None = take(form, "providerOptions", "providerMetadata", "provider_metadata")
    return notes


def _output(form: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    output = form.get("output")
    if is_form(output) and output.get("type") in OUTPUT_TYPES and "value" in output:
        return output
    if "output" not in form and "result" not in form:
        raise MessageError(
            f"{where} of type 'tool-result' has no 'output'", hint='give {"type": "text" or "json", "value": ...}'
        )
    result = form.get("result", output)
    kind = "text" if isinstance(result, str) else "json"
    return {"type": f"error-{kind}" if take(form, "isError", "is_error") else kind, "value": result}
