"""The runtime and its doors."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.kit import plus

from procession.errors import RunError
from procession.runtime.engine import LocalEngine
from procession.runtime.runtime import Runtime, run, run_sync
from procession.runtime.state import RunState
from procession.workflows.plan import Plan
from procession.workflows.workflow import create_workflow

WORKFLOW = create_workflow("w").then(plus("a", 1)).commit()


async def test_run_needs_no_runtime() -> None:
    """``run`` runs a workflow, and any step, in a runtime of its own."""
    assert (await run(WORKFLOW, 1)).unwrap() == 2
    assert (await run(plus("alone", 5), 1)).unwrap() == 6
    assert (await Runtime().run(WORKFLOW.as_step(), 1)).unwrap() == 2


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_run_sync_needs_no_event_loop(backend: str) -> None:
    """``run_sync`` runs a workflow from plain code."""
    assert run_sync(WORKFLOW, 1, backend=backend).unwrap() == 2


async def test_run_sync_refuses_to_block_a_loop() -> None:
    """Inside a running event loop ``run_sync`` says to await ``run`` instead."""
    with pytest.raises(RunError, match="await run"):
        run_sync(WORKFLOW, 1)


async def test_the_engine_can_be_exchanged() -> None:
    """A runtime drives its runs by the engine it was given."""
    driven: list[str] = []

    class Engine(LocalEngine):
        async def execute(self, plan: Plan, value: Any, run: RunState) -> Any:
            driven.append(plan.id)
            return await super().execute(plan, value, run)

    assert (await Runtime(engine=Engine()).run(WORKFLOW, 1)).unwrap() == 2
    assert driven == ["w"]
