"""Readers of events: any number, at any time, fast or slow; all see one sequence and one end (06 §C8)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.kit import Function, blocks, events_of, fails, make, plus
from tests.runtime.test_broadcast import chatty
from tests.runtime.test_properties import BACKENDS, on

from procession.errors import InputError, StepTimeout
from procession.messages.chunks import DataChunk
from procession.runtime.events import WorkflowEvent
from procession.runtime.inbox import WhenFull
from procession.runtime.run import Run
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow, create_workflow


async def forever(ctx: Any) -> None:
    """Wait until somebody ends it."""
    await anyio.sleep_forever()


ENDS: dict[str, tuple[Function, dict[str, Any], str]] = {
    "success": (lambda ctx: ctx.input, {}, "success"),
    "failed": (fails(ValueError("no")), {}, "failed"),
    "blocked": (blocks("guard"), {}, "blocked"),
    "suspended": (lambda ctx: ctx.suspend("why"), {}, "suspended"),
    "cancelled": (lambda ctx: ctx.cancel_run(), {}, "cancelled"),
    "cancelled from outside": (forever, {}, "cancelled"),
    "timeout": (forever, {"timeout": 0.001}, "failed"),
    "timeout of the run": (forever, {}, "failed"),
}


def talking(count: int, end: str) -> Workflow[Any, Any]:
    """Return a workflow whose first step emits *count* chunks, and whose last ends as *end* says."""

    async def talk(ctx: Any) -> int:
        for number in range(count):
            await ctx.emit(DataChunk(type="data-n", data=number))
            if number % 5 == 0:
                await anyio.lowlevel.checkpoint()
        return count

    function, options, _ = ENDS[end]
    limit = 0.001 if end == "timeout of the run" else None
    return create_workflow("w", timeout=limit).then(make("talk", talk)).then(make("end", function, **options)).commit()


class Reader:
    """One who joins after some turns, reads at a pace of its own and may leave early."""

    def __init__(self, joins: int, pace: int, leaves: int | None, when_full: WhenFull, buffer: int) -> None:
        self.joins = joins
        self.pace = pace
        self.leaves = leaves
        self.when_full: WhenFull = when_full
        self.buffer = buffer
        self.seen: list[WorkflowEvent] = []

    async def read(self, run: Run[Any, Any]) -> None:
        """Join, read, and perhaps leave; what it sees has to be explained on the way."""
        for _ in range(self.joins):
            await anyio.lowlevel.checkpoint()
        events = run.events(when_full=self.when_full, buffer=self.buffer)
        async for event in events:
            self.seen.append(event)
            assert event.seq == len(self.seen) - 1 + events.dropped
            if self.pace and len(self.seen) % self.pace == 0:
                await anyio.lowlevel.checkpoint()
            if len(self.seen) == self.leaves:
                break


readers = st.builds(
    Reader,
    joins=st.integers(0, 40),
    pace=st.integers(0, 4),
    leaves=st.none() | st.integers(1, 30),
    when_full=st.sampled_from(["block", "drop"]),
    buffer=st.integers(1, 8),
)


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    who=st.lists(readers, min_size=1, max_size=5),
    end=st.sampled_from(sorted(ENDS)),
    count=st.integers(0, 60),
    replay=st.booleans(),
)
def test_all_readers_see_one_sequence_and_one_end(
    backend: str, who: list[Reader], end: str, count: int, replay: bool
) -> None:
    """
    However many readers join and leave whenever, each sees a piece of one sequence, and who stays its one end.

    Gaps are outputs, and the reader knows how many; who lets the run wait for it has none, unless it joined too late.
    """

    async def main() -> list[WorkflowEvent]:
        for reader in who:
            reader.seen.clear()
        run = Runtime().create_run(talking(count, end), replay=replay)
        whole = Reader(0, 0, None, "block", 64)
        async with anyio.create_task_group() as group:
            group.start_soon(whole.read, run)
            await anyio.wait_all_tasks_blocked()
            for reader in who:
                group.start_soon(reader.read, run)
            group.start_soon(run.start, 0)
            if end == "cancelled from outside":
                await anyio.wait_all_tasks_blocked()
                run.cancel()
        assert (await run.result()).status == ENDS[end][2]
        return whole.seen

    whole = on(backend, main)
    assert [event.seq for event in whole] == list(range(len(whole)))
    assert [event.terminal for event in whole] == [False] * (len(whole) - 1) + [True]
    for reader in who:
        seen = reader.seen
        assert all(event == whole[event.seq] for event in seen)
        missing = {event.seq for event in whole[: seen[-1].seq + 1]} - {event.seq for event in seen}
        assert {whole[seq].type for seq in missing} <= {"node.output"}
        if reader.when_full == "block" and replay:
            assert not missing
        if reader.leaves is None:
            assert [event.terminal for event in seen] == [False] * (len(seen) - 1) + [True]


async def test_a_timeout_is_the_end_it_says() -> None:
    """A step that took too long ends the run as failed, with the error in the terminal event."""
    run = Runtime().create_run(talking(0, "timeout"))
    await run.start(0)
    last = (await events_of(run))[-1]
    assert (last.type, last.payload["status"]) == ("run.finished", "failed")
    assert isinstance(last.payload["error"], StepTimeout)


async def test_a_slow_reader_may_have_its_oldest_outputs_left_out() -> None:
    """With ``"drop"`` nobody waits: the newest outputs and all else are kept, and the rest is counted."""
    run = Runtime().create_run(chatty(500))
    events = run.events(when_full="drop", buffer=10)
    first = anyio.Event()

    async def look() -> None:
        async for _ in events:
            first.set()
            return

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(run.start, 0)
        await first.wait()
    assert (await run.result()).status == "success"
    rest = [event async for event in events]
    outputs = [event.payload["output"].data for event in rest if event.type == "node.output"]
    assert outputs == list(range(500 - len(outputs), 500))
    assert len(outputs) <= 64 + 10
    assert events.dropped == 500 - len(outputs) > 0
    assert [event.type for event in rest if event.type != "node.output"][-4:] == [
        "node.completed", "node.started", "node.completed", "run.finished",
    ]  # fmt: skip
    assert rest[-1].seq == len(await events_of(run)) - 1


async def test_a_reader_that_keeps_up_misses_nothing() -> None:
    """A reader that only reads is given its turn by a run that never waits, also where it need not be waited for."""
    run = Runtime().create_run(chatty(500))
    seen: list[int] = []

    async def read() -> None:
        events = run.events(when_full="drop", buffer=4)
        seen.extend([event.seq async for event in events])
        assert events.dropped == 0

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(run.start, 0)
    assert seen == list(range(506))


async def test_what_waits_for_a_slow_reader_is_bounded() -> None:
    """Without replay, neither the log nor a reader that lags or never began holds more than its buffer of outputs."""
    run = Runtime().create_run(chatty(5000), replay=False)
    idle = run.events()
    lagging = run.events(when_full="drop", buffer=16)
    most = 0

    async def watch() -> None:
        nonlocal most
        broadcast = run.state.broadcast
        async for event in run.events(when_full="block", buffer=8):
            if event.seq % 100 == 0:
                most = max(most, len(broadcast.log), idle.waiting, lagging.waiting)

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(run.start, 0)
    assert most <= 64 + 8
    for reader, kept in ((idle, 64), (lagging, 16)):
        events = [event async for event in reader]
        assert sum(event.type == "node.output" for event in events) == kept
        assert reader.dropped == 5000 - kept
        assert events[-1].terminal


async def break_off(run: Run[Any, Any], when_full: WhenFull) -> None:
    """Leave the loop."""
    async for event in run.events(when_full=when_full):
        if event.seq == 3:
            break


async def close(run: Run[Any, Any], when_full: WhenFull) -> None:
    """Close the reader, and keep it."""
    events = run.events(when_full=when_full)
    held.append(events)
    await anext(events)
    events.close()


async def leave_a_block(run: Run[Any, Any], when_full: WhenFull) -> None:
    """Leave the block of the reader by an error."""
    try:
        with run.events(when_full=when_full) as events:
            held.append(events)
            await anext(events)
            raise LookupError
    except LookupError:
        return


async def drop(run: Run[Any, Any], when_full: WhenFull) -> None:
    """Let go of the reader."""
    events = run.events(when_full=when_full)
    await anext(events)
    ring: list[Any] = [events]
    ring.append(ring)
    del events, ring
    gc.collect()


async def be_cancelled(run: Run[Any, Any], when_full: WhenFull) -> None:
    """Be cancelled on the way."""
    with anyio.CancelScope() as scope:
        async for event in run.events(when_full=when_full):
            if event.seq == 3:
                scope.cancel()
                await anyio.sleep_forever()


held: list[Any] = []


@pytest.mark.parametrize("when_full", ["block", "drop"])
@pytest.mark.parametrize("leave", [break_off, close, leave_a_block, drop, be_cancelled])
async def test_a_reader_that_leaves_holds_up_nothing(
    leave: Callable[[Run[Any, Any], WhenFull], Coroutine[Any, Any, None]], when_full: WhenFull
) -> None:
    """However a reader goes, in the middle of its reading, the run goes on to its end and hands it nothing more."""
    run = Runtime().create_run(chatty(500))
    held.clear()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(leave, run, when_full)
            await anyio.wait_all_tasks_blocked()
            await run.start(0)
    assert not run.state.broadcast.full
    assert run.state.broadcast.quiet


async def test_a_reader_that_was_cancelled_while_waiting_may_come_back() -> None:
    """A reader with a deadline for each event misses nothing, and the run does not wait for it in the meantime."""
    run = Runtime().create_run(chatty(500))
    events = run.events()
    with anyio.move_on_after(0.001) as limit:
        await anext(events)
    assert limit.cancelled_caught
    with anyio.fail_after(10):
        assert (await run.start(0)).status == "success"
    assert len([event async for event in events]) == 506


async def test_closing_wakes_whoever_waits() -> None:
    """A reader that is closed by somebody else comes to its end at once."""
    run = Runtime().create_run(chatty(1))
    events = run.events()
    seen: list[WorkflowEvent] = []

    async def read() -> None:
        async for event in events:
            seen.append(event)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            events.close()
    assert seen == []


async def test_a_late_reader_is_given_all_that_was_kept() -> None:
    """What the run keeps for late readers is not cut to their buffer."""
    run = Runtime().create_run(chatty(500))
    await run.start(0)
    events = run.events(when_full="drop", buffer=1)
    assert len([event async for event in events]) == 506
    assert events.dropped == 0


@pytest.mark.parametrize("options", [{"when_full": "wait"}, {"buffer": 0}])
async def test_a_policy_that_there_is_not_is_refused(options: dict[str, Any]) -> None:
    """A wrong policy or size says what there is."""
    events: Callable[..., Any] = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit()).events
    with pytest.raises(InputError, match="when_full is"):
        events(**options)
