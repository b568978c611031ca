"""Foreach: a step for each item of a list."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import make, plus, recorded, run

from procession.errors import SchemaError, StepError
from procession.workflows.workflow import create_workflow


@pytest.mark.parametrize("concurrency", [1, 3, len])
async def test_foreach_keeps_the_order_of_the_items(concurrency: Any) -> None:
    """The outputs stand in the order of the items, ``None`` among them, however many run at once."""

    async def odd(ctx: Any) -> int | None:
        for _ in range(ctx.input % 3):
            await anyio.lowlevel.checkpoint()
        return ctx.input if ctx.input % 2 else None

    workflow = create_workflow("w").foreach(make("odd", odd), concurrency=concurrency).commit()
    result = await run(workflow, list(range(7)))
    assert result.output == [None, 1, None, 3, None, 5, None]
    assert result.steps["odd"].output == result.output
    assert result.steps["odd[3]"].output == 3


async def test_foreach_is_a_sliding_window() -> None:
    """A free place is taken at once by the next item: one slow item does not hold up the others."""
    last = anyio.Event()

    async def work(ctx: Any) -> int:
        if ctx.input == 0:
            await last.wait()
        elif ctx.input == 9:
            last.set()
        else:
            await anyio.lowlevel.checkpoint()
        return int(ctx.input)

    workflow = create_workflow("w").foreach(make("work", work), concurrency=2).commit()
    assert (await run(workflow, list(range(10)))).output == list(range(10))


@pytest.mark.parametrize("value", ["abc", {"a": 1}, 3, None])
async def test_foreach_refuses_what_is_no_list(value: Any) -> None:
    """A string, a mapping or a number is no list of items."""
    result = await run(create_workflow("w").foreach(plus("a", 1)).commit(), value)
    assert isinstance(result.error, SchemaError)
    assert result.steps["a"].status == "failed"


async def test_foreach_over_nothing() -> None:
    """An empty list gives an empty list."""
    assert (await run(create_workflow("w").foreach(plus("a", 1), concurrency=4).commit(), [])).output == []


async def test_an_item_that_fails_ends_the_foreach() -> None:
    """The first failure cancels what is under way, and no further item begins."""

    async def work(ctx: Any) -> int:
        if ctx.input == 2:
            raise ValueError("two")
        await anyio.sleep_forever()
        return 0

    result = await run(create_workflow("w").foreach(make("x", work), concurrency=3).commit(), list(range(9)))
    assert isinstance(result.error, StepError)
    assert [(path, record.status) for path, record in result.steps.items()] == [
        ("x", "failed"),
        ("x[0]", "cancelled"),
        ("x[1]", "cancelled"),
        ("x[2]", "failed"),
    ]


async def test_bail_in_an_item() -> None:
    """A bail in an item ends the workflow around the foreach; in a workflow as its body, only that item."""
    out = make("out", lambda ctx: ctx.bail("early") if ctx.input == 1 else ctx.input)
    result = await run(create_workflow("w").foreach(out, concurrency=2).then(plus("never", 1)).commit(), [0, 1, 2])
    assert result.output == "early"
    body = create_workflow("body").then(out).then(make("never", lambda ctx: "rest")).commit()
    result = await run(create_workflow("w").foreach(body, concurrency=2).commit(), [0, 1, 2])
    assert result.output == ["rest", "early", "rest"]


async def test_progress_is_told() -> None:
    """Each item that completes is followed by a progress event of the foreach."""
    events = await recorded(create_workflow("w").foreach(plus("a", 1)).commit(), [1, 2])
    assert events[1:-1] == [
        "node.started a",
        "node.started a[0]",
        "node.completed a[0]",
        "foreach.progress a",
        "node.started a[1]",
        "node.completed a[1]",
        "foreach.progress a",
        "node.completed a",
    ]
