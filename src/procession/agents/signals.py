"""
Signals: notes that processors put into a run's conversation, for the model to read (``ctx.send_signal``).
"""

from __future__ import annotations

from typing import Any

from procession.agents.state import LoopState
from procession.agents.written import write_data
from procession.ids import new_id
from procession.messages.chunks import DataChunk
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import Part, StepStartPart
from procession.messages.signal import SentSignal, is_transient, read_signal, signal_note
from procession.processors.hooks import Hook
from procession.processors.payload import HookPayload
from procession.processors.payloads import APIErrorPayload, InputStepPayload
from procession.steps.left import is_left_behind

__all__ = ["send_signal"]

_BEFORE_AN_ANSWER = frozenset({Hook.INPUT_STEP, Hook.API_ERROR})
_BORDER: tuple[Part, ...] = (StepStartPart(),)


async def send_signal(state: LoopState, payload: HookPayload, form: Any, processor_id: str) -> SentSignal:
    """
    Put a signal behind everything said so far, tell the reader of the stream, and return it.

    Where an answer is yet to come, the one so far is sealed, so that what follows stands behind the signal.  A transient
    signal takes the place of its earlier copies.  What was left behind sends it to nobody.

    Raises ``MessageError`` for what is no signal.
    """
    signal = read_signal(form)
    if is_left_behind():
        return signal
    message = signal.as_message()
    messages = payload.message_list
    if payload.hook in _BEFORE_AN_ANSWER:
        _seal(state, payload)
    if signal.transient:
        messages.remove([known.id for known in messages.view("input") if _is_copy(known, message)])
    messages.add(message, "input")
    if payload.hook is not Hook.INPUT:  # nothing has been said in the stream yet
        await write_data(state, DataChunk("data-signal", signal.as_data(), transient=True), processor_id)
    return signal


def _seal(state: LoopState, payload: HookPayload) -> None:
    """
    Begin a new answer, if there is one so far: its steps end with a border, since the next one stands elsewhere.
    """
    messages: MessageList = payload.message_list
    attempt = state.attempt
    answer = messages.get_by_id(state.response_id)
    if answer is None or attempt is None:
        return
    if payload.hook is Hook.API_ERROR:  # what the failed call left goes, as it does when the attempt is rolled back
        answer = state.take_back(attempt, messages)
    if answer is None:
        return
    if state.step_number and not isinstance(answer.parts[-1], StepStartPart):
        messages.append_response(_BORDER, message_id=state.response_id)
    state.sealed = (*state.sealed, state.response_id)
    state.response_id = attempt.step.message_id = new_id()
    attempt.before = None
    if isinstance(payload, (InputStepPayload, APIErrorPayload)):
        payload.message_id = state.response_id


def _is_copy(known: Message, message: Message) -> bool:
    """
    Whether *known* is an earlier copy of the transient signal *message*.
    """
    if not is_transient(known):
        return False
    theirs, ours = signal_note(known), signal_note(message)
    return known.id == message.id or (
        theirs.get("type") == ours.get("type")
        and theirs.get("tagName") == ours.get("tagName")
        and list(known.parts) == list(message.parts)
    )
