"""Parallel: how many at once, and the shapes that are none (PAR-008)."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel
import pytest
from tests.runtime.kit import Doc, make, plus, run

from procession.errors import DefinitionError, WorkflowDefinitionError
from procession.steps.step import Step
from procession.workflows.workflow import create_workflow


def strike(word: str) -> Step[Any, Any]:
    """Return a step that strikes out *word*."""
    return make(f"strike-{word}", lambda ctx: ctx.input.strike(word))


async def test_branches_in_flight_are_limited() -> None:
    """PAR-008: with ``concurrency`` so many branches run at once, of 500, and all of them run."""
    now, most = 0, 0

    async def work(ctx: Any) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        now -= 1
        return 1

    steps = [make(f"s{number}", work) for number in range(500)]
    result = await run(create_workflow("w").parallel(steps, concurrency=7).commit())
    assert list(result.output) == [step.id for step in steps]
    assert most == 7
    with pytest.raises(DefinitionError, match="concurrency=0"):
        create_workflow("w").parallel(steps, concurrency=0)


async def test_degenerate_parallels() -> None:
    """PAR-008: one branch is as ``then``, keyed by its id; the same twice is refused, and so is none."""
    one = plus("a", 1)
    assert (await run(create_workflow("w").parallel([one]).commit())).output == {"a": 1}
    for steps, code in (([one, one], "duplicate-step-id"), ([], "empty-parallel")):
        with pytest.raises(WorkflowDefinitionError) as caught:
            create_workflow("w").parallel(steps).commit()
        assert [finding.code for finding in caught.value.findings] == [code]
        assert caught.value.findings[0].hint


async def test_a_parallel_in_a_parallel_is_merged_by_leaf() -> None:
    """PAR-008: what the inner branches did and what the outer one did are both in what goes on."""
    inner = create_workflow("inner").parallel([strike("a"), strike("b")]).commit()
    result = await run(create_workflow("w").parallel([inner, strike("c")]).commit(), Doc(("a", "b", "c", "d")))
    assert result.output.text == "d"
