"""
Engine: what drives a run from its first step to its last.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

from procession.runtime.deadline import within
from procession.runtime.executor import conclude
from procession.runtime.records import Record
from procession.runtime.state import RunState
from procession.runtime.walk import walk, walk_quietly
from procession.workflows.plan import Plan, PlanNode

__all__ = ["Engine", "LocalEngine"]


class Engine(Protocol):
    """
    Drives runs.
    """

    def execute(self, plan: Plan, value: Any, run: RunState) -> Awaitable[Any]:
        """
        Run *plan* on *value* and return the output, or the ``Stop`` that ended it, once it is awaited.

        Raises nothing but the cancellation of the task it is awaited in.
        """
        ...


class LocalEngine:
    """
    Walks the plan in the caller's task.
    """

    def execute(self, plan: Plan, value: Any, run: RunState) -> Awaitable[Any]:
        """
        Run *plan* on *value* and return the output, or the ``Stop`` that ended it, once it is awaited.
        """
        if plan.check_in is not None or plan.timeout is not None:
            return self._checked(plan, value, run)
        follow = run.follow
        if follow is None:
            follow = walk_quietly if run.sparse and run.broadcast.quiet and not plan.keeps else walk
        return follow(plan.nodes, value, run, "")

    async def _checked(self, plan: Plan, value: Any, run: RunState) -> Any:
        try:
            if plan.check_in is not None:
                value = run.init_data = plan.check_in.validate(value, where=plan.where)
            work = (run.follow or walk)(plan.nodes, value, run, "")
            return await (work if plan.timeout is None else within(plan, work, "", run))
        except Exception as error:
            return conclude(run, Record(PlanNode(plan.id, plan.id), plan.id, 0.0), error)
