"""
Resume: a suspended run goes on with answers, in this process or another one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio

from procession.agents.call import Call, Emit, prepare
from procession.agents.caller import Caller
from procession.agents.claim import Claim
from procession.agents.inner_runs import end_inner_runs, end_waiting, note_inner_runs
from procession.agents.kept_in import store_of
from procession.agents.loop import build_tail
from procession.agents.output import AgentResult
from procession.agents.snapshot import INSIDE, read_snapshot, restore, write_snapshot
from procession.agents.suspended_call import Declined, SuspendedCall
from procession.agents.toolset import tools_by_name
from procession.errors import AlreadyAnswered, InputError, RunAlreadyClaimed, RunCancelled
from procession.messages.shapes import is_form
from procession.processors.memory.use import thread_given
from procession.storage.base import JournalStore, RunRow, RunStatus
from procession.tools.json_value import json_value

__all__ = ["ResumedCall", "cancel_run", "declined", "only_call", "prepare_resumed", "suspended_calls", "waiting_calls"]

_FIXED = frozenset({"context", "instructions", "memory_options", "run_id", "system"})
"""Options that a run was begun with and keeps."""
_OWNERS = ("resource", "thread")
"""Options that say whose run it is."""
_ENDS: Mapping[str, RunStatus] = {
    "aborted": "cancelled", "blocked": "blocked", "completed": "success", "failed": "failed",
}  # fmt: skip
"""What a store calls the ends of a turn."""
_SAID = {kept: said for said, kept in _ENDS.items()}


class ResumedCall(Call):
    """
    The call that goes on with a run; it holds the run's claim.
    """

    __slots__ = ("claim", "given", "lasting")

    def __init__(self, call: Call, claim: Claim, given: Mapping[str, str]) -> None:
        super().__init__(call.agent, call.state, build_tail(call.agent.id, call.state.pipelines), call.options)
        self.claim = claim
        self.given = given
        """Digests of the answers, by question."""
        self.lasting = False
        """Whether the run round it writes down what it has come to before it ends, with ``end``: so no answer is lost."""
        call.state.progress = self.note

    @property
    def _resumes(self) -> bool:
        return True

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
                await (self._settle("cancelled") if self.has_begun and not self.lasting else self.claim.release())
            raise
        if failure is not None and not self.has_begun:  # it has not had its turn: the run still waits
            await self.claim.release()
            raise failure
        if result is None:
            await self._settle("cancelled" if isinstance(failure, RunCancelled) else "failed")
            raise failure or self.claim.failure or self.claim.lost()
        if not self.has_begun:  # another call took its place
            await self.claim.release()
        elif self.lasting and result.status == "completed":
            pass
        elif result.status != "suspended":
            await self._settle(_ENDS[result.status])
        else:
            await end_inner_runs(self.state, result)  # of calls that were declined
        return result

    async def end(self) -> None:
        """
        Write down that a run that is ``lasting`` has completed.
        """
        await self._settle("success")

    async def _settle(self, status: RunStatus) -> None:
        """
        Write down that the run has ended, and end the runs inside it that still wait.
        """
        await self.claim.settle(status)
        await end_inner_runs(self.state, None)

    async def note(self) -> None:
        """
        Write down how far the run has come, so that a tool that was run is not run again, should the process die.

        Raises ``RunAlreadyClaimed`` where the claim was lost meanwhile.
        """
        still_open = {one.question_id for one in self.state.suspended}
        done = {question: digest for question, digest in self.given.items() if question not in still_open}
        await self.claim.note(write_snapshot(self.state, done))

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
    inside: bool = False,
    kept: JournalStore | None = None,
) -> ResumedCall:
    """
    Check the answers, claim the run and lay out its state; *inside* says that the run goes on that it stands in, which
    may be *kept* in a store of its own.

    Raises ``InputError`` for a run that is not known or not this agent's, for answers that do not fit, and where
    something must be given again; ``RunAlreadyClaimed`` where somebody else was first.
    """
    row, snapshot = await _opened(agent, run_id, given, inside=inside, kept=kept)
    answered, digests = _answered(run_id, snapshot, answers)
    claim = Claim(store_of(agent, kept), run_id)
    await claim.take(row)
    try:
        options = _merged(run_id, snapshot, given)
        call = await prepare(agent, (), options, emit=emit, streaming=streaming, restored=snapshot["messages"])
        restore(call.state, snapshot)
        if inside:
            call.state.scope.resources[INSIDE] = True
        call.state.answers = answered
        note_inner_runs(call.state, agent)
        signal = options.get("abort_signal")
        if signal is None or not signal.aborted:  # then nothing is run, nor were tools asked for
            _check_tools(call, snapshot, answered, given)
    except BaseException:
        await claim.release()
        raise
    return ResumedCall(call, claim, digests)


async def waiting_calls(agent: Caller, run_id: str, kept: JournalStore | None = None) -> tuple[SuspendedCall, ...]:
    """
    Return the calls that a suspended run waits for, whoever asks.

    Raises ``InputError`` for a run that is not known or not this agent's, ``RunAlreadyClaimed`` for one that has ended.
    """
    _, snapshot = await _found(agent, run_id, kept)
    found: tuple[SuspendedCall, ...] = snapshot["suspended"]
    return found


async def suspended_calls(agent: Caller, run_id: str, resource: str | None) -> tuple[SuspendedCall, ...]:
    """
    Return the calls that a suspended run of *resource* waits for.

    Raises what ``waiting_calls`` raises, and ``InputError`` where the run is another one's.
    """
    _, snapshot = await _opened(agent, run_id, {"resource": resource})
    found: tuple[SuspendedCall, ...] = snapshot["suspended"]
    return found


async def only_call(agent: Caller, run_id: str, question_id: str | None, resource: Any) -> str:
    """
    Return the question that is meant: *question_id*, or the only one that waits.

    Raises ``InputError``, which names them, where there are several, and where another one has been answered: what was
    sent twice must not answer a question that nobody has seen.
    """
    if question_id is not None:
        return question_id
    _, snapshot = await _opened(agent, run_id, {"resource": resource})
    waiting: tuple[SuspendedCall, ...] = snapshot["suspended"]
    if len(waiting) == len(snapshot["asked"]) == 1:
        return waiting[0].question_id
    told = "waits for several calls" if len(waiting) > 1 else "has had an answer before"
    raise InputError(f"run {run_id} {told}", hint=f"say which call is meant: {_names(waiting)}")


async def cancel_run(agent: Caller, run_id: str, resource: str | None) -> None:
    """
    End a suspended run for good, without an answer, and the runs of agents inside it; nothing of it stays in the journal but that it was
    cancelled.

    Raises what ``suspended_calls`` raises, and ``RunAlreadyClaimed`` where it is being resumed.
    """
    row, _ = await _opened(agent, run_id, {"resource": resource})
    await end_waiting(agent, row)


def declined(reason: str | None) -> Declined:
    """
    Return the answer that a call is not to be run.

    Raises ``InputError`` for a reason that is no text.
    """
    if reason is not None and not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"reason is {type(reason).__name__}", hint="give a text: the model is told it")
    return Declined(reason)


async def _opened(
    agent: Caller, run_id: str, given: Mapping[str, Any], *, inside: bool = False, kept: JournalStore | None = None
) -> tuple[RunRow, dict[str, Any]]:
    """
    Return a run that waits, for whoever may answer it.
    """
    row, snapshot = await _found(agent, run_id, kept)
    _check_owner(run_id, snapshot, given)
    if snapshot["inside"] and not inside:
        raise InputError(
            f"run {run_id} stands inside another run", hint="answer the call of that run, with the agent that began it"
        )
    return row, snapshot


async def _found(agent: Caller, run_id: str, kept: JournalStore | None) -> tuple[RunRow, dict[str, Any]]:
    row = await store_of(agent, kept).row(run_id)
    if row is None:
        raise _unknown(run_id)
    if row.owner != agent.id:
        raise InputError(f"run {run_id} is not of agent {agent.id!r}", hint="resume it with the agent that began it")
    if row.status != "suspended":
        raise RunAlreadyClaimed(
            f"run {run_id} waits for nothing any more: it has ended as {_SAID.get(row.status, row.status)}"
        )
    return row, read_snapshot(row.data or "")


def _unknown(run_id: str) -> InputError:
    return InputError(
        f"no run {run_id!r} is suspended here",
        hint="another process finds it where both have Runtime(store=SQLiteJournal(...)) of one file",
    )


def _check_owner(run_id: str, snapshot: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """
    Refuse whoever does not say whose run it is, or says it wrongly: to them it is as good as not there (D35).
    """
    owner = snapshot["options"]
    if owner.get("resource") is not None and given.get("resource") is None:
        raise InputError(
            f"run {run_id} was begun for a resource, and nobody says for which one it goes on",
            hint="resource=: that of whoever answers; another one's answer is refused",
        )
    for name in _OWNERS:
        said = given.get(name)
        if name == "thread" and said is not None and not isinstance(said, str):
            said = thread_given(said).id
        if said is not None and said != owner.get(name):
            raise _unknown(run_id)


def _check_tools(
    call: Call, snapshot: Mapping[str, Any], answered: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """
    Refuse to run another tool than the one that was asked about.
    """
    run_id, agent = call.state.scope.run_id, call.agent
    again = tools_by_name(given.get("tools") or ())
    for one in snapshot["suspended"]:
        if not isinstance(answered.get(one.question_id), SuspendedCall):
            continue
        if one.tool_name not in call.state.settings.tools:
            raise InputError(
                f"run {run_id} waits for tool {one.tool_name!r}, which agent {agent.id!r} does not have",
                hint="resume it with an agent, or tools=, that has the tool",
            )
        if one.tool_name in snapshot["step_tools"] and one.tool_name not in again:
            raise InputError(
                f"run {run_id} waits for a tool {one.tool_name!r} that a processor gave to that step alone",
                hint="give it again when resuming: tools=",
            )


def _answered(
    run_id: str, snapshot: Mapping[str, Any], answers: Mapping[str, Any]
) -> tuple[dict[str, SuspendedCall | Declined], dict[str, str]]:
    """
    Return the answered calls by question, and the digests of their answers with those that were given before the
    process died that had gone on with the run.
    """
    waiting: tuple[SuspendedCall, ...] = snapshot["suspended"]
    done: Mapping[str, str] = snapshot["done"]
    if not is_form(answers) or not (answers or done):
        raise InputError("no answers were given", hint=f"answers by the call's id; run {run_id}: {_names(waiting)}")
    known = {call.question_id: call for call in waiting}
    answered: dict[str, SuspendedCall | Declined] = {}
    digests = dict(done)
    for question, answer in answers.items():
        digest = _digest(answer)
        if question in known:
            answered[question] = known[question].answered(answer)
            digests[question] = digest
        elif question in snapshot["asked"] and done.get(question) != digest:
            raise AlreadyAnswered(
                f"run {run_id} has had an answer to {question!r} before", hint=f"it waits for {_names(waiting)}"
            )
        elif question not in done:
            raise InputError(f"run {run_id} does not wait for call {question!r}", hint=f"it does for {_names(waiting)}")
    return answered, digests


def _digest(answer: Any) -> str:
    """
    Return what tells one answer from another without its words.
    """
    if isinstance(answer, Declined):
        answer = {"approved": False} if answer.reason is None else {"approved": False, "reason": answer.reason}
    import hashlib  # with the first answer, not with the library

    return hashlib.sha256(json.dumps(json_value(answer), sort_keys=True).encode()).hexdigest()


def _merged(run_id: str, snapshot: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    fixed = sorted((_FIXED - set(snapshot["missing"])) & {name for name, value in given.items() if value is not None})
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
    return ", ".join(f"{call.question_id!r} ({call.tool_name}, {call.kind})" for call in waiting) or "nothing"
