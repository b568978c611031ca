"""What a step is given when it runs."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import events_of, make, plus, run

from procession.errors import MergeConflict
from procession.messages.chunks import Chunk, DataChunk
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.workflows.workflow import create_workflow


async def test_a_step_knows_where_it_stands() -> None:
    """Path, attempt, run id, the run's input, the request's values and the scope are at hand."""
    seen: dict[str, Any] = {}

    def look(ctx: Any) -> None:
        seen.update(path=ctx.path, attempt=ctx.attempt, run_id=ctx.run_id, init=ctx.init_data, input=ctx.input)
        seen.update(tenant=ctx.request_context["tenant"], same=ctx.scope.request_context is ctx.request_context)

    inner = create_workflow("inner").then(make("look", look)).commit()
    workflow = create_workflow("w").then(plus("a", 1)).then(inner).commit()
    await run(workflow, 1, run_id="run-1", request_context=RequestContext({"tenant": "acme"}))
    assert seen == {
        "path": "inner/look",
        "attempt": 1,
        "run_id": "run-1",
        "init": 1,
        "input": 2,
        "tenant": "acme",
        "same": True,
    }


async def test_results_of_earlier_steps() -> None:
    """``result_of`` finds the step in its own workflow first, then in those around it."""

    def look(ctx: Any) -> Any:
        return [ctx.result_of("a"), ctx.result_of("b")]

    def miss(ctx: Any) -> Any:
        return ctx.result_of("nothing")

    inner = create_workflow("inner").then(plus("a", 10)).then(make("look", look)).commit()
    workflow = create_workflow("w").then(plus("a", 1)).then(plus("b", 1)).then(inner).commit()
    assert (await run(workflow)).output == [12, 2]
    missed = await run(create_workflow("w").then(plus("a", 1)).then(make("miss", miss)).commit())
    assert "completed: a" in str(missed.error)


async def test_state_is_shared_and_seen_at_once() -> None:
    """What a step sets is there at once, for itself and for the steps after it; ``state`` is a copy."""

    def first(ctx: Any) -> Any:
        ctx.set_state(count=1, name="x")
        ctx.state["count"] = 100
        return ctx.state["count"]

    def second(ctx: Any) -> Any:
        ctx.set_state(count=ctx.state["count"] + ctx.input)
        return ctx.state

    result = await run(create_workflow("w").then(make("first", first)).then(make("second", second)).commit())
    assert result.output == {"count": 2, "name": "x"}


def setter(id: str, value: Any) -> Any:
    """Return a step that sets ``k``."""

    async def set(ctx: Any) -> None:
        ctx.set_state(k=value)
        await anyio.lowlevel.checkpoint()

    return make(id, set)


async def test_branches_may_not_write_different_values() -> None:
    """Two branches that set one key differently are a conflict; the same value is none, nor are writes in turn."""
    conflict = await run(create_workflow("w").parallel([setter("a", 1), setter("b", 2)]).commit())
    assert isinstance(conflict.error, MergeConflict)
    assert conflict.error.branches == ("a", "b")
    assert (await run(create_workflow("w").parallel([setter("a", 1), setter("b", 1)]).commit())).status == "success"
    assert (await run(create_workflow("w").then(setter("a", 1)).then(setter("b", 2)).commit())).status == "success"
    arms = [create_workflow(name).then(setter("x", name)).then(setter("y", name)).commit() for name in "pq"]
    assert isinstance((await run(create_workflow("w").parallel(arms).commit())).error, MergeConflict)
    assert (await run(create_workflow("w").parallel(arms[:1]).commit())).status == "success"


async def test_items_may_not_write_different_values() -> None:
    """The items of a foreach that run at once are branches too."""

    async def set(ctx: Any) -> None:
        ctx.set_state(k=ctx.input)
        await anyio.lowlevel.checkpoint()

    result = await run(create_workflow("w").foreach(make("x", set), concurrency=2).commit(), [1, 2])
    assert isinstance(result.error, MergeConflict)
    assert result.error.branches == ("x[0]", "x[1]")
    assert (await run(create_workflow("w").foreach(make("x", set)).commit(), [1, 2])).status == "success"


async def test_a_reducer_makes_one_value_of_two() -> None:
    """With a reducer for the key, also one of a nested workflow, branches may all write it."""
    adding = create_workflow("w", reducers={"k": lambda old, new: old + new})
    adding.parallel([setter("a", 1), setter("b", 2), setter("c", 3)]).then(make("look", lambda ctx: ctx.state["k"]))
    assert (await run(adding.commit())).output == 6
    assert (await run(create_workflow("outer").then(adding).commit())).output == 6


async def test_a_step_may_call_another_definition() -> None:
    """What a step calls runs under its path, each call under one of its own."""
    inner = create_workflow("inner").then(plus("a", 1)).commit()

    async def call(ctx: Any) -> Any:
        first = await ctx.call(inner, ctx.input)
        second = await ctx.call(inner, first)
        return await ctx.call(plus("b", 10), second)

    result = await run(create_workflow("w").then(make("s", call)).commit())
    assert result.output == 12
    assert list(result.steps) == ["s", "s/inner/a", "s/inner[1]/a", "s/b"]


async def test_a_bail_of_what_was_called_ends_there() -> None:
    """A called workflow's bail is its output, as it is for a nested one."""
    inner = create_workflow("inner").then(make("out", lambda ctx: ctx.bail("early"))).commit()

    async def call(ctx: Any) -> Any:
        return [await ctx.call(inner, 0)]

    assert (await run(create_workflow("w").then(make("s", call)).commit())).output == ["early"]


async def test_a_called_fan_out_is_cancelled_with_its_step() -> None:
    """A step over its timeout leaves nothing running of a parallel that it has called."""
    over: list[str] = []

    async def forever(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            over.append(ctx.path)

    both = create_workflow("both").parallel([make("a", forever), make("b", forever)]).commit()

    async def call(ctx: Any) -> None:
        await ctx.call(both, 0)

    result = await run(create_workflow("w").then(make("s", call, timeout=0.01)).commit())
    assert result.status == "failed"
    assert sorted(over) == ["s/both/a", "s/both/b"]


async def test_emitted_chunks_are_events() -> None:
    """``emit`` puts a chunk among the events, and passes it on to whom the request names."""
    heard: list[Chunk] = []
    chunk = DataChunk(type="data-x", data=1)

    async def emit(ctx: Any) -> None:
        await ctx.emit(chunk)

    made = Runtime().create_run(
        create_workflow("w").then(make("s", emit)).commit(), scope=RequestScope(run_id="r", emit=heard.append)
    )
    await made.start(0)
    (event,) = [event for event in await events_of(made) if event.type == "node.output"]
    assert (event.path, event.payload) == ("s", {"output": chunk})
    assert heard == [chunk]


@pytest.mark.parametrize("listener", [None, "async"])
async def test_emit_waits_for_the_listener(listener: str | None) -> None:
    """An async listener is awaited before the step goes on."""
    order: list[str] = []

    async def slow(chunk: Chunk) -> None:
        await anyio.lowlevel.checkpoint()
        order.append("heard")

    async def emit(ctx: Any) -> None:
        await ctx.emit(DataChunk(type="data-x", data=1))
        order.append("went on")

    scope = RequestScope(run_id="r", emit=slow if listener else None)
    await Runtime().create_run(create_workflow("w").then(make("s", emit)).commit(), scope=scope).start(0)
    assert order == (["heard", "went on"] if listener else ["went on"])
