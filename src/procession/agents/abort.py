"""
The end of a run that its caller no longer wants: what was delivered is kept, and looked at once more.
"""

from __future__ import annotations

from typing import Any

import anyio

from procession.agents.rollback import ends_on_border
from procession.agents.state import LoopState
from procession.agents.step_finish import output_result
from procession.agents.step_texts import refresh_texts
from procession.messages.chunks import TripwireInfo
from procession.messages.parts import Part, ReasoningPart, ToolCallPart
from procession.processors.hooks import Hook
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.step import Step

__all__ = ["drop_attempt", "end_aborted", "is_looked_at"]

UNDONE = "The run was aborted before the tool had answered."
_RESULT_HOOKS: Step[Any, Any] = Step(id=Hook.OUTPUT_RESULT.value, inline=output_result, kind="hook")


async def end_aborted(state: LoopState, runtime: Runtime, unseen: bool) -> RunResult[Any] | None:
    """
    Keep what an aborted run has delivered, and let ``process_output_result`` look at it within the grace period.

    *unseen* says that guards beside the model call have not passed: then it is as if nothing had been said.

    Return how that ended, or ``None`` where no processor looks, or where they took too long: then nothing is kept.
    """
    scope = state.scope
    was_ending = is_looked_at(state)
    began = state.started and not unseen
    scope.replacement = None
    if unseen:
        drop_attempt(state)
    else:
        _keep_delivered(state)
    state.finish_reason = "aborted"
    state.finished = True
    if was_ending:  # the hooks have had the grace period already
        _drop_answer(state)
        return None
    refresh_texts(state)
    if state.looked_at_whole or not began or state.pipelines.get(Hook.OUTPUT_RESULT) is None:
        return None
    run = runtime.create_run(_RESULT_HOOKS, scope=scope, detail=False, replay=False, sparse=True, durable=False)
    with anyio.move_on_after(scope.grace):
        return await run.start(state)
    _drop_answer(state)
    return None


def is_looked_at(state: LoopState) -> bool:
    """
    Whether ``process_output_result`` is looking at the whole answer just now.
    """
    over = state.started and state.finished and state.attempt is None
    return over and not state.looked_at_whole and state.pipelines.get(Hook.OUTPUT_RESULT) is not None


def _keep_delivered(state: LoopState) -> None:
    """
    Make what the step in hand has delivered the run's last step; what a processor had still to look at is dropped.
    """
    attempt = state.attempt
    if attempt is None:
        return
    step = attempt.step
    answered = bool(state.steps) and state.steps[-1] is step
    if attempt.error is not None or not _was_looked_at(state, attempt.passed):
        drop_attempt(state)
        return
    state.attempt = None
    if state.chain is not None:
        state.chain.discard()
    step.finish_reason = "aborted"
    if answered:
        _close_tool_calls(state, step.tool_calls, step.tool_results)
        return
    parts: list[Part] = [
        part for part in attempt.collector.parts() if not isinstance(part, (ToolCallPart, ReasoningPart))
    ]
    if not parts:
        return
    before = attempt.before
    border = state.step_number > 0 and before is not None and not ends_on_border(before)
    state.messages.append_response(parts, message_id=state.response_id, new_step=border)
    step.text = attempt.collector.text
    state.steps.append(step)


def drop_attempt(state: LoopState) -> None:
    """
    Drop what the step in hand has said; the steps before it stay.
    """
    attempt, state.attempt = state.attempt, None
    if state.chain is not None:
        state.chain.discard()
    if attempt is not None:
        if state.steps and state.steps[-1] is attempt.step:
            state.steps = state.steps[:-1]
        state.take_back(attempt)
        refresh_texts(state)


def _was_looked_at(state: LoopState, passed: Hook | None) -> bool:
    """
    Whether the processors that look at a whole step have done so, where there are any.
    """
    last = next((hook for hook in (Hook.OUTPUT_STEP, Hook.LLM_RESPONSE) if state.pipelines.get(hook) is not None), None)
    return passed is last


def _close_tool_calls(state: LoopState, calls: Any, results: Any) -> None:
    """
    Say of calls without a result that they came to nothing: a model must not take them for open ones.
    """
    done = {result.tool_call_id for result in results}
    for call in calls:
        if call.tool_call_id not in done and not call.provider_executed:
            state.messages.update_tool_call(
                ToolCallPart(
                    call.tool_call_id, call.tool_name, call.args, "output-error", error_text=UNDONE, is_error=True
                )
            )


def _drop_answer(state: LoopState) -> None:
    """
    Let nothing be left of what the turn said: those who had to look at it did not come to their end (D17).
    """
    import structlog

    for step in state.steps:
        step.text = ""
    for message_id in (*state.sealed, state.response_id):
        state.messages.restore_response(message_id, None)
    state.scope.marks[:] = [mark for mark in state.scope.marks if mark.always]
    structlog.get_logger("procession.agents").warning(
        "an aborted run's process_output_result took too long: nothing is kept", run_id=state.scope.run_id
    )


def trip(state: LoopState, tripwire: TripwireInfo) -> None:
    """
    Leave what was accepted, and no rejected text, now that *tripwire* has stopped the run (D13).
    """
    state.tripwire = tripwire
    state.finish_reason = "other"
    attempt = state.attempt
    if attempt is not None:
        if state.steps and state.steps[-1] is attempt.step:
            state.steps = state.steps[:-1]
        state.take_back(attempt)
    elif state.finished:  # the turn was rejected as a whole
        for step in state.steps:
            step.text = ""
        for message_id in (*state.sealed, state.response_id):
            state.messages.restore_response(message_id, None)
    refresh_texts(state)
