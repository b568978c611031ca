"""
explanation(): which processor of an agent runs where, in which order, and why one never will, read off its lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from procession.agents.caller import Caller
from procession.agents.explanation import Explanation, HookPlace, NeverCalled
from procession.agents.options import checked_options
from procession.agents.pipelines import Pipelines
from procession.agents.resolve import processors_for
from procession.processors.chain import is_workflow, owners, processor_steps
from procession.processors.hooks import INPUT_HOOKS, OUTPUT_HOOKS, Hook
from procession.processors.memory.kept_where import place_of
from procession.processors.processor import FunctionProcessor
from procession.processors.protocols import hook_methods, option
from procession.steps.request_context import RequestContext
from procession.steps.step import Step
from procession.workflows.nodes import BranchNode, ForeachNode, LoopNode, MapNode, ParallelNode, StepNode
from procession.workflows.source_text import source_text
from procession.workflows.workflow import Workflow

__all__ = ["explanation", "explanation_for"]

_SERVES: Mapping[str, frozenset[Hook]] = {
    "input_processors": INPUT_HOOKS,
    "output_processors": OUTPUT_HOOKS,
    "error_processors": frozenset({Hook.API_ERROR}),
}
_Found = tuple[Any, tuple[str, ...], tuple[str, ...]]
"""A processor, the workflows that it stands in, and how."""


_LISTS = tuple(_SERVES)


def explanation(agent: Caller) -> Explanation:
    """
    Return what is known of *agent* before a request: of its lists those that are no functions of it.
    """
    lists = {name: None if callable(own := getattr(agent, name)) else own for name in _LISTS}
    return _explained(agent, agent.pipelines_of(), lists)


async def explanation_for(agent: Caller, given: Mapping[str, Any]) -> Explanation:
    """
    Return what *agent* does in one request, called with the options *given*.

    Raises ``InputError`` and ``DefinitionError`` for options that cannot work.
    """
    options = checked_options(given)
    context = options.get("request_context")
    request_context = context if isinstance(context, RequestContext) else RequestContext(context)
    lists: dict[str, Sequence[Any] | None] = {
        name: await processors_for(name, options.get(name, getattr(agent, name)), request_context) for name in _LISTS
    }
    input, output, error = lists.values()
    prepare_step = options.get("prepare_step")
    pipelines = agent.pipelines_of(
        input=input,
        output=output,
        error=error,
        prepare_step=FunctionProcessor(prepare_step, Hook.INPUT_STEP, id="prepare-step") if prepare_step else None,
        guard_mode=options.get("guard_mode"),
    )
    return _explained(agent, pipelines, lists)


def _explained(agent: Caller, pipelines: Pipelines, lists: Mapping[str, Sequence[Any] | None]) -> Explanation:
    listed = {name: list(owners(processor_steps(things or (), where=name))) for name, things in lists.items()}
    places = list(_places(agent, pipelines, listed))
    taking_part = {(place.hook, place.processor_id) for place in places}
    never: dict[tuple[str, str, str], list[Hook]] = {}
    for name, found in listed.items():
        for owner in found:
            for hook in hook_methods(owner):
                if (hook, owner.id) not in taking_part:
                    never.setdefault((owner.id, name, _why_not(name, hook)), []).append(hook)
    return Explanation(
        agent_id=agent.id,
        summary=_summary(agent),
        places=tuple(places),
        never=tuple(
            NeverCalled(processor_id=id, source=name, hooks=tuple(hooks), why=why)
            for (id, name, why), hooks in never.items()
        ),
        notes=tuple(_notes(agent, pipelines, lists, listed)),
    )


# -- who runs where


def _places(agent: Caller, pipelines: Pipelines, listed: Mapping[str, Sequence[Any]]) -> Iterator[HookPlace]:
    memory = agent.memory
    remembers: set[int] = set()
    if memory is not None:
        remembers = {id(one) for one in (*memory.input_processors(), *memory.output_processors())}

    def place(hook: Hook, found: _Found, beside: bool = False) -> HookPlace:
        owner, workflows, where = found
        return HookPlace(
            hook=hook,
            processor_id=owner.id,
            source=_source(owner, hook, listed, remembers),
            workflows=workflows,
            where=where,
            options=tuple(_options(owner)),
            beside_model=beside,
        )

    for hook in Hook:
        workflow = pipelines.get(hook)
        if workflow is not None:
            for found in _walk(workflow, hook.value):
                yield place(hook, found)
        if hook is Hook.INPUT and pipelines.beside is not None:
            for found in _walk(pipelines.beside, hook.value):
                yield place(hook, found, beside=True)


def _source(owner: Any, hook: Hook, listed: Mapping[str, Sequence[Any]], remembers: set[int]) -> str:
    for name, found in listed.items():
        if hook in _SERVES[name] and any(one is owner for one in found):
            return name
    if id(owner) in remembers:
        return "memory"
    for name, found in listed.items():
        if any(one is owner for one in found):  # listed among others than it works with, as the documents do it
            return name
    return "prepare_step" if hook is Hook.INPUT_STEP else "default"


def _walk(
    workflow: Workflow[Any, Any], hook: str, path: tuple[str, ...] = (), where: tuple[str, ...] = ()
) -> Iterator[_Found]:
    """
    Yield the processors that take part in *hook*, in order.
    """
    for node, following in zip_longest(workflow.nodes, workflow.nodes[1:]):
        picked = ("then a map picks what goes on",) if isinstance(following, MapNode) else ()
        if isinstance(node, StepNode):
            after = (f"after {', '.join(map(_name, node.after))}",) if node.after else ()
            yield from _step(node, hook, path, (*where, *after))
        elif isinstance(node, ParallelNode):
            arms = [arm for arm in node.arms if _takes_part(arm, hook)]
            in_turn = node.merge == "chain" and not (picked and hook == Hook.OUTPUT_STREAM)
            for number, arm in enumerate(arms):
                others = [_name(other.id) for other in (arms[:number] if in_turn else arms) if other is not arm]
                word = "in turn after" if in_turn else "in parallel with"
                together = (f"{word} {', '.join(others)}",) if others else ()
                yield from _step(arm, hook, path, (*where, *together, *picked))
        elif isinstance(node, BranchNode):
            for number, choice in enumerate(node.arms):
                word = "else if" if number and node.mode == "first" else "if"
                condition = f"{word} {source_text(choice.condition)}"
                yield from _step(choice.node, hook, path, (*where, condition, *picked))
            if node.default is not None:
                yield from _step(node.default, hook, path, (*where, "if no condition holds", *picked))
        elif isinstance(node, LoopNode):
            again = f"{'until' if node.until else 'while'} {source_text(node.condition)}"
            yield from _step(node.body, hook, path, (*where, again))
        elif isinstance(node, ForeachNode):
            yield from _step(node.body, hook, path, (*where, "for each item"))


def _step(node: StepNode, hook: str, path: tuple[str, ...], where: tuple[str, ...]) -> Iterator[_Found]:
    step: Step[Any, Any] = node.step
    if not _takes_part(node, hook):
        return
    if is_workflow(step.body):
        yield from _walk(step.body, hook, (*path, step.body.id), where)
    elif step.kind == "processor":
        yield step.owner, path, where


def _takes_part(node: StepNode, hook: str) -> bool:
    return hook in node.step.hooks and (node.on is None or hook in node.on)


def _name(step_id: str) -> str:
    return step_id.removeprefix("processor:")


def _options(owner: Any) -> Iterator[str]:
    strategy, mode = getattr(owner, "strategy", None), getattr(owner, "mode", None)
    if isinstance(strategy, str):
        yield f"strategy={strategy}"
    if isinstance(mode, str):
        yield f"mode={mode}"
    yield f"on_error={option(owner, 'on_error')}"
    timeout = option(owner, "timeout")
    if timeout is not None:
        yield f"timeout={timeout:g} s"
    if option(owner, "fails_closed") and option(owner, "on_error") == "stop":
        yield "blocks where it cannot check"
    if option(owner, "blocking"):
        yield "in a worker thread"
    asks = getattr(owner, "asks_whom", None)
    if asks is not None:
        yield asks


# -- what does not, and what else matters


def _why_not(name: str, hook: Hook) -> str:
    if hook in _SERVES[name]:
        return "its workflow restricts it to other hooks (on=)"
    others = [other for other, hooks in _SERVES.items() if hook in hooks and other != "error_processors"]
    return f"{name} does not serve that, {' and '.join(others)} does"


def _summary(agent: Caller) -> str:
    models = agent.models
    asked = "a model of the request" if callable(models) else f"model {', then '.join(repr(one.id) for one in models)}"
    retries = agent.max_processor_retries
    again = f"sent back at most {retries} times" if retries else "never sent back"
    return f"{asked}, at most {agent.max_steps} steps, each {again}"


def _notes(
    agent: Caller,
    pipelines: Pipelines,
    lists: Mapping[str, Sequence[Any] | None],
    listed: Mapping[str, Sequence[Any]],
) -> Iterator[str]:
    for name, things in lists.items():
        if things is None:
            yield f"{name} is a function of the request: await agent.explain_for(request_context) asks it"
    memory = agent.memory
    if memory is not None:
        yield f"turns are kept in {place_of(memory.storage)}"
        yield "a call without thread= and resource= remembers nothing, and has nothing remembered (D35)"
        sides = {"input_processors": memory.input_processors(), "output_processors": memory.output_processors()}
        for name, own in sides.items():
            taken = {owner.id for owner in listed[name]}
            yield from (
                f"{name} has a processor {one.id!r} of its own, which takes the place of memory's"
                for one in own
                if one.id in taken
            )
    if pipelines.user_handles_errors and agent.max_processor_retries == 0:
        yield "max_processor_retries=0: a processor that asks for another call after a failed one does not get it"
    if pipelines.takes_results and not agent.tools:
        yield "the agent has no tools: process_tool_result waits for tools of a call or of a step"
    owners_of_notes = [owner for found in listed.values() for owner in found]
    if memory is not None:
        owners_of_notes += (*memory.input_processors(), *memory.output_processors())
    for owner in {id(owner): owner for owner in owners_of_notes}.values():
        yield from getattr(owner, "notes", ())
    for tool in () if callable(agent.tools) else agent.tools.values():
        if tool.provider_tool is not None:
            formats = ", ".join(tool.provider_tool)
            yield f"{tool.name} is run by the provider, without approval ({formats}); other models are not told of it"
    if pipelines.guards_beside:
        if pipelines.guards_before:
            kept = ", ".join(map(_name, pipelines.guards_before))
            yield f"{kept} may change messages, and run before the first model call"
        yield "the answer is held until the guards beside the first model call have passed"
