"""
Nodes: what a workflow is made of, as its author wrote it.  Values without behaviour; ``plan.py`` compiles them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from procession.errors import DefinitionError
from procession.messages.shapes import is_sequence
from procession.messages.value import Value
from procession.steps.budget import Budget
from procession.steps.forkable import MergePolicy
from procession.steps.step import Step, SupportsStep, as_step
from procession.workflows.options import check_budget, check_choice, check_count, check_merge
from procession.workflows.sources import Fields

__all__ = [
    "Arm", "ArmNode", "BranchMode", "BranchNode", "Concurrency", "Condition", "ForeachNode", "LoopNode", "MapNode", "Node", "OnError", "OnNoMatch",
    "ParallelNode", "Pick", "SleepNode", "SleepUntilNode", "StepNode", "Waiting", "arm", "arm_of", "body_node", "pick",
    "step_node",
]  # fmt: skip

T = TypeVar("T")

Condition: TypeAlias = Callable[[T], bool | Awaitable[bool]]
"""A question about one value; plain or async."""

Waiting: TypeAlias = Literal["cancel", "wait"]
"""What happens to the siblings of a branch that blocked or failed."""

Concurrency: TypeAlias = int | Callable[[Any], int | Awaitable[int]]
"""How many items of a list run at once, or a function of the list that says so."""

OnError: TypeAlias = Literal["fail_fast", "collect"]
BranchMode: TypeAlias = Literal["all", "first"]
OnNoMatch: TypeAlias = Literal["error", "skip"]
"""What an item that fails is to a ``foreach``: its end, or a value in the list."""


class Node(Value):
    """
    One element of a workflow; ``place`` is the file and line where it was added.
    """

    kind: ClassVar[str] = ""
    id: str
    place: tuple[str, int] | None

    @property
    def source(self) -> str | None:
        """
        File and line where the node was added, as ``file:line``.
        """
        return f"{self.place[0]}:{self.place[1]}" if self.place is not None else None

    @property
    def children(self) -> tuple[StepNode, ...]:
        """
        The step nodes inside.
        """
        return ()


class StepNode(Node):
    """
    One step.  ``on`` restricts it to phases of those hooks; ``after`` holds its dependencies in the explicit form.
    """

    kind: ClassVar[str] = "step"
    step: Step[Any, Any]
    on: frozenset[str] | None = None
    after: tuple[str, ...] | None = None
    budget: Budget | None = None

    @property
    def children(self) -> tuple[StepNode, ...]:
        """
        The node itself.
        """
        return (self,)


class Arm(Value):
    """
    A step with a condition, and with the hooks that it is restricted to: what :func:`arm` returns.
    """

    thing: Any
    when: Callable[[Any], Any] | None = None
    on: frozenset[str] | None = None
    budget: Budget | None = None


def arm(
    thing: SupportsStep[Any, Any] | Callable[..., Any],
    *,
    when: Callable[[Any], Any] | None = None,
    on: Iterable[str] | None = None,
    budget: Budget | None = None,
) -> Arm:
    """
    Return *thing* for ``parallel`` or ``branch``, taking part only in phases of the hooks in *on*, and using no more
    than *budget* each time it runs.
    """
    return Arm(thing, when, frozenset(on) if on is not None else None, budget)


def arm_of(pair: Any) -> Arm:
    """
    Return the arm of a pair of a condition and a step; of anything else one without a condition.
    """
    return Arm(pair[1], pair[0]) if is_sequence(pair) and len(pair) == 2 else Arm(pair)


def step_node(thing: Any, place: tuple[str, int]) -> StepNode:
    """
    Return the node of anything that can stand in a workflow, or of an :class:`Arm`.
    """
    on = budget = None
    if isinstance(thing, Arm):
        thing, on, budget = thing.thing, thing.on, thing.budget
    made = as_step(thing)
    if budget is not None:
        check_budget(f"step {made.id!r}", budget)
    return StepNode(made.id, place, made, on, budget=budget)


def body_node(thing: Any, place: tuple[str, int], budget: Budget | None = None) -> StepNode:
    """
    Return the node of what runs for each item of a list, or again and again, where nothing can be left out.

    Raises ``DefinitionError`` for a budget that skips.
    """
    node = step_node(thing, place)
    if budget is not None:
        node = node.replace(budget=budget)
    if node.budget is not None:
        check_budget(f"step {node.id!r}", node.budget, skips=False)
    return node


class ArmNode(Value):
    """
    One arm of a branch: the step that runs where ``condition`` holds.
    """

    condition: Callable[[Any], Any]
    node: StepNode


class ParallelNode(Node):
    """
    Steps that run at the same time, each on its own copy of the value.
    """

    kind: ClassVar[str] = "parallel"
    arms: tuple[StepNode, ...]
    merge: MergePolicy = "strictest"
    on_block: Waiting = "cancel"
    on_failure: Waiting = "cancel"
    concurrency: int | None = None
    """How many of them run at the same time; ``None`` for all."""

    def __post_init__(self) -> None:
        """
        Refuse options that are none.
        """
        what = f"parallel {self.id!r}"
        check_merge(what, self.merge)
        check_choice(what, "on_block", self.on_block, Waiting)
        check_choice(what, "on_failure", self.on_failure, Waiting)
        if self.concurrency is not None:
            check_count(what, "concurrency", self.concurrency)

    @property
    def children(self) -> tuple[StepNode, ...]:
        """
        The branches.
        """
        return self.arms


class BranchNode(Node):
    """
    Arms of which those run whose condition holds.
    """

    kind: ClassVar[str] = "branch"
    arms: tuple[ArmNode, ...]
    default: StepNode | None = None
    mode: BranchMode = "all"
    on_no_match: OnNoMatch = "error"
    merge: MergePolicy = "strictest"

    def __post_init__(self) -> None:
        """
        Refuse options that are none.
        """
        what = f"branch {self.id!r}"
        check_merge(what, self.merge)
        check_choice(what, "mode", self.mode, BranchMode)
        check_choice(what, "on_no_match", self.on_no_match, OnNoMatch)

    @property
    def children(self) -> tuple[StepNode, ...]:
        """
        The arms' steps, the default's last.
        """
        arms = tuple(arm.node for arm in self.arms)
        return (*arms, self.default) if self.default is not None else arms


class Pick(Value):
    """
    A declarative map: the output of one step goes on.
    """

    step_id: str


def pick(step_id: str) -> Pick:
    """
    Return a map that lets the output of the step *step_id* go on; ``commit()`` can check it, unlike a function.

    >>> from procession.workflows.nodes import pick
    >>> pick("processor:pii-detector")
    Pick(step_id='processor:pii-detector')
    """
    return Pick(step_id)


class MapNode(Node):
    """
    A function of the value, a pick, or fields and their sources.  ``allow_drop`` lets it leave out what a redacting branch removed.
    """

    kind: ClassVar[str] = "map"
    function: Callable[[Any], Any] | Pick | Fields
    allow_drop: bool = False


class ForeachNode(Node):
    """
    A step that runs once for each item of a list.
    """

    kind: ClassVar[str] = "foreach"
    body: StepNode
    concurrency: Concurrency = 1
    on_error: OnError = "fail_fast"

    def __post_init__(self) -> None:
        """
        Refuse options that are none.
        """
        what = f"foreach {self.id!r}"
        check_choice(what, "on_error", self.on_error, OnError)
        if not callable(self.concurrency):
            check_count(what, "concurrency", self.concurrency)

    @property
    def children(self) -> tuple[StepNode, ...]:
        """
        The body.
        """
        return (self.body,)


class LoopNode(Node):
    """
    A step that runs again on its own output while (or until) a condition holds.
    """

    kind: ClassVar[str] = "loop"
    body: StepNode
    condition: Callable[[Any], Any]
    until: bool = False
    max_iterations: int | None = None

    def __post_init__(self) -> None:
        """
        Refuse a cap that is none, and what is no condition.
        """
        if self.max_iterations is not None:
            check_count(f"loop {self.id!r}", "max_iterations", self.max_iterations)
        if not callable(self.condition):  # pyright: ignore[reportUnnecessaryComparison]
            raise DefinitionError(f"loop {self.id!r} has no condition", hint="give a function of the loop's output")

    @property
    def children(self) -> tuple[StepNode, ...]:
        """
        The body.
        """
        return (self.body,)


class SleepNode(Node):
    """
    A pause, in seconds; the value passes through.
    """

    kind: ClassVar[str] = "sleep"
    seconds: float | Callable[[Any], Any]


class SleepUntilNode(Node):
    """
    A pause until a moment; the value passes through.
    """

    kind: ClassVar[str] = "sleep"
    until: datetime | Callable[[Any], Any]
