"""
WorkflowRun: a run of a workflow inside the run of an agent, which waits with it and goes on with its answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from procession.agents.caller import Caller
from procession.agents.inner_kinds import Inner
from procession.agents.inner_runs import WAITING, new_inner_id
from procession.agents.kept_in import kept_in, runtime_in, store_of
from procession.errors import GraphChanged, InputError, RunAlreadyClaimed, RunError
from procession.runtime.durable.reader import RunStateReader
from procession.runtime.durable.targets import leaf_at
from procession.runtime.run import RunResult
from procession.runtime.walk import plan_of
from procession.steps.schema import schema_of
from procession.steps.scope import RequestScope
from procession.steps.signals import CancelRun, Tripwire
from procession.tools.context import ToolContext
from procession.workflows.workflow import Workflow

__all__ = ["WorkflowRun"]

_ANSWERS: Mapping[str, Any] = {"type": "object", "minProperties": 1}


class WorkflowRun:
    """
    A run of *workflow* for one tool call of *agent*.

    It has steps and an id of its own, and is kept where the agent's run is, once it waits.  It shares the agent's
    request: what cancels that, its values, what guards have found in it; what the run costs is charged to it.
    """

    __slots__ = ("_agent", "_ctx", "_runtime", "_scope", "_workflow")

    def __init__(self, workflow: Workflow[Any, Any], agent: Caller, ctx: ToolContext) -> None:
        self._workflow = workflow
        self._agent = agent
        self._ctx = ctx
        self._runtime = runtime_in(agent, store_of(agent, kept_in(ctx.scope)))
        self._scope = _inside(ctx.scope)

    async def begin(self, value: Any) -> Any:
        """
        Run the workflow on *value* and return its output.

        Raises what ended it: its error, ``Tripwire``, ``CancelRun``, or ``Suspend`` with the question in the context.
        """
        run_id = self._ctx.inner_run = self._scope.run_id = new_inner_id(self._ctx)
        run = self._runtime.create_run(
            self._workflow, run_id=run_id, scope=self._scope, replay=False, cancellable=False
        )
        return await self._told(run_id, await self._charged(run.start(value)))

    async def resume(self, run_id: str) -> Any:
        """
        Hand on the last answers of the call, those before them the run has had; otherwise as ``begin``.
        """
        ctx = self._ctx
        self._scope.run_id = run_id
        answers: Any = None
        for _ in range(ctx.answers_given):
            answers = ctx.suspend(resume_schema=_ANSWERS)
        try:
            result = await self._charged(self._answered(run_id, answers))
        except (InputError, RunAlreadyClaimed, GraphChanged) as error:  # the question stands
            ctx.refused = error
            await self._ask(run_id)
            raise
        return await self._told(run_id, result)

    async def _answered(self, run_id: str, answers: Mapping[str, Any]) -> RunResult[Any] | RunStateReader:
        """
        Give each step its answer; where a process died that did so, what it had given is in the run's journal, and what the
        run has come to since is told.
        """
        reader = await self._read(run_id)
        if reader.status in ("running", "pending"):
            await self._runtime.restart(run_id, workflow=self._workflow, scope=self._scope)
            reader = await self._read(run_id)
        result: RunResult[Any] | None = None
        new = [one for one in answers if not _was_answered(reader, one)]
        for question in new if reader.status == "suspended" else ():
            waiting = {_question_id(one.path, one.number): one.path for one in (await self._read(run_id)).waiting}
            if question not in waiting:
                raise InputError(
                    f"workflow {self._workflow.id!r} does not wait for {question!r}",
                    hint=f"it does for {', '.join(map(repr, waiting)) or 'nothing'}",
                )
            result = await self._runtime.resume(
                run_id, answers[question], step=waiting[question], workflow=self._workflow, scope=self._scope
            )
            if result.status != "suspended":
                break
        return result if result is not None else reader

    async def _told(self, run_id: str, result: RunResult[Any] | RunStateReader) -> Any:
        if result.status == "suspended":
            await self._ask(run_id)
        if result.status == "success":
            return result.output
        if isinstance(result, RunStateReader):  # it ended with the process that had gone on with it
            raise RunError(f"the run of workflow {self._workflow.id!r} is over: {result.status}")
        if result.tripwire is not None:
            raise Tripwire(result.tripwire)
        if result.error is not None:
            raise result.error
        raise CancelRun

    async def _ask(self, run_id: str) -> None:
        """
        Suspend the call for what the steps ask.
        """
        plan, steps = plan_of(self._workflow, None), list[dict[str, Any]]()
        for one in (await self._read(run_id)).waiting:
            leaf = leaf_at(plan, one.path)
            schema = schema_of(leaf.step.resume_type) if leaf is not None else None
            steps.append(
                {
                    "question_id": _question_id(one.path, one.number),
                    "step": one.path,
                    "label": one.label,
                    "payload": one.payload,
                    "resume_schema": schema.json_schema() if schema is not None else None,
                }
            )
        waiting: dict[str, Inner] = self._ctx.scope.resources.setdefault(WAITING, {})
        waiting[run_id] = Inner(self._agent, self._workflow)
        question = {"workflow": self._workflow.id, "steps": steps}
        self._ctx.suspend(question, resume_schema=_ANSWERS, label=self._workflow.id)

    async def _read(self, run_id: str) -> RunStateReader:
        return await self._runtime.get(run_id, workflow=self._workflow)

    async def _charged(self, work: Awaitable[Any]) -> Any:
        """
        Await *work*, and charge what it costs to the agent's run, however it ends.
        """
        scope, outer = self._scope, self._ctx.scope
        try:
            return await work
        finally:
            outer.charge(scope.usage, scope.guard_usage)  # the budgets around it have counted each call
            for looked in scope.looked or ():
                outer.note_look(*looked)
            outer.left_behind += scope.left_behind


def _inside(outer: RequestScope) -> RequestScope:
    """
    Return the scope of a run that shares the request of *outer*, and is resumed by itself.
    """
    scope = RequestScope(request_context=outer.request_context, emit=outer.emit)
    scope.outer = outer
    scope.tracing_context = outer.tracing_context
    scope.abort_signal = outer.abort
    scope.states, scope.violations, scope.marks = outer.states, outer.violations, outer.marks
    scope.resources = {name: held for name, held in outer.resources.items() if name != WAITING}
    return scope


def _question_id(path: str, number: int) -> str:
    """
    Return what the answer to a step is given by: its path, and for further questions of it ``<path>#2`` and so on.
    """
    return path if number == 0 else f"{path}#{number + 1}"


def _was_answered(reader: RunStateReader, question: str) -> bool:
    path, _, number = question.rpartition("#")
    if not path or not number.isdecimal():
        path, number = question, "1"
    return int(number) <= reader.answers_to(path)
