"""
The JSON of what runs are made of: payloads, messages, chunks, results.
"""

from __future__ import annotations

from typing import Any, Final

from procession.agents.output import AgentResult, AgentStep
from procession.agents.state import LoopState
from procession.messages.chunks import Chunk
from procession.messages.message import Message
from procession.messages.shapes import is_form, is_items
from procession.processors.payload import HookPayload
from procession.runtime.event_json import plain

__all__ = ["chunk_json", "message_json", "result_json", "shown"]

_LONGEST_DATA: Final = 2_000
"""Characters of a file that are shown."""


def shown(value: Any) -> Any:
    """
    Return a *value* that went in or out of a step as JSON: of what is passed on from hook to hook where it stands only.

    >>> shown({"name": "Eva", "by": object()})
    {'name': 'Eva', 'by': {'$type': 'object'}}
    """
    given: Any = value
    if isinstance(value, HookPayload):
        return {
            "hook": value.phase, "step_number": value.step_number, "message_count": len(value.message_list)
        }  # fmt: skip
    if isinstance(value, LoopState):
        return {"step_number": value.step_number, "message_count": len(value.messages)}
    if isinstance(value, Message):
        return message_json(value)
    if isinstance(value, AgentResult):
        return result_json(given)
    if isinstance(value, AgentStep):
        return step_json(value)
    if isinstance(value, Chunk):
        return chunk_json(value)
    return _without_files(plain(value))


def message_json(message: Message) -> dict[str, Any]:
    """
    Return a message: ``id``, ``role``, ``parts`` and its ``text``.

    >>> message_json(Message("user", "Hello", id="m1"))
    {'id': 'm1', 'role': 'user', 'parts': [{'type': 'text', 'text': 'Hello'}], 'text': 'Hello'}
    """
    parts = [_some(plain(part)) for part in message.parts]
    return {
        "id": message.id,
        "role": message.role,
        "parts": [_without_files(part) for part in parts],
        "text": message.text,
    }


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """
    Return a chunk: its ``type``, and what it says, ``None`` left out.
    """
    made: dict[str, Any] = {"type": chunk.type}
    for name in type(chunk).__fields__:
        value = getattr(chunk, str(name))
        if value is not None:
            made[str(name)] = chunk_json(value) if isinstance(value, Chunk) else _without_files(plain(value))
    return made


def step_json(step: AgentStep) -> dict[str, Any]:
    """
    Return one step of an agent's run.
    """
    return {
        "step_number": step.step_number,
        "text": step.text,
        "reasoning": step.reasoning,
        "finish_reason": step.finish_reason,
        "usage": plain(step.usage),
        "tool_calls": [chunk_json(call) for call in step.tool_calls],
        "tool_results": [chunk_json(result) for result in step.tool_results],
        "from_cache": step.from_cache,
        "model": step.response.model_id if step.response is not None else None,
    }


def result_json(result: AgentResult[Any]) -> dict[str, Any]:
    """
    Return what a run of an agent came to.
    """
    return {
        "run_id": result.run_id,
        "status": result.status,
        "text": result.text,
        "final_text": result.final_text,
        "finish_reason": result.finish_reason,
        "object": plain(result.object),
        "usage": plain(result.usage),
        "guard_usage": plain(result.guard_usage),
        "steps": [step_json(step) for step in result.steps],
        "rejected": [step_json(step) for step in result.rejected],
        "tripwire": plain(result.tripwire),
        "violations": plain(result.violations),
        "outcomes": plain(result.outcomes),
        "warnings": plain(result.warnings),
        "error": plain(result.error),
        "abort_reason": result.abort_reason,
        "messages": [message_json(message) for message in result.messages],
        "suspended": plain(result.suspended),
    }


def _some(data: Any) -> Any:
    return {key: value for key, value in data.items() if value is not None} if is_form(data) else data


def _without_files(data: Any) -> Any:
    """
    Return JSON *data* with the contents of files cut off: they are no text, and may be large.
    """
    if is_form(data):
        made = {key: _without_files(value) for key, value in data.items()}
        held = made.get("data")
        if isinstance(held, str) and len(held) > _LONGEST_DATA and ("media_type" in made or "mime_type" in made):
            made["data"] = f"{len(held)} characters"
        return made
    return [_without_files(one) for one in data] if is_items(data) else data
