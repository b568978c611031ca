"""
Call: one call of an agent, from its options to its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from procession.agents.abort import drop_attempt, end_aborted, is_looked_at, trip
from procession.agents.callbacks import tell_after
from procession.agents.caller import Caller
from procession.agents.commit import commit_cancelled, commit_marks, commit_within, log_not_saved
from procession.agents.errors import own_error
from procession.agents.guard_outcomes import outcomes_of
from procession.agents.heed import native_cancels, notice_cancellation
from procession.agents.inner_runs import WAITING, end_inner_runs
from procession.agents.kept_in import kept_in, store_of
from procession.agents.merged import message_list_of, settings_of, use_memory
from procession.agents.options import CallOptions, checked_options
from procession.agents.output import AgentResult, AgentStatus
from procession.agents.ports import close_ports, open_ports
from procession.agents.reader_view import as_read, begin_request
from procession.agents.resolve import instructions_for, models_for, models_of, processors_for, tools_for
from procession.agents.state import LoopState
from procession.agents.structured_start import watch_for_object
from procession.agents.turns import in_turn
from procession.errors import InputError, ProcessionError, RunCancelled, RunError, TripwireError
from procession.ids import new_id
from procession.messages.chunks import AbortChunk, Chunk, ErrorChunk, Finish, TripwireChunk
from procession.messages.message_list import MessageList
from procession.processors.hooks import Hook
from procession.processors.memory.unsaved import UNSAVED
from procession.processors.processor import FunctionProcessor
from procession.runtime.run import Run, RunResult
from procession.steps.abort import AbortSignal
from procession.steps.owner import owner_of
from procession.steps.request_context import RequestContext
from procession.steps.scope import Outcome, RequestScope
from procession.storage.base import RunRow

__all__ = ["Call", "prepare"]

Emit = Callable[[Chunk], Awaitable[None] | None]
_LISTS = ("input_processors", "output_processors", "error_processors")


class Call:
    """
    One call: its state, and the run that drives it.
    """

    __slots__ = ("_cut", "_driving", "abort_reason", "aborted", "agent", "loop", "options", "result", "state")

    def __init__(self, agent: Caller, state: LoopState, loop: Any, options: CallOptions) -> None:
        self.agent = agent
        self.state = state
        self.loop = loop
        self.options = options
        self.result: AgentResult | None = None
        self.aborted = False
        """Whether somebody said that the answer is no longer wanted."""
        self.abort_reason: str | None = None
        """Why, as far as it was said."""
        self._cut: str | None = None
        """Why it does not get its turn, where it does not."""
        self._driving: Run[Any, Any] | None = None

    def run(self) -> Awaitable[AgentResult]:
        """
        Drive the loop to its end, once it is the call's turn on its thread, and return the result; what went wrong is
        in it.
        """
        options = self.options
        thread, resource = options.get("thread"), options.get("resource")
        if not isinstance(thread, str) or resource is None:
            return self._run()
        policy = options.get("thread_policy") or self.agent.thread_policy
        return in_turn(
            self.agent.runtime, resource, thread, policy, self._run, self._give_up, self.state.messages,
            options.get("abort_signal"),
        )  # fmt: skip

    async def _run(self) -> AgentResult:
        state = self.state
        try:
            outcome = await self._driven()
            if state.cancels is not None and state.cancels() > state.cancelled_before:
                await notice_cancellation()
            return await self._ended(outcome)
        except anyio.get_cancelled_exc_class():
            await self._break_off()
            raise
        finally:
            close_ports(state)
            if state.watch is not None:
                state.watch.ended(self.result)
            if WAITING in state.scope.resources and state.progress is None:  # a resumed one may have lost its claim
                await end_inner_runs(state, self.result)

    async def _ended(self, outcome: RunResult[Any]) -> AgentResult:
        """
        Settle what a run that ended in *outcome* comes to, and return that.
        """
        state = self.state
        unseen = state.guards is not None
        if state.guards is not None:  # they have not passed: nobody gets what was held for them
            state.guards.drop(state)
        aborted = self.aborted and outcome.status == "cancelled" and not state.ended
        if aborted:
            ended = await end_aborted(state, self.agent.runtime, unseen)
            if ended is not None and ended.status != "success":
                outcome, aborted = ended, False
        close_ports(state)  # nothing is written behind the last chunk (D13)
        error: ProcessionError | None = state.error
        status: AgentStatus = "failed" if error is not None else "completed"
        saved: Outcome = "model_failed" if error is not None else "completed"
        if outcome.tripwire is not None:
            status, saved, error = "blocked", "blocked", None
            trip(state, outcome.tripwire)
            await state.send(TripwireChunk(outcome.tripwire, state.scope.run_id))
        elif outcome.error is not None:
            status, saved = "failed", "failed"
            error = own_error(outcome.error)
            await state.send(ErrorChunk(error))
        elif outcome.status == "suspended" and state.snapshot:
            status, saved = "suspended", "suspended"
            try:
                await self.keep(state.snapshot)
            except Exception as failure:  # there is nothing to resume, and so nothing is suspended
                status, saved, error = "failed", "failed", own_error(failure)
                await state.send(ErrorChunk(error))
        elif outcome.status == "suspended":
            status, saved = "failed", "failed"
            error = RunError(
                f"run {state.scope.run_id} was suspended outside of a tool, where it cannot be resumed",
                hint="ask for an answer in a tool: ToolContext.suspend(...)",
            )
            await state.send(ErrorChunk(error))
        elif aborted:
            status, saved, error = "aborted", "aborted", None
            await self._say_aborted()
        elif not state.ended:  # cancelled, or bailed out of
            status, saved = "aborted", "cancelled"
            error = RunCancelled(f"run {state.scope.run_id} was cancelled")
            await state.send(ErrorChunk(error))
        try:
            if aborted:
                await commit_within(state.scope, saved)
            else:
                await commit_marks(state.scope, saved)
        except Exception as failure:
            if saved not in ("completed", "model_failed"):  # the run's own end stands
                log_not_saved(state.scope.run_id, failure)
            else:
                status, saved = "failed", "failed"
                error = own_error(failure)
                await state.send(ErrorChunk(error))
        self.result = self._result(status, error)
        await self._tell(
            self.result, finished=aborted or (status in ("completed", "failed", "suspended") and saved != "failed")
        )
        return self.result

    async def keep(self, snapshot: str) -> None:
        """
        Write down that the run is suspended, or raise ``InputError`` where its id was used before.
        """
        run_id = self.state.scope.run_id
        resource, thread = owner_of(self.state.scope)
        row = RunRow(run_id=run_id, owner=self.agent.id, data=snapshot, resource_id=resource, thread_id=thread)
        if not await store_of(self.agent, kept_in(self.state.scope)).add(row):
            raise InputError(f"there has been a run {run_id!r}", hint="give each run an id of its own, or none")

    @property
    def _resumes(self) -> bool:
        """
        Whether it goes on with a run that was suspended.
        """
        return False

    def _driven(self) -> Awaitable[RunResult[Any]]:
        """
        Drive the loop and return how it ended.
        """
        state = self.state
        given = self.options.get("abort_signal")  # or it ends with its stream, or by a later call on its thread
        state.stoppable = given is not None or state.emit is not None or self.options.get("thread") is not None
        run = self._driving = self.agent.runtime.create_run(
            self.loop, scope=state.scope, detail=False, replay=False, sparse=True, durable=False,
            cancellable=state.stoppable,
        )  # fmt: skip
        if run.state.watchers:
            from procession.agents.watch import RunWatch  # where somebody observes it

            state.watch = RunWatch(state, run, agent_id=self.agent.id, resumed=self._resumes)
        if self._cut is not None:
            self.abort(self._cut)
        state.cancels = native_cancels()
        state.cancelled_before = state.cancels() if state.cancels is not None else 0
        return run.start(state) if given is None else self._heeding(given, run)

    async def _heeding(self, given: AbortSignal, run: Run[Any, Any]) -> RunResult[Any]:
        """
        Start the run, which ends once the signal that was *given* is set.
        """
        signal = self.state.scope.abort
        signal.listen(self.abort)
        given.listen(signal.abort)
        try:
            return await run.start(self.state)
        finally:
            given.forget(signal.abort)
            signal.forget(self.abort)

    @property
    def has_begun(self) -> bool:
        """
        Whether it is the call's turn.
        """
        return self._driving is not None and self._cut is None

    def _give_up(self, reason: str) -> None:
        """
        A later call takes this one's place: abort it, or let it do nothing once it would have its turn.
        """
        if self._driving is None:
            self._cut = reason
        else:
            self.abort(reason)

    def abort(self, reason: str | None = None) -> None:
        """
        Bring the run to its end: the answer is no longer wanted.  One that has ended stays as it is.
        """
        state, run = self.state, self._driving
        if self.aborted or run is None:
            return
        self.aborted = True
        self.abort_reason = reason
        state.scope.abort.abort(reason)  # also where nobody has asked for it yet: no tool starts after it
        # Hooks that look at the whole answer already are not called a second time: they have the grace period to end.
        whole = is_looked_at(state)
        run.cancel(after=state.scope.grace if whole else 0.0)

    async def _say_aborted(self) -> None:
        state = self.state
        final = state.steps[-1].text if state.steps else ""
        await state.send(AbortChunk())
        await state.send(Finish("aborted", state.scope.usage, final, state.scope.run_id))

    async def _break_off(self) -> None:
        """
        The task that drives the run is being cancelled: say so, within the grace period, and keep nothing unseen.
        """
        state = self.state
        scope = state.scope
        self.aborted = True
        if scope.abort_signal is not None:
            scope.abort_signal.abort("cancelled")
        await commit_cancelled(scope)
        on_abort = state.settings.on_abort
        if on_abort is None and state.emit is None and state.on_chunk is None:
            return
        with anyio.move_on_after(scope.grace, shield=True):
            drop_attempt(state)
            state.finish_reason = "aborted"
            self.result = self._result("aborted", None)
            if not state.ended:
                await self._say_aborted()
            if on_abort is not None:
                await tell_after("on_abort", on_abort, self.result, scope.run_id)

    def _result(self, status: AgentStatus, error: ProcessionError | None) -> AgentResult:
        state = self.state
        steps = tuple(state.steps)
        blocked = status == "blocked"
        made = state.structured if not blocked else None
        of_object = made.warnings if made is not None else ()
        result = AgentResult(
            run_id=state.scope.run_id,
            status=status,
            text="".join([step.text for step in steps]),
            final_text=steps[-1].text if steps else "",
            finish_reason="other" if blocked else state.finish_reason,
            usage=state.scope.usage,
            guard_usage=state.scope.guard_usage,
            steps=steps,
            rejected=state.rejected,
            tripwire=state.tripwire,
            violations=tuple(state.scope.violations),
            outcomes=outcomes_of(state),
            left_behind=state.scope.left_behind,
            messages=() if blocked else tuple(state.messages.copied("response")),
            object=made.object if made is not None else None,
            used_fallback=made is not None and made.used_fallback,
            unsaved=state.scope.resources.get(UNSAVED),
            warnings=(*of_object, *[warning for step in steps for warning in step.warnings]),
            error=error,
            abort_reason=self.abort_reason if status == "aborted" else None,
            suspended=state.suspended if status == "suspended" else (),
        )
        return as_read(state.scope, result)

    async def _tell(self, result: AgentResult, *, finished: bool) -> None:
        settings = self.state.settings
        if result.status == "aborted" and result.error is None and settings.on_abort is not None:
            await tell_after("on_abort", settings.on_abort, result, result.run_id)
        if result.error is not None and settings.on_error is not None:
            await tell_after("on_error", settings.on_error, result.error, result.run_id)
        if finished and settings.on_finish is not None:
            await tell_after("on_finish", settings.on_finish, result, result.run_id)

    def unwrapped(self, result: AgentResult) -> AgentResult:
        """
        Return the result, or raise what the caller asked to be told by raising.
        """
        if result.error is not None:
            raise result.error
        if result.tripwire is not None and self.options.get("raise_on_tripwire", self.agent.raise_on_tripwire):
            raise TripwireError(result.tripwire)
        return result


async def prepare(
    agent: Caller,
    messages: Any,
    given: Mapping[str, Any],
    *,
    emit: Emit | None,
    streaming: bool,
    restored: MessageList | None = None,
) -> Call:
    """
    Merge the agent's settings with the call's and lay out the messages, or take those *restored* of a suspended run.

    Raises ``InputError`` and ``DefinitionError`` for what cannot work.
    """
    options = checked_options(given)
    context = options.get("request_context")
    request_context = RequestContext() if context is None else context
    if not isinstance(request_context, RequestContext):
        request_context = RequestContext(request_context)
    unwanted = options.get("abort_signal")
    static = agent.is_static
    lists: list[Any] = [None, None, None]
    for index, name in enumerate(_LISTS):
        if name in options or not static:
            listed = options.get(name) if name in options else getattr(agent, name)
            lists[index] = await processors_for(name, listed, request_context, unwanted)
    prepare_step = options.get("prepare_step")
    pipelines = agent.pipelines_of(
        input=lists[0],
        output=lists[1],
        error=lists[2],
        prepare_step=FunctionProcessor(prepare_step, Hook.INPUT_STEP, id="prepare-step") if prepare_step else None,
        guard_mode=options.get("guard_mode"),
    )
    scope = RequestScope(run_id=options.get("run_id") or new_id(), request_context=request_context)
    scope.tracing_context = options.get("tracing_context")
    scope.resources["agent"] = agent
    instructions = options.get("instructions", agent.instructions)
    if restored is None and callable(instructions):
        instructions = await instructions_for(instructions, request_context, unwanted)
    owner = use_memory(agent, options, scope)
    message_list = restored if restored is not None else message_list_of(messages, options, owner, instructions)
    if not len(message_list) and "memory" not in scope.resources:
        raise InputError(
            f"agent {agent.id!r} was given no message to answer",
            hint="give a text or messages; context= alone, or a thread that was begun, will do",
        )
    models, tools = agent.models, agent.tools
    if "model" in options:
        models = models_of(options.get("model"))
    elif callable(models):
        models = await models_for(models, request_context, unwanted)
    if callable(tools):
        tools = await tools_for(tools, request_context, unwanted)
    state = LoopState(
        settings=settings_of(agent, options, pipelines.user_handles_errors, streaming, models, tools),
        pipelines=pipelines,
        scope=scope,
        messages=message_list,
        emit=emit,
    )
    state.options = options
    if state.settings.structured_output is not None:
        watch_for_object(state, state.settings.structured_output)
    open_ports(state)
    begin_request(state)
    return Call(agent, state, agent.loop_of(pipelines), options)
