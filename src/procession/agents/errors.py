"""
Errors that end a run: a model's that nobody retried is told to the reader, and kept in the messages behind what was
said before it; what is not one of ours is wrapped.
"""

from __future__ import annotations

from procession.agents.rollback import ends_on_border
from procession.agents.state import Attempt, LoopState
from procession.errors import ModelError, ProcessionError, StepError
from procession.messages.chunks import ErrorChunk
from procession.messages.parts import ErrorPart, Part, ReasoningPart, ToolCallPart

__all__ = ["own_error", "tell_error"]


def own_error(error: Exception) -> ProcessionError:
    """
    Return *error* where it is one of ours, else a ``StepError`` of it.
    """
    if isinstance(error, ProcessionError):
        return error
    wrapped = StepError(f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


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
