"""
Compile: from a committed workflow to its plan, once for each set of hooks that it serves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from procession.errors import DefinitionError
from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy
from procession.steps.schema import schema_of
from procession.steps.state_type import ANYTHING
from procession.steps.step import Step, as_step
from procession.workflows.definition import WorkflowDefinition
from procession.workflows.nodes import (
    BranchNode,
    ForeachNode,
    LoopNode,
    MapNode,
    Node,
    ParallelNode,
    Pick,
    SleepNode,
    SleepUntilNode,
    StepNode,
)
from procession.workflows.plan import (
    CALL,
    CHECKED,
    FALLBACK,
    GUARDED,
    INLINE,
    WHOLE_FALLBACK,
    Arm,
    Capped,
    Choice,
    Dag,
    DagItem,
    Each,
    Fork,
    Leaf,
    Loop,
    Map,
    Nested,
    Outcome,
    Pause,
    Plan,
    PlanNode,
)
from procession.workflows.sources import Fields, FromStep

__all__ = ["Only", "plan_for", "plan_of_step"]

Only: TypeAlias = frozenset[str] | None
"""The hooks that a plan serves; ``None`` for all."""


def plan_for(workflow: WorkflowDefinition, only: Only = None) -> Plan:
    """
    Return the plan of *workflow*, made once and kept on it.

    With *only*, processors that have none of these hooks, arms restricted to others and workflows without a processor
    that takes part are left out; inside parallel and branch they stay as arms that pass the value on.

    Raises ``DefinitionError`` where the workflow is not committed, or has more workflows inside one another than Python
    can follow.
    """
    found = workflow.plans.get(only)
    if found is not None:
        return found
    if not workflow.committed:
        raise DefinitionError(f"workflow {workflow.id!r} is not committed", hint="call .commit() once it is complete")
    try:
        made = workflow.plans[only] = _Compiler(only, workflow.retry).workflow(workflow)
    except RecursionError:
        raise DefinitionError(
            f"workflow {workflow.id!r} stands too deep inside others, or others too deep in it",
            hint="up to a hundred go inside one another; repeat steps with do_while() instead",
        ) from None
    return made


def plan_of_step(step: Step[Any, Any]) -> Plan:
    """
    Return a plan of one step, whose path is the prefix that it is walked with.
    """
    compiler = _Compiler(None)
    nodes = compiler.step(step, "")
    return Plan(step.id, nodes, f"step {step.id!r}", None, False, compiler.reducers, single=True)


class _Compiler:
    def __init__(self, only: Only, retry: RetryPolicy | None = None) -> None:
        self.only = only
        self.retry = retry
        """For steps that have no policy of their own."""
        self.keeps = False
        self.state = ANYTHING
        """What workflows inside say of the shared state."""
        self.reducers: dict[str, Callable[[Any, Any], Any]] = {}

    def workflow(self, workflow: WorkflowDefinition) -> Plan:
        nodes = (self.graph(workflow),) if workflow.explicit else self.sequence(workflow.nodes, workflow.input_type)
        if workflow.budget is not None and nodes:
            budget, guards = (
                workflow.budget,
                any(child.step.hooks for node in workflow.nodes for child in node.children),
            )
            nodes = (
                Capped(workflow.id, "", nodes, budget, self.instead(budget, WHOLE_FALLBACK), guards=guards, whole=True),
            )
        promised = schema_of(workflow.output_type)
        if promised is not None:
            nodes = (*nodes, Outcome("@end", "@end", promised, f"output of workflow {workflow.id!r}"))
        self.reducers.update(workflow.reducers)
        where, state = f"input of workflow {workflow.id!r}", workflow.state_type
        if self.state is not ANYTHING:
            state = state.over(self.state)
        check = schema_of(workflow.input_type)
        return Plan(workflow.id, nodes, where, check, self.keeps, self.reducers, workflow.timeout, state)

    def sequence(self, nodes: Sequence[Node], given: Any) -> tuple[PlanNode, ...]:
        """
        Compile nodes that run one after the other; *given* is the type that the value is known to fit.
        """
        made: list[PlanNode] = []
        index = 0
        while index < len(nodes):
            node = nodes[index]
            after = nodes[index + 1] if index + 1 < len(nodes) else None
            index += 1
            match node:
                case StepNode():
                    placed = self.place(node, node.id, given)
                    made += placed
                    if placed:
                        leaf = placed[0]
                        given = node.step.output_type if isinstance(leaf, Leaf) and leaf.mode != INLINE else None
                    continue
                case ParallelNode() | BranchNode():
                    map = None
                    if isinstance(after, MapNode):
                        map = self.map(after, local=frozenset(each.id for each in node.children))
                        index += 1
                    if isinstance(node, ParallelNode):
                        made += self.fork(node, map)
                    else:
                        made += self.choice(node, map)
                case MapNode():
                    made.append(self.map(node))
                case ForeachNode():
                    body = self.place(node.body, "")
                    made.append(Each(node.id, node.id, body, node.concurrency, node.on_error == "collect"))
                case LoopNode():
                    body = self.place(node.body, "")
                    inner = body[0] if len(body) == 1 and isinstance(body[0], Nested) else None
                    if inner is not None and (inner.plan.check_in or inner.plan.timeout) is not None:
                        inner = None
                    made.append(Loop(node.id, node.id, body, node.condition, node.until, node.max_iterations, inner))
                case SleepNode():
                    made.append(Pause(node.id, node.id, node.seconds))
                    continue
                case SleepUntilNode():
                    made.append(Pause(node.id, node.id, until=node.until))
                    continue
                case _:
                    raise DefinitionError(f"a node of kind {node.kind!r} cannot be compiled")
            given = None
        return tuple(made)

    def fork(self, node: ParallelNode, map: Map | None) -> tuple[PlanNode, ...]:
        arms = tuple(Arm(each.id, self.place(each, each.id, arm=True)) for each in node.arms)
        busy = tuple(arm for arm in arms if arm.nodes)
        if not busy and map is None and self.only is not None:
            return ()
        keys = frozenset(arm.id for arm in busy)
        ends = (node.merge, node.on_block, node.on_failure)
        return (Fork(node.id, node.id, arms, busy, keys, *ends, map, node.concurrency),)

    def choice(self, node: BranchNode, map: Map | None) -> tuple[PlanNode, ...]:
        children = [arm.node for arm in node.arms]
        if node.default is not None:
            children.append(node.default)
        arms = tuple(Arm(each.id, self.place(each, each.id, arm=True)) for each in children)
        if not any(arm.nodes for arm in arms) and map is None and self.only is not None:
            return ()
        asked = tuple(zip(arms, (arm.condition for arm in node.arms), strict=False))
        first, skip = node.mode == "first", node.on_no_match == "skip"
        return (Choice(node.id, node.id, arms, asked, first, skip, node.merge, map),)

    def map(self, node: MapNode, local: frozenset[str] = frozenset()) -> Map:
        function = node.function
        if isinstance(function, Pick):
            self.keeps = self.keeps or function.step_id not in local
            return Map(node.id, node.id, None, function.step_id, node.allow_drop)
        if isinstance(function, Fields):
            read = {step for _, source in function.reads() if isinstance(source, FromStep) for step in source.steps}
            self.keeps = self.keeps or not read <= local
            return Map(node.id, node.id, None, None, node.allow_drop, function, local)
        return Map(node.id, node.id, function, None, node.allow_drop)

    def graph(self, workflow: WorkflowDefinition) -> Dag:
        steps = [node for node in workflow.nodes if isinstance(node, StepNode)]
        position = {node.id: index for index, node in enumerate(steps)}
        feeds: list[list[int]] = [[] for _ in steps]
        for index, node in enumerate(steps):
            for name in node.after or ():
                feeds[position[name]].append(index)
        items = tuple(
            DagItem(
                node.id,
                self.place(node, node.id),
                tuple(position[name] for name in node.after or ()),
                tuple(feeds[index]),
            )
            for index, node in enumerate(steps)
        )
        return Dag(workflow.id, "", items, tuple(index for index, item in enumerate(items) if not item.feeds))

    def place(self, node: StepNode, key: str, given: Any = None, arm: bool = False) -> tuple[PlanNode, ...]:
        only = self.only
        if only is not None:
            if node.on is not None and not node.on & only:
                return ()
            if node.step.kind == "processor" and not node.step.hooks & only:
                return ()
        made = self.step(node.step, key, given)
        return made if node.budget is None or not made else self.capped(node, node.budget, key, made, arm)

    def capped(
        self, node: StepNode, budget: Budget, key: str, inner: tuple[PlanNode, ...], arm: bool
    ) -> tuple[PlanNode, ...]:
        leaves = arm and budget.on_exceed == "skip"
        return (Capped(node.id, key, inner, budget, self.instead(budget), leaves, bool(node.step.hooks)),)

    def instead(self, budget: Budget, key: str = FALLBACK) -> tuple[PlanNode, ...] | None:
        """
        Compile what runs where *budget* is used up and falls back on a step.
        """
        if not budget.falls_back_on_step:
            return None
        step = as_step(budget.fallback)
        return self.place(StepNode(step.id, None, step), key)

    def step(self, step: Step[Any, Any], key: str, given: Any = None) -> tuple[PlanNode, ...]:
        function = step.inline if step.inline is not None else step.execute
        if function is None:
            # A body of another kind is drawn here and run elsewhere: the chunks of an agent's stream.
            return self.nested(step, key) if step.kind == "workflow" and step.body is not None else ()
        if step.inline is not None:
            return (Leaf(step.id, key, step, INLINE, function, step.inline_async, "", ""),)
        check_in = schema_of(step.input_type) if given is None or given != step.input_type else None
        check_out = schema_of(step.output_type)
        retry = step.retry if step.retry is not None else self.retry
        retry = retry if retry is not None and retry.max_attempts > 1 else None
        if retry is not None or step.timeout is not None or step.total_timeout is not None or step.blocking:
            mode = GUARDED
        else:
            mode = CHECKED if check_in is not None or check_out is not None else CALL
        taken, made = f"input of step {step.id!r}", f"output of step {step.id!r}"
        is_async, limits = _is_async(function), (step.timeout, step.total_timeout)
        return (Leaf(step.id, key, step, mode, function, is_async, taken, made, check_in, check_out, retry, *limits),)

    def nested(self, step: Step[Any, Any], key: str) -> tuple[PlanNode, ...]:
        body: Any = step.body
        if self.only is not None and not takes_part(body, self.only):
            return ()
        plan = plan_for(body, self.only)
        if self.retry is not None and body.retry is None:
            plan = _Compiler(self.only, self.retry).workflow(body)
        self.reducers.update(plan.reducers)
        self.keeps = self.keeps or plan.keeps
        if plan.state is not ANYTHING:
            self.state = self.state.over(plan.state)
        return (Nested(step.id, key, plan),)


def takes_part(workflow: WorkflowDefinition, only: frozenset[str]) -> bool:
    """
    Return whether a processor inside *workflow* has one of the hooks *only*.
    """
    for node in workflow.nodes:
        for child in node.children:
            if child.on is not None and not child.on & only:
                continue
            step = child.step
            if step.kind == "processor" and step.hooks & only:
                return True
            if step.kind == "workflow" and step.body is not None and takes_part(step.body, only):  # type: ignore[arg-type]
                return True
    return False


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  (an object whose __call__ is async)
    )
