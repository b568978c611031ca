"""
The loop's hook nodes: each makes its payload, runs the processors' workflow, and takes over what they decided.
"""

from __future__ import annotations

from collections.abc import Sequence

from procession.agents.answer import answered
from procession.agents.errors import tell_error
from procession.agents.fallback import fall_back, with_earlier
from procession.agents.retry import send_back
from procession.agents.state import Attempt, LoopState
from procession.agents.step_calls import refresh_calls
from procession.agents.step_payload import StepPayload
from procession.agents.structured.prompt import with_wish
from procession.agents.structured_guards import guarded
from procession.agents.structured_start import ask_for_object
from procession.agents.written import put_data
from procession.errors import ModelError, StepError
from procession.messages.chunks import TripwireInfo
from procession.messages.message_list import MessageList
from procession.messages.prompt import PromptMessage
from procession.processors.emptied import begin_noting, emptied_by, user_speaks
from procession.processors.hooks import Hook
from procession.processors.payloads import (
    APIErrorPayload,
    HookPayload,
    InputPayload,
    LLMRequestPayload,
    LLMResponsePayload,
    OutputStepPayload,
)
from procession.processors.request_change import GivenResponse
from procession.steps.signals import Bail, Tripwire
from procession.steps.step import InlineRun

__all__ = [
    "api_error", "input_step", "llm_request", "llm_response", "output_step", "process_input", "run_hook",
]  # fmt: skip


_LOOK_AT_ANSWER = frozenset({Hook.OUTPUT_STEP, Hook.OUTPUT_RESULT})
_NOTHING_GIVEN = GivenResponse(())
_BEHIND_ANSWER = frozenset({Hook.LLM_RESPONSE, Hook.TOOL_RESULT})
"""What these add stands behind the answer, and is part of it."""


async def run_hook(state: LoopState, run: InlineRun, path: str, payload: HookPayload) -> None:
    """
    Run the processors that take part in the payload's hook.

    A verdict that asks for another attempt, within the budget, ends the attempt here: the loop turns once more (D14).
    """
    hook = payload.hook
    workflow = state.pipelines.get(hook)
    if workflow is None:
        return
    version = state.messages.version
    state.written = []
    try:
        await run.call(workflow, payload, path, state.pipelines.only[hook])
    except Tripwire as verdict:
        if not (verdict.info.retry and state.attempt is not None and await send_back(state, verdict.info)):
            raise
        raise Bail(state) from None
    except Bail as bailed:  # it would end the run with nothing said, and keep the processors behind from looking
        raise StepError(
            f"a step of {workflow.id!r} bails out of more than its workflow: scope={bailed.scope!r}",
            path=f"{path}/{workflow.id}",
            hint="in a list of processors leave scope= out, or let a processor decide: abort(), replace_response()",
        ) from None
    finally:
        written, state.written = state.written, None
    if written:
        put_data(state, written)
    if state.scope.replacement is None:
        if state.messages.version != version and (hook in _LOOK_AT_ANSWER or _was_edited(state, hook)):
            state.step_texts_stale = True  # the hook may have changed what the steps so far said
        return
    if state.guards is not None:  # there will be no model call for them to run beside
        await state.guards.check(state, run, path)
    if hook is Hook.OUTPUT_RESULT:  # the last hook: those behind, and the stream's, do not see it any more
        text, state.scope.replacement = state.scope.replacement, None
        state.scope.replacement = await guarded(state, run, text, said=None, name="replace_response")
    if await answered(state) and hook is not Hook.INPUT and hook is not Hook.OUTPUT_RESULT:
        raise Bail(state)  # out of the step


def _was_edited(state: LoopState, hook: Hook) -> bool:
    """
    Whether a hook has changed the answer so far; of one that it took away, no text is left to read.
    """
    attempt = state.attempt
    if attempt is None:
        return False
    now = state.messages.get_by_id(attempt.step.message_id)
    return now is not None and (hook in _BEHIND_ANSWER or now is not attempt.before)


async def process_input(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_input``: once, before the first step.
    """
    before = state.messages.fork()
    begin_noting(state.scope, state.messages)
    await run_hook(state, run, path, InputPayload(state.messages))
    _need_user(state, before)
    return state


def _need_user(state: LoopState, before: MessageList) -> None:
    """
    Stop a turn whose last words of a user are gone that were there *before* the hook: nothing is left to answer (D8).
    """
    if state.messages.version == before.version or user_speaks(state.messages) or not user_speaks(before):
        return
    raise Tripwire(
        TripwireInfo(
            "No user message is left: processors removed them all.",
            False,
            {"kind": "nothing_left"},
            emptied_by(state.scope),
        )
    )


async def input_step(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_input_step``: before each model call.
    """
    attempt = await state.open()
    if attempt.is_fallback:
        return state
    using = attempt.using
    payload = StepPayload(
        state.messages,
        model=using.model,
        tools=using.tools,
        tool_choice=using.tool_choice,
        active_tools=using.active_tools,
        provider_options=using.provider_options,
        model_settings=using.model_settings,
        structured_output=using.structured_output,
        message_id=state.response_id,
        step_number=state.step_number,
        steps=state.seen_steps(),
        retry_count=state.retries,
    )
    before = state.messages.fork()
    begin_noting(state.scope, state.messages)
    await run_hook(state, run, path, payload)
    if state.messages.version != before.version:
        _need_user(state, before)
        attempt.before = state.messages.get_by_id(state.response_id)
    if state.structured is not None or payload.structured_output is not None:
        ask_for_object(state, payload)
    attempt.using = payload
    return state


async def llm_request(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_llm_request``: the prompt, just before the call.
    """
    attempt = await state.open()
    using = attempt.using
    wanted = using.structured_output
    prompt: Sequence[PromptMessage] = state.prompts.build(state.messages)
    payload = LLMRequestPayload(
        state.messages,
        prompt=prompt if wanted is None else with_wish(prompt, wanted),
        model=using.model,
        tools=using.tools,
        tool_choice=using.tool_choice,
        active_tools=using.active_tools,
        model_settings=using.model_settings,
        provider_options=using.provider_options,
        response_format=wanted.response_format() if wanted is not None and wanted.tells_model else None,
        step_number=state.step_number,
        steps=state.seen_steps(),
        retry_count=state.retries,
    )
    await run_hook(state, run, path, payload)
    attempt.prompt = payload.prompt
    attempt.response = payload.response
    return state


async def llm_response(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_llm_response``: after the call, cached or not.
    """
    attempt = _attempt(state)
    told = attempt.told
    given = attempt.response or _NOTHING_GIVEN
    payload = LLMResponsePayload(
        state.messages,
        chunks=tuple(attempt.chunks),
        from_cache=attempt.from_cache,
        model=attempt.using.model,
        warnings=given.warnings or (told.warnings if told is not None else ()),
        request=given.request or (told.request if told is not None else None) or attempt.request,
        raw_response=given.raw_response or (told.raw_response if told is not None else None),
        step_number=state.step_number,
        steps=state.seen_steps(),
        retry_count=state.retries,
    )
    version = state.messages.version
    await run_hook(state, run, path, payload)
    if state.messages.version != version:
        await refresh_calls(state, attempt, run)
    attempt.passed = Hook.LLM_RESPONSE
    return state


async def api_error(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_api_error``: where the call failed; a retry within the budget turns the loop once more (D21).
    """
    attempt = _attempt(state)
    error = attempt.error
    if error is None:
        return state
    if state.step_number and state.pipelines.get(Hook.API_ERROR) is not None:
        state.messages.append_border(state.response_id)
    payload = APIErrorPayload(
        state.messages,
        error=error,
        text=attempt.collector.text,
        can_retry=state.api_retries < state.settings.max_api_retries,
        step_number=state.step_number,
        steps=state.seen_steps()[: state.step_number],
        retry_count=state.api_retries,
        message_id=state.response_id,
    )
    await run_hook(state, run, path, payload)
    if payload.retry and (payload.can_retry or payload.own_retry):
        await send_back(state, None, own=payload.own_retry)
        raise Bail(state)
    if state.settings.fallbacks and await fall_back(state, error):
        raise Bail(state)
    await tell_error(state, with_earlier(state, error))
    return state


async def output_step(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_output_step``: what the step said, before its tools run.
    """
    attempt = _attempt(state)
    step = attempt.step
    payload = OutputStepPayload(
        state.messages,
        text=step.text,
        message_id=state.response_id if attempt.said else None,
        finish_reason=step.finish_reason,
        tool_calls=step.tool_calls,
        usage=step.usage,
        provider_metadata=step.provider_metadata,
        reread=state.step_texts_stale,
        step_number=state.step_number,
        steps=state.seen_steps(),
        retry_count=state.retries,
    )
    version = state.messages.version
    await run_hook(state, run, path, payload)
    if state.messages.version != version:
        await refresh_calls(state, attempt, run)
    attempt.passed = Hook.OUTPUT_STEP
    if state.step_texts_stale:
        step.text = payload.text
    return state


def _attempt(state: LoopState) -> Attempt:
    attempt = state.attempt
    if attempt is None:
        raise ModelError("there is no model call to look at")  # the loop's order makes this impossible
    return attempt
