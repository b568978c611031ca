"""
The tool calls of a step, where a hook that looks at the answer has changed the messages.
"""

from __future__ import annotations

from procession.agents.retry import send_back
from procession.agents.state import Attempt, LoopState
from procession.agents.structured_guards import guarded_args
from procession.agents.told_calls import ToldCalls
from procession.messages.chunks import ToolCall, ToolError, ToolResult
from procession.messages.parts import ToolCallPart
from procession.messages.step_calls import calls_of_step
from procession.steps.signals import Bail, Tripwire
from procession.steps.step import InlineRun

__all__ = ["refresh_calls"]


async def refresh_calls(state: LoopState, attempt: Attempt, run: InlineRun) -> None:
    """
    Take the step's tool calls from the messages again: what stands there is what runs (D37).

    A call that a processor took out does not run, and neither does one that it has answered itself: its result is
    taken like that of a tool.  Arguments that are new have passed no guard of the stream, and do so now.
    """
    if attempt.error is not None:
        return
    told = attempt.step.tool_calls
    calls = calls_of_step(state.messages, state.response_id, told)
    try:
        for index, (call, part) in enumerate(calls):
            if all(call is not known for known in told):
                args = await guarded_args(state, run, call.args, call.tool_name)
                if args is not call.args:
                    state.messages.update_tool_call(part.replace(args=args))
                    calls[index] = call.replace(args=args), part
    except Tripwire as verdict:
        if verdict.info.retry and await send_back(state, verdict.info):
            raise Bail(state) from None
        raise
    attempt.step.tool_calls = tuple(call for call, _ in calls)
    for call, part in calls:
        result = _answer(call, part)
        if result is not None:
            if attempt.calls is None:
                attempt.calls = ToldCalls()
            attempt.calls.results.setdefault(call.tool_call_id, result)


def _answer(call: ToolCall, part: ToolCallPart) -> ToolResult | ToolError | None:
    if part.state == "result":
        return ToolResult(call.tool_call_id, call.tool_name, call.args, part.result, part.is_error)
    if part.state == "output-error":
        return ToolError(call.tool_call_id, call.tool_name, call.args, part.error_text or "")
    return None
