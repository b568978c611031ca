"""
Sending a step back: by a processor, with its reason as feedback, or after a model call that failed (D14, D15).
"""

from __future__ import annotations

from procession.agents.callbacks import told
from procession.agents.state import LoopState
from procession.messages.chunks import StepFinish, TripwireInfo
from procession.messages.usage import NO_USAGE

__all__ = ["send_back"]

FEEDBACK = (
    "[Processor Feedback] Your previous response was not accepted: {reason}. "
    "Please try again with the feedback in mind."
)
"""The wording is part of the contract (D15)."""


async def send_back(state: LoopState, verdict: TripwireInfo | None, *, own: bool = False) -> bool:
    """
    Roll the attempt back and make ready for another; return whether the budget allowed it.

    *verdict* is a processor's, or ``None`` after a failed model call, which has a budget of its own; *own* leaves that
    one alone.
    """
    attempt = state.attempt
    if attempt is None:
        return False
    if verdict is not None:
        limit = state.settings.max_retries
        if limit is None or state.retries - state.api_retries - state.own_retries >= limit:
            return False
        state.feedback = FEEDBACK.format(reason=verdict.reason)
    text = attempt.collector.text
    attempt.step.tripwire = verdict
    state.roll_back(attempt)
    if verdict is None and own:
        state.own_retries += 1
    elif verdict is None:
        state.api_retries += 1
    await state.deliver(
        StepFinish(
            "retry",
            True,
            text,
            attempt.step.usage if verdict is not None else NO_USAGE,
            state.response_id,
            verdict.reason if verdict is not None else None,
            verdict.processor_id if verdict is not None else None,
            verdict.metadata if verdict is not None else None,
        )
    )
    if state.on_step_finish is not None:
        await told("on_step_finish", state.on_step_finish, attempt.step)
    return True
