"""
A model error that nobody retried: told to the reader, and kept in the messages.
"""

from __future__ import annotations

from procession.agents.state import LoopState
from procession.errors import ModelError
from procession.messages.chunks import ErrorChunk
from procession.messages.parts import ErrorPart

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
    state.messages.append_response((part,), message_id=state.response_id)
