"""
A processor's own answer in place of the model's (D36).
"""

from __future__ import annotations

from procession.agents.output import AgentStep
from procession.agents.state import LoopState
from procession.messages.chunks import StepFinish, StepStart, TextDelta, TextEnd, TextStart
from procession.messages.parts import TextPart

__all__ = ["answer_instead"]


async def answer_instead(state: LoopState, text: str) -> None:
    """
    Deliver *text* like a model's answer, as the last step of the run; what the model had said in this step goes.
    """
    state.finished = True
    attempt = state.attempt
    if attempt is None and not state.started:
        attempt = await state.open()
    if attempt is not None:
        if state.steps and state.steps[-1] is attempt.step:
            state.steps = state.steps[:-1]
        state.messages.restore_response(state.response_id, attempt.before)
        if state.chain is not None:
            state.chain.discard()
    step = AgentStep(state.step_number, state.response_id)
    said: list[str] = []
    for chunk in (StepStart(state.response_id), TextStart(), TextDelta(text), TextEnd()):
        for out in await state.deliver(chunk):
            if isinstance(out, TextDelta):
                said.append(out.text)
    step.text = "".join(said)
    step.finish_reason = state.finish_reason = "stop"
    if step.text:
        state.messages.append_response((TextPart(step.text),), message_id=state.response_id)
    state.steps.append(step)
    await state.deliver(StepFinish("stop", False, step.text, step.usage, state.response_id))
