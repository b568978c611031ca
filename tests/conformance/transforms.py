"""
Transforms: how the ops of a scenario change texts and lists of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.scenario import Json, Unknown, is_object

from procession.messages.message import Message
from procession.messages.parts import Part, TextPart
from procession.messages.prompt import PromptPart

__all__ = ["map_text", "mapped_prompt_part", "transform"]

SECOND = timedelta(seconds=1)


def map_text(how: Json, text: str) -> str:
    """
    Return *text* changed as told: ``upper``, ``{append}``, ``{prefix}`` or ``{replace: [a, b]}``.
    """
    if how == "upper":
        return text.upper()
    if is_object(how):
        for name, value in how.items():
            match name:
                case "append":
                    text = f"{text}{value}"
                case "prefix":
                    text = f"{value}{text}"
                case "replace":
                    text = text.replace(value[0], value[1])
                case _:
                    raise Unknown("map_text", name)
        return text
    raise Unknown("map_text", how)


def mapped_prompt_part(part: PromptPart, before: str, after: str) -> PromptPart:
    """
    Return a part of a prompt with one text replaced by another.
    """
    return part.replace(text=part.text.replace(before, after)) if isinstance(part, TextPart) else part


def _map_parts(message: Message, how: Json) -> Message:
    parts: list[Part] = [
        part.replace(text=map_text(how, part.text)) if isinstance(part, TextPart) else part for part in message.parts
    ]
    return message.with_parts(parts)


def _new(role: Any, text: str, messages: Sequence[Message], *, first: bool = False) -> Message:
    if not messages:
        at = datetime.now(UTC)
    elif first:
        at = messages[0].created_at - SECOND
    else:
        at = messages[-1].created_at + SECOND
    return Message(role, (TextPart(text),), created_at=at)


Change = Callable[[Any, list[Message], Callable[[Message], bool]], list[Message]]

CHANGES: Mapping[str, Change] = {
    "empty": lambda value, messages, wanted: [] if value else messages,
    "drop_index": lambda value, messages, wanted: [m for index, m in enumerate(messages) if index != value],
    "keep_last": lambda value, messages, wanted: messages[-value:],
    "reverse": lambda value, messages, wanted: messages[::-1] if value else messages,
    "map_text": lambda value, messages, wanted: [_map_parts(m, value) if wanted(m) else m for m in messages],
    "set_metadata": lambda value, messages, wanted: [m.with_metadata(**value) if wanted(m) else m for m in messages],
    "prepend_user": lambda value, messages, wanted: [_new("user", value, messages, first=True), *messages],
    "add_user": lambda value, messages, wanted: [*messages, _new("user", value, messages)],
    "add_assistant": lambda value, messages, wanted: [*messages, _new("assistant", value, messages)],
    "add_system_role": lambda value, messages, wanted: [*messages, _new("system", value, messages)],
}
"""In the order in which they are applied."""


def transform(how: Mapping[str, Json], messages: Sequence[Message]) -> list[Message]:
    """
    Return a new list of messages, changed as told; ``role`` limits what is mapped.
    """
    role = how.get("role")
    changed = list(messages)
    for name, change in CHANGES.items():
        if name in how:
            changed = change(how[name], changed, lambda message: role in (None, message.role))
    return changed
