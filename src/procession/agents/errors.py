"""
A model error that nobody retried: told to the reader, and kept in the messages behind what was said before it.
"""

from __future__ import annotations

from procession.agents.rollback import ends_on_border
from procession.agents.state import Attempt, LoopState
from procession.errors import ModelError
from procession.messages.chunks import ErrorChunk
from procession.messages.parts import ErrorPart, Part, ReasoningPart, ToolCallPart

__all__ = ["tell_error"]


async def tell_error(state: LoopState, error: ModelError) -> None:
    """
    Let the run end with *error*.  Processors see its chunk and cannot change it.
    """
    chunk = ErrorChunk(error)
    if state.chain is not None:
        await state.chain.push(chunk)
    await state.send(chunk)
    state.error = error
    cause = error.__cause__ or error
    part = ErrorPart(type(cause).__name__, error.message)
    attempt = state.attempt
    said = [*_delivered(attempt), part] if attempt is not None else [part]
    answer = state.messages.get_by_id(state.response_id)
    border = state.step_number > 0 and answer is not None and not ends_on_border(answer)
    state.messages.append_response(said, message_id=state.response_id, new_step=border)
    if attempt is not None:
        attempt.said = said


def _delivered(attempt: Attempt) -> list[Part]:
    """
    Return what the attempt has delivered; a call that no tool will answer, and half a thought, are not kept.
    """
    attempt.step.text = attempt.collector.text
    return [part for part in attempt.collector.parts() if not isinstance(part, (ToolCallPart, ReasoningPart))]
