"""
Workflow: steps joined to a pipeline.  A definition only: a ``Runtime`` runs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, overload

from procession.errors import DefinitionError, Finding
from procession.messages.shapes import is_form
from procession.steps.budget import Budget
from procession.steps.forkable import MergePolicy
from procession.steps.item_error import ItemError
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, SupportsStep, as_step
from procession.steps.times import wrong_moment, wrong_time
from procession.workflows.base import Reducers, WorkflowBase, WorkflowKind
from procession.workflows.caller import caller
from procession.workflows.nodes import (
    Arm,
    ArmNode,
    BranchNode,
    Concurrency,
    Condition,
    ForeachNode,
    LoopNode,
    MapNode,
    Node,
    OnError,
    ParallelNode,
    Pick,
    SleepNode,
    SleepUntilNode,
    StepNode,
    Waiting,
    arm_of,
    body_node,
    step_node,
)
from procession.workflows.options import check_budget, listed
from procession.workflows.sources import Source, fields_of
from procession.workflows.validate import find

__all__ = ["Workflow", "WorkflowKind", "check", "create_workflow"]

In = TypeVar("In")
Out = TypeVar("Out")
Next = TypeVar("Next")

Thing: TypeAlias = SupportsStep[Any, Any] | Callable[..., Any]


class Workflow(WorkflowBase[In, Out], Generic[In, Out]):
    """
    Steps joined to a pipeline that takes an ``In`` and gives an ``Out``.

    Built by chained calls, in the order in which it runs, and closed by ``commit()``.
    """

    __slots__ = ()

    @overload
    def then(
        self, step: SupportsStep[Out, Next], *, on: Iterable[str] | None = None, budget: Budget | None = None
    ) -> Workflow[In, Next]: ...
    @overload
    def then(
        self, step: Callable[[StepContext[Out]], Awaitable[Next]], *, on: Iterable[str] | None = None,
        budget: Budget | None = None,
    ) -> Workflow[In, Next]: ...  # fmt: skip
    @overload
    def then(
        self, step: Callable[[StepContext[Out]], Next], *, on: Iterable[str] | None = None,
        budget: Budget | None = None,
    ) -> Workflow[In, Next]: ...  # fmt: skip
    def then(self, step: Thing, *, on: Iterable[str] | None = None, budget: Budget | None = None) -> Any:
        """
        Add a step that is given the output of the one before.

        With *on* it takes part only in phases of those hooks.  It may use no more than *budget* each time it runs;
        where a budget skips it, the value passes on as it was.
        """
        made = as_step(step)
        if budget is not None:
            check_budget(f"step {made.id!r}", budget)
        hooks = frozenset(on) if on is not None else None
        return self._fluent(StepNode(made.id, caller(), made, hooks, budget=budget))

    @overload
    def parallel(
        self, steps: Sequence[SupportsStep[Out, Next]], *, merge: MergePolicy = "strictest",
        on_block: Waiting = "cancel", on_failure: Waiting = "cancel", concurrency: int | None = None,
        id: str | None = None,
    ) -> Workflow[In, Mapping[str, Next]]: ...  # fmt: skip
    @overload
    def parallel(
        self, steps: Sequence[SupportsStep[Out, Any] | Callable[..., Any] | Arm], *, merge: MergePolicy = "strictest",
        on_block: Waiting = "cancel", on_failure: Waiting = "cancel", concurrency: int | None = None,
        id: str | None = None,
    ) -> Workflow[In, Mapping[str, Any]]: ...  # fmt: skip
    def parallel(
        self,
        steps: Sequence[Any],
        *,
        merge: MergePolicy = "strictest",
        on_block: Waiting = "cancel",
        on_failure: Waiting = "cancel",
        concurrency: int | None = None,
        id: str | None = None,
    ) -> Any:
        """
        Run *steps* at the same time on the same value; the output is a mapping by step id.

        Each has its own: a value that can be forked is forked, and put together again by *merge* unless a ``map``
        follows; containers, models and dataclasses are copied.  The first block or failure cancels the others, unless
        told to ``"wait"``.  With *concurrency* so many run at once, and the next as soon as one of them is done.
        """
        place = caller()
        made = id or self._name("parallel")
        arms = tuple(step_node(each, place) for each in listed(f"parallel {made!r}", steps, ".parallel([a, b])"))
        return self._fluent(ParallelNode(made, place, arms, merge, on_block, on_failure, concurrency))

    @overload
    def branch(
        self, arms: Sequence[tuple[Condition[Out], SupportsStep[Out, Next]]], *,
        default: SupportsStep[Out, Next] | None = None, mode: Literal["all", "first"] = "all",
        on_no_match: Literal["error", "skip"] = "error", merge: MergePolicy = "strictest", id: str | None = None,
    ) -> Workflow[In, Mapping[str, Next]]: ...  # fmt: skip
    @overload
    def branch(
        self, arms: Sequence[tuple[Condition[Out], Callable[[StepContext[Out]], Any]] | Arm], *,
        default: Thing | None = None, mode: Literal["all", "first"] = "all",
        on_no_match: Literal["error", "skip"] = "error", merge: MergePolicy = "strictest", id: str | None = None,
    ) -> Workflow[In, Mapping[str, Any]]: ...  # fmt: skip
    def branch(
        self,
        arms: Sequence[Any],
        *,
        default: Any = None,
        mode: Literal["all", "first"] = "all",
        on_no_match: Literal["error", "skip"] = "error",
        merge: MergePolicy = "strictest",
        id: str | None = None,
    ) -> Any:
        """
        Run the arms whose condition holds for the value, or only the first of them; the output is a mapping by step id.

        An arm is a pair of a condition and a step, or ``arm(step, when=..., on=...)``.  Where none holds, *default*
        runs; without one that is an error, or the value passes through with ``on_no_match="skip"``.
        """
        place = caller()
        name = id or self._name("branch")
        made: list[ArmNode] = []
        for each in listed(f"branch {name!r}", arms, ".branch([(condition, step), ...])"):
            spec = each if isinstance(each, Arm) else arm_of(each)
            if not callable(spec.when):
                raise DefinitionError(
                    f"an arm of a branch in workflow {self.id!r} has no condition",
                    hint="give pairs of (condition, step), or arm(step, when=condition)",
                )
            made.append(ArmNode(spec.when, step_node(spec, place)))
        otherwise = step_node(default, place) if default is not None else None
        node = BranchNode(name, place, tuple(made), otherwise, mode, on_no_match, merge)
        return self._fluent(node)

    @overload
    def map(self, function: Pick, *, id: str | None = None, allow_drop: bool = False) -> Workflow[In, Any]: ...
    @overload
    def map(
        self, function: Callable[[Out], Awaitable[Next]], *, id: str | None = None, allow_drop: bool = False
    ) -> Workflow[In, Next]: ...
    @overload
    def map(
        self, function: Callable[[Out], Next], *, id: str | None = None, allow_drop: bool = False
    ) -> Workflow[In, Next]: ...
    @overload
    def map(
        self, function: Mapping[str, Source | Callable[[Out], Any]], *, id: str | None = None, allow_drop: bool = False
    ) -> Workflow[In, dict[str, Any]]: ...
    def map(self, function: Any, *, id: str | None = None, allow_drop: bool = False) -> Any:
        """
        Let what *function* makes of the value go on, or the output of one step: ``map(pick("step-id"))``.

        With a mapping what goes on is a dict of the same keys, each made of a source or a function of the value:
        ``map({"name": from_step("fetch", "user.name"), "size": len})``; see ``workflows/sources.py``.

        After parallel redactors a map that leaves a redaction out is an error, unless *allow_drop*.
        """
        made = id or self._name("map")
        if is_form(function):
            function = fields_of(function, made)
        elif not (callable(function) or isinstance(function, Pick)):
            raise DefinitionError(
                f"{function!r} cannot map a value",
                hint='give a function of the value, pick("step-id"), or a mapping of fields',
            )
        return self._fluent(MapNode(made, caller(), function, allow_drop))

    @overload
    def foreach(
        self, step: SupportsStep[Any, Next], *, concurrency: Concurrency = 1,
        on_error: Literal["fail_fast"] = "fail_fast", budget: Budget | None = None,
    ) -> Workflow[In, list[Next]]: ...  # fmt: skip
    @overload
    def foreach(
        self, step: SupportsStep[Any, Next], *, concurrency: Concurrency = 1,
        on_error: Literal["collect"], budget: Budget | None = None,
    ) -> Workflow[In, list[Next | ItemError]]: ...  # fmt: skip
    def foreach(
        self, step: Any, *, concurrency: Concurrency = 1, on_error: OnError = "fail_fast",
        budget: Budget | None = None,
    ) -> Any:  # fmt: skip
        """
        Run *step* for each item of a list, at most *concurrency* at the same time; the output is the list of outputs.

        *concurrency* may be a function of the list.  The first item that fails ends it all; with ``"collect"`` the
        others go on, and an ``ItemError`` stands in its place.  A block is never collected.  Each item may use no more
        than *budget*, which cannot skip.
        """
        place = caller()
        body = body_node(step, place, budget)
        return self._fluent(ForeachNode(body.id, place, body, concurrency, on_error))

    def do_while(
        self, step: SupportsStep[Out, Out], condition: Condition[Out], *, max_iterations: int | None = None
    ) -> Workflow[In, Out]:
        """
        Run *step*, and again on its own output while *condition* holds for it.

        More than *max_iterations* fail the run.
        """
        return self._loop(step, condition, False, max_iterations, caller())

    def do_until(
        self, step: SupportsStep[Out, Out], condition: Condition[Out], *, max_iterations: int | None = None
    ) -> Workflow[In, Out]:
        """
        Run *step*, and again on its own output until *condition* holds for it.

        More than *max_iterations* fail the run.
        """
        return self._loop(step, condition, True, max_iterations, caller())

    def sleep(
        self, seconds: float | Callable[[Out], float | Awaitable[float]], *, id: str | None = None
    ) -> Workflow[In, Out]:
        """
        Wait for *seconds*, a number or a function of the value, which passes through.
        """
        made = id or self._name("sleep")
        if not callable(seconds) and (wrong := wrong_time(seconds)):
            raise DefinitionError(f"sleep {made!r} is given {wrong}")
        return self._fluent(SleepNode(made, caller(), seconds))

    def sleep_until(
        self, moment: datetime | Callable[[Out], datetime | Awaitable[datetime]], *, id: str | None = None
    ) -> Workflow[In, Out]:
        """
        Wait until *moment*, a datetime with a time zone or a function of the value, which passes through.

        A moment that is past is not waited for.
        """
        made = id or self._name("sleep")
        if not callable(moment) and (wrong := wrong_moment(moment)):
            raise DefinitionError(f"sleep_until {made!r} is given {wrong}")
        return self._fluent(SleepUntilNode(made, caller(), moment))

    def add(
        self, step: SupportsStep[Any, Any] | Callable[..., Any], after: Sequence[str | Thing] = ()
    ) -> Workflow[In, Any]:
        """
        Add a step that runs once the steps in *after*, or named there, have their outputs: the explicit form.

        With one dependency it is given that output, with several the mapping of them by step id, with none the
        workflow's input.  The output of the workflow is that of the only step nothing depends on, or the mapping of
        several.
        """
        if self._nodes and not self._explicit:
            raise self._mixed("then(), parallel() and so on: add()")
        self._explicit = True
        made = as_step(step)
        names = tuple(each if isinstance(each, str) else as_step(each).id for each in after)
        self._append(StepNode(made.id, caller(), made, None, names))
        return cast("Workflow[In, Any]", self)

    def _fluent(self, node: Node) -> Workflow[In, Any]:
        if self._explicit:
            raise self._mixed("add(): then(), parallel() and so on")
        self._append(node)
        return cast("Workflow[In, Any]", self)

    def _mixed(self, forms: str) -> DefinitionError:
        return DefinitionError(
            f"workflow {self.id!r} was begun with {forms} cannot be mixed with that",
            hint="put one of the two into a workflow of its own and add that",
        )

    def _loop(
        self, step: Thing, condition: Condition[Any], until: bool, most: int | None, place: tuple[str, int]
    ) -> Workflow[In, Any]:
        body = body_node(step, place)
        return self._fluent(LoopNode(body.id, place, body, condition, until, most))


def check(workflow: Workflow[Any, Any]) -> list[Finding]:
    """
    Return everything that ``commit()`` would find, without raising.
    """
    return find(workflow)


@overload
def create_workflow(
    id: str, input_type: type[In], *, kind: WorkflowKind = "default", description: str = "",
    reducers: Reducers | None = None, retry: RetryPolicy | None = None, timeout: float | None = None,
    output_type: Any = None, state_type: Any = None, budget: Budget | None = None,
) -> Workflow[In, In]: ...  # fmt: skip
@overload
def create_workflow(
    id: str, input_type: Any = None, *, kind: WorkflowKind = "default", description: str = "",
    reducers: Reducers | None = None, retry: RetryPolicy | None = None, timeout: float | None = None,
    output_type: Any = None, state_type: Any = None, budget: Budget | None = None,
) -> Workflow[Any, Any]: ...  # fmt: skip
def create_workflow(
    id: str, input_type: Any = None, *, kind: WorkflowKind = "default", description: str = "",
    reducers: Reducers | None = None, retry: RetryPolicy | None = None, timeout: float | None = None,
    output_type: Any = None, state_type: Any = None, budget: Budget | None = None,
) -> Workflow[Any, Any]:  # fmt: skip
    """
    Begin a workflow whose input is an *input_type*; ``kind="processor"`` marks one made of processors.

    *retry* is for steps that have no policy of their own, here and in workflows inside that have none; ``RetryPolicy(1)``
    keeps a step from it.  All of it may take *timeout* seconds: a run that takes longer fails with ``RunTimeout``, a
    workflow inside another with ``StepTimeout``.  *budget* is what all of it may use each time it runs; it cannot skip.

    *state_type*, a ``TypedDict`` or a pydantic model, says what steps may
    set for each other, and *reducers* how two values of one key become one.

    With an *output_type* the output is checked too, whatever the last node is: by ``commit()`` as far as types tell,
    and in every run, which fails where it does not fit.

    >>> from procession.steps.step import StepContext, step
    >>> from procession.workflows.workflow import create_workflow
    >>> @step
    ... def shout(ctx: StepContext[str]) -> str:
    ...     return ctx.input.upper()
    >>> create_workflow("loud", str).then(shout).commit()
    Workflow('loud', 1 nodes)
    """
    file, line = caller()
    return Workflow(
        id, input_type, kind=kind, description=description, reducers=reducers, retry=retry, timeout=timeout,
        source=f"{file}:{line}", output_type=output_type, state_type=state_type, budget=budget,
    )  # fmt: skip
