"""
Flow: whether each step can be given what the one before it gives, through every construct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from procession.errors import Fix
from procession.steps.item_error import ItemError
from procession.steps.step import Step
from procession.workflows.checks.branches import check_dropped
from procession.workflows.checks.finder import Finder
from procession.workflows.checks.names import quoted
from procession.workflows.checks.references import check_pick, in_running_order
from procession.workflows.checks.schemas import check_schema
from procession.workflows.fits import misfit
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
from procession.workflows.sources import Fields, FromStep, FromValue
from procession.workflows.structures import is_typed_dict
from procession.workflows.typeflow import (
    Either,
    Outputs,
    Type,
    either,
    function_types,
    is_forked,
    is_unknown,
    item_type,
    list_of,
    name_of,
    takes_one,
)

__all__ = ["check_flow"]


def check_flow(finder: Finder) -> Type:
    """
    Find what cannot fit, and return the type of the workflow's output as far as it is known.
    """
    flow = _Flow(finder)
    workflow = finder.workflow
    check_schema(finder, workflow.input_type, "input", None)
    check_schema(finder, workflow.output_type, "output", None)
    nodes = workflow.nodes
    if workflow.explicit:
        made = flow.graph([node for node in nodes if isinstance(node, StepNode)])
    else:
        made = flow.sequence(nodes)
    if workflow.output_type is None:
        return made
    flow.fit(
        nodes[-1],
        made,
        workflow.output_type,
        f"workflow {workflow.id!r} is to give",
        "end it with a map(), or change output_type=",
    )
    return workflow.output_type


class _Flow:
    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self.known: dict[str, Type] = {}

    def sequence(self, nodes: Sequence[Node]) -> Type:
        current: Type = self.finder.workflow.input_type
        before: Node | None = None
        for node in nodes:
            if isinstance(node, StepNode):
                current = self.known[node.id] = self.step(node, current, before)
            elif isinstance(node, MapNode):
                current = self.known[node.id] = self.map(node, before, current)
            elif isinstance(node, ParallelNode):
                current = self.parallel(node, current)
            elif isinstance(node, BranchNode):
                current = self.branch(node, current)
            elif isinstance(node, ForeachNode):
                current = self.known[node.id] = self.foreach(node, current, before)
            elif isinstance(node, LoopNode):
                current = self.known[node.id] = self.loop(node, current, before)
            elif isinstance(node, SleepNode):
                self.function(node, node.seconds, current, "incompatible-schema", "time")
            elif isinstance(node, SleepUntilNode):
                self.function(node, node.until, current, "incompatible-schema", "time")
            before = node
        return current

    def parallel(self, node: ParallelNode, current: Type) -> Type:
        for child in node.arms:
            self.known[child.id] = self.step(child, current, None)
        if is_forked(current) or callable(node.merge):
            return None  # merged, by the value or by a function
        left_out = [child.id for child in node.arms if child.budget is not None and child.budget.on_exceed == "skip"]
        return Outputs({child.id: self.known[child.id] for child in node.arms}, left_out)

    def branch(self, node: BranchNode, current: Type) -> Type:
        for arm in node.arms:
            self.function(node, arm.condition, current, "invalid-conditional", f"condition of arm {arm.node.id!r}")
        for child in node.children:
            self.known[child.id] = self.step(child, current, None)
        if is_forked(current) or callable(node.merge):
            return None
        only = len(node.arms) == 1 and node.default is None
        optional = () if only else [child.id for child in node.children]
        made = Outputs({child.id: self.known[child.id] for child in node.children}, optional)
        return either(made, current) if node.on_no_match == "skip" and node.default is None else made

    def foreach(self, node: ForeachNode, current: Type, before: Node | None) -> Type:
        is_list, item = item_type(current)
        if not is_list:
            values = isinstance(before, ParallelNode | BranchNode)
            self.finder.say(
                "invalid-foreach",
                f"{node.id!r} takes each item of a list, and is given {name_of(current)}",
                node,
                "foreach() needs a list: put a map() before it",
                fix=Fix(
                    "add",
                    step=node.id,
                    code=f".map(lambda {'outputs: list(outputs.values())' if values else 'value: [value]'})",
                ),
            )
        self.function(node, node.concurrency, current, "invalid-foreach", "concurrency")
        made = self.step(node.body, item, None)
        if node.on_error == "collect" and made is not None:
            made = None if isinstance(made, Outputs | Either) else Union[made, ItemError]  # noqa: UP007  (of any two types)
        return list_of(made)

    def loop(self, node: LoopNode, current: Type, before: Node | None) -> Type:
        made = self.step(node.body, current, before)
        wanted = node.body.step.input_type
        reason = misfit(made, wanted)
        if reason is not None:
            self.finder.say(
                "invalid-loop",
                f"{node.id!r} takes {name_of(wanted)}, and gives {name_of(made)} to its next round{_because(reason)}",
                node,
                "a loop's body must take what it gives",
            )
        self.function(node, node.condition, made, "invalid-loop", "condition")
        return made

    def step(self, node: StepNode, current: Type, before: Node | None) -> Type:
        step = node.step
        wanted, given = step.input_type, step.output_type
        if wanted is not None:
            check_schema(self.finder, wanted, "input", node)
        if given is not None:
            check_schema(self.finder, given, "output", node)
        check_schema(self.finder, step.suspend_type, "question", node)
        check_schema(self.finder, step.resume_type, "answer", node)
        if step.kind == "processor":
            if _is_no_payload(current):
                self.say_processor(node, current)
            return current
        if step.kind == "tool":
            self.tool(node, current)
        elif wanted is not None and current is not wanted:
            hint = "put a map() between them, or change one of the annotations"
            self.fit(node, current, wanted, f"{node.id!r} takes", hint, before)
        if step.execute is None and step.inline is None and step.body is None:
            return current
        if node.budget is not None and node.budget.on_exceed != "block":
            return None  # another value may stand in its place
        return given if step.kind != "workflow" else made_by(step)

    def tool(self, node: StepNode, current: Type) -> None:
        if isinstance(current, Outputs):
            required = getattr(node.step.owner, "parameters", {}).get("required", ())
            missing = [name for name in required if name not in current.types]
            reason: str | None = f"{missing[0]!r} is missing" if missing else None
        else:
            reason = misfit(current, Mapping[str, Any]) if misfit(current, str) is not None else None
            reason = None if current is type(None) else reason
        if reason is not None:
            message = f"{node.id!r} takes its arguments as a mapping, and is given {name_of(current)}{_because(reason)}"
            hint = "put a map() before it that names each argument"
            self.finder.say(
                "incompatible-schema", message, node, hint,
                fix=Fix("add", step=node.id, code='.map(lambda value: {"...": value})'),
            )  # fmt: skip

    def say_processor(self, node: StepNode, current: Type) -> None:
        self.finder.say(
            "incompatible-schema",
            f"{node.id!r} takes the payload of a hook, and is given {name_of(current)}",
            node,
            "it fails when it runs: processors look at messages, and such a workflow is given to an agent",
            severity="warning",
        )

    def map(self, node: MapNode, before: Node | None, current: Type) -> Type:
        function = node.function
        if isinstance(function, Fields):
            return self.fields(node, function, before, current)
        if not isinstance(function, Pick):
            return self.function(node, function, current, "incompatible-schema", "function")
        wanted = function.step_id
        if not check_pick(self.finder, node, wanted, self.known):
            return None
        check_dropped(self.finder, node, before, (wanted,))
        return self.known[wanted]

    def fields(self, node: MapNode, fields: Fields, before: Node | None, current: Type) -> Type:
        finder = self.finder
        problems, outputs = check_fields(node.id, fields, self.known, finder.ids, current)
        for problem in problems:
            finder.say(problem.code, problem.message, node, problem.hint, steps=(node.id, *problem.steps))
        read: list[str] = []
        for _, source in fields.reads():
            if isinstance(source, FromStep):
                read += source.steps
            elif isinstance(source, FromValue):
                read += source.path[:1] or self.known  # all of it
        check_dropped(finder, node, before, [each for each in dict.fromkeys(read) if each in self.known])
        return outputs

    def function(self, node: Node, function: object, current: Type, code: str, what: str) -> Type:
        """
        Find whether a function of the value can take it; return what it gives.
        """
        if not callable(function):
            return None
        called: Callable[..., Any] = function
        if not takes_one(called):
            message = f"the {what} of {node.id!r} cannot be called with the value alone"
            self.finder.say(code, message, node, "it takes one argument: lambda value: ...")
            return None
        wanted, made = function_types(called)
        reason = misfit(current, wanted)
        if reason is not None:
            self.finder.say(
                code,
                f"the {what} of {node.id!r} takes {name_of(wanted)}, and is given {name_of(current)}{_because(reason)}",
                node,
                "the parameter is annotated as something else",
                fix=_annotation(node, current),
            )
        return made

    def fit(self, node: Node, given: Type, wanted: Type, takes: str, hint: str, before: Node | None = None) -> None:
        reason = misfit(given, wanted)
        if reason is None:
            return
        gives = "gives" if takes.endswith("give") else "is given"
        message = f"{takes} {name_of(wanted)}, and {gives} {name_of(given)}{_because(reason)}"
        self.finder.say("incompatible-schema", message, node, hint, fix=self.bridge(node, given, wanted, before))

    def bridge(self, node: Node, given: Type, wanted: Type, before: Node | None) -> Fix | None:
        """
        Return the call that makes what is *given* fit, where there is one.
        """
        if isinstance(given, Outputs):
            fitting = [id for id, kind in given.types.items() if kind is not None and misfit(kind, wanted) is None]
            if len(fitting) == 1 and isinstance(before, ParallelNode):
                return Fix("pick", step=node.id, to=fitting[0], code=f".map(pick({quoted(fitting[0])}))")
            return Fix("add", step=node.id, code=".map(lambda outputs: ...)")
        is_list, item = item_type(given)
        if isinstance(node, StepNode) and is_list and item is not None and misfit(item, wanted) is None:
            return Fix("add", step=node.id, code=f".foreach({node.id})" if node.id.isidentifier() else ".foreach(step)")
        return Fix("add", step=node.id, code=".map(lambda value: ...)")

    def graph(self, steps: Sequence[StepNode]) -> Type:
        outputs: dict[str, Type] = {}
        given = self.finder.workflow.input_type
        forked = is_forked(given)
        fed: set[str] = set()
        reached = in_running_order(self.finder, steps)
        ids = {node.id for node in steps}
        for node in reached:
            needs = [name for name in node.after or () if name in ids]
            fed.update(needs)
            if not needs:
                current: Type = given
            elif len(needs) == 1:
                current = outputs.get(needs[0])
            else:
                current = None if forked else Outputs({name: outputs.get(name) for name in needs})
            outputs[node.id] = self.step(node, current, None)
        ends = {node.id: outputs[node.id] for node in reached if node.id not in fed}
        if len(ends) == 1:
            return next(iter(ends.values()))
        return None if forked or not ends else Outputs(ends)


def made_by(step: Step[Any, Any]) -> Type:
    """
    Return the type of the output of a workflow inside: what its ``commit()`` found out.
    """
    made = getattr(step.body, "made", None)
    return made if made is not None else step.output_type


def _is_no_payload(current: Type) -> bool:
    if is_unknown(current) or is_forked(current):
        return False
    return isinstance(current, Outputs) or is_typed_dict(current) or misfit(current, _Payload) is not None


class _Payload:
    """
    Stands for the payload of a hook, which only rooms above this one know.
    """


def _annotation(node: Node, current: Type) -> Fix | None:
    if isinstance(current, Outputs):
        return Fix("annotate", step=node.id, code="value: Mapping[str, Any]")
    return Fix("annotate", step=node.id, code=f"value: {name_of(current)}")


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
