"""
Validation: what ``commit()`` finds.

Each finding has a code; the tests hold one example of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from procession.errors import Finding
from procession.messages.shapes import yields
from procession.steps.item_error import ItemError
from procession.steps.step import Step
from procession.workflows.definition import WorkflowDefinition
from procession.workflows.graph import find_cycle, in_order
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
from procession.workflows.source_check import check_fields
from procession.workflows.sources import Fields
from procession.workflows.typeflow import Outputs, Type, fits, function_types, item_type, list_of, name_of

__all__ = ["Check", "find", "output_type", "register_check"]


Check: TypeAlias = Callable[[Any], Iterable[Finding]]
"""Finds something in a workflow; for rooms above this one, which know more of certain steps."""

_checks: list[Check] = []


def register_check(check: Check) -> Check:
    """
    Let *check* take part in every ``commit()`` from now on.
    """
    if check not in _checks:
        _checks.append(check)
    return check


def find(workflow: WorkflowDefinition) -> list[Finding]:
    """
    Return everything wrong with *workflow*, errors and warnings, in the order of its nodes.
    """
    nodes = workflow.nodes
    if not nodes:
        hint = "add a step: .then(step)"
        return [Finding("empty-workflow", f"workflow {workflow.id!r} has no steps", hint=hint, source=workflow.source)]
    finder = _Finder(workflow)
    finder.names(nodes)
    if workflow.explicit:
        finder.graph([node for node in nodes if isinstance(node, StepNode)])
    else:
        finder.sequence(nodes)
    for check in _checks:
        finder.findings += check(workflow)
    return finder.findings


def output_type(workflow: WorkflowDefinition) -> Type:
    """
    Return the type of the workflow's output, or ``None`` where it is not known.
    """
    finder = _Finder(workflow)
    if workflow.explicit:
        return None
    return finder.sequence(workflow.nodes)


class _Finder:
    def __init__(self, workflow: WorkflowDefinition) -> None:
        self.workflow = workflow
        self.findings: list[Finding] = []

    def say(
        self,
        code: str,
        message: str,
        node: Node,
        hint: str,
        *,
        steps: Sequence[str] = (),
        severity: Literal["error", "warning"] = "error",
    ) -> None:
        found = Finding(code, message, severity=severity, hint=hint, steps=steps or (node.id,), source=node.source)
        self.findings.append(found)

    # --- names and shapes -----------------------------------------------------------------------------------------

    def names(self, nodes: Sequence[Node]) -> None:
        seen: dict[str, Node] = {}
        for node in nodes:
            self.functions(node)
            if isinstance(node, StepNode):
                self.name(node.id, node, seen)
                self.body(node)
                continue
            children = node.children
            if not isinstance(node, ForeachNode | LoopNode):  # these two bear the name of their body
                self.name(node.id, node, seen)
            for child in children:
                self.name(child.id, child, seen)
                self.body(child)
            if isinstance(node, ParallelNode) and not children:
                self.say("empty-parallel", f"{node.id!r} has no branches", node, "give parallel() at least one step")
            elif isinstance(node, BranchNode) and not node.arms:
                hint = "give branch() at least one (condition, step) pair"
                self.say("empty-branch", f"{node.id!r} has no arms", node, hint)

    def name(self, id: str, node: Node, seen: dict[str, Node]) -> None:
        first = seen.setdefault(id, node)
        if first is not node:
            where = f" (the first at {first.source})" if first.source else ""
            self.say(
                "duplicate-step-id",
                f"two steps have the id {id!r}{where}",
                node,
                "results are kept by id: give one of them another, e.g. by .clone('...') of the step or workflow",
                steps=(id,),
            )

    def functions(self, node: Node) -> None:
        for what, function in _functions(node):
            if yields(function):
                self.say(
                    "generator-function",
                    f"the {what} of {node.id!r} is a generator function, of which a call runs nothing",
                    node,
                    "let it return its answer; a generator is true whatever it would give",
                )

    def body(self, node: StepNode) -> None:
        body: Any = node.step.body
        if body is not None and getattr(body, "committed", True) is False:
            self.say(
                "not-committed",
                f"workflow {node.id!r} is used as a step and is not committed",
                node,
                "call .commit() on it first",
            )

    # --- the fluent form ------------------------------------------------------------------------------------------

    def sequence(self, nodes: Sequence[Node]) -> Type:
        current: Type = self.workflow.input_type
        before: Node | None = None
        known: dict[str, Type] = {}
        for node in nodes:
            if isinstance(node, StepNode):
                current = known[node.id] = self.step(node, current)
            elif isinstance(node, MapNode):
                current = known[node.id] = self.map(node, before, current, known, nodes)
            else:
                current = self.container(node, current, known)
            if isinstance(before, ParallelNode) and not isinstance(node, MapNode):
                self.mutators(before)
            before = node
        if isinstance(before, ParallelNode):
            self.mutators(before)
        return current

    def container(self, node: Node, current: Type, known: dict[str, Type]) -> Type:
        if isinstance(node, ParallelNode | BranchNode):
            for child in node.children:
                known[child.id] = self.step(child, current)
            if isinstance(node, BranchNode) and node.on_no_match == "skip" and node.default is None:
                return None
            if current is None or hasattr(current, "adopt"):
                return current  # a value that is forked and merged again, or may be one
            return Outputs({child.id: known[child.id] for child in node.children})
        if isinstance(node, ForeachNode):
            is_list, item = item_type(current)
            if not is_list:
                self.mismatch(node, current, list, "foreach() needs a list: put a map() before it")
            made = self.step(node.body, item)
            known[node.id] = list_of(made if node.on_error == "fail_fast" or made is None else made | ItemError)
            return known[node.id]
        if isinstance(node, LoopNode):
            made = self.step(node.body, current)
            if not fits(made, node.body.step.input_type):
                self.mismatch(node, made, node.body.step.input_type, "a loop's body must take what it gives")
            known[node.id] = made
            return made
        return current

    def step(self, node: StepNode, current: Type) -> Type:
        step = node.step
        wanted = step.input_type
        if wanted is not None and current is not wanted and not fits(current, wanted):
            self.mismatch(node, current, wanted, "put a map() between them, or change one of the annotations")
        if step.execute is None and step.inline is None and step.body is None:
            return current
        return step.output_type

    def mismatch(self, node: Node, given: Type, wanted: Type, hint: str) -> None:
        message = f"{node.id!r} takes {name_of(wanted)}, and is given {name_of(given)}"
        self.say("incompatible-schema", message, node, hint)

    def map(
        self, node: MapNode, before: Node | None, current: Type, known: dict[str, Type], nodes: Sequence[Node]
    ) -> Type:
        function = node.function
        if isinstance(function, Fields):
            ids = {id for each in nodes for id in (each.id, *(child.id for child in each.children))}
            problems, outputs = check_fields(node.id, function, known, ids, current)
            for problem in problems:
                self.say(problem.code, problem.message, node, problem.hint, steps=(node.id, *problem.steps))
            return outputs
        if not isinstance(function, Pick):
            wanted, made = function_types(function)
            if not fits(current, wanted):
                self.mismatch(node, current, wanted, "the map's parameter is annotated as something else")
            return made
        wanted_id = function.step_id
        if wanted_id not in known:
            later = any(wanted_id in (each.id, *(child.id for child in each.children)) for each in nodes)
            near = get_close_matches(wanted_id, known, 1)
            self.say(
                "invalid-map-reference",
                f"{node.id!r} picks {wanted_id!r}, " + ("which runs later" if later else "which is no step before it"),
                node,
                f"did you mean {near[0]!r}?" if near else f"there is {', '.join(known) or 'nothing before it'}",
                steps=(node.id, wanted_id),
            )
            return None
        if isinstance(before, ParallelNode) and not node.allow_drop:
            for child in before.arms:
                if child.id != wanted_id and redacts(child.step):
                    self.say(
                        "redactor-dropped",
                        f"{node.id!r} picks {wanted_id!r} and leaves out what {child.id!r} redacts",
                        node,
                        f"pick {child.id!r}, leave the map away so that both are merged, or say allow_drop=True",
                        steps=(wanted_id, child.id),
                    )
        return known[wanted_id]

    def mutators(self, node: ParallelNode) -> None:
        if node.merge == "chain" or callable(node.merge):
            return
        mutating = [child.id for child in node.arms if child.step.mutates]
        if len(mutating) > 1:
            self.say(
                "two-mutators-parallel",
                f"{' and '.join(mutating)} may both change the same text; {node.merge!r} has to reconcile them",
                node,
                'run them one after the other with merge="chain", or accept that different rewrites are an error',
                steps=mutating,
                severity="warning",
            )

    # --- the explicit form ----------------------------------------------------------------------------------------

    def graph(self, steps: Sequence[StepNode]) -> None:
        ids = [node.id for node in steps]
        known = set(ids)
        for node in steps:
            for name in node.after or ():
                if name not in known:
                    near = get_close_matches(name, ids, 1)
                    self.say(
                        "unknown-dependency",
                        f"{node.id!r} is to run after {name!r}, which is no step of this workflow",
                        node,
                        f"did you mean {near[0]!r}?" if near else "add() that step too",
                        steps=(node.id, name),
                    )
        reached = in_order(steps)
        if len(reached) < len(steps):
            self.unreached(steps, {node.id for node in reached})
        outputs: dict[str, Type] = {}
        for node in reached:
            needs = [name for name in node.after or () if name in known]
            if not needs:
                current: Type = self.workflow.input_type
            elif len(needs) == 1:
                current = outputs.get(needs[0])
            elif self.workflow.input_type is None or hasattr(self.workflow.input_type, "adopt"):
                current = None
            else:
                current = Outputs({name: outputs.get(name) for name in needs})
            outputs[node.id] = self.step(node, current)

    def unreached(self, steps: Sequence[StepNode], reached: set[str]) -> None:
        rest = {node.id: tuple(node.after or ()) for node in steps if node.id not in reached}
        cycle = find_cycle(rest)
        by_id = {node.id: node for node in steps}
        if cycle:
            shown = " -> ".join([*reversed(cycle), cycle[-1]])
            hint = "take one of these dependencies away; to repeat steps use do_while() or do_until()"
            self.say("cycle", f"steps wait for each other: {shown}", by_id[cycle[0]], hint, steps=cycle)
        for id in rest:
            if id not in cycle:
                hint = "it needs, directly or not, a step that waits for itself"
                self.say("unreachable-step", f"{id!r} can never run", by_id[id], hint)


def redacts(step: Step[Any, Any]) -> bool:
    """
    Return whether a processor inside *step* changes messages to remove what must not be seen.
    """
    if step.mutates and bool(getattr(step.owner, "redacts", False)):
        return True
    nodes: Sequence[Any] = getattr(step.body, "nodes", ()) if step.kind == "workflow" else ()
    return any(redacts(child.step) for node in nodes for child in node.children)


def _functions(node: Node) -> list[tuple[str, Any]]:
    """
    Return the functions that a node is made with, and what each is.
    """
    if isinstance(node, BranchNode):
        return [("condition", arm.condition) for arm in node.arms]
    if isinstance(node, LoopNode):
        return [("condition", node.condition)]
    if isinstance(node, MapNode):
        if isinstance(node.function, Fields):
            return [(f"function of {name!r}", source) for name, source in node.function.sources]
        return [("function", node.function)]
    if isinstance(node, ForeachNode):
        return [("concurrency", node.concurrency)]
    if isinstance(node, SleepUntilNode):
        return [("time", node.until)]
    return [("time", node.seconds)] if isinstance(node, SleepNode) else []
