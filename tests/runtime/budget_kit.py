"""
What the tests of budgets share: steps that wait, that spend, and that do neither.
"""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel

from procession.messages.usage import Usage
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.budget import Budget
from procession.steps.step import StepContext, step
from procession.workflows.nodes import arm
from procession.workflows.workflow import create_workflow

TINY = 0.01


@step
async def waits_for_ever(ctx: StepContext[Any]) -> str:
    await anyio.sleep_forever()
    return "never"


@step
async def quick(ctx: StepContext[Any]) -> str:
    await anyio.lowlevel.checkpoint()
    return "quick"


@step
async def spends(ctx: StepContext[Any]) -> str:
    for _ in range(5):
        ctx.spend(Usage(30, 10))
        await anyio.lowlevel.checkpoint()
    return "spent"


async def run(workflow: Any, value: Any = 0) -> RunResult[Any]:
    return await Runtime().create_run(workflow).start(value)


def both(budget: Budget, thing: Any = waits_for_ever) -> Any:
    return create_workflow("both").parallel([arm(thing, budget=budget), quick], id="both").commit()
