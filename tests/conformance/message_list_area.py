"""
The area ``message_list``: operations on one message list, and what can be read of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.notation import as_json, error_of, message_text, prompt_text
from tests.conformance.scenario import Json, Unknown, is_list, is_object

from procession.errors import ProcessionError
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart
from procession.messages.to_prompt import PromptBuilder

__all__ = ["run_message_list"]

START = datetime(2025, 1, 1, tzinfo=UTC)
TIMES = frozenset({"createdAt", "created_at"})


async def run_message_list(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Carry out the operations of a setup and return what the reading ones gave.
    """
    messages = MessageList()
    output: list[Json] = []
    for operation in setup["ops"]:
        try:
            given = _carry_out(messages, operation)
        except ProcessionError as error:
            given = {"refused": error_of(error)}
        if given is not None:
            output.append(given)
    return {"output": output}


def _carry_out(messages: MessageList, operation: Mapping[str, Json]) -> Json:
    match operation:
        case {"add": given}:
            listed: list[Json] = given if is_list(given) else [given]
            messages.add([_placed(each) for each in listed], source=operation.get("source", "input"))
            return None
        case {"add_system": text}:
            messages.add_system(text, tag=operation.get("tag"))
            return None
        case {"remove_ids": ids}:
            wanted = [message for message in messages.get.all.db() if message.id in ids]
            messages.remove(ids)
            return {"removed": [message_text(message) for message in wanted]}
        case {"update_tool": call}:
            return {"updated": bool(messages.update_tool_call(_tool_call(call)))}
        case {"drain": _}:
            return {"drain_unsaved": [message_text(message) for message in messages.drain_unsaved()]}
        case {"view": name}:
            return {"view": name, "messages": _view(messages, name)}
        case {"prompt": _}:
            return {"prompt": [prompt_text(entry) for entry in PromptBuilder().build(messages)]}
        case {"system": _}:
            tag = operation.get("tag")
            return {
                "system": [message.text for message in messages.system(tag)],
                "all_system": [message.text for message in messages.system_messages],
            }
        case _:
            raise Unknown("operation on a message list", min(operation, default="nothing"))


def _placed(given: Json) -> Any:
    if not is_object(given):
        return given
    message: dict[str, Any] = dict(given)
    if "created_offset" in message:
        message["createdAt"] = START + timedelta(seconds=message.pop("created_offset"))
    return message


def _tool_call(call: Mapping[str, Json]) -> ToolCallPart:
    return ToolCallPart(
        call["toolCallId"],
        call["toolName"],
        call.get("args"),
        state=call["state"],
        result=call.get("result"),
        error_text=call.get("errorText"),
    )


def _view(messages: MessageList, name: str) -> Json:
    source, _, form = name.partition(".")
    if source not in ("all", "input", "remembered", "response", "context") or form not in ("db", "ui", "core"):
        raise Unknown("view", name)
    view = getattr(messages.get, source)
    found = getattr(view, form)()
    return [message_text(message) for message in found] if form == "db" else [_undated(as_json(each)) for each in found]


def _undated(value: Json) -> Json:
    """
    Write times as 0, as the traces do, and leave out ids that nobody gave.
    """
    if is_object(value):
        return {
            key: 0 if key in TIMES else _undated(inner)
            for key, inner in value.items()
            if not (key == "id" or (key in TIMES and "role" in value))
        }
    return [_undated(inner) for inner in value] if is_list(value) else value
