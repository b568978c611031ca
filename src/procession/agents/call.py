"""
Call: one call of an agent, from its options to its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from procession.agents.callbacks import CALLBACKS, Condition, tell_after, told
from procession.agents.commit import commit_marks, log_not_saved
from procession.agents.options import CallOptions, checked_options
from procession.agents.output import AgentResult, AgentStatus
from procession.agents.pipelines import GuardMode, Pipelines
from procession.agents.resolve import instructions_for, models_for, models_of, processors_for, tools_for
from procession.agents.settings import DEFAULT_API_RETRIES, RunSettings, merged
from procession.agents.signals import send_signal
from procession.agents.state import LoopState
from procession.agents.step_finish import refresh_texts
from procession.agents.structured import StructuredOutput, structured_output
from procession.agents.structured_start import watch_for_object
from procession.agents.toolset import tools_by_name
from procession.agents.turns import ThreadPolicy, in_turn
from procession.errors import (
    InputError,
    ProcessionError,
    RunCancelled,
    RunError,
    StepError,
    TripwireError,
)
from procession.ids import new_id
from procession.messages.chunks import Chunk, ErrorChunk, TripwireChunk, TripwireInfo
from procession.messages.message_list import MessageList
from procession.models.model import LanguageModel
from procession.processors.hooks import Hook
from procession.processors.memory.memory import Memory
from procession.processors.memory.message_history import MemoryUse
from procession.processors.processor import FunctionProcessor
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.steps.scope import Outcome, RequestScope
from procession.storage.base import JournalRow
from procession.tools.tool import Approver, Tool
from procession.workflows.workflow import Workflow

__all__ = ["Call", "prepare"]

Emit = Callable[[Chunk], Awaitable[None] | None]
USER_TAG = "user-provided"
_LISTS = ("input_processors", "output_processors", "error_processors")


class Caller(Protocol):
    """
    What a call needs of the agent that is called.
    """

    id: str
    instructions: Any
    models: tuple[LanguageModel, ...] | Callable[[RequestContext], Any]
    tools: Mapping[str, Tool[Any]] | Callable[[RequestContext], Any]
    memory: Memory | None
    max_processor_retries: int | None
    max_steps: int
    model_settings: Mapping[str, Any] | None
    provider_options: Mapping[str, Any] | None
    tool_concurrency: int
    require_tool_approval: Approver
    raise_on_tripwire: bool
    stop_when: Condition | Sequence[Condition] | None
    callbacks: dict[str, Any]
    thread_policy: ThreadPolicy
    structured_output: StructuredOutput | None
    runtime: Runtime

    @property
    def is_static(self) -> bool: ...
    def pipelines_of(
        self,
        *,
        input: Sequence[Any] | None = None,
        output: Sequence[Any] | None = None,
        error: Sequence[Any] | None = None,
        prepare_step: Any = None,
        guard_mode: GuardMode | None = None,
    ) -> Pipelines: ...
    def loop_of(self, pipelines: Pipelines) -> Workflow[LoopState, LoopState]: ...


class Call:
    """
    One call: its state, and the run that drives it.
    """

    __slots__ = ("agent", "loop", "options", "result", "state")

    def __init__(self, agent: Caller, state: LoopState, loop: Any, options: CallOptions) -> None:
        self.agent = agent
        self.state = state
        self.loop = loop
        self.options = options
        self.result: AgentResult | None = None

    def run(self) -> Awaitable[AgentResult]:
        """
        Drive the loop to its end, once it is the call's turn on its thread, and return the result; what went wrong is
        in it.
        """
        options = self.options
        thread, resource = options.get("thread"), options.get("resource")
        if thread is None or resource is None:
            return self._run()
        policy = options.get("thread_policy", self.agent.thread_policy)
        return in_turn(self.agent.runtime, resource, thread, policy, self._run)

    async def _run(self) -> AgentResult:
        state = self.state
        run = self.agent.runtime.create_run(self.loop, scope=state.scope, detail=False, replay=False, sparse=True)
        try:
            outcome: RunResult[Any] = await run.start(state)
        except BaseException:  # the task is being cancelled
            state.scope.give_up()
            raise
        if state.guards is not None:  # they have not passed: nobody gets what was held for them
            state.guards.drop(state)
        state.scope.usage = state.scope.usage + state.usage
        error: ProcessionError | None = state.error
        status: AgentStatus = "failed" if error is not None else "completed"
        saved: Outcome = "model_failed" if error is not None else "completed"
        if outcome.tripwire is not None:
            status, saved, error = "blocked", "blocked", None
            self._trip(outcome.tripwire)
            await state.send(TripwireChunk(outcome.tripwire, state.scope.run_id))
        elif outcome.error is not None:
            status, saved = "failed", "failed"
            error = _own_error(outcome.error)
            await state.send(ErrorChunk(error))
        elif outcome.status == "suspended" and state.snapshot:
            status, saved = "suspended", "suspended"
            try:
                await self.keep(state.snapshot)
            except Exception as failure:  # there is nothing to resume, and so nothing is suspended
                status, saved, error = "failed", "failed", _own_error(failure)
                await state.send(ErrorChunk(error))
        elif outcome.status == "suspended":
            status, saved = "failed", "failed"
            error = RunError(
                f"run {state.scope.run_id} was suspended outside of a tool, where it cannot be resumed",
                hint="ask for an answer in a tool: ToolContext.suspend(...)",
            )
            await state.send(ErrorChunk(error))
        elif outcome.status != "success":
            status, saved = "aborted", "cancelled"
            error = RunCancelled(f"run {state.scope.run_id} was cancelled")
        try:
            await commit_marks(state.scope, saved)
        except Exception as failure:
            if saved not in ("completed", "model_failed"):  # the run's own end stands
                log_not_saved(state.scope.run_id, failure)
            else:
                status, saved = "failed", "failed"
                error = _own_error(failure)
                await state.send(ErrorChunk(error))
        self.result = self._result(status, error)
        await self._tell(self.result, finished=status in ("completed", "failed", "suspended") and saved != "failed")
        return self.result

    async def keep(self, snapshot: str) -> None:
        """
        Write down that the run is suspended.

        Raises ``InputError`` where its id was used before, and what the store raises.
        """
        run_id = self.state.scope.run_id
        if not await self.agent.runtime.store.add(JournalRow(run_id=run_id, owner=self.agent.id, data=snapshot)):
            raise InputError(f"there has been a run {run_id!r}", hint="give each run an id of its own, or none")

    def _trip(self, tripwire: TripwireInfo) -> None:
        """
        Leave what was accepted, and no rejected text (D13).
        """
        state = self.state
        state.tripwire = tripwire
        state.finish_reason = "other"
        attempt = state.attempt
        if attempt is not None:
            if state.steps and state.steps[-1] is attempt.step:
                state.steps = state.steps[:-1]
            state.take_back(attempt)
        elif state.finished:  # the turn was rejected as a whole
            for step in state.steps:
                step.text = ""
            for message_id in (*state.sealed, state.response_id):
                state.messages.restore_response(message_id, None)
        refresh_texts(state)

    def _result(self, status: AgentStatus, error: ProcessionError | None) -> AgentResult:
        state = self.state
        steps = tuple(state.steps)
        blocked = status == "blocked"
        made = state.structured if not blocked else None
        return AgentResult(
            run_id=state.scope.run_id,
            status=status,
            text="".join(step.text for step in steps),
            final_text=steps[-1].text if steps else "",
            finish_reason="other" if blocked else state.finish_reason,
            usage=state.usage,
            steps=steps,
            rejected=tuple(state.rejected),
            tripwire=state.tripwire,
            violations=tuple(state.scope.violations),
            left_behind=tuple(state.scope.left_behind),
            messages=() if blocked else tuple(state.messages.view("response")),
            object=made.object if made is not None else None,
            used_fallback=made is not None and made.used_fallback,
            warnings=made.warnings if made is not None else (),
            error=error,
            suspended=state.suspended if status == "suspended" else (),
        )

    async def _tell(self, result: AgentResult, *, finished: bool) -> None:
        settings = self.state.settings
        if result.error is not None and settings.on_error is not None:
            await tell_after("on_error", settings.on_error, result.error, result.run_id)
        if finished and settings.on_finish is not None:
            await told("on_finish", settings.on_finish, result)

    def unwrapped(self, result: AgentResult) -> AgentResult:
        """
        Return the result, or raise what the caller asked to be told by raising.
        """
        if result.error is not None:
            raise result.error
        if result.tripwire is not None and self.options.get("raise_on_tripwire", self.agent.raise_on_tripwire):
            raise TripwireError(result.tripwire)
        return result


def _own_error(error: Exception) -> ProcessionError:
    if isinstance(error, ProcessionError):
        return error
    wrapped = StepError(f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


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
    request_context = context if isinstance(context, RequestContext) else RequestContext(context)
    static = agent.is_static
    lists: list[Any] = [None, None, None]
    for index, name in enumerate(_LISTS):
        if name in options:
            lists[index] = await processors_for(name, options.get(name), request_context)
        elif not static:
            lists[index] = await processors_for(name, getattr(agent, name), request_context)
    prepare_step = options.get("prepare_step")
    pipelines = agent.pipelines_of(
        input=lists[0],
        output=lists[1],
        error=lists[2],
        prepare_step=FunctionProcessor(prepare_step, Hook.INPUT_STEP, id="prepare-step") if prepare_step else None,
        guard_mode=options.get("guard_mode"),
    )
    scope = RequestScope(run_id=options.get("run_id") or new_id(), request_context=request_context)
    scope.resources["agent"] = agent
    instructions = options.get("instructions", agent.instructions)
    if restored is None and callable(instructions):
        instructions = await instructions_for(instructions, request_context)
    owner = _use_memory(agent, options, scope)
    message_list = restored if restored is not None else _message_list(messages, options, owner, instructions)
    if not len(message_list) and "memory" not in scope.resources:
        raise InputError(
            f"agent {agent.id!r} was given no message to answer",
            hint="give a text or messages; context= alone, or a thread that was begun, will do",
        )
    models, tools = agent.models, agent.tools
    if "model" in options:
        models = models_of(options.get("model"))
    elif callable(models):
        models = await models_for(models, request_context)
    if callable(tools):
        tools = await tools_for(tools, request_context)
    state = LoopState(
        settings=_settings(agent, options, pipelines.user_handles_errors, streaming, models, tools),
        pipelines=pipelines,
        scope=scope,
        messages=message_list,
        emit=emit,
    )
    state.options = options
    if state.settings.structured_output is not None:
        watch_for_object(state, state.settings.structured_output)
    scope.resources["write_data"] = state.write_data
    scope.resources["send_signal"] = partial(send_signal, state)
    scope.resources["messages"] = message_list
    return Call(agent, state, agent.loop_of(pipelines), options)


def _use_memory(agent: Caller, options: CallOptions, scope: RequestScope) -> tuple[str | None, str | None]:
    """
    Note which thread the request belongs to; returns the thread and the resource that own its messages, if any do.
    """
    thread, resource = options.get("thread"), options.get("resource")
    in_use = agent.memory is not None and thread is not None
    if agent.memory is not None and (thread is None) != (resource is None):
        raise InputError(
            f"agent {agent.id!r} has a memory, and the call names only a {'thread' if thread else 'resource'}",
            hint="give both thread= and resource=, or neither",
        )
    if thread is not None and resource is not None:  # without a memory a history may still be listed by hand
        scope.resources["memory"] = (
            agent.memory.use(thread, resource, options.get("memory_options"))
            if agent.memory is not None
            else MemoryUse(thread_id=thread, resource_id=resource)
        )
    return (thread, resource) if in_use else (None, None)


def _message_list(
    messages: Any, options: CallOptions, owner: tuple[str | None, str | None], instructions: Any
) -> MessageList:
    made = MessageList(thread_id=owner[0], resource_id=owner[1])
    if instructions:
        made.add_system(instructions)
    context, system = options.get("context"), options.get("system")
    if context:
        made.add(context, "context")
    if system:
        made.add_system(system, USER_TAG)
    made.add(messages, "input")
    return made


def _settings(
    agent: Caller,
    options: CallOptions,
    user_handles_errors: bool,
    streaming: bool,
    models: tuple[LanguageModel, ...],
    tools: Mapping[str, Tool[Any]],
) -> RunSettings:
    given = options.get("tools")
    if given:
        tools = {**tools, **tools_by_name(given)}
    limit = options.get("max_processor_retries", agent.max_processor_retries)
    wanted = options.get("structured_output")
    return RunSettings(
        agent_id=agent.id,
        model=models[0],
        fallbacks=models[1:],
        tools=tools,
        tool_choice=options.get("tool_choice", "auto"),
        active_tools=options.get("active_tools"),
        model_settings=merged(agent.model_settings, options.get("model_settings")),
        provider_options=merged(agent.provider_options, options.get("provider_options")),
        structured_output=structured_output(wanted) if wanted is not None else agent.structured_output,
        max_steps=options.get("max_steps", agent.max_steps),
        max_retries=limit,
        max_api_retries=(limit if limit is not None else DEFAULT_API_RETRIES) if user_handles_errors else 0,
        tool_concurrency=agent.tool_concurrency,
        require_tool_approval=options.get("require_tool_approval", agent.require_tool_approval),
        streaming=streaming,
        stop_when=_conditions(options.get("stop_when", agent.stop_when)),
        **(agent.callbacks | _callbacks(options) if agent.callbacks else _callbacks(options)),
    )


def _callbacks(options: CallOptions) -> dict[str, Any]:
    return {name: options.get(name) for name in CALLBACKS if name in options}


def _conditions(given: Condition | Sequence[Condition] | None) -> Sequence[Condition]:
    if given is None:
        return ()
    return (given,) if callable(given) else given
