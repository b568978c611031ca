"""
Sending a step back: by a processor, with its reason as feedback, or after a model call that failed (D14, D15).
"""

from __future__ import annotations

from typing import Any

from procession.agents.callbacks import told
from procession.agents.state import Attempt, LoopState
from procession.messages.chunks import StepFinish, TripwireInfo
from procession.messages.usage import NO_USAGE, Usage
from procession.processors.violation import Violation

__all__ = ["reject", "send_back"]

FEEDBACK = (
    "[Processor Feedback] Your previous response was not accepted: {reason}. "
    "Please try again with the feedback in mind."
)
"""The wording is part of the contract (D15)."""


async def send_back(
    state: LoopState, verdict: TripwireInfo | None, *, own: bool = False, at_its_end: bool = False
) -> bool:
    """
    Roll the attempt back and make ready for another; return whether the budget allowed it.

    *verdict* is a processor's, or ``None`` after a failed model call, which has a budget of its own; *own* leaves that
    one alone.  *at_its_end* is for a verdict on the step's own ``step-finish``: that it is sent back is not judged again.
    """
    attempt = state.attempt
    if attempt is None:
        return False
    if verdict is not None:
        limit = state.settings.max_retries
        if limit is None or state.retries - state.api_retries - state.own_retries >= limit:
            return False
        state.feedback = FEEDBACK.format(reason=verdict.reason)
        _note_sent_back(state.scope.violations, verdict)
    attempt.step.tripwire = verdict
    if verdict is not None:
        usage = attempt.step.usage
        who = (verdict.reason, verdict.processor_id, verdict.metadata)
        await reject(state, attempt, usage, *who, at_its_end=at_its_end)
        return True
    if own:
        state.own_retries += 1
    else:
        state.api_retries += 1
    await reject(state, attempt)
    return True


async def reject(
    state: LoopState,
    attempt: Attempt,
    usage: Usage = NO_USAGE,
    reason: str | None = None,
    processor_id: str | None = None,
    metadata: Any = None,
    *,
    at_its_end: bool = False,
) -> None:
    """
    Roll an attempt back, and tell the reader to drop what was shown of it: its text, what it cost, and who wants that.
    """
    text = attempt.collector.text
    if state.scope.step_marks is not None:
        state.scope.step_marks.drop()
    state.roll_back(attempt)
    told_reader = state.send if at_its_end else state.deliver
    await told_reader(StepFinish("retry", True, text, usage, state.response_id, reason, processor_id, metadata))
    if state.on_step_finish is not None:
        await told("on_step_finish", state.on_step_finish, attempt.step)


def _note_sent_back(violations: list[Any], verdict: TripwireInfo) -> None:
    """
    The verdict stopped nothing after all: the step is done anew (D36).
    """
    for at in range(len(violations) - 1, -1, -1):
        one: Violation = violations[at]
        if one.processor_id == verdict.processor_id and one.message == verdict.reason and one.outcome == "blocked":
            violations[at] = one.replace(outcome="modified", sent_back=True)
            return
