"""
Data that tools and processors write: it goes to the reader at once, and into the answer or the message that they named.
"""

from __future__ import annotations

from typing import Any

from procession.agents.state import LoopState
from procession.errors import MessageError
from procession.messages.chunks import Chunk, DataChunk, ToolOutput
from procession.messages.parts import DataPart
from procession.messages.serial import to_data
from procession.steps.left import is_left_behind
from procession.steps.signals import Signal
from procession.tools.json_value import json_value

__all__ = ["check_message", "put_data", "write_data", "write_from_tool"]


async def write_data(state: LoopState, chunk: Chunk, sender: str | None = None, message_id: str | None = None) -> None:
    """
    Take data that a tool or a processor wrote to the reader, and keep it unless it is transient (D18).  What is written
    after the end, or by what was left behind, reaches nobody.  Without a *sender* it is a tool's.

    Raises ``MessageError`` where no message has the id *message_id*, ``InputError`` for data that cannot be kept.
    """
    if sender is None:
        await write_from_tool(state, chunk, message_id)
        return
    if state.ended or is_left_behind():
        return
    if message_id is not None:
        check_message(state, message_id)
    _check(chunk)
    for each in await state.deliver(chunk, sender):
        _keep(state, each, message_id)


async def write_from_tool(state: LoopState, chunk: Chunk, message_id: str | None = None) -> None:
    """
    Do what :func:`write_data` does for a chunk of a tool; tools that run at the same time wait for each other in the
    stream's processors.

    What a processor or a callback raises is no failure of the tool, whatever its code makes of it: it is noted as what
    the run is stopped by.
    """
    if state.ended or "passes_on" not in state.scope.resources or is_left_behind():
        return
    if state.stopped_by is not None:
        raise state.stopped_by
    if message_id is not None:
        check_message(state, message_id)
    _check(chunk)
    chain = state.chain
    try:
        if chain is None or (chain.fast is not None and not isinstance(chunk, ToolOutput)):
            for each in await state.deliver(chunk):
                _keep(state, each, message_id)
            return
        for each in await chain.push_written(chunk):
            await state.send(each)
            _keep(state, each, message_id)
    except (Exception, Signal) as raised:
        state.stopped_by = raised
        raise


def _check(chunk: Chunk) -> None:
    """
    Refuse data that cannot be kept, before anybody is shown it.
    """
    if isinstance(chunk, DataChunk) and not chunk.transient:
        _writable(chunk.data)


def _writable(data: Any) -> Any:
    """
    Return data as it can be written down, should the run be suspended: what cannot, as JSON can say it.

    Raises ``InputError`` for what it cannot say, such as what is nested without end.
    """
    try:
        to_data(data)
    except (MessageError, RecursionError):
        return json_value(data)
    return data


def check_message(state: LoopState, message_id: str) -> None:
    """
    Raise ``MessageError`` where neither a message nor the answer to come has the id *message_id*.
    """
    if message_id != state.response_id and state.messages.get_by_id(message_id) is None:
        raise MessageError(
            f"there is no message {message_id!r} to write data to", hint="leave message_id out for the present answer"
        )


def _keep(state: LoopState, chunk: Chunk, message_id: str | None) -> None:
    """
    Keep the data of *chunk*, unless it is transient, in the message *message_id*, without one in the present answer.

    Until the model has answered it waits with the answer's other parts.  Where processors look at the messages it waits
    until they are done: they may work on forks, of which a map picks one, and may be promised not to change any.
    """
    if not isinstance(chunk, DataChunk) or chunk.transient:
        return
    part = DataPart(chunk.type, _writable(chunk.data), chunk.id)
    attempt = state.attempt
    ours = message_id is None or message_id == state.response_id
    if ours and attempt is not None and attempt.step not in state.steps[-1:]:
        attempt.collector.add_data(part)
    elif state.written is not None:
        state.written.append((part, message_id or state.response_id))
    else:
        _put(state, part, message_id or state.response_id)


def put_data(state: LoopState, written: list[tuple[DataPart, str]]) -> None:
    """
    Put what processors have written into the messages, now that they are done.
    """
    for part, message_id in written:
        _put(state, part, message_id)


def _put(state: LoopState, part: DataPart, message_id: str) -> None:
    if message_id == state.response_id or message_id in state.sealed:
        state.messages.append_response((part,), message_id=message_id)
        return
    message = state.messages.get_by_id(message_id)
    if message is not None:
        state.messages.replace(message.with_parts((*message.parts, part)))
