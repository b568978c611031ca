"""
The end of a run that waits for an answer: the reader is told of each question, and the run's snapshot is taken.
"""

from __future__ import annotations

from typing import NoReturn

from procession.agents.snapshot import write_snapshot
from procession.agents.state import LoopState
from procession.agents.suspended_call import APPROVAL_SCHEMA, SuspendedCall
from procession.errors import MessageError, RunError
from procession.messages.chunks import ToolCallApproval, ToolCallSuspended
from procession.messages.parts import Approval, ToolCallPart
from procession.processors.chain import owners
from procession.processors.memory.message_history import MessageHistory
from procession.steps.signals import Suspend

__all__ = ["park"]


async def park(state: LoopState, waiting: list[SuspendedCall]) -> NoReturn:
    """
    End the run as suspended: the calls in *waiting* need an answer, all others of the step have been dealt with.

    Raises ``RunError``, which names the value, where the run holds one that cannot be written down.
    """
    asked_before = state.suspended
    shown: list[SuspendedCall] = []
    for call in waiting:
        shown.append(call if call in asked_before else await _ask(state, call))
    state.suspended = tuple(shown)
    state.finish_reason = "suspended"
    for workflow in state.pipelines.workflows:
        for owner in owners([workflow.as_step()]):
            if isinstance(owner, MessageHistory):
                owner.keep(state.scope, state.messages)
    try:
        state.snapshot = write_snapshot(state)
    except MessageError as error:
        raise RunError(
            f"run {state.scope.run_id} cannot be suspended: {error.message}",
            hint="keep what JSON, bytes or a time can say in messages, metadata and settings",
        ) from error
    raise Suspend()


async def _ask(state: LoopState, call: SuspendedCall) -> SuspendedCall:
    """
    Put the question to the reader, past the stream's processors, and return the call as they let it be seen.
    """
    id, name, args = call.tool_call_id, call.tool_name, call.args
    chunk: ToolCallApproval | ToolCallSuspended
    if call.kind == "approval":
        approval = Approval(id)
        state.messages.update_tool_call(ToolCallPart(id, name, args, "approval-requested", approval=approval))
        chunk = ToolCallApproval(id, name, args, APPROVAL_SCHEMA)
    else:
        chunk = ToolCallSuspended(id, name, args, call.payload, call.resume_schema)
    if not state.heard:
        return call
    for out in await state.deliver(chunk):
        if isinstance(out, ToolCallApproval):
            return call.replace(args=out.args)
        if isinstance(out, ToolCallSuspended):
            return call.replace(args=out.args, payload=out.suspend_payload)
    return call.replace(args=None, payload=None)  # a processor kept it from the reader
