"""The explicit form: a graph of steps that wait for each other."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import Doc, fails, make, plus, run

from procession.workflows.workflow import create_workflow


def waits(ctx: Any) -> Any:
    """Wait until cancelled."""
    return anyio.sleep_forever()


async def pause(ctx: Any) -> Any:
    """Let others have their turn, then pass the value on."""
    await anyio.lowlevel.checkpoint()
    return ctx.input


async def test_a_join_is_given_what_it_waits_for() -> None:
    """A step with several dependencies gets the mapping by id, with one its output, with none the input."""
    workflow = create_workflow("w")
    workflow.add(plus("a", 1))
    workflow.add(make("b", pause), after=["a"])
    workflow.add(plus("c", 10), after=["a"])
    workflow.add(make("join", lambda ctx: dict(ctx.input)), after=["c", "b", "a"])
    workflow.commit()
    result = await run(workflow)
    assert result.output == {"c": 11, "b": 1, "a": 1}
    assert list(result.output) == ["c", "b", "a"]


async def test_several_sinks_are_a_mapping() -> None:
    """Where nothing depends on several steps, the output is the mapping of them."""
    workflow = create_workflow("w")
    workflow.add(plus("a", 1)).add(plus("b", 2)).add(plus("c", 3), after=["a"])
    assert (await run(workflow.commit())).output == {"b": 2, "c": 4}


async def test_steps_may_be_added_in_any_order() -> None:
    """A dependency may be named before it is added."""
    workflow = create_workflow("w")
    workflow.add(plus("last", 100), after=["first"]).add(plus("first", 1))
    assert (await run(workflow.commit())).output == 101


async def test_a_step_starts_as_soon_as_what_it_needs_is_there() -> None:
    """A step does not wait for others that it does not depend on."""
    opened = anyio.Event()

    async def slow(ctx: Any) -> str:
        await opened.wait()
        return "slow"

    def open(ctx: Any) -> str:
        opened.set()
        return "open"

    workflow = create_workflow("w")
    workflow.add(make("slow", slow)).add(plus("a", 1)).add(make("open", open), after=["a"])
    assert (await run(workflow.commit())).output == {"slow": "slow", "open": "open"}


async def test_a_failure_in_a_graph_cancels_the_rest() -> None:
    """A step that fails cancels what runs; what depends on it never begins."""
    workflow = create_workflow("w")
    workflow.add(make("waits", waits)).add(make("bad", fails(ValueError()))).add(plus("after", 1), after=["bad"])
    result = await run(workflow.commit())
    assert result.status == "failed"
    assert [(path, record.status) for path, record in result.steps.items()] == [
        ("waits", "cancelled"),
        ("bad", "failed"),
    ]


@pytest.mark.parametrize("turns", [0, 3])
async def test_the_first_in_declaration_order_decides(turns: int) -> None:
    """Of several equal ends that of the step written down first counts, whichever of them could begin first (D27)."""

    async def late(ctx: Any) -> int:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        return 0

    def asks(ctx: Any) -> Any:
        return ctx.suspend(ctx.path)

    workflow = create_workflow("w")
    workflow.add(make("late", late)).add(make("one", asks), after=["late"]).add(make("two", asks))
    result = await run(workflow.commit())
    assert result.status == "suspended"
    assert result.stop is not None
    assert result.stop.path == "one"


async def test_forks_of_a_graph_are_merged_where_they_meet() -> None:
    """A value that can be forked is forked for each path through the graph and merged at the join."""
    doc = Doc(("a", "b", "c"))
    workflow = create_workflow("w")
    workflow.add(make("a", lambda ctx: ctx.input.strike("a")))
    workflow.add(make("b", lambda ctx: ctx.input.strike("b")))
    workflow.add(make("see", lambda ctx: ctx.input.text), after=["a", "b"])
    assert (await run(workflow.commit(), doc)).output == "c"
    assert doc.text == "a b c"
