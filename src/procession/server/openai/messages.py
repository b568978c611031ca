"""
A conversation as Chat Completions have it, as messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from procession.messages.message import Message
from procession.messages.parts import Part, TextPart, ToolCallPart
from procession.messages.shapes import is_dict, is_form, is_items
from procession.models.loose import as_mapping
from procession.server.openai.contents import content_parts, content_text
from procession.server.openai.refused import refused

__all__ = ["chat_messages", "is_instruction"]

_USERS = ("user", "system", "developer")
_SAID_AS = "said_as"


def chat_messages(given: Any) -> list[Message]:
    """
    Return a request's ``messages``, each call with what its tool answered.

    What a client says as ``system`` or ``developer`` is a user's message here: the instructions are the agent's own, and
    guards look at what comes with a call, at users' messages too and at system messages not.

    Raises ``RequestRefused`` for what cannot be read, naming the place.

    >>> [message.role for message in chat_messages([{"role": "user", "content": "Hi"}])]
    ['user']
    """
    if not is_items(given) or not given:
        raise refused("messages", "should be a list with a message in it")
    made: list[Message] = []
    turn: _Turn | None = None
    for at, entry in enumerate(given):
        where = f"messages[{at}]"
        if not is_form(entry):
            raise refused(where, "should be an object with a role and a content")
        role = entry.get("role")
        if role == "tool":
            if turn is None:
                raise refused(where, "answers no call: the assistant's message with it should stand before")
            turn.answer(entry, where)
            continue
        if turn is not None:
            made.append(turn.message(where))
            turn = None
        if role == "assistant":
            turn = _Turn(entry, where)
        elif role in _USERS:
            parts = content_parts(entry.get("content"), f"{where}.content")
            made.append(Message("user", parts, metadata={_SAID_AS: role} if role != "user" else None))
        else:
            raise refused(f"{where}.role", "should be system, developer, user, assistant or tool")
    if turn is not None:
        made.append(turn.message("messages"))
    return made


def is_instruction(message: Message) -> bool:
    """
    Tell whether a client said *message* as ``system`` or ``developer``.
    """
    return (message.metadata or {}).get(_SAID_AS) is not None


class _Turn:
    """
    An assistant's message while the answers to its calls are read.
    """

    def __init__(self, entry: Mapping[str, Any], where: str) -> None:
        for name in ("function_call", "audio"):
            if entry.get(name) is not None:
                raise refused(f"{where}.{name}", "is not read here", code="unsupported_parameter")
        said = entry.get("content")
        text = content_text(said, f"{where}.content") if said is not None else ""
        if not text and isinstance(entry.get("refusal"), str):
            text = entry["refusal"]
        calls = entry.get("tool_calls")
        if calls is not None and not is_items(calls):
            raise refused(f"{where}.tool_calls", "should be a list")
        if said is None and not text and not calls:
            raise refused(f"{where}.content", "should be a text where there are no tool_calls")
        self._text = text
        self._calls: dict[str, ToolCallPart] = {}
        for at, call in enumerate(calls or ()):
            part = _call(call, f"{where}.tool_calls[{at}]")
            if part.tool_call_id in self._calls:
                raise refused(f"{where}.tool_calls[{at}].id", "stands there twice")
            self._calls[part.tool_call_id] = part

    def answer(self, entry: Mapping[str, Any], where: str) -> None:
        """
        Take what a tool answered.
        """
        call_id = entry.get("tool_call_id")
        call = self._calls.get(call_id) if isinstance(call_id, str) else None
        if call is None or call.state == "result":
            raise refused(f"{where}.tool_call_id", "names no open call of the assistant's message before it")
        result = content_text(entry.get("content"), f"{where}.content")
        self._calls[call.tool_call_id] = call.replace(state="result", result=result)

    def message(self, where: str) -> Message:
        """
        Return the message; *where* stands what comes behind it.
        """
        waiting = [call.tool_call_id for call in self._calls.values() if call.state != "result"]
        if waiting:
            raise refused(where, f"calls without an answer in a message of the role tool: {', '.join(waiting)}")
        parts: list[Part] = [TextPart(self._text)] if self._text or not self._calls else []
        return Message("assistant", [*parts, *self._calls.values()])


def _call(given: Any, where: str) -> ToolCallPart:
    call = as_mapping(given)
    function = as_mapping(call.get("function"))
    if call.get("type", "function") != "function":
        raise refused(f"{where}.type", "should be function", code="unsupported_value")
    for field, value in (("id", call.get("id")), ("function.name", function.get("name"))):
        if not isinstance(value, str) or not value:
            raise refused(f"{where}.{field}", "should be a text")
    text = function.get("arguments", "")
    if not isinstance(text, str):
        raise refused(f"{where}.function.arguments", "should be JSON as a text")
    return ToolCallPart(call["id"], function["name"], _arguments(text))


def _arguments(text: str) -> Any:
    """
    Return the arguments as an object; what is no JSON object stays the text that a model wrote.
    """
    try:
        parsed = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return parsed if is_dict(parsed) else text
