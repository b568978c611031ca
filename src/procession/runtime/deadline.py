"""
Deadline: what may take so long, as a whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from typing import Any

import anyio

from procession.errors import RunTimeout, StepTimeout
from procession.runtime.state import RunState
from procession.workflows.plan import Plan

__all__ = ["limited", "within"]


@contextmanager
def limited(run: RunState, prefix: str, seconds: float) -> Generator[anyio.CancelScope]:
    """
    Cancel the block after *seconds*; what is cancelled below *prefix* by that is recorded with this reason.
    """
    with anyio.move_on_after(seconds) as scope:
        run.limits += ((prefix, scope),)
        try:
            yield scope
        finally:
            run.limits = tuple(limit for limit in run.limits if limit[1] is not scope)


async def within(plan: Plan, work: Awaitable[Any], path: str, run: RunState) -> Any:
    """
    Return what *work*, the walk of *plan* at *path*, gives in the time that the workflow has.

    Raises ``StepTimeout`` where it takes longer, ``RunTimeout`` where the workflow is the run itself; what was going on
    in it has been cancelled by then, and awaited.
    """
    assert plan.timeout is not None
    output: Any = None
    with limited(run, path + "/" if path else "", plan.timeout) as limit:
        output = await work
    if not limit.cancelled_caught:
        return output
    message = f"workflow {plan.id!r} took longer than {plan.timeout:g} s"
    hint = "raise its timeout=, or give less to do"
    raise StepTimeout(message, path=path, hint=hint) if path else RunTimeout(message, hint=hint)
