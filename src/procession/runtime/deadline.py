"""
Deadline: a workflow that may take so long, as a whole.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import anyio

from procession.errors import RunTimeout, StepTimeout
from procession.workflows.plan import Plan

__all__ = ["within"]


async def within(plan: Plan, work: Awaitable[Any], path: str) -> Any:
    """
    Return what *work*, the walk of *plan* at *path*, gives in the time that the workflow has.

    Raises ``StepTimeout`` where it takes longer, ``RunTimeout`` where the workflow is the run itself; what was going on
    in it has been cancelled by then, and awaited.
    """
    assert plan.timeout is not None
    with anyio.move_on_after(plan.timeout):
        return await work
    message = f"workflow {plan.id!r} took longer than {plan.timeout:g} s"
    hint = "raise its timeout=, or give less to do"
    raise StepTimeout(message, path=path, hint=hint) if path else RunTimeout(message, hint=hint)
