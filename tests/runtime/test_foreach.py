"""Foreach: a step for each item of a list."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import blocks, make, plus, recorded, run

from procession.errors import RunError, SchemaError, StepError
from procession.steps.item_error import ItemError
from procession.steps.schema import Schema
from procession.steps.signals import Suspend
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


def third_fails(ctx: Any) -> Any:
    """Fail for the third item, and give nothing for the first."""
    if ctx.input == 2:
        raise ValueError("no third")
    return ctx.input or None


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_failures_are_collected(concurrency: int) -> None:
    """With ``on_error="collect"`` a failed item stands in the list as data, and the others go on."""
    workflow = create_workflow("w").foreach(make("x", third_fails), concurrency=concurrency, on_error="collect")
    result = await run(workflow.commit(), [0, 1, 2, 3])
    failed = ItemError("ValueError", "no third", "x[2]", 2)
    assert result.output == [None, 1, failed, 3]
    assert isinstance(result.output[2].error, ValueError)
    assert [record.status for record in result.steps.values()] == ["success"] * 3 + ["failed", "success"]
    assert hash(result.output[2]) == hash(failed)


async def test_a_failure_deep_in_an_item_is_collected() -> None:
    """The body may be a workflow: the path leads to the step that failed, and nothing after it runs for that item."""
    body = create_workflow("body").then(make("x", third_fails)).then(plus("y", 1)).commit()
    result = await run(create_workflow("w").foreach(body, on_error="collect").commit(), [1, 2])
    assert result.output == [2, ItemError("ValueError", "no third", "body[1]/x", 1)]
    assert "body[1]/y" not in result.steps


async def test_only_failures_are_collected() -> None:
    """A block ends the run whatever is collected; so does a bail, and a question suspends it."""

    def asks(ctx: Any) -> Any:
        raise Suspend("who?")

    def out(ctx: Any) -> Any:
        return ctx.bail("out")

    def body(ctx: Any) -> Any:
        bodies: list[Any] = [third_fails, blocks("secret"), out, asks]
        return bodies[ctx.input](ctx)

    workflow = create_workflow("w").foreach(make("x", body), on_error="collect").commit()
    assert (await run(workflow, [0, 1])).status == "blocked"
    assert (await run(workflow, [0, 2, 0])).output == "out"
    assert (await run(workflow, [0, 3])).status == "suspended"


def test_a_collected_error_goes_through_json() -> None:
    """What was collected can be the input of a typed step, and be written and read again without the exception."""
    made = Schema(list[int | ItemError])
    error = ItemError.of(ValueError("bad"), path="x[0]", index=0)
    assert made.validate([1, error], where="here")[1].error is error.error
    plain = made.plain([1, error])
    assert plain == [1, {"type": "ValueError", "message": "bad", "path": "x[0]", "index": 0}]
    read = made.validate(plain, where="here")
    assert (read[1], read[1].error) == (error, None)
    assert made.json_schema()


async def test_concurrency_may_be_told_later() -> None:
    """A function of the list may be async, and less than one at once is one."""

    async def later(items: list[int]) -> int:
        await anyio.lowlevel.checkpoint()
        return len(items) - 5

    workflow = create_workflow("w").foreach(plus("a", 1), concurrency=later).commit()
    assert (await run(workflow, [1, 2])).output == [2, 3]


@pytest.mark.parametrize("given", [None, "3", 1.5, True, float("nan"), [1]])
async def test_concurrency_is_a_whole_number(given: Any) -> None:
    """What a function gives that is none fails the run, before any item has begun."""
    result = await run(create_workflow("w").foreach(plus("a", 1), concurrency=lambda items: given).commit(), [1, 2])
    assert isinstance(result.error, RunError)
    assert f"the concurrency of foreach 'a' is {type(given).__name__}" in str(result.error)
    assert list(result.steps) == ["a"]
