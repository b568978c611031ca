"""
Tool calls: the tools of one step run at the same time, their results are taken in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Literal, NoReturn

from procession.agents.approval import needs_approval
from procession.agents.heed import stop_unwanted
from procession.agents.hook_steps import run_hook
from procession.agents.reader_view import true_args
from procession.agents.retry import send_back
from procession.agents.state import Attempt, LoopState
from procession.agents.suspended_call import Declined, SuspendedCall
from procession.agents.suspension import park
from procession.agents.tool_outcome import ToolOutcome, told_of
from procession.agents.written import write_from_tool
from procession.errors import ApprovalError, ToolArgumentsError, TripwireError
from procession.messages.chunks import Start, ToolCall, ToolError, ToolOutputDenied, ToolResult
from procession.messages.parts import Approval, ToolCallPart
from procession.processors.payloads import ToolOrigin, ToolResultPayload
from procession.steps.own_task import leave
from procession.steps.pool import Pool
from procession.steps.signals import Bail, CancelRun, Suspend, Tripwire
from procession.steps.step import InlineRun
from procession.steps.stray import is_failure, is_stray
from procession.tools.answers import Question
from procession.tools.context import ToolContext
from procession.tools.json_value import json_value
from procession.tools.tool import Tool

__all__ = ["run_and_take", "run_answered", "run_tools", "take_results"]

_NO_TOOLS: Mapping[str, Tool[Any]] = {}


async def run_tools(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Run the tools that the step asks for.
    """
    attempt = state.attempt
    if attempt is None or attempt.error is not None:
        return state
    calls = [call for call in attempt.step.tool_calls if not call.provider_executed]
    told = attempt.calls
    if told is not None and told.results:
        calls = [call for call in calls if call.tool_call_id not in told.results]  # no tool runs twice (D33)
    try:
        if len(calls) == 1:
            attempt.outcomes = [await _run(state, attempt, calls[0], run, path)]
            if state.stopped_by is not None:
                raise state.stopped_by
        elif calls:
            results: list[Any] = [None] * len(calls)

            async def one(index: int) -> None:
                results[index] = await _run(state, attempt, calls[index], run, path, pooled=True)
                if state.stopped_by is not None:
                    raise state.stopped_by

            await _together(state, calls, one)
            attempt.outcomes = results
    except Tripwire as verdict:
        await _stop(state, verdict)
    if told is not None and (told.results or told.late):
        attempt.outcomes = told.outcomes(attempt.step.tool_calls, attempt.outcomes, attempt.using.tools)
    return state


async def _stop(state: LoopState, verdict: Tripwire) -> NoReturn:
    """
    Send the step back where a processor of the stream asks for that and the budget allows it, or stop the run (D14).
    """
    if verdict.info.retry and await send_back(state, verdict.info):
        state.stopped_by = None
        raise Bail(state) from None
    raise verdict


async def _together(state: LoopState, calls: Sequence[ToolCall], one: Callable[[int], Awaitable[None]]) -> None:
    await stop_unwanted(state)
    pool = Pool(one, len(calls), state.settings.tool_concurrency)
    try:
        await pool.run(state.scope.grace)
    finally:
        if pool.busy:
            leave(state.scope, ", ".join(f"tool {calls[index].tool_name!r}" for index in pool.running()), pool)
    if pool.cancelled:  # and nobody raised: somebody has cancelled a task of ours
        raise CancelRun("a tool was cancelled from outside")


async def run_and_take(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Run the tools that the step asks for, and take their results where no processor looks at them.
    """
    attempt = state.attempt
    if attempt is None or attempt.error is not None or not (attempt.step.tool_calls or attempt.calls):
        return state
    calls, told = attempt.step.tool_calls, attempt.calls
    if len(calls) != 1 or (told is not None and (told.results or told.late)) or calls[0].provider_executed:
        await run_tools(state, run, path)
        return await take_results(state, run, path)
    try:
        outcome = await _run(state, attempt, calls[0], run, path)  # the usual case, without a detour
        if state.stopped_by is not None:
            raise state.stopped_by
        attempt.outcomes = (outcome,)
        if not outcome.pending:
            taken: list[ToolResult | ToolError] = []
            attempt.step.taken = taken
            await _take(state, run, path, outcome, taken)
    except Tripwire as verdict:
        await _stop(state, verdict)
    if outcome.waiting is not None:
        await park(state, [outcome.waiting], run)
    return state


async def run_answered(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Run the tools whose calls were answered, one after the other in the order of the calls; each result is taken, and
    written down as processors leave it, before the next tool runs.  The others of the step were dealt with before.
    """
    try:
        return await _run_answered(state, run, path)
    except Tripwire as verdict:
        await _stop(state, verdict)


async def _run_answered(state: LoopState, run: InlineRun, path: str) -> LoopState:
    attempt = state.attempt
    assert attempt is not None  # a suspended run has one
    if state.heard:
        await state.send(Start(state.scope.run_id, state.response_id, state.settings.agent_id))
    if state.chain is not None:
        state.chain.begin(step_number=state.step_number, steps=state.seen_steps(), retry_count=state.retries)
    waiting = {one.place: one for one in state.suspended}
    order = {call.tool_call_id: place for place, call in enumerate(attempt.step.tool_calls)}
    taken = attempt.step.taken = [*attempt.step.taken]
    done = {result.tool_call_id for result in taken}
    left: list[SuspendedCall] = []
    outcomes: list[ToolOutcome] = []
    for place, call in enumerate(attempt.step.tool_calls):
        tool = state.settings.tools.get(call.tool_name)
        asked = waiting.get(place)
        answer = state.answers.get(asked.question_id) if asked is not None else None
        if asked is None:
            if tool is not None and tool.client_side and not (call.provider_executed or call.tool_call_id in done):
                outcomes.append(ToolOutcome(call, tool, pending=True))
            continue
        if answer is None:
            left.append(asked)
            continue
        if isinstance(answer, Declined):
            outcome = ToolOutcome(call, tool)
            outcome.denied = answer
        else:
            outcome = await _run(state, attempt, call, run, path, answer)
            if state.stopped_by is not None:
                raise state.stopped_by
        if outcome.waiting is not None:
            left.append(outcome.waiting)
            continue
        await _take(state, run, path, outcome, taken)
        taken.sort(key=lambda result: order.get(result.tool_call_id, len(order)))
        state.suspended = tuple(one for one in state.suspended if one is not asked)
        if state.progress is not None:
            await state.progress()
    attempt.outcomes = outcomes
    if left:
        await park(state, left, run)
    return state


async def _run(
    state: LoopState,
    attempt: Attempt,
    call: ToolCall,
    run: InlineRun,
    path: str,
    resumed: SuspendedCall | None = None,
    pooled: bool = False,
) -> ToolOutcome:
    if state.cancels is None or state.scope.abort_signal is not None or state.cancels() > state.cancelled_before:
        await stop_unwanted(state, pooled)
    elif run.is_due():  # a cancel scope tells asyncio's tasks where they wait, and a shielded client has not waited
        await run.breathe()
    using = attempt.using
    tools: Mapping[str, Tool[Any]] = using.tools if using.tool_choice != "none" else _NO_TOOLS
    tool = tools.get(call.tool_name)
    active = using.active_tools
    if tool is None or (active is not None and call.tool_name not in active):
        names = ", ".join(active if active is not None and tools else tools) or "none"
        return ToolOutcome(call, None, error=f'Tool "{call.tool_name}" not found. Available tools: {names}.')
    if tool.client_side:
        try:
            tool.read_arguments(call.args)
        except ToolArgumentsError as error:
            return _misfit(call, tool, error)
        return ToolOutcome(call, tool, pending=True)
    context = ToolContext(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        scope=state.scope,
        messages=state.messages.view,
        emit=partial(write_from_tool, state),
        caller=run.call,
        path=path,
        answers=resumed.answers if resumed is not None else (),
        apart=state.stoppable and not pooled,
        inner_run=resumed.inner_run if resumed is not None else None,
    )
    try:
        if tool.requires_approval is not False or state.settings.require_tool_approval is not False:
            if resumed is None or not (resumed.approved or resumed.answers):
                args = tool.read_arguments(
                    true_args(state.scope, call.args)
                )  # nobody is asked about a call that cannot be run
                if await needs_approval(tool, state.settings.require_tool_approval, args, context):
                    return _waiting(attempt, call, tool, "approval", context, None)
                await stop_unwanted(state, pooled)
        result = await tool.run(true_args(state.scope, call.args), context)
        if context.question is None:
            # Guards look into what JSON can say of it, so that nothing else may get into a prompt (D20).
            return ToolOutcome(call, tool, json_value(result))
    except ApprovalError:
        raise
    except ToolArgumentsError as error:
        return _misfit(call, tool, error)
    except TripwireError as error:  # of an agent or a workflow that the tool ran; it does not trip this run
        if context.question is None:
            return ToolOutcome(call, tool, result={"tripwire": told_of(error)}, is_error=True)
    except Exception as error:
        if context.question is None:
            return ToolOutcome(call, tool, error=str(error) or type(error).__name__)
    except (Suspend, BaseExceptionGroup) as raised:
        if context.question is None and isinstance(raised, Suspend):
            told = f"{call.tool_name} asked for an answer inside of what it runs, where none can be given."
            return ToolOutcome(call, tool, error=told)
        if context.question is None:
            raise
    except BaseException as raised:
        if not is_stray(raised):
            raise
        if context.question is None:
            return ToolOutcome(call, tool, error=type(raised).__name__)
    finally:
        context.over = True
    state.refused = context.refused or state.refused
    return _waiting(attempt, call, tool, "suspended", context, resumed)


def _misfit(call: ToolCall, tool: Tool[Any], error: ToolArgumentsError) -> ToolOutcome:
    """
    Return what the model is told of a call that cannot be run as it is, to mend it.
    """
    return ToolOutcome(call, tool, result={"error": True, "message": str(error)}, is_error=True)


def _waiting(
    attempt: Attempt,
    call: ToolCall,
    tool: Tool[Any],
    kind: Literal["approval", "suspended"],
    context: ToolContext,
    resumed: SuspendedCall | None,
) -> ToolOutcome:
    question = context.question or Question()
    answers = tuple(context.answered)
    number = 0
    if context.refused is not None and resumed is not None:  # the same question still stands
        answers, number = answers[: len(resumed.answers) - 1], resumed.number
    asked = SuspendedCall(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        args=call.args,
        kind=kind,
        payload=question.payload,
        resume_schema=question.resume_schema,
        label=question.label,
        approved=resumed is not None and resumed.approved,
        answers=answers,
        place=next(place for place, one in enumerate(attempt.step.tool_calls) if one is call),
        number=number,
        inner_run=context.inner_run,
    )
    return ToolOutcome(call, tool, pending=True, waiting=asked)


async def take_results(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_tool_result`` for each result, before anything is derived from it (D20); then it goes into the messages
    and to the reader.
    """
    attempt = state.attempt
    if attempt is None:
        return state
    taken: list[ToolResult | ToolError] = []
    attempt.step.taken = taken
    waiting: list[SuspendedCall] = []
    try:
        for outcome in attempt.outcomes:
            if not outcome.pending:
                await _take(state, run, path, outcome, taken)
            elif outcome.waiting is not None:
                waiting.append(outcome.waiting)
    except Tripwire as verdict:
        await _stop(state, verdict)
    if waiting:
        await park(state, waiting, run)
    return state


async def _take(
    state: LoopState, run: InlineRun, path: str, outcome: ToolOutcome, taken: list[ToolResult | ToolError]
) -> None:
    call = outcome.call
    denied: Declined | None = outcome.denied
    failed = outcome.error is not None or denied is not None
    value = outcome.result if not failed else denied.reason if denied is not None else outcome.error
    notes = outcome.notes() if outcome.told is not None else None
    came = deepcopy(value) if notes is not None else None
    if state.pipelines.takes_results and (not failed or state.pipelines.tells_tool_errors):
        payload = ToolResultPayload(
            state.messages,
            tool_name=call.tool_name,
            tool_call_id=call.tool_call_id,
            args=call.args,
            result=value,
            is_error=failed,
            provider_executed=call.provider_executed,
            origin=_origin(state, outcome),
            step_number=state.step_number,
            steps=state.seen_steps(),
            retry_count=state.retries,
        )
        payload.notes = notes
        await run_hook(state, run, path, payload)
        value = payload.result
    if denied is not None:
        await _deny(state, call, value)
        return
    chunk: ToolResult | ToolError
    output = None
    if not failed and outcome.tool is not None and outcome.tool.to_model_output is not None and not outcome.is_error:
        try:
            output = await outcome.tool.model_output(value)
        except BaseException as error:  # its words may quote the result, which no guard has seen in this form
            if not is_failure(error):
                raise
            failed, value = True, f"The result of {call.tool_name} could not be put into words."
    if failed:
        text = value if isinstance(value, str) else str(value)
        part = ToolCallPart(
            call.tool_call_id, call.tool_name, call.args, "output-error", error_text=text, is_error=True
        )
        chunk = ToolError(call.tool_call_id, call.tool_name, call.args, text)
    else:
        part = ToolCallPart(
            call.tool_call_id, call.tool_name, call.args, "result", value, None, outcome.is_error, model_output=output
        )
        chunk = ToolResult(call.tool_call_id, call.tool_name, call.args, value, outcome.is_error)
    if outcome.told is not None:
        chunk = chunk.replace(provider_executed=call.provider_executed)
        if notes is not None and isinstance(chunk, ToolResult) and value == came:  # of what was changed they may tell
            part = part.replace(provider_metadata=notes.value)
            chunk = chunk.replace(provider_metadata=notes.value)
    state.messages.update_tool_call(part)
    if not state.heard:
        taken.append(chunk)
        return
    for out in await state.deliver(chunk):
        if isinstance(out, (ToolResult, ToolError)):
            taken.append(out)


def _origin(state: LoopState, outcome: ToolOutcome) -> ToolOrigin | None:
    """
    Return where the tool of a call came from.
    """
    name = outcome.call.tool_name
    if outcome.tool is None:
        return "provider" if outcome.call.provider_executed else None
    if state.settings.tools.get(name) is not outcome.tool:
        return "step"
    return "call" if name in state.settings.tools_of_call else "agent"


async def _deny(state: LoopState, call: ToolCall, reason: Any) -> None:
    text = reason if isinstance(reason, str) else None
    approval = Approval(call.tool_call_id, False, text)
    where = (call.tool_call_id, call.tool_name, call.args)
    state.messages.update_tool_call(ToolCallPart(*where, "output-denied", approval=approval))
    if state.heard:
        await state.deliver(ToolOutputDenied(*where, text))
