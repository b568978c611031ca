"""
The end of a step, and of the run: what is told to the reader, and whether the loop turns once more.
"""

from __future__ import annotations

from procession.agents.answer import answered
from procession.agents.callbacks import Callback, Iteration, after_iteration, is_met, tell_after, told
from procession.agents.hook_steps import run_hook
from procession.agents.output import AgentStep, TurnResult
from procession.agents.retry import send_back
from procession.agents.rollback import ends_on_border
from procession.agents.state import LoopState
from procession.agents.step_answer import answer_stands, keep_answer
from procession.agents.step_texts import refresh_texts
from procession.agents.structured_result import make_object
from procession.agents.tool_outcome import pending
from procession.ids import new_id
from procession.messages.chunks import Finish, StepFinish
from procession.messages.parts import StepStartPart
from procession.processors.payloads import OutputResultPayload
from procession.steps.signals import Bail, Tripwire
from procession.steps.step import InlineRun

__all__ = ["continues", "finish_resumed", "finish_run", "finish_step", "output_result"]

_LAST = frozenset({"stop", "error", "length", "content-filter"})
_NO_TOOLS = frozenset({"error", "length", "content-filter"})


async def finish_step(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Accept the step and tell the reader.
    """
    attempt = state.attempt
    if attempt is None or (state.scope.replacement is not None and await answered(state)):
        return state
    step = attempt.step
    reason = state.finish_reason = step.finish_reason
    waiting = pending(attempt.outcomes)
    wants_more = not waiting and (reason not in _LAST or (reason not in _NO_TOOLS and _calls_tools(step)))
    failed = attempt.error is not None
    settings = state.settings
    state.finished = failed or not wants_more or len(state.steps) >= settings.max_steps
    text = "".join(attempt.collector.text) if state.step_texts_stale and state.heard else step.text  # as streamed
    if settings.stop_when and not state.finished:
        refresh_texts(state)
        state.finished = await is_met(settings.stop_when, state.seen_steps())
    if settings.on_iteration_complete is not None and not failed:
        await _ask_to_go_on(state, settings.on_iteration_complete, step)
    if state.heard:
        await _deliver_end(state, StepFinish(reason, not state.finished, text, step.usage, state.response_id), failed)
    if state.scope.step_marks is not None:
        await keep_answer(state, attempt)
    state.accept()
    if state.on_step_finish is not None:
        if failed:  # the model's error stands
            await tell_after("on_step_finish", state.on_step_finish, step, state.scope.run_id)
        else:
            await told("on_step_finish", state.on_step_finish, step)
    if state.scope.replacement is not None:  # given where the step's end passed the stream
        await answered(state)
    return state


async def _deliver_end(state: LoopState, end: StepFinish, failed: bool) -> None:
    try:
        await state.deliver(end)
    except Tripwire as verdict:
        if failed or not (verdict.info.retry and await send_back(state, verdict.info, at_its_end=True)):
            raise
        state.finished = False
        state.note = None  # advice on a step that does not stand
        raise Bail(state) from None


async def _ask_to_go_on(state: LoopState, callback: Callback, step: AgentStep) -> None:
    refresh_texts(state)
    going_on, feedback = await after_iteration(
        callback, Iteration(step, state.seen_steps(), state.finished, state.scope.run_id)
    )
    if not going_on:
        state.finished = True
    elif not state.finished:
        state.note = feedback


async def finish_resumed(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Accept a step that was suspended; what the run says from now on is a message of its own.
    """
    await finish_step(state, run, path)
    if not state.finished:
        answer = state.messages.get_by_id(state.response_id)
        if answer is not None and not ends_on_border(answer):  # by which the steps' texts are told apart
            state.messages.append_response((StepStartPart(),), message_id=state.response_id)
        state.sealed = (*state.sealed, state.response_id)
        state.response_id = new_id()
    return state


def _calls_tools(step: AgentStep) -> bool:
    return any(not call.provider_executed for call in step.tool_calls)


def continues(state: LoopState) -> bool:
    """
    Whether the loop turns once more.
    """
    return not state.finished


async def output_result(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_output_result``: once, after the last step.
    """
    refresh_texts(state)
    result = TurnResult(
        "".join(step.text for step in state.steps), state.finish_reason, state.seen_steps(), state.scope.usage
    )
    await run_hook(state, run, path, OutputResultPayload(state.messages, result=result, steps=state.seen_steps()))
    state.looked_at_whole = True
    return state


async def finish_run(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Tell the reader that the run is over.
    """
    refresh_texts(state)
    if state.structured is not None:
        await make_object(state, run, state.structured)
    if state.scope.step_marks is not None:
        await answer_stands(state)
    state.ended = True
    if not state.heard:
        return state
    final = state.steps[-1].text if state.steps else ""
    await state.send(Finish(state.finish_reason, state.scope.usage, final, state.scope.run_id))
    return state
