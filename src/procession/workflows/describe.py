"""
graph_spec(): a workflow, described as data.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy
from procession.steps.schema import schema_of
from procession.steps.step import Step
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
from procession.workflows.source_text import source_text
from procession.workflows.sources import Fields
from procession.workflows.spec import (
    EdgeKind,
    EdgeSpec,
    GraphSpec,
    GroupKind,
    GroupSpec,
    NodeKind,
    NodeSpec,
    canonical_json,
)
from procession.workflows.suspending import can_suspend

__all__ = ["Describable", "graph_spec"]

START, END = "@start", "@end"

DEFAULT_MERGE = "strictest"
"""What nobody asked for: shown only where something is merged."""


class Describable(Protocol):
    """
    What a graph is described from: a workflow.
    """

    @property
    def id(self) -> str:
        """The id of the workflow."""
        ...

    @property
    def nodes(self) -> Sequence[Any]:
        """Its nodes, in declaration order."""
        ...


def graph_spec(workflow: Describable) -> GraphSpec:
    """
    Describe *workflow*, and once each the workflows inside it.

    >>> from procession.workflows.workflow import create_workflow
    >>> spec = graph_spec(create_workflow("twice", int).map(lambda n: 2 * n, id="double").commit())
    >>> [(node.id, node.label) for node in spec.nodes]
    [('@start', 'start'), ('double', '2 * n'), ('@end', 'end')]
    """
    nested: dict[str, GraphSpec] = {}
    spec = _Describer(workflow, nested).spec()
    return spec.replace(workflows=nested) if nested else spec


class _Describer:
    """
    Describes one workflow: follows its nodes and remembers what the next one is joined to.
    """

    def __init__(self, workflow: Describable, nested: dict[str, GraphSpec]) -> None:
        self.workflow = workflow
        self.nested = nested
        self.nodes: list[NodeSpec] = []
        self.edges: list[EdgeSpec] = []
        self.groups: list[GroupSpec] = []
        self.schemas: dict[str, Any] = {}
        self.last = START

    def spec(self) -> GraphSpec:
        workflow: Any = self.workflow
        nodes: Sequence[Node] = workflow.nodes
        explicit = bool(getattr(workflow, "explicit", False))
        source = getattr(workflow, "source", None)
        taken = self.type_ref(getattr(workflow, "input_type", None))
        self.own(
            START,
            "start",
            "start",
            path="",
            output_schema_ref=taken,
            retry=_retry(getattr(workflow, "retry", None)),
            timeout=getattr(workflow, "timeout", None),
            budget=_budget(getattr(workflow, "budget", None)),
            source=_place(source),
        )
        if explicit:
            self.by_dependencies([node for node in nodes if isinstance(node, StepNode)])
        else:
            for index, node in enumerate(nodes):
                self.follow(node, isinstance(nodes[index + 1], MapNode) if index + 1 < len(nodes) else False)
            self.join(self.last, END)
        promised = self.type_ref(getattr(workflow, "output_type", None))
        self.own(END, "end", "end", path="", output_schema_ref=promised)
        return GraphSpec(
            workflow_id=workflow.id,
            kind=getattr(workflow, "kind", "default"),
            nodes=tuple(self.nodes),
            edges=self.typed_edges(),
            groups=tuple(self.groups),
            schemas=self.schemas,
            explicit=explicit,
            description=getattr(workflow, "description", ""),
            state_schema_ref=self.state_ref(getattr(workflow, "state_type", None)),
        )

    # --- one kind of node after the other ---------------------------------------------------------------------------

    def follow(self, node: Node, map_follows: bool) -> None:
        match node:
            case StepNode():
                self.join(self.last, self.step(node))
                self.last = node.id
            case ParallelNode():
                self.parallel(node, map_follows)
            case BranchNode():
                self.branch(node, map_follows)
            case MapNode(function=function):
                if isinstance(function, Fields):
                    label = f"{{{', '.join(name for name, _ in function.sources)}}}"
                    self.plain(node, "map", label, made_of=function.describe(source_text))
                else:
                    label = f"pick {function.step_id}" if isinstance(function, Pick) else source_text(function)
                    self.plain(node, "map", label)
            case SleepNode(seconds=seconds):
                self.plain(node, "sleep", source_text(seconds) if callable(seconds) else f"{seconds:g} s")
            case SleepUntilNode(until=until):
                shown = source_text(until) if callable(until) else until.isoformat()
                self.plain(node, "sleep", f"until {shown}")
            case LoopNode():
                self.loop(node)
            case ForeachNode():
                self.foreach(node)
            case _:
                self.plain(node, "step", node.id)

    def plain(self, node: Node, kind: NodeKind, label: str, **fields: Any) -> None:
        self.own(node.id, kind, label, path=node.id, source=_place(node.source), **fields)
        self.join(self.last, node.id)
        self.last = node.id

    def parallel(self, node: ParallelNode, map_follows: bool) -> None:
        fork, join = f"{node.id}@fork", f"{node.id}@join"
        self.own(fork, "fork", node.id, path=node.id, source=_place(node.source))
        self.join(self.last, fork)
        for child in node.arms:
            self.join(fork, self.step(child), "fork")
        self.own(join, "join", node.id, path=node.id)
        for child in node.arms:
            self.join(child.id, join, "join")
        options = {"on_block": node.on_block, "on_failure": node.on_failure}
        merge = self.policy(node, map_follows)
        self.group(node, "parallel", node.id, fork, join, merge, options, concurrency=node.concurrency)
        self.last = join

    def branch(self, node: BranchNode, map_follows: bool) -> None:
        decision, join = f"{node.id}@decision", f"{node.id}@join"
        self.own(decision, "decision", node.id, path=node.id, source=_place(node.source))
        self.join(self.last, decision)
        for arm in node.arms:
            self.join(decision, self.step(arm.node), "true", source_text(arm.condition))
        if node.default is not None:
            self.join(decision, self.step(node.default), "default", "otherwise")
        self.own(join, "join", node.id, path=node.id)
        for child in node.children:
            self.join(child.id, join, "join")
        if node.default is None and node.on_no_match == "skip":
            self.join(decision, join, "false", "none")
        options = {"mode": node.mode, "on_no_match": node.on_no_match}
        self.group(node, "branch", node.id, decision, join, self.policy(node, map_follows), options)
        self.last = join

    def loop(self, node: LoopNode) -> None:
        test = f"{node.body.id}@loop"
        condition = source_text(node.condition)
        self.join(self.last, self.step(node.body))
        label = f"{'until' if node.until else 'while'} {condition}"
        self.own(test, "loop", label, path=node.id, source=_place(node.source))
        self.join(node.body.id, test)
        self.join(test, node.body.id, "back", f"not ({condition})" if node.until else condition)
        options: dict[str, Any] = {"until": node.until}
        if node.max_iterations is not None:
            options["max_iterations"] = node.max_iterations
        self.group(node, "loop", label, node.body.id, test, None, options)
        self.last = test

    def foreach(self, node: ForeachNode) -> None:
        each = f"{node.body.id}@foreach"
        self.own(each, "foreach", "for each", path=node.id, source=_place(node.source))
        self.join(self.last, each)
        self.join(each, self.step(node.body))
        concurrency = node.concurrency if isinstance(node.concurrency, int) else "function"
        options = {"on_error": node.on_error} if node.on_error != "fail_fast" else None
        self.group(node, "foreach", "for each", each, node.body.id, None, options, concurrency=concurrency)
        self.last = node.body.id

    def by_dependencies(self, nodes: Sequence[StepNode]) -> None:
        for node in nodes:
            self.step(node)
        needed = {name for node in nodes for name in node.after or ()}
        for node in nodes:
            for name in node.after or (START,):
                self.join(name, node.id)
        for node in nodes:
            if node.id not in needed:
                self.join(node.id, END)

    # --- the parts --------------------------------------------------------------------------------------------------

    def step(self, node: StepNode) -> str:
        step: Step[Any, Any] = node.step
        ref = ref_hash = None
        inner_can_suspend = False
        if step.body is not None:
            ref = step.body.id
            inner = _Describer(step.body, self.nested).spec()
            ref_hash = inner.graph_hash
            inner_can_suspend = any(each.can_suspend for each in inner.nodes)
            self.nested.setdefault(ref_hash, inner)
        self.own(
            node.id,
            step.kind,
            node.id,
            path=node.id,
            description=step.description,
            input_schema_ref=self.type_ref(step.input_type),
            output_schema_ref=self.type_ref(step.output_type),
            suspend_schema_ref=self.type_ref(step.suspend_type),
            resume_schema_ref=self.type_ref(step.resume_type),
            hooks=tuple(sorted(step.hooks)),
            on=tuple(sorted(node.on or ())),
            mutates=step.mutates,
            can_suspend=can_suspend(step) or inner_can_suspend,
            placeholder=step.execute is None and step.inline is None and step.body is None,
            retry=_retry(step.retry),
            timeout=step.timeout,
            budget=_budget(node.budget or getattr(step.body, "budget", None)),
            source=_place(step.source or node.source),
            ref=ref,
            ref_hash=ref_hash,
        )
        return node.id

    def own(self, id: str, kind: NodeKind, label: str, **fields: Any) -> None:
        self.nodes.append(NodeSpec(id=id, kind=kind, label=label, **fields))

    def join(self, source: str, target: str, kind: EdgeKind = "seq", label: str = "") -> None:
        self.edges.append(EdgeSpec(source=source, target=target, kind=kind, label=label))

    def group(
        self,
        node: Node,
        kind: GroupKind,
        label: str,
        entry: str,
        exit: str,
        merge: str | None,
        options: dict[str, Any] | None,
        concurrency: int | str | None = None,
    ) -> None:
        made = GroupSpec(
            id=node.id,
            kind=kind,
            label=label,
            children=tuple(child.id for child in node.children),
            entry=entry,
            exit=exit,
            merge=merge,
            concurrency=concurrency,
            options=options,
        )
        self.groups.append(made)

    def policy(self, node: ParallelNode | BranchNode, map_follows: bool) -> str | None:
        """
        Return how *node*'s arms are put together: ``None`` where a map does it, and over plain values, which are not.
        """
        if map_follows or (node.merge == DEFAULT_MERGE and not _merges(self.workflow, node.children)):
            return None
        return node.merge if isinstance(node.merge, str) else "function"

    def type_ref(self, type: Any) -> str | None:
        """
        Return the reference of a type's schema, and keep the schema.
        """
        content = _schema(type)
        if content is None:
            return None
        return self.schema_ref(getattr(type, "__name__", None) or str(type), content)

    def schema_ref(self, name: str, content: Mapping[str, Any]) -> str:
        import hashlib  # at the first schema, not with the library

        digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
        word = re.sub(r"\W+", "_", name).strip("_")
        ref = f"{word[:40]}-{digest[:8]}"
        self.schemas[ref] = content
        return ref

    def state_ref(self, state: Any) -> str | None:
        """
        Return the reference of what the run's state may hold, or ``None`` where nothing is said of it.
        """
        if state is None or (not state.types and state.is_open):
            return None
        keys = {key: dict(_schema(type) or {}) for key, type in state.types.items()}
        definitions = {name: found for each in keys.values() for name, found in each.pop("$defs", {}).items()}
        content: dict[str, Any] = {"type": "object", "properties": keys, "additionalProperties": state.is_open}
        return self.schema_ref("state", content | ({"$defs": definitions} if definitions else {}))

    def typed_edges(self) -> tuple[EdgeSpec, ...]:
        """
        Return the edges with the schemas of what flows along them, where those are known.
        """
        by_id = {node.id: node for node in self.nodes}
        made: list[EdgeSpec] = []
        for edge in self.edges:
            source, target = by_id[edge.source], by_id[edge.target]
            ref = source.output_schema_ref or (target.input_schema_ref if edge.kind != "join" else None)
            made.append(edge.replace(type_ref=ref) if ref is not None else edge)
        return tuple(made)


def _schema(type: Any) -> Mapping[str, Any] | None:
    try:
        schema = schema_of(type)
        if schema is not None:
            return schema.json_schema()
    except Exception as error:  # a forward reference, or a type that JSON has no word for
        if not error.__class__.__name__.startswith("Pydantic"):
            raise
    if inspect.isclass(type):
        return {"x-python-type": f"{type.__module__}.{type.__qualname__}"}
    return None


def _merges(workflow: Any, arms: Sequence[StepNode]) -> bool:
    """
    Return whether *workflow* or one of *arms* says that it takes what is merged: messages, by kind or by type.
    """
    steps = [arm.step for arm in arms]
    kinds = {getattr(each, "kind", None) for each in (workflow, *steps, *(step.body for step in steps))}
    types = [getattr(workflow, "input_type", None), *(step.input_type for step in steps)]
    return "processor" in kinds or any(hasattr(type, "fork") for type in types)


def _budget(budget: Budget | None) -> Mapping[str, Any] | None:
    return budget.describe() if budget is not None else None


def _retry(policy: RetryPolicy | None) -> Mapping[str, Any] | None:
    if policy is None:
        return None
    shown: dict[str, Callable[[Any], Any]] = {"retry_on": lambda kinds: [kind.__name__ for kind in kinds]}
    return {
        field: shown.get(field, lambda value: value)(getattr(policy, field))
        for field in type(policy).__fields__
        if field not in type(policy).__field_defaults__
        or getattr(policy, field) != type(policy).__field_defaults__[field]
    }


def _place(source: str | None) -> Mapping[str, Any] | None:
    """
    Return ``file:line`` as data; a file below the working directory is named from there, so that two machines agree.
    """
    if source is None:
        return None
    file, _, line = source.rpartition(":")
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        relative = file
    shown = file if relative.startswith("..") or not os.path.isabs(file) else relative
    return {"file": shown.replace(os.sep, "/"), "line": int(line)}
