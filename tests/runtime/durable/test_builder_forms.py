"""What the builder can say, in runs that are kept: collected failures, maps of fields, moments, limits of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.runtime.kit import make

from procession.runtime.runtime import Runtime
from procession.steps.item_error import ItemError
from procession.steps.request_context import RequestContext
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.sources import from_context, from_step
from procession.workflows.template import template
from procession.workflows.workflow import create_workflow


@step
async def asks(ctx: StepContext[Any]) -> Any:
    """Wait for an answer, then pass the value on."""
    await ctx.suspend("go on?")
    return ctx.input


async def test_collected_failures_are_not_tried_again() -> None:
    """An item that failed stands in the list of a resumed run as it did, without running again."""
    seen: list[int] = []

    @step
    def number(ctx: StepContext[str]) -> int:
        seen.append(len(seen))
        return int(ctx.input)

    items = create_workflow("items", list[str]).foreach(number, on_error="collect")
    for name, workflow in {
        "after": items.clone("after").then(asks).commit(),
        "last": items.clone("last").commit(),
    }.items():
        seen.clear()
        runtime = Runtime(InMemoryJournal())
        made = runtime.create_run(workflow)
        result: Any = await made.start(["1", "x", "3"])
        if name == "after":
            assert result.status == "suspended"
            result = await runtime.resume(made.id, workflow=workflow)
        one, failed, three = result.unwrap()
        assert (one, failed.type, failed.path, failed.index, three) == (1, "ValueError", "number[1]", 1, 3)
        assert isinstance(failed, ItemError)
        assert seen == [0, 1, 2]


async def test_an_item_that_asks_beside_one_that_failed() -> None:
    """Where failures are collected an item may wait; resumed, only that one runs, and the failure stays."""
    seen: list[str] = []

    @step
    async def item(ctx: StepContext[str]) -> str:
        seen.append(ctx.input)
        if ctx.input == "asks":
            return str(await ctx.suspend("?"))
        raise ValueError("no")

    workflow = create_workflow("w", list[str]).foreach(item, on_error="collect", concurrency=2).commit()
    runtime = Runtime(InMemoryJournal())
    made = runtime.create_run(workflow)
    assert (await made.start(["fails", "asks"])).status == "suspended"
    result = await runtime.resume(made.id, "yes", workflow=workflow)
    failed, answer = result.unwrap()
    assert (failed.type, answer) == ("ValueError", "yes")
    assert seen == ["fails", "asks", "asks"]


async def test_a_map_of_fields_is_made_once() -> None:
    """What a map of fields has made is kept: a resumed run, whose request says something else, has it as it was."""
    workflow = create_workflow("w", str).then(make("fetch", lambda ctx: {"name": ctx.input}))
    workflow.map({"name": from_step("fetch", "name"), "who": from_context("who"), "text": template("${context.who}!")})
    workflow.then(asks).commit()
    runtime = Runtime(InMemoryJournal())
    made = runtime.create_run(workflow, request_context=RequestContext({"who": "eva"}))
    assert (await made.start("n")).status == "suspended"
    result = await runtime.resume(made.id, workflow=workflow, request_context=RequestContext({"who": "ida"}))
    assert result.unwrap() == {"name": "n", "who": "eva", "text": "eva!"}


async def test_a_moment_is_worked_out_once() -> None:
    """A pause until a moment is over once: a resumed run does not wait again, nor ask for the moment."""
    asked: list[int] = []

    def soon(value: Any) -> datetime:
        asked.append(1)
        return datetime.now(UTC) + timedelta(milliseconds=2)

    workflow = create_workflow("w", int, timeout=60).sleep_until(soon).then(asks).commit()
    runtime = Runtime(InMemoryJournal())
    made = runtime.create_run(workflow)
    assert (await made.start(1)).status == "suspended"
    assert (await runtime.resume(made.id, workflow=workflow)).unwrap() == 1
    assert asked == [1]
