"""
Resuming: the ways to go on with a run that waits for an answer, or to end it.

What does it is imported with the first such call: most agents are never asked to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from procession.agents.answering import Answering
from procession.agents.options import ResumeOptions, SharedOptions
from procession.agents.output import AgentResult
from procession.agents.raised import result_of, tell_raised
from procession.agents.stream import AgentStream
from procession.models.structured_output import StructuredOutput

if TYPE_CHECKING:
    from procession.agents.call import Call
    from procession.agents.caller import Caller
    from procession.agents.suspended_call import SuspendedCall

__all__ = ["Resuming"]

T = TypeVar("T")


class Resuming(Answering):
    """
    The ways to go on with a suspended run: ``resume``, ``resume_stream``, ``approve``, ``decline``; ``suspended`` says
    what it waits for, and ``cancel`` ends it.
    """

    @overload
    async def resume(
        self: Caller,
        run_id: str,
        answers: Mapping[str, Any],
        *,
        structured_output: type[T] | StructuredOutput[T],
        **options: Unpack[SharedOptions],
    ) -> AgentResult[T | None]: ...
    @overload
    async def resume(
        self: Caller, run_id: str, answers: Mapping[str, Any], **options: Unpack[ResumeOptions]
    ) -> AgentResult: ...
    async def resume(
        self: Caller, run_id: str, answers: Mapping[str, Any], **options: Unpack[ResumeOptions]
    ) -> AgentResult:
        """
        Go on with a suspended run: *answers* by the ``question_id`` of each call that goes on now.

        A call that needs approval is answered with ``{"approved": True}``, a suspended tool with what its
        ``resume_schema`` asks for.  *options* are those of ``generate``; the run keeps its own, but what cannot be
        written down (the request's values, tools, processors, models and functions of the call) is given again.

        Raises what ``generate`` raises; ``InputError`` for a run that is not known, or not this agent's or *resource*'s,
        and for an answer that does not fit or has been given (``AlreadyAnswered``): the run stays suspended;
        ``RunAlreadyClaimed`` where somebody else was first.
        """
        return await _resumed(self, run_id, answers, options)

    def resume_stream(
        self: Caller, run_id: str, answers: Mapping[str, Any], *, replay: bool = True, **options: Unpack[ResumeOptions]
    ) -> AgentStream:
        """
        Do what ``resume`` does, chunk by chunk: ``async with agent.resume_stream(run_id, answers) as stream: ...``.
        """

        async def start(emit: Any) -> Call:
            from procession.agents.resume import prepare_resumed

            return await prepare_resumed(self, run_id, answers, options, emit=emit, streaming=True)

        return AgentStream(start, partial(tell_raised, self, options), replay=replay)

    async def approve(
        self: Caller, run_id: str, tool_call_id: str | None = None, **options: Unpack[ResumeOptions]
    ) -> AgentResult:
        """
        Agree to a tool call, the run's first and only one where none is named, and go on: see ``resume``.
        """
        from procession.agents.resume import only_call

        question = await only_call(self, run_id, tool_call_id, options.get("resource"))
        return await _resumed(self, run_id, {question: {"approved": True}}, options)

    async def decline(
        self: Caller,
        run_id: str,
        tool_call_id: str | None = None,
        *,
        reason: str | None = None,
        **options: Unpack[ResumeOptions],
    ) -> AgentResult:
        """
        Say no to a tool call, the run's first and only one where none is named, and go on; the model is told the *reason*.
        """
        from procession.agents.resume import declined, only_call

        answer = declined(reason)
        question = await only_call(self, run_id, tool_call_id, options.get("resource"))
        return await _resumed(self, run_id, {question: answer}, options)

    async def suspended(self: Caller, run_id: str, *, resource: str | None = None) -> Sequence[SuspendedCall]:
        """
        Return the calls that a suspended run waits for, also where another process began it.

        Raises ``InputError`` for a run that is not known or not this agent's, ``RunAlreadyClaimed`` for one that has ended.
        """
        from procession.agents.resume import suspended_calls

        return await suspended_calls(self, run_id, resource)

    async def cancel(self: Caller, run_id: str, *, resource: str | None = None) -> None:
        """
        End a suspended run for good, without an answer; it must not be one that somebody is resuming.
        """
        from procession.agents.resume import cancel_run

        await cancel_run(self, run_id, resource)


async def _resumed(agent: Caller, run_id: str, answers: Mapping[str, Any], options: ResumeOptions) -> AgentResult[Any]:
    from procession.agents.resume import prepare_resumed

    resumed = prepare_resumed(agent, run_id, answers, options, emit=None, streaming=False)
    return await result_of(agent, options, resumed)
