"""
StreamPlan: the nodes of a processor workflow, made ready for chunks.  Static: one per workflow, used by every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from procession.errors import ProcessorDefinitionError
from procession.processors.adapter import HookCaller
from procession.processors.chain import is_workflow, owners
from procession.processors.guard_group import GuardGroup
from procession.processors.hooks import Hook
from procession.processors.payloads import OutputStreamPayload
from procession.processors.protocols import hook_methods, option
from procession.processors.stream_arm import StreamArm
from procession.processors.stream_fork import ForkItem
from procession.processors.stream_items import Item, ProcessorItem
from procession.processors.stream_map import MapItem
from procession.processors.text_guard import TextGuard
from procession.processors.timed_item import TimedItem, has_clock, is_timed
from procession.steps.budget import Budget
from procession.steps.scope import RequestScope
from procession.workflows.nodes import BranchNode, MapNode, Node, ParallelNode, Pick, StepNode
from procession.workflows.sources import Fields
from procession.workflows.workflow import Workflow

__all__ = ["StreamPlan", "stream_plan"]

STREAM = Hook.OUTPUT_STREAM.value
Make: TypeAlias = Callable[[OutputStreamPayload, RequestScope], Item]
"""Makes one link for one run."""


class StreamPlan:
    """
    How to make the links of a chain.
    """

    __slots__ = ("makers",)

    def __init__(self, makers: list[Make]) -> None:
        self.makers = makers

    def instantiate(self, payload: OutputStreamPayload, scope: RequestScope) -> list[Item]:
        """
        Make the links for one run.
        """
        return [make(payload, scope) for make in self.makers]


def stream_plan(workflow: Workflow[Any, Any] | None) -> StreamPlan | None:
    """
    Return the plan of *workflow* for chunks, or ``None`` where no processor in it takes part in the stream.

    Raises ``ProcessorDefinitionError`` for a loop, ``foreach`` or sleep among its nodes.
    """
    if workflow is None or STREAM not in workflow.as_step().hooks:
        return None
    return StreamPlan(_sequence(workflow, ""))


def _sequence(workflow: Workflow[Any, Any], path: str) -> list[Make]:
    """
    Return what makes the links of *workflow*, whose nodes have paths that begin with *path*.
    """
    _refuse_budget(workflow.id, workflow.budget)
    makers: list[Make] = []
    nodes = workflow.nodes
    for index, node in enumerate(nodes):
        following = nodes[index + 1] if index + 1 < len(nodes) else None
        before = nodes[index - 1] if index else None
        if isinstance(node, StepNode):
            makers += _step(node, path)
        elif isinstance(node, (ParallelNode, BranchNode)):
            makers += _fork(node, following if isinstance(following, MapNode) else None, path)
        elif isinstance(node, MapNode):
            if not isinstance(before, (ParallelNode, BranchNode)):
                makers.append(_map(node, workflow, path))
        else:
            raise ProcessorDefinitionError(
                f"workflow {workflow.id!r} has a {node.kind} ({node.id!r}) and a processor with {STREAM}",
                hint="loops, foreach and sleep have no place in a stream: keep such steps in a workflow of their own",
            )
    return makers


def _refuse_budget(id: str, budget: Budget | None) -> None:
    if budget is not None:
        raise ProcessorDefinitionError(
            f"{id!r} has a budget and a processor with {STREAM}",
            hint="a stream has no budget: leave it away, or say with on= which of the other hooks it is for",
        )


def _step(node: StepNode, path: str = "") -> list[Make]:
    step = node.step
    if STREAM not in step.hooks or (node.on is not None and STREAM not in node.on):
        return []
    _refuse_budget(node.id, node.budget)
    if is_workflow(step.body):
        return _sequence(step.body, f"{path}{node.id}/")
    return [_processor(step.owner, f"{path}{node.id}")]


def _processor(owner: Any, path: str) -> Make:
    caller = HookCaller(owner)
    item = TimedItem if is_timed(owner) else ProcessorItem
    return lambda payload, scope: item(caller, payload, scope, path)


def _map(node: MapNode, workflow: Workflow[Any, Any], path: str) -> Make:
    function = node.function
    if isinstance(function, Pick):
        raise ProcessorDefinitionError(
            f"workflow {workflow.id!r} picks {function.step_id!r} where there are no branches",
            hint="put the pick right after .parallel() or .branch()",
        )
    if isinstance(function, Fields):
        raise _no_fields(node)
    return lambda payload, scope: MapItem(node.id, function, payload, f"{path}{node.id}")


def _no_fields(node: MapNode) -> ProcessorDefinitionError:
    return ProcessorDefinitionError(
        f"map {node.id!r} makes fields where chunks of a stream pass",
        hint="map them with a function, or pick() a branch",
    )


def _fork(node: ParallelNode | BranchNode, chosen: MapNode | None, path: str) -> list[Make]:
    arms: list[tuple[StepNode, Callable[[Any], Any] | None]] = (
        [(arm, None) for arm in node.arms]
        if isinstance(node, ParallelNode)
        else [(arm.node, arm.condition) for arm in node.arms]
    )
    if node.merge == "chain" and chosen is None and isinstance(node, ParallelNode):
        return [make for arm, _ in arms for make in _step(arm, path)]
    _refuse_clocks(node, [arm for arm, _ in arms])
    guards: list[Any] = []
    if chosen is None and isinstance(node, ParallelNode):
        alone = {arm.id: _only_guards(arm) for arm, _ in arms}
        guards = [guard for found in alone.values() for guard in found]
        arms = [(arm, condition) for arm, condition in arms if not alone[arm.id]]
        if not callable(node.merge):
            _check_holders(node, [arm for arm, _ in arms])
    makers: list[Make] = []
    if any(_step(arm) for arm, _ in arms) or isinstance(node, BranchNode):
        makers.append(_fork_maker(node, arms, chosen, path))
    if guards:
        group = guards[0] if len(guards) == 1 else GuardGroup(guards)
        makers.append(_processor(group, f"{path}processor:{group.id}"))
    return makers


def _refuse_clocks(node: ParallelNode | BranchNode, arms: list[StepNode]) -> None:
    """
    Refuse an arm that would let go of text while no chunk passes: there would be nothing to merge it with.
    """
    found = [owner.id for arm in arms if _step(arm) for owner in owners([arm.step]) if has_clock(owner)]
    if found:
        raise ProcessorDefinitionError(
            f"{found[0]!r} in {node.id!r} lets go of streamed text by the clock",
            hint="put it before or behind the branches, or give it no max_wait_time",
        )


def _only_guards(node: StepNode) -> list[TextGuard]:
    """
    Return the text guards of an arm that is nothing but text guards side by side, in however many workflows.
    """
    if not _step(node):
        return []
    if isinstance(node.step.owner, TextGuard):
        return [node.step.owner]
    if not is_workflow(node.step.body):
        return []
    taking = [each for each in node.step.body.nodes if not isinstance(each, StepNode) or _step(each)]
    only = taking[0] if len(taking) == 1 else None
    if isinstance(only, StepNode):
        return _only_guards(only)
    if not isinstance(only, ParallelNode) or only.merge == "chain" or callable(only.merge):
        return []
    found = [_only_guards(arm) for arm in only.arms if _step(arm)]
    return [guard for each in found for guard in each] if all(found) else []


def _check_holders(node: ParallelNode, arms: list[StepNode]) -> None:
    """
    Refuse an arm that holds text back beside another that does, or that redacts: they let go of different stretches
    of it at a time, and what one has hidden the other would let go later.
    """
    held = [arm.step.id for arm in arms if _step(arm) and any(map(_holds, owners([arm.step])))]
    beside = [arm.step.id for arm in arms if _step(arm) and _redacts(arm) and arm.step.id not in held]
    if held and len(held) + len(beside) > 1:
        raise ProcessorDefinitionError(
            f"{', '.join(map(repr, held + beside))} in {node.id!r} hold streamed text back side by side, or redact it",
            hint="put them one after the other, choose in a .map(...), or make each arm text guards only",
        )


def _holds(owner: Any) -> bool:
    return STREAM in (hook.value for hook in hook_methods(owner)) and callable(
        getattr(owner, "flush_output_stream", None)
    )


def _fork_maker(
    node: ParallelNode | BranchNode,
    arms: list[tuple[StepNode, Callable[[Any], Any] | None]],
    chosen: MapNode | None,
    path: str,
) -> Make:
    compiled = [(arm.step.id, _step(arm, path), condition, _redacts(arm)) for arm, condition in arms]
    branch = node if isinstance(node, BranchNode) else None
    default = branch.default if branch is not None else None
    compiled_default = (default.step.id, _step(default, path), _redacts(default)) if default is not None else None
    choose = _chooser(chosen) if chosen is not None else None

    def make(payload: OutputStreamPayload, scope: RequestScope) -> Item:
        def arm(step_id: str, makers: list[Make], condition: Any, redacts: bool) -> StreamArm:
            own = OutputStreamPayload(payload.message_list)
            items = [maker(own, scope) for maker in makers]
            return StreamArm(step_id, items, own, condition=condition, redacts=redacts)

        return ForkItem(
            node.id,
            [arm(*each) for each in compiled],
            payload,
            choose=choose,
            allow_drop=chosen.allow_drop if chosen is not None else False,
            merge=node.merge,
            default=arm(compiled_default[0], compiled_default[1], None, compiled_default[2])
            if compiled_default is not None
            else None,
            first_only=branch is not None and branch.mode == "first",
            skip_unmatched=branch is not None and branch.on_no_match == "skip",
            path=f"{path}{node.id}",
            pick=chosen.function.step_id if chosen is not None and isinstance(chosen.function, Pick) else None,
        )

    return make


def _redacts(node: Node) -> bool:
    return any(option(owner, "redacts") for owner in owners(child.step for child in node.children))


def _chooser(node: MapNode) -> Callable[[Mapping[str, Any]], Any]:
    function = node.function
    if isinstance(function, Fields):
        raise _no_fields(node)
    if not isinstance(function, Pick):
        return function
    step_id = function.step_id
    return lambda outputs: outputs.get(step_id)
