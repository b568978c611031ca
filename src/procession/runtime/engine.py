"""
Engine: what drives a run from its first step to its last.
"""

from __future__ import annotations

from typing import Any, Protocol

import anyio

from procession.runtime.executor import conclude
from procession.runtime.records import Record
from procession.runtime.state import RunState
from procession.runtime.walk import walk
from procession.workflows.plan import Plan, PlanNode

__all__ = ["Engine", "LocalEngine"]


class Engine(Protocol):
    """
    Drives runs.
    """

    async def execute(self, plan: Plan, value: Any, run: RunState) -> Any:
        """
        Run *plan* on *value* and return the output, or the ``Stop`` that ended it.

        Raises nothing but the cancellation of the task it is awaited in.
        """
        ...


class LocalEngine:
    """
    Walks the plan in the caller's task.
    """

    async def execute(self, plan: Plan, value: Any, run: RunState) -> Any:
        """
        Run *plan* on *value* and return the output, or the ``Stop`` that ended it.
        """
        if plan.fans:
            await run.place_for_tasks()
        try:
            if plan.check_in is not None:
                output = await self._checked(plan, value, run)
            else:
                output = await walk(plan.nodes, value, run, "")
        except BaseException as error:
            group, run.group = run.group, None
            if group is not None and await group.__aexit__(type(error), error, error.__traceback__):
                return None
            raise
        finally:
            if run.late:
                with anyio.CancelScope(shield=True):
                    for pool in run.late:
                        await pool.wait()
        group, run.group = run.group, None
        if group is not None:
            await group.__aexit__(None, None, None)
        return output

    async def _checked(self, plan: Plan, value: Any, run: RunState) -> Any:
        check = plan.check_in
        assert check is not None
        try:
            value = check.validate(value, where=plan.where)
        except Exception as error:
            return conclude(run, Record(PlanNode(plan.id, plan.id), plan.id, 0.0), error)
        return await walk(plan.nodes, value, run, "")
