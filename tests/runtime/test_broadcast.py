"""Broadcast: one writer, many readers."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import events_of, fails, make, plus

from procession.messages.chunks import DataChunk
from procession.runtime.events import WorkflowEvent
from procession.runtime.run import Run
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow, create_workflow


def chatty(count: int) -> Workflow[Any, Any]:
    """Return a workflow of one step that emits *count* chunks, and one after it."""

    async def chatter(ctx: Any) -> int:
        for number in range(count):
            await ctx.emit(DataChunk(type="data-n", data=number))
        return count

    return create_workflow("w").then(make("s", chatter)).then(plus("after", 1)).commit()


async def read(run: Run[Any, Any], into: list[WorkflowEvent]) -> None:
    """Read all events."""
    async for event in run.events():
        into.append(event)
        if event.seq % 3 == 0:
            await anyio.lowlevel.checkpoint()


async def test_readers_may_join_at_any_time() -> None:
    """Readers who join before, during and after a run all see the same, in one unbroken sequence."""
    made = Runtime().create_run(chatty(200))
    seen: list[list[WorkflowEvent]] = [[], [], [], []]
    async with anyio.create_task_group() as group:
        group.start_soon(read, made, seen[0])
        await anyio.wait_all_tasks_blocked()
        group.start_soon(made.start, 0)
        for later in (seen[1], seen[2]):
            for _ in range(7):
                await anyio.lowlevel.checkpoint()
            group.start_soon(read, made, later)
    await read(made, seen[3])
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert [event.seq for event in seen[0]] == list(range(len(seen[0])))
    assert [event.type for event in seen[0] if event.terminal] == ["run.finished"]
    assert [event.payload["output"].data for event in seen[0] if event.type == "node.output"] == list(range(200))


async def test_the_writer_waits_for_a_slow_reader() -> None:
    """A run is never more than 64 entries ahead of a reader who reads, and goes on when it has read."""
    made = Runtime().create_run(chatty(500))
    ahead = count = 0
    async with anyio.create_task_group() as group:
        group.start_soon(made.start, 0)
        async for _ in made.events():
            count += 1
            if count % 50 == 0:
                await anyio.wait_all_tasks_blocked()
                ahead = max(ahead, len(made.state.broadcast.log) - count)
    assert count == 506
    assert 0 < ahead <= 2 * 64 + 2


async def test_nobody_waits_for_a_reader_who_never_began() -> None:
    """A reader that was made and not read from holds up nothing."""
    made = Runtime().create_run(chatty(500))
    reader = made.events()
    assert (await made.start(0)).status == "success"
    assert len([event async for event in reader]) == 506


async def test_nobody_waits_for_a_reader_who_went_away() -> None:
    """A reader that was closed or dropped in the middle holds up nothing."""
    for close in (True, False):
        made = Runtime().create_run(chatty(500))
        async with anyio.create_task_group() as group:
            group.start_soon(made.start, 0)
            reader = made.events()
            await reader.__anext__()
            await anyio.wait_all_tasks_blocked()
            if close:
                reader.close()
            del reader
            gc.collect()
        assert (await made.result()).status == "success"


async def test_waiting_for_the_result_waits_for_no_reader() -> None:
    """Whoever awaits the result in the middle of reading gets it."""
    async with Runtime().stream(chatty(500), 0) as made:
        events = made.events()
        first = await events.__anext__()
        result = await made.result()
        assert result.status == "success"
        assert first.seq == 0
        assert len([event async for event in events]) == 505


async def test_without_replay_outputs_are_not_kept() -> None:
    """With ``replay=False`` a late reader sees the lifecycle alone, and memory holds no output."""
    made = Runtime().create_run(chatty(1000), replay=False)
    early: list[WorkflowEvent] = []
    async with anyio.create_task_group() as group:
        group.start_soon(read, made, early)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(made.start, 0)
    late = await events_of(made)
    assert len(early) == 1006
    assert [event.seq for event in early] == list(range(1006))
    assert [event for event in early if event.type != "node.output"] == late
    assert len(made.state.broadcast.log) < 10


async def test_a_reader_between_two_outputs_sees_what_comes() -> None:
    """Without replay a reader who joins in the middle sees the outputs from there on, under their numbers."""
    middle = anyio.Event()
    joined = anyio.Event()

    async def chatter(ctx: Any) -> None:
        for number in range(10):
            if number == 5:
                middle.set()
                await joined.wait()
            await ctx.emit(DataChunk(type="data-n", data=number))

    made = Runtime().create_run(create_workflow("w").then(make("s", chatter)).commit(), replay=False)
    seen: list[WorkflowEvent] = []
    async with anyio.create_task_group() as group:
        group.start_soon(made.start, 0)
        await middle.wait()
        group.start_soon(read, made, seen)
        await anyio.wait_all_tasks_blocked()
        joined.set()
    outputs = [(event.seq, event.payload["output"].data) for event in seen if event.type == "node.output"]
    assert outputs == [(number + 2, number) for number in range(5, 10)]


@pytest.mark.parametrize("leave", ["break", "raise"])
async def test_leaving_a_stream_cancels_the_run(leave: str) -> None:
    """A block that ends before its run does cancels the run; an error of the block comes out as it is."""

    async def forever(ctx: Any) -> None:
        await anyio.sleep_forever()

    workflow = create_workflow("w").then(make("s", forever)).commit()
    runs: list[Run[Any, Any]] = []
    try:
        async with Runtime().stream(workflow, 0) as made:
            runs.append(made)
            async for event in made.events():
                if event.type == "node.started":
                    break
            if leave == "raise":
                raise LookupError("mine")
    except LookupError:
        assert leave == "raise"
    assert (await runs[0].result()).status == "cancelled"


async def test_a_stream_of_a_failing_run_ends() -> None:
    """Every way to end takes the stream to its end."""
    async with Runtime().stream(create_workflow("w").then(make("s", fails(ValueError()))).commit(), 0) as made:
        types = [event.type async for event in made.events()]
    assert types[-1] == "run.finished"
    assert (await made.result()).status == "failed"
