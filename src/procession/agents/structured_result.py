"""
The end of a run with structured output: the value is made of the text that stands (D37).
"""

from __future__ import annotations

import json
from typing import Any

from procession.agents.output import AgentStep
from procession.agents.state import LoopState
from procession.agents.structured.prompt import structuring_request
from procession.agents.structured.run import StructuredRun
from procession.agents.structured_guards import guarded
from procession.errors import ModelError, SchemaError, StructuredOutputError
from procession.messages.chunks import ErrorChunk, ObjectResult
from procession.messages.parts import ErrorPart, StepStartPart, TextPart
from procession.models.ask import whole_answer
from procession.models.json_answer import json_answer
from procession.models.structured_output import StructuredOutput
from procession.steps.step import InlineRun

__all__ = ["make_object"]

METADATA = "structuredOutput"
"""Where the last message of the answer keeps the value."""
_NO_VALUE_YET = frozenset({"aborted", "suspended", "error"})
_LONGEST = 200
"""How much of one fault is told: keys of the answer may stand in it."""


async def make_object(state: LoopState, run: InlineRun, made: StructuredRun) -> None:
    """
    Make the value, tell the reader, and keep it with the answer; or do what is to be done where there is none.

    Raises ``Tripwire`` where a guard stops the run for what the value holds.
    """
    wanted = made.wanted
    if wanted is None or state.error is not None or state.finish_reason in _NO_VALUE_YET:
        return
    last = state.steps[-1] if state.steps else None
    if last is not None and _waits(last):
        return
    try:
        if wanted.model is None:
            text = last.text if last is not None else ""
            read = json_answer(text)
            left = await guarded(state, run, read, said=text)
            if last is not None and left is not read:
                _say(state, last, json.dumps(left, ensure_ascii=False))
            plain = wanted.schema.unwrapped(left)
        else:
            answer = await _second_answer(state, wanted, made)
            plain = wanted.schema.unwrapped(await guarded(state, run, json_answer(answer), said=None))
        value = wanted.schema.check(plain)
    except SchemaError as error:
        await _invalid(state, made, wanted, [fault[:_LONGEST] for fault in error.faults], error)
    except ModelError as error:
        await _invalid(state, made, wanted, [f"the structuring model failed ({error.kind})"], error)
    except ValueError as error:
        await _invalid(state, made, wanted, [f"it is no JSON: {error}"[:_LONGEST]], error)
    else:
        await _keep(state, made, value, plain)


def _say(state: LoopState, step: AgentStep, text: str) -> None:
    """
    Let *text* stand in place of what the last *step* said: in its own, an escape hides what guards have found.
    """
    message = state.messages.get_by_id(state.response_id)
    if message is None:
        return
    parts = list(message.parts)
    first = max((at + 1 for at, part in enumerate(parts) if isinstance(part, StepStartPart)), default=0)
    kept = [part for part in parts[first:] if not isinstance(part, TextPart)]
    state.messages.replace(message.with_parts([*parts[:first], *kept, TextPart(text)]), redacted=True)
    step.text = text


def _waits(step: AgentStep) -> bool:
    """
    Whether the caller still owes the model the result of a tool call: the answer is yet to come.
    """
    answered = {result.tool_call_id for result in step.tool_results}
    return any(not call.provider_executed and call.tool_call_id not in answered for call in step.tool_calls)


async def _second_answer(state: LoopState, wanted: StructuredOutput, made: StructuredRun) -> str:
    """
    Ask the second model, once, about the text that stands.
    """
    if made.replaced:
        raise _no_value("a processor gave the answer itself, and no further model is asked")
    text = "".join(step.text for step in state.steps)
    if not text.strip():
        raise _no_value("there is no text to make it of")
    assert wanted.model is not None
    try:
        answer, _ = await whole_answer(wanted.model, structuring_request(wanted, text), state.scope)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{type(error).__name__}: {error}") from error
    return answer


def _no_value(fault: str) -> SchemaError:
    return SchemaError(fault, faults=(fault,))


async def _keep(state: LoopState, made: StructuredRun, value: Any, plain: Any, *, fallback: bool = False) -> None:
    made.object = value
    if state.steps:
        state.steps[-1].object = value
    message = state.messages.get_by_id(state.response_id)
    if message is not None:
        state.messages.replace(message.replace(metadata={**(message.metadata or {}), METADATA: plain}))
    await state.send(ObjectResult(plain, fallback))


async def _invalid(
    state: LoopState, made: StructuredRun, wanted: StructuredOutput, faults: list[str], cause: Exception
) -> None:
    """
    Do what the strategy says about an answer that does not fit.
    """
    if state.finish_reason != "stop":
        faults = [*faults, f"the answer ended with {state.finish_reason!r}"]
    if wanted.error_strategy == "fallback":
        made.used_fallback = True
        await _keep(state, made, wanted.fallback, wanted.schema.plain(wanted.fallback), fallback=True)
        return
    error = StructuredOutputError(
        faults, hint='error_strategy="warn" or "fallback" lets a run end well without a value'
    )
    error.__cause__ = cause
    if wanted.error_strategy == "warn":
        made.warnings = (error.message,)
        _log(state.scope.run_id, len(faults))
        return
    state.error = error
    state.finish_reason = "error"
    state.messages.append_response((ErrorPart(type(error).__name__, error.message),), message_id=state.response_id)
    await state.send(ErrorChunk(error))


def _log(run_id: str, faults: int) -> None:
    """
    Say that there is no value; neither the answer nor its faults, which may hold private text.
    """
    import structlog

    structlog.get_logger("procession.agents").warning("no structured output", run_id=run_id, faults=faults)
