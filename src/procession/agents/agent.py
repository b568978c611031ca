"""
Agent: a model with instructions, tools, processors and memory, and the loop that drives it.

What runs an agent is imported with its first run, here and in what it inherits: to define one takes little of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from procession.agents.callbacks import Callback, Condition
from procession.agents.options import check_settings
from procession.agents.pipelines import GuardMode, Pipelines, build_pipelines
from procession.agents.resolve import InstructionsSetting, ModelSetting, ToolsSetting, is_function, models_of, tools_of
from procession.agents.resuming import Resuming
from procession.agents.settings import DEFAULT_MAX_STEPS
from procession.agents.turns import ThreadPolicy
from procession.models.model import LanguageModel
from procession.models.structured_output import structured_output as wanted_output
from procession.processors.chain import ProcessorList
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.steps.step import Step, StepContext
from procession.tools.tool import Approver, Tool
from procession.workflows.workflow import Workflow

if TYPE_CHECKING:
    from procession.agents.explanation import Explanation
    from procession.agents.forget import Forgotten
    from procession.agents.state import LoopState
    from procession.processors.memory.memory import Memory
    from procession.storage.base import JournalStore
    from procession.workflows.render.draw import DrawFormat
    from procession.workflows.render.drawing import Drawing
    from procession.workflows.render.overlay import Ran

__all__ = ["Agent"]

Models: TypeAlias = tuple[LanguageModel, ...] | Callable[[RequestContext], Any]


class Agent(Resuming):
    """
    A model with instructions, tools, processors and memory.

    The loop is a workflow that can be looked at: ``agent.workflow``.

    >>> from procession.agents.agent import Agent
    >>> from procession.testing.fake_model import FakeModel
    >>> agent = Agent("parrot", model=FakeModel(["Hello!"]), instructions="You are a parrot.")
    >>> agent.generate_sync("Hi").text
    'Hello!'
    """

    def __init__(
        self,
        id: str,
        *,
        model: ModelSetting,
        instructions: InstructionsSetting = "",
        description: str = "",
        tools: ToolsSetting = (),
        input_processors: ProcessorList = (),
        output_processors: ProcessorList = (),
        error_processors: ProcessorList = (),
        prefill_error_handler: bool = True,
        memory: Memory | None = None,
        max_processor_retries: int | None = None,
        guard_mode: GuardMode = "before",
        max_steps: int = DEFAULT_MAX_STEPS,
        model_settings: Mapping[str, Any] | None = None,
        provider_options: Mapping[str, Any] | None = None,
        structured_output: Any = None,
        tool_concurrency: int = 10,
        require_tool_approval: Approver = False,
        raise_on_tripwire: bool = False,
        stop_when: Condition | Sequence[Condition] | None = None,
        on_chunk: Callback | None = None,
        on_step_finish: Callback | None = None,
        on_finish: Callback | None = None,
        on_error: Callback | None = None,
        on_abort: Callback | None = None,
        on_iteration_complete: Callback | None = None,
        thread_policy: ThreadPolicy = "queue",
        runtime: Runtime | None = None,
    ) -> None:
        """
        Define an agent; nothing runs yet.

        *model* is a model, a name such as ``"openai/gpt-5-mini"``, or a list of them: where one fails, the next one is
        asked.  Processor lists hold processors, workflows, and functions made with ``@processor``.  *model*,
        *instructions*, *tools* and the lists may be functions of the request context instead, plain or asynchronous,
        which are called for each request.
        *prefill_error_handler* says whether a model that refuses an assistant's last turn is asked to continue.
        *structured_output* says what answers are to be, as the option of a call does.
        *require_tool_approval* says whether a person must agree to tool calls: to all, or as a function of the arguments
        and the tool's context says.  *stop_when* and the callbacks are those of
        :class:`~procession.agents.options.CallOptions`, for all calls that do not give their own.
        *max_processor_retries* is how often processors may send a step back; unset, a request for it stops the run.
        *thread_policy* is what a call does while another runs on its thread: it queues, is refused with ``ThreadBusy``, or
        cancels those before it.  Agents that share a *runtime* take turns with each other.
        With the *guard_mode* ``"concurrent"`` input guards that only check run beside the first model call, whose answer
        is held until they pass; ``guards_before`` and ``guards_beside`` say which they are.

        Raises ``ProcessorDefinitionError``, naming the list and the place in it, ``InputError`` for a model's name that
        stands for nothing, and ``DefinitionError`` for the rest.
        """
        callbacks = {
            "on_chunk": on_chunk,
            "on_step_finish": on_step_finish,
            "on_finish": on_finish,
            "on_error": on_error,
            "on_abort": on_abort,
            "on_iteration_complete": on_iteration_complete,
        }
        check_settings(
            id=id,
            model=model,
            instructions=instructions,
            tools=tools,
            memory=memory,
            max_processor_retries=max_processor_retries,
            guard_mode=guard_mode,
            max_steps=max_steps,
            model_settings=model_settings,
            provider_options=provider_options,
            tool_concurrency=tool_concurrency,
            require_tool_approval=require_tool_approval,
            raise_on_tripwire=raise_on_tripwire,
            stop_when=stop_when,
            **callbacks,
            thread_policy=thread_policy,
            runtime=runtime,
        )
        self.id = id
        self.description = description
        self.instructions = instructions
        self.models: Models = model if is_function(model) else models_of(model)
        """The model and those that are asked where it fails, or the function that says which."""
        self.tools = tools_of(tools)
        self.input_processors = input_processors
        self.output_processors = output_processors
        self.error_processors = error_processors
        self.prefill_error_handler = prefill_error_handler
        self.memory = memory
        self.max_processor_retries = max_processor_retries
        self.guard_mode: GuardMode = guard_mode
        self.max_steps = max_steps
        self.model_settings = model_settings
        self.provider_options = provider_options
        self.structured_output = wanted_output(structured_output)
        self.tool_concurrency = tool_concurrency
        self.require_tool_approval: Approver = require_tool_approval
        self.raise_on_tripwire = raise_on_tripwire
        self.stop_when = stop_when
        self.callbacks: dict[str, Any] = {name: each for name, each in callbacks.items() if each is not None}
        """The callbacks of calls that do not give their own, by name."""
        self.thread_policy: ThreadPolicy = thread_policy
        self.runtime = runtime if runtime is not None else Runtime()
        self._own: Pipelines | None = None
        self._in_other_mode: Pipelines | None = None
        """The agent's own lists in the other guard mode, made where a call asks for it."""
        self._loops: dict[int, tuple[Pipelines, Workflow[LoopState, LoopState]]] = {}
        if self.is_static:
            self._own = self.pipelines_of()

    # -- looking at it

    @property
    def model(self) -> LanguageModel | Callable[[RequestContext], Any]:
        """
        The model that is asked first, or the function that says which.
        """
        return self.models if callable(self.models) else self.models[0]

    @property
    def is_static(self) -> bool:
        """
        Whether the processor lists are the same for every request.
        """
        lists = (self.input_processors, self.output_processors, self.error_processors)
        return not any(map(callable, lists))

    @property
    def workflow(self) -> Workflow[LoopState, LoopState]:
        """
        The agent loop as a workflow, to print and draw.

        Where a list is a function of the request context, it is drawn without that list's processors.
        """
        return self.loop_of(self._own or self.pipelines_of())

    @property
    def processor_workflows(self) -> tuple[Workflow[Any, Any], ...]:
        """
        Each processor list as a workflow: ``<agent>-input-processor`` and so on.
        """
        return (self._own or self.pipelines_of()).workflows

    @property
    def guards_before(self) -> tuple[str, ...]:
        """
        The ids of the steps whose ``process_input`` runs before the first model call, in order, memory's first.
        """
        return (self._own or self.pipelines_of()).guards_before

    @property
    def guards_beside(self) -> tuple[str, ...]:
        """
        The ids of the steps whose ``process_input`` runs beside the first model call; none with ``guard_mode="before"``.
        """
        return (self._own or self.pipelines_of()).guards_beside

    def explain(self) -> Explanation:
        """
        Say which processor runs at which hook, in order, and why one never will: ``print(agent.explain())``.

        What depends on the request is not known here: ``explain_for`` asks it.
        """
        from procession.agents.explain import explanation

        return explanation(self)

    def draw(self, format: DrawFormat = "ascii", *, run: Ran | None = None, **options: Any) -> Drawing:
        """
        Return a drawing of the agent's loop, as ``agent.workflow.draw`` does.

        Raises ``InputError`` for an ``AgentResult`` as *run*: of an agent's run no records of steps are kept.
        """
        return self.workflow.draw(format, run=run, **options)

    async def explain_for(
        self, request_context: RequestContext | Mapping[str, Any] | None = None, **options: Any
    ) -> Explanation:
        """
        Say what ``explain`` says of one request; *options*, those of ``generate``, may bring lists of their own.
        """
        from procession.agents.explain import explanation_for

        return await explanation_for(self, {"request_context": request_context, **options})

    async def forget(self, *, resource: str, thread: str | None = None) -> Forgotten:
        """
        Delete all that is kept of a *resource*, or of one *thread* of it: conversations, notes, vectors, cached answers and
        verdicts, files and runs, also those of agents that are tools; returns how much of each that was, and what is left.

        Calls that are under way save their turns when they end: they are told of in ``left``, and so are runs that
        somebody holds.  To do it again finds nothing, and is no error.

        Raises ``InputError`` where nobody is named, and ``NotForgotten`` where a store failed, once all were asked.
        """
        from procession.agents.forget import forget

        return await forget(self, resource, thread)

    def as_step(self) -> Step[Any, str]:
        """
        Return the agent as a step that takes a prompt, or messages, and returns the answer's text.

        A tripwire of the agent blocks the run that contains the step.  Where the agent is suspended the run is, too:
        what it asks is the step's question, and ``runtime.resume(run_id, answers, step=...)`` takes the answers that
        ``resume`` takes.
        """
        return Step(
            id=self.id, execute=self._as_step, kind="agent", output_type=str, owner=self, body=self.workflow,
            abandon=self._abandon,
        )  # fmt: skip

    async def _as_step(self, ctx: StepContext[Any]) -> str:
        from procession.agents.agent_step import run_as_step

        return await run_as_step(self, ctx)

    async def _abandon(self, key: str, kept: JournalStore | None) -> None:
        from procession.agents.agent_step import abandon

        await abandon(self, key, kept)

    def as_tool(
        self, *, name: str | None = None, description: str | None = None, requires_approval: Approver = False
    ) -> Tool[str]:
        """
        Return the agent as a tool that takes ``{"prompt": ...}`` and returns the answer's text.

        It joins the run of the agent that calls it; its tripwire becomes a result that is marked as an error.  *name* is
        ``agent-<id>`` and *description* the agent's own, unless said otherwise.
        """
        from procession.agents.agent_tool import agent_tool

        return agent_tool(self, name=name, description=description, requires_approval=requires_approval)

    # -- what calls share

    def pipelines_of(
        self,
        *,
        input: Sequence[Any] | None = None,
        output: Sequence[Any] | None = None,
        error: Sequence[Any] | None = None,
        prepare_step: Any = None,
        guard_mode: GuardMode | None = None,
    ) -> Pipelines:
        """
        Return the pipelines of one set of lists, the agent's own where none is given.
        """
        mode = guard_mode if guard_mode is not None else self.guard_mode
        ours = input is output is error is prepare_step is None and self._own is not None
        known = self._own if mode == self.guard_mode else self._in_other_mode
        if ours and known is not None:
            return known

        made = build_pipelines(self, mode, input=input, output=output, error=error, prepare_step=prepare_step)
        if ours:
            self._in_other_mode = made
        return made

    def loop_of(self, pipelines: Pipelines) -> Workflow[LoopState, LoopState]:
        """
        Return the loop round *pipelines*, built once for the agent's own, in either guard mode.
        """
        known = self._loops.get(id(pipelines))
        if known is not None:
            return known[1]
        from procession.agents.loop import build_loop

        loop = build_loop(self.id, pipelines)
        if pipelines is self._own or pipelines is self._in_other_mode:
            self._loops[id(pipelines)] = (pipelines, loop)
        return loop

    def __repr__(self) -> str:
        beside = f", guards_beside={self.guards_beside}" if self.guard_mode == "concurrent" else ""
        if callable(self.models):
            return f"Agent({self.id!r}, model of the request{beside})"
        ids = [model.id for model in self.models]
        return f"Agent({self.id!r}, model={(ids[0] if len(ids) == 1 else ids)!r}{beside})"
