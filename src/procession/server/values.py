"""
What agents say, as JSON: chunks, messages and results.

These are answers to whoever asked, and hold what that is meant to see: no attempt that was sent back, and of an error no
more than :mod:`procession.server.errors` shows.
"""

from __future__ import annotations

from typing import Any

from procession.agents.output import AgentResult, AgentStep
from procession.agents.suspended_call import SuspendedCall
from procession.messages.chunks import Chunk, ErrorChunk, StepOutput, ToolOutput
from procession.messages.message import Message
from procession.messages.tripwire import TripwireInfo
from procession.runtime.event_json import plain
from procession.server.errors import error_body

__all__ = ["chunk_data", "message_data", "result_data", "suspended_data", "tripwire_data"]


def chunk_data(chunk: Chunk, request_id: str) -> dict[str, Any]:
    """
    Return a chunk as JSON: its ``type``, and its fields.
    """
    if isinstance(chunk, ErrorChunk):
        return {"type": chunk.type, **error_body(chunk.error, request_id)}
    if isinstance(chunk, (ToolOutput, StepOutput)) and isinstance(chunk.output, Chunk):
        outer: dict[str, Any] = plain(chunk.replace(output=None))
        return outer | {"output": chunk_data(chunk.output, request_id)}
    made: dict[str, Any] = plain(chunk)
    return made


def message_data(message: Message) -> dict[str, Any]:
    """
    Return a message as JSON: its id, role, parts and text.

    >>> message_data(Message("user", "Hello", id="m1"))
    {'id': 'm1', 'role': 'user', 'parts': [{'type': 'text', 'text': 'Hello'}], 'text': 'Hello'}
    """
    parts = [{name: value for name, value in plain(part).items() if value is not None} for part in message.parts]
    return {"id": message.id, "role": message.role, "parts": parts, "text": message.text}


def tripwire_data(info: TripwireInfo | None) -> dict[str, Any] | None:
    """
    Return what a guard said when it stopped a run, as JSON.
    """
    return None if info is None else plain(info)


def suspended_data(call: SuspendedCall) -> dict[str, Any]:
    """
    Return a call that waits for somebody as JSON; it is answered by its ``question_id``.
    """
    return {
        "question_id": call.question_id,
        "tool_call_id": call.tool_call_id,
        "tool_name": call.tool_name,
        "args": plain(call.args),
        "kind": call.kind,
        "payload": plain(call.payload),
        "resume_schema": plain(call.resume_schema),
        "label": call.label,
    }


def result_data(result: AgentResult[Any], request_id: str) -> dict[str, Any]:
    """
    Return what a run of an agent came to as JSON.
    """
    error = error_body(result.error, request_id)["error"] if result.error is not None else None
    return {
        "run_id": result.run_id,
        "status": result.status,
        "text": result.text,
        "final_text": result.final_text,
        "finish_reason": result.finish_reason,
        "usage": plain(result.usage),
        "object": plain(result.object),
        "messages": [message_data(message) for message in result.messages],
        "steps": [_step_data(step) for step in result.steps],
        "tripwire": tripwire_data(result.tripwire),
        "violations": [plain(each) for each in result.violations],
        "outcomes": [plain(each) for each in result.outcomes],
        "warnings": [plain(each) for each in result.warnings],
        "suspended": [suspended_data(call) for call in result.suspended],
        "abort_reason": result.abort_reason,
        "error": error,
    }


def _step_data(step: AgentStep) -> dict[str, Any]:
    return {
        "step_number": step.step_number,
        "text": step.text,
        "finish_reason": step.finish_reason,
        "usage": plain(step.usage),
        "tool_calls": plain(step.tool_calls),
        "tool_results": plain(step.tool_results),
        "from_cache": step.from_cache,
    }
