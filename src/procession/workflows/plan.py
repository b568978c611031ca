"""
Plan: a workflow compiled to nested tuples of nodes, with everything looked up that can be looked up beforehand.

A plan is data: ``compile.py`` makes it and ``runtime/walk.py`` walks it.  The path of a node is the prefix it is walked with plus its ``key``:
``step``, ``workflow/step``, ``loop[2]/step`` (counted from 0).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from procession.messages.value import Value
from procession.steps.budget import Budget
from procession.steps.forkable import MergePolicy
from procession.steps.retry import RetryPolicy
from procession.steps.schema import Schema
from procession.steps.state_type import ANYTHING, StateType
from procession.steps.step import Step
from procession.workflows.nodes import Waiting
from procession.workflows.sources import Fields

__all__ = [
    "CALL", "CHECKED", "FALLBACK", "GUARDED", "INLINE", "SKIPPED", "SPENT", "WHOLE_FALLBACK", "WHOLE_SPENT", "Arm", "Capped", "Choice", "Dag", "DagItem", "Each", "Fork", "Leaf", "Loop", "Map",
    "Nested", "Outcome", "Pause", "Plan", "PlanNode", "Spent",
]  # fmt: skip

INLINE, CALL, CHECKED, GUARDED = range(4)
"""
How a leaf is run: by its ``inline`` form; by ``execute`` and nothing more; with validation; with all there is.
"""


class PlanNode(Value):
    """
    A compiled node; ``id`` names it, ``key`` is its part of the path.
    """

    kind: ClassVar[str] = ""
    id: str
    key: str


class Leaf(PlanNode):
    """
    A step that runs.
    """

    kind: ClassVar[str] = "step"
    step: Step[Any, Any]
    mode: int
    function: Callable[..., Any]
    """``inline`` or ``execute``, whichever runs."""
    is_async: bool
    taken: str
    """What the input is called where it does not fit."""
    made: str
    """What the output is called where it does not fit."""
    check_in: Schema | None = None
    check_out: Schema | None = None
    retry: RetryPolicy | None = None
    timeout: float | None = None
    total_timeout: float | None = None


class Nested(PlanNode):
    """
    A workflow in a workflow.
    """

    kind: ClassVar[str] = "workflow"
    plan: Plan


class _Skipped:
    def __repr__(self) -> str:
        return "SKIPPED"


SKIPPED: Any = _Skipped()
"""What an arm gives that is left out of what goes on."""


SPENT, FALLBACK = "@budget", "@fallback"
WHOLE_SPENT, WHOLE_FALLBACK = "@workflow-budget", "@workflow-fallback"
"""
Below the path of what has a budget: the record that it was used up, and the step that runs in its place.  A step with a
budget may be a workflow that has one, too.
"""


class Spent(PlanNode):
    """
    That a budget was used up: what a run goes on from.
    """

    kind: ClassVar[str] = "budget"


class Capped(PlanNode):
    """
    What has a budget.
    """

    kind: ClassVar[str] = "budget"
    nodes: tuple[PlanNode, ...]
    budget: Budget
    fallback: tuple[PlanNode, ...] | None
    """What runs where the budget is used up and falls back on a step."""
    leaves: bool = False
    """Whether it is an arm whose output can be left out."""
    guards: bool = False
    """Whether a processor is in it."""
    whole: bool = False
    """Whether it is all of a workflow, whose record is that of the workflow, if it has one."""

    def place(self, prefix: str) -> tuple[str, str]:
        """
        Return the path of what has the budget, and the prefix of what is inside.
        """
        path = prefix.removesuffix("/") if self.whole else prefix + self.key
        return path, path + "/" if path else ""

    def marks(self, prefix: str) -> tuple[str, str]:
        """
        Return the paths of the record that the budget was used up, and of the step that runs in its place.
        """
        inside = self.place(prefix)[1]
        return inside + (WHOLE_SPENT if self.whole else SPENT), inside + (WHOLE_FALLBACK if self.whole else FALLBACK)


class Map(PlanNode):
    """
    A function of the value, the output of one step, or fields made of sources.
    """

    kind: ClassVar[str] = "map"
    function: Callable[[Any], Any] | None
    pick: str | None
    allow_drop: bool
    fields: Fields | None = None
    local: frozenset[str] = frozenset()
    """The branches right before it, whose outputs are in the value that it is given."""


class Arm(Value):
    """
    One branch: empty where nothing runs, so that the value passes.
    """

    id: str
    nodes: tuple[PlanNode, ...]


class Fork(PlanNode):
    """
    Branches that run at the same time, and the map after them.
    """

    kind: ClassVar[str] = "parallel"
    arms: tuple[Arm, ...]
    busy: tuple[Arm, ...]
    """The arms in which something runs."""
    keys: frozenset[str]
    """Their ids."""
    merge: MergePolicy
    on_block: Waiting
    on_failure: Waiting
    map: Map | None
    limit: int | None = None
    """How many arms run at the same time."""


class Choice(PlanNode):
    """
    Arms of which those run whose condition holds, and the map after them.  The default arm is the last, unconditional.
    """

    kind: ClassVar[str] = "branch"
    arms: tuple[Arm, ...]
    asked: tuple[tuple[Arm, Callable[[Any], Any]], ...]
    """The arms that have a condition, with it."""
    first: bool
    skip: bool
    merge: MergePolicy
    map: Map | None


class Each(PlanNode):
    """
    One node for each item of a list.
    """

    kind: ClassVar[str] = "foreach"
    body: tuple[PlanNode, ...]
    concurrency: int | Callable[[Any], int | Awaitable[int]]
    collect: bool = False
    """Whether an item that fails is a value in the list."""


class Loop(PlanNode):
    """
    One node again and again.
    """

    kind: ClassVar[str] = "loop"
    body: tuple[PlanNode, ...]
    condition: Callable[[Any], Any]
    until: bool
    most: int | None
    inner: Nested | None
    """The workflow that is all of the body, where it is one and takes any value."""


class Pause(PlanNode):
    """
    A wait: for ``seconds``, or ``until`` a moment.
    """

    kind: ClassVar[str] = "sleep"
    seconds: float | Callable[[Any], Any] = 0.0
    until: datetime | Callable[[Any], Any] | None = None


class Outcome(PlanNode):
    """
    The end of a workflow that says what it gives: its output is checked.
    """

    kind: ClassVar[str] = "outcome"
    check: Schema
    where: str


class DagItem(Value):
    """
    One step of the explicit form, with its neighbours by position.
    """

    id: str
    nodes: tuple[PlanNode, ...]
    needs: tuple[int, ...]
    feeds: tuple[int, ...]


class Dag(PlanNode):
    """
    A whole workflow in the explicit form.
    """

    kind: ClassVar[str] = "graph"
    items: tuple[DagItem, ...]
    sinks: tuple[int, ...]


class Plan(Value):
    """
    A compiled workflow.
    """

    id: str
    nodes: tuple[PlanNode, ...]
    where: str
    check_in: Schema | None
    keeps: bool
    """Whether a map reads an earlier step's output from the records."""
    reducers: Mapping[str, Callable[[Any, Any], Any]]
    timeout: float | None = None
    """Seconds that all of it may take."""
    state: StateType = ANYTHING
    """What the shared state of a run may hold."""
    single: bool = False
    """Whether it is one step, which stands at the very path it is run at."""
