"""Readers of a stream that leave, are cancelled, time out or are dropped, and readers on other tasks."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import anyio
import pytest

from procession.agents.agent import Agent
from procession.agents.feed import AHEAD, Feed
from procession.agents.reader import Reader
from procession.messages.chunks import Chunk, TextDelta
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.recorder import record

MANY = AHEAD * 3


class Gate:
    """A model's script whose first answer waits until the test opens the gate."""

    def __init__(self, answer: Any = "Hello.") -> None:
        self.open = anyio.Event()
        self.answer = answer

    async def __call__(self, request: Any) -> Any:
        """Wait, then answer."""
        await self.open.wait()
        return self.answer


async def to_start(reader: Any) -> None:
    """Read the chunk that comes before the model has answered."""
    assert (await anext(reader)).type == "start"


async def turns() -> None:
    """Let the event loop do what was put off."""
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("view", ["full_stream", "text_stream"])
async def test_closing_a_reader_ends_a_read_in_another_task(view: str) -> None:
    """A task that waits in a reader is woken when another one closes that reader, and nobody else's ends."""
    gate = Gate()
    ended: list[int] = []
    async with Agent("a", model=FakeModel(gate)).stream("Hi") as stream:
        reader: Any = getattr(stream, view)
        other: Any = getattr(stream, view)

        async def read(one: Any) -> None:
            ended.append(len([each async for each in one]))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(read, other)
                async with anyio.create_task_group() as inner:
                    inner.start_soon(read, reader)
                    await turns()
                    await reader.aclose()
                assert len(ended) == 1
                gate.open.set()
    assert ended[1] > ended[0]


# -- reads that are given up


@pytest.mark.parametrize("view", ["full_stream", "text_stream"])
async def test_a_read_that_timed_out_can_be_tried_again(view: str) -> None:
    """CAN-003: a deadline round a read costs nothing; the same reader goes on where it stood."""
    gate = Gate()
    async with Agent("a", model=FakeModel(gate)).stream("Hi") as stream:
        reader: Any = getattr(stream, view)
        if view == "full_stream":
            await to_start(reader)
        for _ in range(2):
            with pytest.raises(TimeoutError), anyio.fail_after(0):
                await anext(reader)
        gate.open.set()
        rest = [each async for each in reader]
        assert (rest == ["Hello."]) if view == "text_stream" else ([each.type for each in rest][-1] == "finish")


def test_a_first_chunk_that_is_late() -> None:
    """CAN-003: ``asyncio.wait_for`` round the first chunk times out, the stream closes, and the agent runs again."""

    async def main() -> None:
        model = FakeModel([Gate(), "Second."])
        agent = Agent("a", model=model)
        async with agent.stream("Hi") as stream:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream.text_stream), 0.01)
        assert model.unfinished == 1
        async with agent.stream("Hi") as stream:
            assert await stream.text == "Second."
        gc.collect()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


async def test_a_reader_that_is_cancelled_leaves_the_others() -> None:
    """A task that is cancelled in the middle of a read ends alone: the run and other readers go on."""
    gate = Gate()
    seen: list[Chunk] = []
    async with Agent("a", model=FakeModel(gate)).stream("Hi") as stream, anyio.create_task_group() as group:

        async def read() -> None:
            seen.extend([chunk async for chunk in stream])

        group.start_soon(read)
        with anyio.move_on_after(0):
            async for _ in stream:
                pass
        gate.open.set()
        assert await stream.text == "Hello."
    assert seen[-1].type == "finish"


# -- readers that are dropped


@pytest.mark.parametrize("read", [0, 1, 3])
@pytest.mark.parametrize("how", ["aclose", "break", "del", "never begun"])
@pytest.mark.parametrize("view", ["full_stream", "text_stream"])
async def test_a_reader_may_leave_in_any_way(read: int, how: str, view: str, recwarn: Any) -> None:
    """CAN-001: a reader that closes, breaks off or is forgotten holds nobody up and warns of nothing."""
    unraisable: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        async with Agent("a", model=FakeModel(Reply(["x"] * MANY))).stream("Hi") as stream:
            reader: Any = getattr(stream, view)
            if how != "never begun":
                for _ in range(read):
                    await anext(reader)
            if how == "aclose":
                await reader.aclose()
            elif how == "break":
                async for _ in reader:
                    break
            del reader
            gc.collect()
            assert len([chunk async for chunk in stream if type(chunk) is TextDelta]) == MANY
        gc.collect()
        await turns()
    finally:
        sys.unraisablehook = hook
    assert unraisable == []
    assert [str(warning.message) for warning in recwarn] == []


async def test_leaving_after_one_chunk_closes_the_model() -> None:
    """CAN-001: who breaks off after one chunk and leaves the block has closed the model's stream by then."""
    model = FakeModel(Reply(["x"] * 5, pause=60))
    async with Agent("a", model=model).stream("Hi") as stream:
        async for _ in stream:
            break
    assert model.unfinished == 1


async def test_a_dropped_reader_in_a_cycle_sets_the_writer_free() -> None:
    """A reader that only the garbage collector finds, in whatever thread, is not waited for."""

    class Holder:
        reader: Any = None
        itself: Any = None

    feed = Feed()
    holder = Holder()
    holder.itself, holder.reader = holder, Reader(feed)
    feed.put(TextDelta("x"))
    await anext(holder.reader)
    waiting = None
    while waiting is None:
        waiting = feed.put(TextDelta("x"))
    del holder
    collector = threading.Thread(target=gc.collect)
    collector.start()
    collector.join()
    with anyio.fail_after(10):
        await waiting


def test_a_reader_may_outlive_its_loop() -> None:
    """A reader that is dropped when its event loop has ended does no harm."""

    async def main() -> Any:
        feed = Feed()
        reader = Reader(feed)
        feed.put(TextDelta("x"))
        await anext(reader)
        return reader

    for backend in ("asyncio", "trio"):
        unraisable: list[Any] = []
        hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
        try:
            reader = anyio.run(main, backend=backend)
            del reader
            gc.collect()
        finally:
            sys.unraisablehook = hook
        assert unraisable == []


async def test_a_closed_reader_gives_nothing_more() -> None:
    """After ``aclose`` a reader is at its end, also with chunks that it had fetched, and may be closed again."""
    async with Agent("a", model=FakeModel(Reply(["x"] * 5))).stream("Hi") as stream:
        await stream.result()
        reader = stream.full_stream
        await to_start(reader)
        await reader.aclose()
        await reader.aclose()
        assert [chunk async for chunk in reader] == []


# -- several


async def test_a_reader_may_be_handed_to_another_task() -> None:
    """A reader that one task began another goes on with."""
    async with Agent("a", model=FakeModel(Reply(["x"] * MANY))).stream("Hi") as stream:
        reader = stream.full_stream
        await to_start(reader)
        rest: list[Chunk] = []

        async def read() -> None:
            rest.extend([chunk async for chunk in reader])

        async with anyio.create_task_group() as group:
            group.start_soon(read)
    assert sum(type(chunk) is TextDelta for chunk in rest) == MANY


async def test_two_tasks_share_a_reader() -> None:
    """Of two tasks with one reader each gets chunks that the other does not, and none is lost."""
    async with Agent("a", model=FakeModel(Reply(map(str, range(MANY))))).stream("Hi") as stream:
        reader = stream.text_stream
        seen: list[str] = []

        async def read() -> None:
            async for piece in reader:
                seen.append(piece)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(read)
    assert sorted(seen, key=int) == [str(number) for number in range(MANY)]


async def test_two_streams_of_one_agent() -> None:
    """Two streams at once, read in turns, are apart: each has its own chunks, run and end."""
    agent = Agent("a", model=FakeModel([Reply(["a"] * 9), Reply(["b"] * 9)]))
    async with agent.stream("one") as one:
        assert await anext(one.text_stream) == "a"
        async with agent.stream("two") as two:
            pairs = [(first, await anext(two_reader)) for two_reader in [two.text_stream] for first in await _all(one)]
            assert pairs == [("a", "b")] * 9
            assert (await one.result()).run_id != (await two.result()).run_id


async def _all(stream: Any) -> list[str]:
    return [piece async for piece in stream.text_stream]


async def test_readers_behind_the_block_of_a_stream_that_was_left() -> None:
    """Behind a block that was left early any number of readers see what had come, and an end."""
    gate = Gate()
    async with Agent("a", model=FakeModel(gate)).stream("Hi") as stream:
        held = stream.full_stream
        await to_start(held)
    assert [chunk.type async for chunk in held] == ["abort", "finish"]
    first = await record(stream.full_stream)
    assert first.types == ["start", "abort", "finish"]
    assert await record(stream.full_stream) == first
