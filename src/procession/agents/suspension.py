"""
The end of a run that waits for an answer: the reader is told of each question, and the run's snapshot is taken.
"""

from __future__ import annotations

from typing import Any, NoReturn

from procession.agents.snapshot import check_writable, write_snapshot
from procession.agents.state import LoopState
from procession.agents.structured_guards import guarded
from procession.agents.suspended_call import APPROVAL_SCHEMA, SuspendedCall
from procession.messages.chunks import ToolCallApproval, ToolCallSuspended
from procession.messages.parts import Approval, ToolCallPart
from procession.messages.shapes import is_dict, is_items
from procession.processors.chain import owners
from procession.processors.memory.message_history import MessageHistory
from procession.steps.signals import Suspend
from procession.steps.step import InlineRun

__all__ = ["park"]

_IDS = frozenset({"question_id", "run_id", "tool_call_id"})
"""What a question of an agent inside another one is answered by, and what no guard need look at."""


async def park(state: LoopState, waiting: list[SuspendedCall], run: InlineRun) -> NoReturn:
    """
    End the run as suspended: the calls in *waiting* need an answer, all others of the step have been dealt with.

    Raises ``RunError``, which names the value, where the run holds one that cannot be written down, and ``Tripwire``
    where a text guard stops the run for what a tool asks; nobody has been asked then.
    """
    check_writable(state)
    waiting = [await _guarded(state, run, call) for call in waiting]
    asked_before = state.suspended
    shown: list[SuspendedCall] = []
    for call in waiting:
        shown.append(call if call in asked_before else await _ask(state, _numbered(state, call)))
    state.suspended = tuple(shown)
    state.finish_reason = "suspended"
    for workflow in state.pipelines.workflows:
        for owner in owners([workflow.as_step()]):
            if isinstance(owner, MessageHistory):
                owner.keep(state.scope, state.messages)
    state.snapshot = write_snapshot(state)
    raise Suspend()


async def _guarded(state: LoopState, run: InlineRun, call: SuspendedCall) -> SuspendedCall:
    """
    Return a question as the text guards of the answer leave its payload: a tool wrote it, as it does a result.
    """
    if call.payload is None or call in state.suspended:
        return call
    left = await guarded(state, run, _without_ids(call.payload), said=None, name=call.tool_name)
    return call.replace(payload=_with_ids(left, call.payload))


def _without_ids(value: Any) -> Any:
    if is_dict(value):
        return {key: None if _is_id(key, each) else _without_ids(each) for key, each in value.items()}
    if is_items(value):
        return [_without_ids(each) for each in value]
    return value


def _is_id(key: Any, value: Any) -> bool:
    return key in _IDS and isinstance(value, str)


def _with_ids(value: Any, before: Any) -> Any:
    """
    Return *value* with the ids that it had *before*.
    """
    if is_dict(value) and is_dict(before):
        return {
            key: before[key] if _is_id(key, before.get(key)) else _with_ids(each, before.get(key))
            for key, each in value.items()
        }
    if is_items(value) and is_items(before):
        return [_with_ids(each, one) for each, one in zip(value, before, strict=True)]
    return value


def _numbered(state: LoopState, call: SuspendedCall) -> SuspendedCall:
    """
    Return a new question with a number of its own: models give the same id to calls of several steps.
    """
    if call.number:
        return call
    number = 1
    while (numbered := call.replace(number=number)).question_id in state.asked:
        number += 1
    state.asked = (*state.asked, numbered.question_id)
    return numbered


async def _ask(state: LoopState, call: SuspendedCall) -> SuspendedCall:
    """
    Put the question to the reader, past the stream's processors, and return the call as they let it be seen.
    """
    id, name, args = call.tool_call_id, call.tool_name, call.args
    answered_by = call.question_id if call.number > 1 else None
    chunk: ToolCallApproval | ToolCallSuspended
    if call.kind == "approval":
        approval = Approval(id)
        state.messages.update_tool_call(ToolCallPart(id, name, args, "approval-requested", approval=approval))
        chunk = ToolCallApproval(id, name, args, APPROVAL_SCHEMA, answered_by)
    else:
        chunk = ToolCallSuspended(id, name, args, call.payload, call.resume_schema, answered_by)
    if not state.heard:
        return call
    for out in await state.deliver(chunk):
        if isinstance(out, ToolCallApproval):
            return call.replace(args=out.args)
        if isinstance(out, ToolCallSuspended):
            return call.replace(args=out.args, payload=out.suspend_payload)
    return call.replace(args=None, payload=None)  # a processor kept it from the reader
