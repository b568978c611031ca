"""The chunks of a run between the loop and its readers."""

from __future__ import annotations

import anyio
import pytest

from procession.agents.feed import AHEAD, Feed
from procession.agents.reader import Reader
from procession.messages.chunks import Chunk, TextDelta


def chunk(number: int) -> Chunk:
    """Return a chunk that can be told from others."""
    return TextDelta(str(number))


async def put_all(feed: Feed, count: int) -> None:
    """Put chunks and close, waiting where the feed says so."""
    for number in range(count):
        waiting = feed.put(chunk(number))
        if waiting is not None:
            await waiting
    feed.close()


async def test_what_is_put_is_read_in_order() -> None:
    """A reader sees what was put, in order, to the end."""
    feed = Feed()
    await put_all(feed, 5)
    assert [each async for each in Reader(feed)] == [chunk(number) for number in range(5)]


async def test_nobody_is_waited_for_before_somebody_reads() -> None:
    """Without a reader the writer never waits."""
    feed = Feed()
    for number in range(AHEAD * 3):
        assert feed.put(chunk(number)) is None


async def test_the_writer_waits_for_a_reader_that_lags() -> None:
    """With a reader that has read nothing for a while, the writer is told to wait, and goes on once it reads."""
    feed = Feed()
    reader = Reader(feed)
    feed.put(chunk(0))
    await reader.__anext__()
    ahead = 0
    while (waiting := feed.put(chunk(1))) is None:
        ahead += 1
        assert ahead <= AHEAD
    went_on = anyio.Event()

    async def wait() -> None:
        await waiting
        went_on.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        assert not went_on.is_set()
        await reader.__anext__()
        await went_on.wait()
    await reader.aclose()


async def test_a_reader_that_leaves_sets_the_writer_free() -> None:
    """A writer that waits for a reader goes on when that reader leaves."""
    feed = Feed()
    reader = Reader(feed)
    feed.put(chunk(0))
    await reader.__anext__()
    async with anyio.create_task_group() as group:
        group.start_soon(put_all, feed, AHEAD * 3)
        await anyio.lowlevel.checkpoint()
        await reader.aclose()


@pytest.mark.parametrize("replay", [True, False])
async def test_readers_that_start_together_see_the_same(replay: bool) -> None:
    """Readers that begin before the first chunk all see every chunk, kept or not."""
    feed = Feed(replay=replay)
    seen: list[list[Chunk]] = [[], [], []]

    async def read(into: list[Chunk]) -> None:
        into.extend([each async for each in Reader(feed)])

    async with anyio.create_task_group() as group:
        for into in seen:
            group.start_soon(read, into)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        group.start_soon(put_all, feed, AHEAD * 3)
    assert seen == [[chunk(number) for number in range(AHEAD * 3)]] * 3


async def test_a_late_reader_of_a_kept_feed_sees_all() -> None:
    """With ``replay`` a reader that comes last sees everything."""
    feed = Feed()
    await put_all(feed, 10)
    assert len([each async for each in Reader(feed)]) == 10
    assert len([each async for each in Reader(feed)]) == 10


async def test_a_late_reader_of_a_flat_feed_sees_what_is_left() -> None:
    """Without ``replay`` what every reader has read is gone."""
    feed = Feed(replay=False)
    reader = Reader(feed)
    feed.put(chunk(0))
    await reader.__anext__()
    feed.put(chunk(1))
    await reader.__anext__()
    feed.close()
    late = [each async for each in Reader(feed)]
    assert chunk(0) not in late
    assert [each async for each in reader] == []


async def test_closing_wakes_readers() -> None:
    """A reader that waits for more is told that there is none."""
    feed = Feed()
    done = anyio.Event()

    async def read() -> None:
        assert [each async for each in Reader(feed)] == []
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.lowlevel.checkpoint()
        feed.close()
        await done.wait()
