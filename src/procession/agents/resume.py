"""
Resume: a suspended run goes on with answers, in this process or another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio

from procession.agents.call import Call, Emit, prepare
from procession.agents.caller import Caller
from procession.agents.claim import Claim
from procession.agents.loop import build_tail
from procession.agents.output import AgentResult
from procession.agents.snapshot import read_snapshot, restore
from procession.agents.suspended_call import Declined, SuspendedCall
from procession.errors import InputError, RunAlreadyClaimed, RunCancelled
from procession.messages.shapes import is_form
from procession.storage.base import JournalRow

__all__ = ["ResumedCall", "cancel_run", "declined", "only_call", "prepare_resumed", "suspended_calls"]

_FIXED = frozenset({"context", "instructions", "memory_options", "resource", "run_id", "system", "thread"})
"""Options that a run was begun with and keeps."""


class ResumedCall(Call):
    """
    The call that goes on with a run; it holds the run's claim.
    """

    __slots__ = ("claim",)

    def __init__(self, call: Call, claim: Claim) -> None:
        super().__init__(call.agent, call.state, build_tail(call.agent.id, call.state.pipelines), call.options)
        self.claim = claim

    async def run(self) -> AgentResult:
        """
        Go on until the end, or the next question, and write down which it was.

        Raises ``RunAlreadyClaimed`` where the claim was lost meanwhile.
        """
        result: AgentResult | None = None
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.claim.hold, group.cancel_scope)
                try:
                    result = await super().run()
                except Exception as error:  # of a callback; out of the group it would come wrapped
                    failure = error
                group.cancel_scope.cancel()
        except BaseException:  # the task is being cancelled
            with suppress(Exception):
                await (self.claim.settle("aborted") if self.has_begun else self.claim.release())
            raise
        if failure is not None and not self.has_begun:  # it has not had its turn: the run still waits
            await self.claim.release()
            raise failure
        if result is None:
            await self.claim.settle("aborted" if isinstance(failure, RunCancelled) else "failed")
            raise failure or self.claim.failure or self.claim.lost()
        if result.status != "suspended":
            await self.claim.settle(result.status)
        return result

    async def keep(self, snapshot: str) -> None:
        """
        Write down that the run is suspended again.
        """
        await self.claim.settle("suspended", snapshot)

    def unwrapped(self, result: AgentResult) -> AgentResult:
        """
        Return the result, or raise what the caller is to be told by raising, such as an answer that did not fit.
        """
        if self.state.refused is not None:
            raise self.state.refused
        return super().unwrapped(result)


async def prepare_resumed(
    agent: Caller,
    run_id: str,
    answers: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    emit: Emit | None,
    streaming: bool,
) -> ResumedCall:
    """
    Check the answers, claim the run and lay out its state.

    Raises ``InputError`` for a run that is not known or not this agent's, for answers that do not fit, and where
    something must be given again; ``RunAlreadyClaimed`` where somebody else was first.
    """
    row = await _row(agent, run_id)
    snapshot = read_snapshot(row.data or "")
    answered = _answered(run_id, snapshot["suspended"], answers)
    claim = Claim(agent.runtime.store, run_id)
    await claim.take(row)
    try:
        options = _merged(run_id, snapshot, given)
        call = await prepare(agent, (), options, emit=emit, streaming=streaming, restored=snapshot["messages"])
        restore(call.state, snapshot)
        call.state.answers = answered
        for one in snapshot["suspended"]:
            if (
                isinstance(answered.get(one.tool_call_id), SuspendedCall)
                and one.tool_name not in call.state.settings.tools
            ):
                raise InputError(
                    f"run {run_id} waits for tool {one.tool_name!r}, which agent {agent.id!r} does not have",
                    hint="resume it with an agent, or tools=, that has the tool",
                )
    except BaseException:
        await claim.release()
        raise
    return ResumedCall(call, claim)


async def suspended_calls(agent: Caller, run_id: str) -> tuple[SuspendedCall, ...]:
    """
    Return the calls that a suspended run waits for.

    Raises ``InputError`` for a run that is not known or not this agent's, ``RunAlreadyClaimed`` for one that has ended.
    """
    found: tuple[SuspendedCall, ...] = read_snapshot((await _row(agent, run_id)).data or "")["suspended"]
    return found


async def only_call(agent: Caller, run_id: str, tool_call_id: str | None) -> str:
    """
    Return the id of the call that is meant: *tool_call_id*, or the only one that waits.

    Raises ``InputError``, which names them, where there are several.
    """
    if tool_call_id is not None:
        return tool_call_id
    waiting = await suspended_calls(agent, run_id)
    if len(waiting) == 1:
        return waiting[0].tool_call_id
    raise InputError(f"run {run_id} waits for several calls", hint=f"name one: {_names(waiting)}")


async def cancel_run(agent: Caller, run_id: str) -> None:
    """
    End a suspended run for good, without an answer; nothing of it stays in the journal but that it was aborted.

    Raises what ``suspended_calls`` raises, and ``RunAlreadyClaimed`` where it is being resumed.
    """
    row = await _row(agent, run_id)
    claim = Claim(agent.runtime.store, run_id)
    await claim.take(row)
    await claim.settle("aborted")


def declined(reason: str | None) -> Declined:
    """
    Return the answer that a call is not to be run.

    Raises ``InputError`` for a reason that is no text.
    """
    if reason is not None and not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"reason is {type(reason).__name__}", hint="give a text: the model is told it")
    return Declined(reason)


async def _row(agent: Caller, run_id: str) -> JournalRow:
    row = await agent.runtime.store.row(run_id)
    if row is None:
        raise InputError(
            f"no run {run_id!r} is suspended here",
            hint="another process finds it where both have Runtime(store=SQLiteJournal(...)) of one file",
        )
    if row.owner != agent.id:
        raise InputError(f"run {run_id} is not of agent {agent.id!r}", hint="resume it with the agent that began it")
    if row.status != "suspended":
        raise RunAlreadyClaimed(f"run {run_id} waits for nothing any more: it has ended as {row.status}")
    return row


def _answered(
    run_id: str, waiting: tuple[SuspendedCall, ...], answers: Mapping[str, Any]
) -> dict[str, SuspendedCall | Declined]:
    if not is_form(answers) or not answers:
        raise InputError("no answers were given", hint=f"answers by the call's id; run {run_id}: {_names(waiting)}")
    known = {call.tool_call_id: call for call in waiting}
    for tool_call_id in answers:
        if tool_call_id not in known:
            raise InputError(
                f"run {run_id} does not wait for call {tool_call_id!r}", hint=f"it does for {_names(waiting)}"
            )
    return {tool_call_id: known[tool_call_id].answered(answer) for tool_call_id, answer in answers.items()}


def _merged(run_id: str, snapshot: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    fixed = sorted(_FIXED & {name for name, value in given.items() if value is not None})
    if fixed:
        raise InputError(f"run {run_id} has its {fixed[0]} already", hint=f"leave {fixed[0]}= out when resuming")
    missing = [name for name in snapshot["missing"] if given.get(name) is None]
    if missing:  # it may be a guard: to go on without it is not for us to decide
        raise InputError(
            f"run {run_id} was begun with {missing[0]}=, which is not kept", hint="give it again when resuming"
        )
    again = {name: value for name, value in given.items() if value is not None}
    return {**snapshot["options"], **again, "run_id": run_id}


def _names(waiting: tuple[SuspendedCall, ...]) -> str:
    return ", ".join(f"{call.tool_call_id!r} ({call.tool_name}, {call.kind})" for call in waiting)
