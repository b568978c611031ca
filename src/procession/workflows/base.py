"""
WorkflowBase: what a workflow is, whatever was built: its nodes, to read, to draw and to close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar

from procession.errors import DefinitionError, Finding, WorkflowDefinitionError
from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy, check_retry
from procession.steps.state_type import state_type_of
from procession.steps.step import Step
from procession.steps.times import check_timeout
from procession.workflows.caller import caller
from procession.workflows.graph import Graph, build_graph
from procession.workflows.nesting import step_of
from procession.workflows.nodes import Node
from procession.workflows.options import check_budget, check_choice, check_functions
from procession.workflows.plan import Plan
from procession.workflows.validate import inspect_workflow

if TYPE_CHECKING:
    from procession.workflows.render.draw import DrawFormat
    from procession.workflows.render.drawing import Drawing
    from procession.workflows.render.overlay import Ran

__all__ = ["Reducers", "WorkflowBase", "WorkflowKind"]

In = TypeVar("In")
Out = TypeVar("Out")

WorkflowKind = Literal["default", "processor"]
Reducers: TypeAlias = Mapping[str, Callable[[Any, Any], Any]]
"""How two values of one key of a run's state become one."""


class WorkflowBase(Generic[In, Out]):
    """
    A workflow to read, to draw and to close; ``Workflow`` adds the calls that build it.
    """

    __slots__ = (
        "_committed", "_counts", "_explicit", "_graph", "_nodes", "_step", "budget", "description", "findings", "id",
        "input_type", "kind", "made", "output_type", "plans", "reducers", "retry", "source",
        "state_type", "timeout",
    )  # fmt: skip

    def __init__(
        self, id: str, input_type: Any = None, *, kind: WorkflowKind = "default", description: str = "",
        reducers: Reducers | None = None, retry: RetryPolicy | None = None, timeout: float | None = None,
        budget: Budget | None = None, state_type: Any = None, source: str | None = None, output_type: Any = None,
    ) -> None:  # fmt: skip
        what = f"workflow {id!r}"
        if not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f"{what} has an id of type {type(id).__name__}", hint='create_workflow("orders")')
        check_choice(what, "kind", kind, WorkflowKind)
        check_timeout(what, "timeout", timeout)
        if budget is not None:
            check_budget(what, budget, skips=False)
        check_retry(what, retry)
        check_functions(what, "reducers", reducers)
        self.id = id
        self.input_type = input_type
        self.output_type = output_type
        """What the output has to fit, checked by ``commit()`` as far as types tell, and in every run."""
        self.made: Any = None
        """The type of the output as far as ``commit()`` found out; see ``typeflow.Type``."""
        self.kind: WorkflowKind = kind
        self.description = description
        self.reducers: Reducers = reducers or {}
        """How two values of one key of the run's state become one, where branches both set it (D29)."""
        self.retry = retry
        """How steps are tried again that have no policy of their own, also in workflows inside that have none."""
        self.timeout = timeout
        """Seconds that all of it may take."""
        self.budget = budget
        """What all of it may use."""
        self.state_type = state_type_of(state_type, id)
        """What the shared state of a run may hold."""
        self.source = source
        self.findings: tuple[Finding, ...] = ()
        """What ``commit()`` found and did not refuse: warnings."""
        self.plans: dict[frozenset[str] | None, Plan] = {}
        """Compiled forms by the hooks they serve; see ``plan.plan_for``."""
        self._nodes: list[Node] = []
        self._counts: dict[str, int] = {}
        self._explicit = False
        self._committed = False
        self._graph: Graph | None = None
        self._step: Step[In, Out] | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """
        The nodes, in the order in which they were added.
        """
        return tuple(self._nodes)

    @property
    def explicit(self) -> bool:
        """
        Whether the workflow was built by ``add``, with named dependencies.
        """
        return self._explicit

    @property
    def committed(self) -> bool:
        """
        Whether :meth:`commit` has closed the workflow.
        """
        return self._committed

    @property
    def graph(self) -> Graph:
        """
        The workflow as an acyclic networkx graph whose nodes are paths; built when first asked for.
        """
        if not self._committed:
            return build_graph(self)
        if self._graph is None:
            self._graph = build_graph(self)
        return self._graph

    def walk_steps(self) -> Iterator[Step[Any, Any]]:
        """
        Yield every step, nested ones after the step that contains them.
        """
        for node in self._nodes:
            for child in node.children:
                yield child.step
                body = child.step.body
                if isinstance(body, WorkflowBase):
                    yield from body.walk_steps()

    def as_step(self) -> Step[In, Out]:
        """
        Return the workflow as one step, so that it can stand in another.
        """
        if self._step is not None:
            return self._step
        made: Step[In, Out] = step_of(self)
        if self._committed:
            self._step = made
        return made

    def clone(self, id: str) -> Self:
        """
        Return a workflow of the same nodes and settings under another *id*, still open: it can be added to.
        """
        file, line = caller()
        made = type(self)(
            id, self.input_type, kind=self.kind, description=self.description, reducers=self.reducers,
            retry=self.retry, timeout=self.timeout, budget=self.budget, state_type=self.state_type,
            source=f"{file}:{line}", output_type=self.output_type,
        )  # fmt: skip
        made._nodes, made._counts, made._explicit = list(self._nodes), dict(self._counts), self._explicit
        return made

    def draw(self, format: DrawFormat = "ascii", *, run: Ran | None = None, **options: Any) -> Drawing:
        """
        Return a drawing: its text is that of the *format*, a notebook shows the picture, and ``save("graph.png")`` writes it.

        The formats and *options* are those of :func:`~.render.draw.draw`, as is what is raised; with *run*, a run of the
        workflow or its result, it says what became of each step.
        """
        from procession.workflows.render.drawing import Drawing  # what draws comes with the first drawing

        return Drawing(self, format, run=run, **options)

    def __str__(self) -> str:
        return str(self.draw()).rstrip()

    def __repr__(self) -> str:
        return f"Workflow({self.id!r}, {len(self._nodes)} nodes)"

    def commit(self) -> Self:
        """
        Check the workflow and close it: from now on it can run and no longer change.

        Raises ``WorkflowDefinitionError`` with everything that was found, where any of it is an error.
        """
        if not self._committed:
            findings, self.made = inspect_workflow(self)
            if any(finding.severity == "error" for finding in findings):
                raise WorkflowDefinitionError(self.id, findings)
            self.findings = tuple(findings)
            self._committed = True
        return self

    def _append(self, node: Node) -> None:
        if self._committed:
            raise DefinitionError(
                f"workflow {self.id!r} is committed and can no longer change",
                hint="build a new workflow, or put this one into it as a step",
            )
        self._nodes.append(node)

    def _name(self, kind: str) -> str:
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}-{number}"
