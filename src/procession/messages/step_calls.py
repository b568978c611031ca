"""
The tool calls of a step, read from the messages, where processors have edited those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from procession.messages.chunks import ToolCall
from procession.messages.parts import StepStartPart, ToolCallPart

if TYPE_CHECKING:
    from procession.messages.message_store import MessageStore

__all__ = ["calls_of_step"]


def calls_of_step(
    messages: MessageStore, message_id: str, known: Sequence[ToolCall]
) -> list[tuple[ToolCall, ToolCallPart]]:
    """
    Return the tool calls of the last step of answer *message_id* as they stand now, each with its part (D37).

    They are those of *known* that are still there, the very same objects where nothing is different, and open ones
    that were put in.  Where the answer's message is gone, the last message may have taken its place.
    """
    message = messages.get_by_id(message_id)
    in_place = message is not None
    if message is None:
        view = messages.view("response")
        message = view[-1] if view and view[-1].role == "assistant" else None
    by_id = {call.tool_call_id: call for call in known}
    found: dict[str, tuple[ToolCall, ToolCallPart]] = {}
    for part in reversed(message.parts) if message is not None else ():
        if isinstance(part, StepStartPart):
            break
        if not isinstance(part, ToolCallPart) or part.tool_call_id in found:
            continue
        call = by_id.get(part.tool_call_id)
        if call is None:
            if part.state != "call" or part.provider_executed or not in_place:
                continue
            call = ToolCall(part.tool_call_id, part.tool_name, part.args, False, part.provider_metadata)
        elif call.tool_name != part.tool_name or call.args != part.args:
            call = call.replace(tool_name=part.tool_name, args=part.args)
        found[part.tool_call_id] = (call, part)
    return list(reversed(found.values()))
