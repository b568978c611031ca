"""
The end of a run that waits for an answer: the reader is told of each question, and the run's snapshot is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

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

_ASKED = {"agent", "run_id", "calls"}
"""The fields of a question that an agent inside another one asks, as ``agent_tool`` puts it."""
_CALL = {"question_id", "tool_call_id", "tool_name", "args", "kind", "payload", "resume_schema"}
"""The fields of each call in it."""

_WORKFLOW = {"workflow", "steps"}
"""The fields of a question that a workflow inside a run asks, as ``workflow_run`` puts it."""
_STEP = {"question_id", "step", "label", "payload", "resume_schema"}
"""The fields of each step in it."""

_Place: TypeAlias = tuple[str | int, ...]


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
    Return a question as the text guards of the answer leave what its tool wrote, as they do with a result.

    Ids that an agent inside this one is answered by are no text of a tool: they stay as they are.
    """
    if call in state.suspended or (call.payload is None and call.resume_schema is None and call.label is None):
        return call
    said = {"payload": call.payload, "resume_schema": call.resume_schema, "label": call.label}
    ids = dict(_ids(call.payload, call.inner_run, ("payload",))) if call.inner_run is not None else {}
    for place in ids:
        said = _put(said, place, None)
    left = await guarded(state, run, said, said=None, name=call.tool_name)
    for place, id in ids.items():
        left = _put(left, place, id)
    return call.replace(payload=left["payload"], resume_schema=left["resume_schema"], label=left["label"])


def _ids(payload: Any, run_id: str, place: _Place) -> Iterator[tuple[_Place, str]]:
    """
    Yield where, and which, the ids are in the question of the inner run *run_id*, and in those of runs inside that.
    """
    if is_dict(payload) and payload.keys() == _WORKFLOW:
        yield from _ids_of_steps(payload["steps"], run_id, (*place, "steps"))
        return
    if not is_dict(payload) or payload.keys() - {"refused"} != _ASKED or not _begins(payload["run_id"], run_id):
        return
    yield (*place, "run_id"), payload["run_id"]
    for index, call in enumerate(payload["calls"] if is_items(payload["calls"]) else ()):
        if not is_dict(call) or call.keys() != _CALL or not isinstance(call["tool_call_id"], str):
            continue
        if _begins(call["question_id"], call["tool_call_id"]):
            at = (*place, "calls", index)
            yield (*at, "tool_call_id"), call["tool_call_id"]
            yield (*at, "question_id"), call["question_id"]
            yield from _ids(call["payload"], f"{payload['run_id']}:{call['tool_call_id']}", (*at, "payload"))


def _ids_of_steps(steps: Any, run_id: str, place: _Place) -> Iterator[tuple[_Place, str]]:
    for index, step in enumerate(steps if is_items(steps) else ()):
        if is_dict(step) and step.keys() == _STEP and _begins(step["question_id"], step["step"]):
            yield (*place, index, "question_id"), step["question_id"]
            yield (*place, index, "step"), step["step"]
            yield from _ids(step["payload"], f"{run_id}:{step['step']}", (*place, index, "payload"))


def _begins(id: Any, with_: str) -> bool:
    """
    Whether *id* is *with_* itself, or that and the number that tells it from an earlier one.
    """
    return isinstance(id, str) and (id == with_ or re.fullmatch(re.escape(with_) + "#[0-9a-f]{1,32}", id) is not None)


def _put(value: Any, place: _Place, new: Any) -> Any:
    """
    Return *value* with *new* at a place of it.
    """
    if not place:
        return new
    key, rest = place[0], place[1:]
    if is_items(value):
        return [_put(each, rest, new) if index == key else each for index, each in enumerate(value)]
    return {**value, key: _put(value[key], rest, new)}


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
    return call.replace(args=None, payload=None, label=None)  # a processor kept it from the reader
