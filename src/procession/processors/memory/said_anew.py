"""
What a message says, and what of it is said now although its id was there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from procession.ids import new_id
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, Part, TextPart, ToolCallPart

__all__ = ["is_said_anew", "say_anew", "what_is_said"]


def is_said_anew(message: Message, known: Message) -> bool:
    """
    Whether *message*, at the end of the input, is the user's and says something else than the *known* one of its id.
    """
    return message.role == "user" and what_is_said(message) != what_is_said(known)


def say_anew(messages: MessageList, recalled: Sequence[Message]) -> list[Message]:
    """
    Let what the user says at the end of the input be heard although one of the *recalled* has its id, and return those
    that it does not take the place of.

    A client that counts its messages begins again with one: the new message gets an id of its own.  Where the old one has
    no answer yet the user has put it differently, and the new one takes its place.
    """
    last = messages.view("input")[-1:]
    known = next((one for one in recalled if last and one.id == last[0].id), None)
    if known is None or not is_said_anew(last[0], known):
        return list(recalled)
    if known is recalled[-1]:
        return list(recalled[:-1])
    messages.remove([known.id])
    messages.add([last[0].replace(id=new_id())], "input")
    return list(recalled)


def what_is_said(message: Message) -> tuple[Any, ...]:
    """
    Return who said a message, and what: by that it is known where a client gave it another id.
    """
    return (message.role, *[shown for part in message.parts if (shown := _shown(part)) is not None])


def _shown(part: Part) -> tuple[Any, ...] | None:
    if isinstance(part, TextPart):
        return ("text", part.text) if part.text else None
    if isinstance(part, ToolCallPart):  # what has become of it may be further on one side
        return ("call", part.tool_call_id, part.tool_name)
    return ("file", part.media_type, part.data) if isinstance(part, FilePart) else None
