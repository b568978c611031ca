"""
Pipelines: an agent's processor lists and its memory, as one workflow per list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from procession.agents.cut_order import warn_of_cuts
from procession.errors import ProcessorDefinitionError
from procession.processors.chain import ProcessorList, chain, is_workflow, owners, processor_steps
from procession.processors.development import developing
from procession.processors.hooks import INPUT_HOOKS, OUTPUT_HOOKS, Hook
from procession.processors.log import log_once
from procession.processors.protocols import hook_methods, option
from procession.processors.recovery.prefill import PrefillErrorHandler
from procession.processors.utility.structured_output import StructuredOutputProcessor
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.workflow import Workflow, create_workflow

if TYPE_CHECKING:
    from procession.processors.memory.memory import Memory
    from procession.processors.stream_plan import StreamPlan

__all__ = ["GuardMode", "Pipelines", "build_pipelines"]

GuardMode = Literal["before", "concurrent"]
"""When input guards that only check run: before the first model call, or beside it."""

_INPUT = (Hook.INPUT, Hook.INPUT_STEP, Hook.LLM_REQUEST, Hook.LLM_RESPONSE)
_OUTPUT = (Hook.OUTPUT_STREAM, Hook.OUTPUT_STEP, Hook.TOOL_RESULT, Hook.OUTPUT_RESULT)


class Pipelines:
    """
    The workflow that each hook runs: memory first on the way in and last on the way out.
    """

    __slots__ = (
        "_by_hook", "begins", "beside", "error", "errors_at_call", "guards_before", "guards_beside", "input", "keeps_chunks",
        "looks_ahead", "only", "output", "stream", "takes_results", "tells_tool_errors", "user_handles_errors",
    )  # fmt: skip

    def __init__(
        self,
        agent_id: str,
        *,
        input: Sequence[Any] = (),
        output: Sequence[Any] = (),
        error: Sequence[Any] = (),
        before: Sequence[Any] = (),
        after: Sequence[Any] = (),
        prepare_step: Any = None,
        default_error: Sequence[Any] = (),
        guard_mode: GuardMode = "before",
    ) -> None:
        """
        Build the workflows of one set of lists.

        *before* and *after* are framework processors, such as memory's, around the user's own lists; *default_error* are
        those that deal with failed calls after the user's.  With the *guard_mode* ``"concurrent"`` the entries of *input*
        that only check run their ``process_input`` beside the first model call.

        Raises ``ProcessorDefinitionError``, naming the list and the place in it.
        """
        own_input = processor_steps(input, where="input_processors")
        own_output, asking = _asking_apart(processor_steps(output, where="output_processors"))
        own_error = processor_steps(error, where="error_processors")
        _warn_of_idle(own_input, INPUT_HOOKS, "input_processors")
        _warn_of_idle(own_output, OUTPUT_HOOKS, "output_processors")
        warn_of_cuts(own_output)
        ahead = _without(processor_steps(before, where="memory"), own_input)
        behind = _without(processor_steps(after, where="memory"), own_output)
        last = _without(asking, own_input)
        if prepare_step is not None:
            last += processor_steps([prepare_step], where="prepare_step")
        self.input: Workflow[Any, Any] | None = chain([*ahead, *own_input, *last], f"{agent_id}-input-processor")
        self.output: Workflow[Any, Any] | None = chain([*own_output, *behind], f"{agent_id}-output-processor")
        handlers = _with_hook([*own_input, *own_output, *own_error], Hook.API_ERROR)
        self.user_handles_errors = bool(handlers)
        """Whether the user configured a processor with ``process_api_error`` (D14)."""
        defaults = _without(
            processor_steps(default_error, where="error_processors"), [*own_input, *own_output, *own_error]
        )
        self.error: Workflow[Any, Any] | None = chain([*handlers, *defaults], f"{agent_id}-error-processor")
        self.stream: StreamPlan | None = _stream_plan(self.output)
        self.tells_tool_errors = any(
            getattr(owner, "process_tool_errors", False) for owner in owners([*own_output, *behind])
        )
        everyone = {id(one): one for one in owners([*ahead, *own_input, *last, *own_output, *behind, *own_error])}
        self.begins: tuple[Any, ...] = tuple(one for one in everyone.values() if hasattr(one, "begin_request"))
        """The processors that are told of a request before anything happens in it, each once."""
        self._by_hook: dict[Hook, Workflow[Any, Any]] = {}
        for hooks, workflow in ((_INPUT, self.input), (_OUTPUT, self.output), ((Hook.API_ERROR,), self.error)):
            for hook in hooks:
                if workflow is not None and hook.value in workflow.as_step().hooks:
                    self._by_hook[hook] = workflow
        at_input = [step for step in [*ahead, *own_input, *last] if Hook.INPUT.value in step.hooks]
        beside = [step for step in own_input if _only_checks(step)] if guard_mode == "concurrent" else []
        before_model = [step for step in at_input if step not in beside]
        self.guards_before: tuple[str, ...] = tuple(step.id for step in before_model)
        """The ids of the entries whose ``process_input`` runs before the first model call, memory's first."""
        self.guards_beside: tuple[str, ...] = tuple(step.id for step in beside)
        """The ids of those that run beside it."""
        self.beside: Workflow[Any, Any] | None = _side_by_side(beside, f"{agent_id}-guards-beside")
        """What runs beside the first model call, if anything does."""
        if beside:
            ahead_of_model = chain(before_model, f"{agent_id}-input-processor")
            if ahead_of_model is not None:
                self._by_hook[Hook.INPUT] = ahead_of_model
            else:
                del self._by_hook[Hook.INPUT]
        # What the loop asks at every step is answered here once.
        self.looks_ahead = Hook.INPUT_STEP in self._by_hook
        """Whether a processor looks at the messages before each model call."""
        self.keeps_chunks = Hook.LLM_RESPONSE in self._by_hook
        """Whether a processor wants the model's own chunks after each call."""
        self.errors_at_call = not handlers and not (defaults and self.keeps_chunks)
        """Whether failed calls are dealt with where they are made: no step need pass a node for what is there by default."""
        self.takes_results = Hook.TOOL_RESULT in self._by_hook
        """Whether a processor looks at what tools answered."""
        self.only: dict[Hook, frozenset[str]] = {hook: frozenset({hook.value}) for hook in Hook}

    def get(self, hook: Hook) -> Workflow[Any, Any] | None:
        """
        Return the workflow to run at *hook*, or ``None`` where no processor takes part.
        """
        return self._by_hook.get(hook)

    @property
    def workflows(self) -> tuple[Workflow[Any, Any], ...]:
        """
        The lists as workflows, those that are not empty.
        """
        return tuple(each for each in (self.input, self.output, self.error) if each is not None)


class Listed(Protocol):
    """
    What pipelines are built from: an agent.
    """

    id: str
    input_processors: ProcessorList
    output_processors: ProcessorList
    error_processors: ProcessorList
    prefill_error_handler: bool
    memory: Memory | None
    runtime: Runtime


def build_pipelines(
    agent: Listed,
    mode: GuardMode,
    *,
    input: Sequence[Any] | None,
    output: Sequence[Any] | None,
    error: Sequence[Any] | None,
    prepare_step: Any,
) -> Pipelines:
    """
    Return the pipelines of the lists that are given, and of the agent's own where none is.

    A list of its own that is a function of the request counts as empty.
    """

    def own(configured: ProcessorList, given: Sequence[Any] | None) -> Sequence[Any]:
        if given is not None:
            return given
        return () if callable(configured) else configured

    with developing(agent.runtime.development):
        return Pipelines(
            agent.id,
            input=own(agent.input_processors, input),
            output=own(agent.output_processors, output),
            error=own(agent.error_processors, error),
            before=agent.memory.input_processors() if agent.memory is not None else (),
            after=agent.memory.output_processors() if agent.memory is not None else (),
            prepare_step=prepare_step,
            default_error=(PrefillErrorHandler(),) if agent.prefill_error_handler else (),
            guard_mode=mode,
        )


def _stream_plan(workflow: Workflow[Any, Any] | None) -> StreamPlan | None:
    """
    Return how *workflow* takes chunks, or ``None`` where nothing in it does: most agents need none of what that takes.
    """
    if workflow is None or Hook.OUTPUT_STREAM.value not in workflow.as_step().hooks:
        return None
    from procession.processors.stream_plan import stream_plan

    return stream_plan(workflow)


def _without(steps: Sequence[Step[Any, Any]], own: Sequence[Step[Any, Any]]) -> list[Step[Any, Any]]:
    """
    Return the *steps* whose processors the user has not listed, in a nested workflow or not (D34).
    """
    listed = {owner.id for owner in owners(own)}
    return [step for step in steps if step.owner.id not in listed]


def _asking_apart(
    steps: Sequence[Step[Any, Any]],
) -> tuple[Sequence[Step[Any, Any]], Sequence[Step[Any, Any]]]:
    """
    Return the *steps* of an output list, and apart from them those that ask for structured output: they stand where the
    documents list them, and say so before each model call.

    Raises ``ProcessorDefinitionError`` for one in a workflow of the list, where it would come too late.
    """
    asking = [step for step in steps if isinstance(step.owner, StructuredOutputProcessor)]
    others = [step for step in steps if step not in asking] if asking else steps
    for owner in owners(others):
        if isinstance(owner, StructuredOutputProcessor):
            raise ProcessorDefinitionError(
                f"output_processors: {owner.id!r} stands inside of a workflow, and would never run there",
                hint="put it into the list itself, or into input_processors",
            )
    return others, asking


def _only_checks(entry: Step[Any, Any]) -> bool:
    """
    Whether the ``process_input`` of a list's *entry* changes no messages.  What is not known counts as a change.
    """
    if Hook.INPUT.value not in entry.hooks:
        return False
    inside = [entry]
    if is_workflow(entry.body):
        inside = [step for step in entry.body.walk_steps() if not is_workflow(step.body)]
    return all(
        step.kind == "processor" and (Hook.INPUT.value not in step.hooks or bool(option(step.owner, "check_only")))
        for step in inside
    )


def _side_by_side(entries: Sequence[Step[Any, Any]], id: str) -> Workflow[Any, Any] | None:
    """
    Return the workflow that runs *entries* at the same time, or ``None`` where there are none.
    """
    if len(entries) < 2:
        return chain(entries, id)
    return create_workflow(id, kind="processor").parallel(entries).commit()


def _with_hook(steps: Sequence[Step[Any, Any]], hook: Hook) -> list[Step[Any, Any]]:
    """
    Return the steps that have *hook*, each instance once (D21).

    Two processors of different lists may have one id: in the one workflow that they stand in here, the later one's
    step is numbered.
    """
    found: dict[str, Step[Any, Any]] = {}
    seen: set[int] = set()
    for step in steps:
        if hook.value not in step.hooks or id(step.owner) in seen:
            continue
        seen.add(id(step.owner))
        name, number = step.id, 1
        while name in found:
            number += 1
            name = f"{step.id}-{number}"
        found[name] = step if name == step.id else step.renamed(name)
    return list(found.values())


def _warn_of_idle(steps: Sequence[Step[Any, Any]], hooks: frozenset[Hook], where: str) -> None:
    """
    Say so where a processor stands in a list that calls none of its hooks.
    """
    for owner in owners(steps):
        own = hook_methods(owner)
        if not hooks & own.keys():
            log_once(owner.id, f"none of its hooks runs in {where}", hooks=sorted(hook.value for hook in own))
