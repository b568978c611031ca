"""
A processor's own answer in place of the model's (D36).
"""

from __future__ import annotations

from procession.agents.callbacks import Iteration, after_iteration, told
from procession.agents.output import AgentStep
from procession.agents.retry import reject
from procession.agents.rollback import ends_on_border
from procession.agents.state import LoopState
from procession.agents.step_texts import refresh_texts
from procession.messages.chunks import StepFinish, StepStart, TextDelta, TextEnd, TextStart
from procession.messages.message import Message
from procession.messages.parts import TextPart

__all__ = ["answered"]

REASON = "A processor gave the answer itself."
"""Why an attempt was rejected that an answer took the place of."""


async def answered(state: LoopState) -> bool:
    """
    Take up the answer that a processor gave, if one did, and tell whether there was any.
    """
    text = state.scope.replacement
    if text is None:
        return False
    if state.finished:
        _say_instead(state, text)
    else:
        await _answer_instead(state, text)
    state.scope.replacement = None
    if state.structured is not None:
        state.structured.replaced = True
    return True


async def _answer_instead(state: LoopState, text: str) -> None:
    """
    Deliver *text* like a model's answer, as the last step of the run; what the model had said in this step is rejected.
    """
    attempt = state.attempt
    if attempt is None and not state.started:
        attempt = await state.open()
    state.finished = True
    if attempt is not None and attempt.begun:
        by = state.scope.replaced_by
        await reject(state, attempt, attempt.step.usage, REASON, by)
        state.scope.replacement = text  # the rollback has dropped it; the answer's own chunks pass whoever gave it
    elif attempt is not None:
        state.take_back(attempt)
        if state.chain is not None:
            state.chain.discard()
    step = AgentStep(state.step_number, state.response_id)
    said: list[str] = []
    for chunk in (StepStart(state.response_id), TextStart(), TextDelta(text), TextEnd()):
        for out in await state.deliver(chunk):
            if isinstance(out, TextDelta):
                said.append(out.text)
    for out in await state.chain.flush() if state.chain is not None else ():
        await state.send(out)
        if isinstance(out, TextDelta):
            said.append(out.text)
    step.text = "".join(said)
    step.finish_reason = state.finish_reason = "stop"
    if step.text:
        before = state.messages.get_by_id(state.response_id)
        border = before is not None and not ends_on_border(before)  # the steps' texts are told apart by it
        state.messages.append_response((TextPart(step.text),), message_id=state.response_id, new_step=border)
    state.steps.append(step)
    if state.settings.on_iteration_complete is not None:
        refresh_texts(state)
        iteration = Iteration(step, state.seen_steps(), True, state.scope.run_id)
        await after_iteration(state.settings.on_iteration_complete, iteration)
    await state.deliver(StepFinish("stop", False, step.text, step.usage, state.response_id))
    state.accept()
    if state.on_step_finish is not None:
        await told("on_step_finish", state.on_step_finish, step)


def _say_instead(state: LoopState, text: str) -> None:
    """
    Let *text* be all that a turn said which is over already; its tool calls stay.
    """
    for earlier in map(state.messages.get_by_id, state.sealed):
        if earlier is not None:
            state.messages.replace(_without_text(earlier), redacted=True)
    message = state.messages.get_by_id(state.response_id)
    said = (TextPart(text),)
    if message is None:
        state.messages.append_response(said, message_id=state.response_id)
    else:
        message = _without_text(message)
        state.messages.replace(message.with_parts((*message.parts, *said)), redacted=True)
    state.step_texts_stale = True


def _without_text(message: Message) -> Message:
    return message.with_parts(part for part in message.parts if not isinstance(part, TextPart))
