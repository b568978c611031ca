"""
The model call: the request goes out, and each chunk of the answer passes the stream's processors as it comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from types import AsyncGeneratorType
from typing import Any

from procession.agents.answer import answered
from procession.agents.approval import refuse_unasked
from procession.agents.heed import heeding, notice_cancellation
from procession.agents.hook_steps import api_error
from procession.agents.model_stream import close_stream, failing
from procession.agents.retry import send_back
from procession.agents.rollback import ends_on_border
from procession.agents.state import Attempt, LoopState
from procession.agents.step_answer import replayed
from procession.agents.structured.escapes import plain_escapes
from procession.agents.structured.prompt import with_wish
from procession.agents.structured.run import StructuredRun
from procession.agents.timed_answer import timed_answer
from procession.agents.told_calls import ToldCalls
from procession.errors import ModelError
from procession.messages.chunks import (
    Chunk,
    ErrorChunk,
    Finish,
    ResponseMetadata,
    StepStart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from procession.messages.shapes import is_items
from procession.messages.usage import NO_USAGE, Usage
from procession.models.charge import charge_call
from procession.models.model import ModelRequest, ToolSpec
from procession.processors.hooks import Hook
from procession.steps.signals import Bail, Tripwire
from procession.steps.step import InlineRun
from procession.steps.stray import is_failure

__all__ = ["model_call"]

_NOTED = frozenset({Finish, ResponseMetadata, ToolCall, ToolError, ToolResult})
"""What is not simply passed on."""


async def model_call(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Ask the model, or replay the response that a processor gave, and put the answer into the messages.

    A model's failure is kept on the attempt: ``process_api_error`` decides on it.
    """
    if state.cancels is not None and state.cancels() > state.cancelled_before:
        await notice_cancellation()
    attempt = state.attempt or await state.open()
    keep = state.pipelines.keeps_chunks
    if keep:
        attempt.chunks = []
    try:
        if attempt.response is not None:
            attempt.from_cache = attempt.step.from_cache = attempt.begun = True
            replay = replayed(state, attempt, attempt.response.chunks)
            if state.structured is not None:
                replay = _readable(state.structured, replay, state)
            try:
                await _answer(state, attempt, replay, keep)
            finally:
                await close_stream(replay)
        else:
            request = _request(state, attempt)
            if state.watch is not None:
                state.watch.asked(request, path)
            try:
                stream = attempt.using.model.stream(request)
            except BaseException as error:
                if not is_failure(error):
                    raise
                stream = failing(error)
            if state.scope.abort_signal is not None:
                stream = heeding(stream, state.scope.abort_signal)
            if state.structured is not None:
                stream = _readable(state.structured, stream, state)
            if state.watch is not None and state.chain is None:
                stream = state.watch.heard(stream)
            whole = False
            try:
                if state.chain is not None and state.chain.has_clock and state.settings.streaming:
                    whole = await timed_answer(state, attempt, stream, partial(_answer, keep=keep))
                else:
                    whole = await _answer(state, attempt, stream, keep)
            finally:
                if not attempt.charged:
                    _charge_broken_off(state, attempt)
                if not (whole and type(stream) is AsyncGeneratorType):  # a generator that came to its end is closed
                    await close_stream(stream)
    except Tripwire as verdict:
        if state.guards is not None:
            await state.guards.passed(verdict.info)
        if verdict.info.retry and await send_back(state, verdict.info):
            raise Bail(state) from None
        raise
    if state.watch is not None:
        state.watch.answered(attempt, path)
    if state.guards is not None:
        await state.guards.passed()
    if state.scope.replacement is not None and await answered(state):
        raise Bail(state)
    if state.chain is not None and state.cancels is not None and state.cancels() > state.cancelled_before:
        await notice_cancellation()
    _settle(state, attempt)
    if attempt.error is not None and state.pipelines.errors_at_call:
        await api_error(state, run, f"{path.partition('/')[0]}/{Hook.API_ERROR.value}")  # where the graph has it
    return state


def _readable(wanted: StructuredRun, stream: AsyncIterator[Chunk], state: LoopState) -> AsyncIterator[Chunk]:
    """
    Return an answer as text guards can read it, where it is JSON.
    """
    return plain_escapes(stream) if wanted.is_guarded(inside=state.scope.outer is not None) else stream


def _request(state: LoopState, attempt: Attempt) -> ModelRequest:
    using = attempt.using
    wanted = using.structured_output
    messages = attempt.prompt
    if messages is None:
        messages = state.prompts.build(state.messages)
        if wanted is not None:
            messages = with_wish(messages, wanted)
    request = ModelRequest(
        messages=messages,
        tools=_specs(state, using.tools, using.active_tools) if using.tools and using.tool_choice != "none" else (),
        tool_choice=using.tool_choice,
        settings=using.model_settings,
        provider_options=using.provider_options,
        response_format=wanted.response_format() if wanted is not None and wanted.tells_model else None,
        streaming=state.settings.streaming,
        memo=state.prompts.memo,
    )
    attempt.request = request
    return request


def _specs(state: LoopState, tools: Mapping[str, Any], active: Sequence[str] | None) -> tuple[ToolSpec, ...]:
    """
    Return what the model is told of the tools; the same object as long as they stay the same.
    """
    known = state.specs
    if known is not None and known[0] is tools and known[1] is active:
        return known[2]
    specs = tuple(
        ToolSpec(tool.name, tool.description, tool.parameters, None, tool.provider_tool)
        for tool in tools.values()
        if active is None or tool.name in active
    )
    if state.settings.require_tool_approval is True:
        refuse_unasked(specs)
    state.specs = (tools, active, specs)
    return specs


def _each(out: Any) -> Sequence[Chunk]:
    if out is None:
        return ()
    return out if is_items(out) else (out,)


async def _answer(state: LoopState, attempt: Attempt, stream: AsyncIterator[Chunk], keep: bool) -> bool:
    """
    Take the answer in; tells whether it was read to its end.

    The reader is told that the step starts once the model has begun to answer, or has failed to.  This is the loop that
    runs once per chunk: nothing in it that need not be.
    """
    chain = state.chain
    fast = chain.fast if chain is not None else None
    push = chain.push if chain is not None else None
    collector = attempt.collector
    emit, on_chunk = state.emit, state.on_chunk
    begun = attempt.begun
    ours = False
    out: Any
    try:
        async for chunk in stream:
            ours = True
            if not begun:
                if keep or state.heard:
                    await _open(state, attempt, keep)
                begun = attempt.begun = True
            if keep:
                attempt.chunks.append(chunk)
            kind = type(chunk)
            out = chunk
            if kind is not TextDelta and kind in _NOTED:
                out = None
                if kind is Finish:
                    _note_finish(state, attempt, chunk)  # type: ignore[arg-type]
                    if chain is not None:
                        await _release(state, attempt, chunk)  # type: ignore[arg-type]
                elif kind is ResponseMetadata:
                    _note_metadata(attempt, chunk)  # type: ignore[arg-type]
                    if push is not None:
                        await push(chunk)  # processors see it, clients do not
                else:
                    out = _note_call(state, attempt, chunk)  # type: ignore[arg-type]
            if out is not None:
                if push is not None:
                    out = fast(out) if fast is not None else await push(out)
                if out is None and state.scope.replacement is not None:  # the rest of the answer is not wanted
                    if not state.settings.streaming:
                        await _drain(state, attempt, stream)
                    return False
                if type(out) is list or on_chunk is not None:
                    for each in _each(out):
                        collector.add(each)
                        await state.send(each)
                elif out is not None:
                    if type(out) is TextDelta and out.id == collector.block:
                        collector.pieces.append(out.text)
                    else:
                        collector.add(out)
                    if emit is not None:
                        waiting = emit(out)
                        if waiting is not None:
                            await waiting
            ours = False
        ours = True
        if chain is not None:
            for chunk in await chain.flush():
                collector.add(chunk)
                await state.send(chunk)
        return True
    except Tripwire:
        if not state.settings.streaming:
            await _drain(state, attempt, stream)
        raise
    except BaseException as error:
        if ours or not is_failure(error):  # a processor's or a callback's, no failure of the model
            raise
        if not begun:
            attempt.begun = True
            await _open(state, attempt, keep)
        _failed(attempt, error, keep)
        return False


async def _open(state: LoopState, attempt: Attempt, keep: bool) -> None:
    opening = StepStart(state.response_id)
    if keep:
        attempt.chunks.append(opening)
    if state.heard:
        for out in await state.deliver(opening):
            attempt.collector.add(out)


def _note_finish(state: LoopState, attempt: Attempt, chunk: Finish) -> None:
    step = attempt.step
    step.finish_reason = chunk.reason
    step.usage = chunk.usage
    step.provider_metadata = chunk.provider_metadata
    _charge(state, attempt, chunk.usage)


def _charge(state: LoopState, attempt: Attempt, usage: Usage | None) -> None:
    """
    Count what the model has used; ``None`` where it did not come to say it.  What a processor gave is paid for already.
    """
    attempt.charged = True
    scope, model = state.scope, attempt.using.model.id
    if attempt.from_cache:
        scope.charge(usage or NO_USAGE)  # and for no budget: nobody pays twice
    else:
        said = "" if usage is not None and usage.total_tokens else attempt.collector.text
        charge_call(scope, model, attempt.request, attempt.told, usage, said)


def _charge_broken_off(state: LoopState, attempt: Attempt) -> None:
    """
    Count a call that ended before the model said what it has used: one that was refused costs nothing.
    """
    collector, error = attempt.collector, attempt.error
    if error is None or error.kind == "timeout" or attempt.told is not None or collector.text or collector.reasoning:
        _charge(state, attempt, None)


def _note_metadata(attempt: Attempt, chunk: ResponseMetadata) -> None:
    """
    Note what the provider said of its response; the bodies go with the attempt, a step does not hold whole requests.
    """
    step = attempt.step
    attempt.told = step.response = chunk
    step.warnings = chunk.warnings
    if chunk.request is not None or chunk.raw_response is not None:
        step.response = chunk.replace(request=None, raw_response=None)


def _note_call(state: LoopState, attempt: Attempt, chunk: ToolCall | ToolResult | ToolError) -> ToolCall | None:
    """
    Note a tool call, or a result that comes with the answer; return the call that is to be passed on, if there is one.
    """
    calls, first = attempt.calls, attempt.first_call
    if calls is None:
        if first is None and isinstance(chunk, ToolCall) and chunk.tool_call_id:  # mostly it stays the only one
            attempt.first_call = chunk
            return chunk
        calls = attempt.calls = ToldCalls()
        if first is not None:
            calls.named(first)
    if not isinstance(chunk, ToolCall):
        return calls.answered(chunk, state.messages)
    named = calls.named(chunk)
    if named is not chunk and state.pipelines.keeps_chunks:  # a result finds its call by its id, in a replay as well
        attempt.chunks[-1] = named
    return named


async def _release(state: LoopState, attempt: Attempt, chunk: Finish) -> None:
    """
    Let the stream's processors see the end of the answer, and take what they held back of it.
    """
    if state.chain is not None and chunk.reason not in ("tool-calls", "error"):
        held = await state.chain.push(chunk)
        for out in held if isinstance(held, list) else [held]:
            if out is not None and type(out) is not Finish:  # text that a guard let go of
                attempt.collector.add(out)
                await state.send(out)


async def _drain(state: LoopState, attempt: Attempt, stream: AsyncIterator[Chunk]) -> None:
    """
    Read the rest of an answer that is complete already, so that its tokens are counted (D13).

    It has been decided on by now: a model that fails after all has no tokens to count, and changes nothing (D12).
    """
    try:
        async for chunk in stream:
            if type(chunk) is Finish:
                attempt.step.usage = chunk.usage
                _charge(state, attempt, chunk.usage)
    except BaseException as error:
        if not is_failure(error):
            raise


def _failed(attempt: Attempt, failure: BaseException, keep: bool) -> None:
    error = failure if isinstance(failure, ModelError) else ModelError(str(failure) or type(failure).__name__)
    if error is not failure:
        error.__cause__ = failure
    attempt.error = error
    attempt.step.finish_reason = "error"
    if keep:
        attempt.chunks.append(ErrorChunk(error))


def _settle(state: LoopState, attempt: Attempt) -> None:
    """
    Put the answer into the messages and the step, which the coming hooks see as the current one (D16).
    """
    collector = attempt.collector
    step = attempt.step
    if attempt.error is None and not attempt.from_cache:  # what a processor gave is no failure of the model
        reason = step.finish_reason
        nothing = reason == "other" and not (collector.text or collector.tool_calls or collector.reasoning)
        if reason == "error" or nothing:
            attempt.error = ModelError(
                f"the model's stream ended with the reason {reason!r} and no answer", kind="stream"
            )
            step.finish_reason = "error"
            if state.pipelines.keeps_chunks:
                attempt.chunks.append(ErrorChunk(attempt.error))
    if attempt.error is None:
        parts = collector.parts()
        if parts:
            before = attempt.before
            border = state.step_number > 0 and before is not None and not ends_on_border(before)
            attempt.said = parts
            state.messages.append_response(parts, message_id=state.response_id, new_step=border)
        step.text = collector.text
        step.tool_calls = tuple(collector.tool_calls)
        step.files, step.sources = tuple(collector.files or ()), tuple(collector.sources or ())
    if collector.reasoning:
        step.reasoning = "".join(collector.reasoning)
    state.steps.append(step)
