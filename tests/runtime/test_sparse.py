"""
Runs that are shown to nobody record only what went wrong.
"""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow

pytestmark = pytest.mark.anyio


async def _increment(value: int, run: Any, path: str) -> int:
    return value + 1


def _counting(limit: int) -> Workflow[int, int]:
    increment: Step[int, int] = Step(id="increment", inline=_increment)
    body: Workflow[int, int] = create_workflow("turn", int).then(increment).commit()
    return create_workflow("counting").do_until(body, lambda value: value >= limit).commit()


async def test_nothing_that_goes_well_is_recorded() -> None:
    """
    A sparse run has the same output and no records.
    """
    result = await Runtime().create_run(_counting(3), sparse=True).start(0)
    assert (result.unwrap(), list(result.steps)) == (3, [])


async def test_what_fails_is_recorded_where_it_failed() -> None:
    """
    A sparse run that fails says where, as any other run does.
    """

    async def fail(value: int, run: Any, path: str) -> int:
        raise ValueError("no")

    failing: Step[int, int] = Step(id="fail", inline=fail)
    workflow = create_workflow("failing", int).then(failing).commit()
    result = await Runtime().create_run(workflow, sparse=True).start(0)
    assert (result.status, result.steps["fail"].status) == ("failed", "failed")


async def test_a_run_that_is_listened_to_records_everything(caplog: pytest.LogCaptureFixture) -> None:
    """
    Where the log wants every step, or somebody reads the events, a sparse run is like any other.
    """
    run = Runtime().create_run(_counting(2), sparse=True)
    events = run.events()
    assert (await run.start(0)).steps["increment"].output == 2
    assert [event.path async for event in events if event.type == "node.started" and event.step_id == "increment"]
    with caplog.at_level(logging.DEBUG, "procession"):
        result = await Runtime().create_run(_counting(2), sparse=True).start(0)
    assert result.steps["increment"].output == 2


async def test_a_loop_that_never_waits_can_be_cancelled() -> None:
    """
    A sparse loop lets others have their turn, too, so that a cancellation arrives.
    """
    run = Runtime().create_run(_counting(10**9), sparse=True)
    async with anyio.create_task_group() as group:
        group.start_soon(run.start, 0)
        await anyio.lowlevel.checkpoint()
        run.cancel()
    assert (await run.result()).status == "cancelled"


@pytest.mark.parametrize("below", [0, 1, 2])
async def test_a_pick_of_an_earlier_step_finds_it(below: int) -> None:
    """
    A map that picks an earlier step has its output also in a sparse run, however deep the map stands.
    """
    increment: Step[int, int] = Step(id="increment", inline=_increment)
    workflow = create_workflow("picks").then(increment).map(lambda value: -value).map(pick("increment")).commit()
    for number in range(below):
        workflow = create_workflow(f"around-{number}").then(workflow).commit()
    assert (await Runtime().create_run(workflow, sparse=True).start(1)).unwrap() == 2
