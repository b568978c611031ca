"""
The answer of a step, for those who keep it, and an answer that was kept, given again (D33).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from procession.agents.state import Attempt, LoopState
from procession.messages.chunks import Chunk, StepStart, ToolError, ToolResult
from procession.steps.step_marks import StepAnswer
from procession.tools.tool import Tool

__all__ = ["answer_stands", "keep_answer", "replayed"]


async def keep_answer(state: LoopState, attempt: Attempt) -> None:
    """
    Tell those who wait for it that the step is accepted; of the last one once the turn stands.
    """
    marks = state.scope.step_marks
    if marks is None:
        return
    if attempt.error is not None:
        marks.drop()
        return
    answer = StepAnswer(
        finish_reason=attempt.step.finish_reason,
        from_cache=attempt.from_cache,
        prompt=attempt.prompt,
        results=tuple(_results(state, attempt)),
    )
    if state.finished:
        marks.hold(answer)
    else:
        await marks.settle(answer)


async def answer_stands(state: LoopState) -> None:
    """
    The turn stands: tell those who wait for its last step, unless its structured output could not be read.
    """
    marks, made = state.scope.step_marks, state.structured
    if marks is not None and state.error is None and (made is None or not (made.warnings or made.used_fallback)):
        await marks.settle()


def _results(state: LoopState, attempt: Attempt) -> Iterator[ToolResult]:
    """
    Yield what tools answered here, as it was before any processor saw it: a replay passes them all again, once.

    Not what failed, which is tried again, nor what a person had, or has yet, to agree to or to give.
    """
    for outcome in attempt.outcomes:
        if outcome.pending or outcome.told is not None or outcome.denied is not None or outcome.error is not None:
            continue
        if not (outcome.is_error or outcome.tool is None or _may_ask(state, outcome.tool)):
            call = outcome.call
            yield ToolResult(call.tool_call_id, call.tool_name, call.args, outcome.result)


def _may_ask(state: LoopState, tool: Tool[Any]) -> bool:
    return tool.requires_approval is not False or state.settings.require_tool_approval is not False


async def replayed(state: LoopState, attempt: Attempt, chunks: Sequence[Chunk]) -> AsyncIterator[Chunk]:
    """
    Yield the chunks that a processor gave, as those of this answer.

    A result takes nobody's leave away: where a person may have to agree to a call, it is run as ever.
    """
    tools = attempt.using.tools
    for chunk in chunks:
        kind = type(chunk)
        if kind is StepStart:
            yield StepStart(state.response_id)
            continue
        if isinstance(chunk, (ToolResult, ToolError)) and not chunk.provider_executed:
            tool = tools.get(chunk.tool_name)
            if tool is not None and _may_ask(state, tool):
                continue
        yield chunk
