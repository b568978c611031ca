"""
The JSON of what hooks made of their payloads, of chunks that passed a stream's processors, and of model calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from procession.messages.message import Message, SystemMessage
from procession.messages.shapes import is_form, is_sequence
from procession.processors.differences import MessageChange, difference_of
from procession.processors.payload import HookPayload
from procession.processors.stream_watched import Passed
from procession.processors.violation import Violation
from procession.runtime.event_json import plain
from procession.runtime.records import Record
from procession.server.run_json import chunk_json, message_json, shown

__all__ = ["answered_json", "asked_json", "hook_json", "passed_json"]

_OUTCOMES: Final = {"blocked": "blocked", "failed": "failed"}


def hook_json(
    record: Record, payload: HookPayload, base: HookPayload, processor: str, violations: Sequence[Violation]
) -> dict[str, Any]:
    """
    Return the payload of ``hook.changed``: what *processor* made of *base*, its payload as it was.
    """
    made = difference_of(payload, base)
    return {
        "hook": payload.phase,
        "processor": processor,
        "step_number": payload.step_number,
        "seconds": round(record.seconds, 6),
        "outcome": _OUTCOMES.get(record.status, "changed" if made else "passed"),
        "messages": [_message_change(one) for one in made.messages],
        "fields": {
            name: {"before": _field(name, one.before), "after": _field(name, one.after)}
            | ({"at": one.at} if one.at is not None else {})
            for name, one in made.fields.items()
        },
        "violations": plain(violations),
    }


def _message_change(one: MessageChange) -> dict[str, Any]:
    before = _message(one.before) if one.before is not None else None
    after = _message(one.after) if one.after is not None else None
    about = after or before or {}
    return {"id": about.get("id"), "role": about.get("role"), "change": one.change, "before": before, "after": after}


def _message(message: Message | SystemMessage) -> dict[str, Any]:
    if isinstance(message, Message):
        return message_json(message)
    text = message.text
    return {"id": None, "role": "system", "parts": [{"type": "text", "text": text}], "text": text}


def _field(name: str, value: Any) -> Any:
    """
    Return a field of a payload: of tools the names, of models the ids.
    """
    if name == "tools" and is_form(value):
        return list(value)
    if is_sequence(value):
        return [shown(one) for one in value]
    identity = getattr(value, "id", None)
    return identity if name == "model" and isinstance(identity, str) else shown(value)


def passed_json(passed: Passed, number: int, path: str) -> dict[str, Any]:
    """
    Return the payload of ``stream.passed``; *path* is that of ``process_output_stream``.
    """
    return {
        "number": number,
        "step_number": passed.step_number,
        "came": chunk_json(passed.came) if passed.came is not None else None,
        "stages": [
            {
                "processor": stage.processor,
                "node_path": f"{path}/{stage.path}",
                "out": [chunk_json(chunk) for chunk in stage.out],
            }
            for stage in passed.stages
        ],
        "left": [chunk_json(chunk) for chunk in passed.left],
    }


def asked_json(payload: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the payload of ``model.asked``.
    """
    request = payload["request"]
    return {
        "step_number": payload["step_number"],
        "model": payload["model"],
        "messages": [shown(message) for message in request.messages],
        "tools": [tool.name for tool in request.tools],
        "tool_choice": plain(request.tool_choice),
        "settings": plain(request.settings),
        "response_format": plain(request.response_format),
    }


def answered_json(payload: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the payload of ``model.answered``.
    """
    attempt = payload["attempt"]
    step = attempt.step
    return {
        "step_number": payload["step_number"],
        "model": attempt.told.model_id if attempt.told is not None else None,
        "finish_reason": step.finish_reason,
        "usage": plain(step.usage),
        "cached": attempt.from_cache,
        "error": plain(attempt.error),
        "seconds": payload["seconds"],
    }
