"""
Runtime: the one object that runs things, and two doors for those who need none of their own.
"""

from __future__ import annotations

from typing import Any, TypeVar

import anyio

from procession.errors import RunError
from procession.ids import new_id
from procession.runtime.engine import Engine, LocalEngine
from procession.runtime.registry import Registry
from procession.runtime.run import Run, RunResult, RunStream
from procession.runtime.state import GRACE, RunState
from procession.runtime.walk import call, plan_of
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.steps.step import SupportsStep

__all__ = ["Runtime", "run", "run_sync"]

In = TypeVar("In")
Out = TypeVar("Out")


class Runtime:
    """
    Runs workflows.

    *grace* is how many seconds a cancelled branch is waited for; *engine* is what drives the runs.
    """

    __slots__ = ("engine", "grace", "registry", "store")

    def __init__(self, store: Any = None, *, engine: Engine | None = None, grace: float = GRACE) -> None:
        self.store = store
        """Where the runtime's things are kept, for those who ask; ``None`` keeps nothing."""
        self.engine: Engine = engine if engine is not None else LocalEngine()
        self.grace = grace
        self.registry = Registry()

    def create_run(
        self,
        workflow: SupportsStep[In, Out],
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
        scope: RequestScope | None = None,
        detail: bool = True,
        replay: bool = True,
        sparse: bool = False,
    ) -> Run[In, Out]:
        """
        Return a run of *workflow* that has not started.

        *scope* is handed in by whoever owns the request; else one is made.  With ``detail=False`` what steps run inside
        themselves is recorded only where it fails or blocks; with ``replay=False`` outputs are not kept for readers
        that join late.  *sparse* is for whoever shows the run to nobody: unless somebody listens when it starts, such
        as the log of steps, only what fails, blocks or suspends is recorded anywhere in it.

        Raises ``DefinitionError`` where the workflow is not committed.
        """
        plan = plan_of(workflow, None)
        if scope is None:
            scope = RequestScope(run_id=run_id or new_id(), request_context=request_context)
        elif not scope.run_id:
            scope.run_id = run_id or new_id()
        state = RunState(
            run_id or scope.run_id,
            caller=call,
            scope=scope,
            detail=detail,
            replay=replay,
            sparse=sparse,
            grace=self.grace,
            reducers=plan.reducers,
        )
        return Run(plan, state, self.engine)

    async def run(
        self,
        workflow: SupportsStep[In, Out],
        value: In,
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
    ) -> RunResult[Out]:
        """
        Run *workflow* on *value* in this task and return how it ended.
        """
        return await self.create_run(workflow, run_id=run_id, request_context=request_context).start(value)

    def stream(
        self,
        workflow: SupportsStep[In, Out],
        value: In,
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
        replay: bool = True,
    ) -> RunStream[In, Out]:
        """
        Run in the background while a block runs: ``async with runtime.stream(workflow, value) as run``.
        """
        made = self.create_run(workflow, run_id=run_id, request_context=request_context, replay=replay)
        return made.stream(value)


async def run(
    workflow: SupportsStep[In, Out], value: In, *, request_context: RequestContext | None = None
) -> RunResult[Out]:
    """
    Run *workflow* on *value* and return how it ended.
    """
    return await _default().run(workflow, value, request_context=request_context)


def run_sync(
    workflow: SupportsStep[In, Out],
    value: In,
    *,
    request_context: RequestContext | None = None,
    backend: str = "asyncio",
) -> RunResult[Out]:
    """
    Run *workflow* on *value* from code that is not async, and return how it ended.

    Raises ``RunError`` where an event loop is running in this thread already.

    >>> from procession.runtime.runtime import run_sync
    >>> from procession.steps.step import StepContext, step
    >>> from procession.workflows.workflow import create_workflow
    >>> @step
    ... def shout(ctx: StepContext[str]) -> str:
    ...     return ctx.input.upper()
    >>> run_sync(create_workflow("loud", str).then(shout).commit(), "hello").unwrap()
    'HELLO'
    """
    try:
        anyio.get_current_task()
    except RuntimeError:  # there is no event loop, as it should be
        pass
    else:
        raise RunError("run_sync() was called inside a running event loop", hint="there, await run() instead")

    async def main() -> RunResult[Out]:
        return await run(workflow, value, request_context=request_context)

    return anyio.run(main, backend=backend)


_runtime: Runtime | None = None


def _default() -> Runtime:
    global _runtime
    if _runtime is None:
        _runtime = Runtime()
    return _runtime
