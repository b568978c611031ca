"""
Reader: one reader's way through the chunks of a run.

It is an object and no generator, so that it can be left at any moment: a read that was cancelled took nothing and may be
tried again, and a reader that is dropped in the middle of a loop leaves nothing behind to be closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

from procession.agents.feed import Feed
from procession.messages.chunks import Chunk

__all__ = ["Picked", "Reader"]

T = TypeVar("T")
_NONE: Iterator[Chunk] = iter(())


class Reader:
    """
    Every chunk of a feed, from the first one that is kept to the last one to come.

    The writer waits for a reader from its first read until it is closed, dropped or at the end.
    """

    __slots__ = ("_at_end", "_feed", "_place", "_rest")

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._place: object = None
        """Under what the feed knows where this reader stands; ``None`` before it begins and when it has left."""
        self._rest = _NONE
        """What was fetched and not yet read."""
        self._at_end = False

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Chunk:
        for chunk in self._rest:
            return chunk
        return await self._fetched()

    async def _fetched(self) -> Chunk:
        feed = self._feed
        while not self._at_end:
            for chunk in self._rest:  # another task with this reader has fetched it
                return chunk
            if self._place is None:
                self._place = feed.join()
            batch = feed.take(self._place)
            if batch:
                self._rest = iter(batch)
            elif feed.closed:
                self._leave()
            else:
                await feed.news()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """
        Read no further; nobody waits for this reader any longer.
        """
        self._leave()

    def _leave(self) -> None:
        self._at_end = True
        self._rest = _NONE
        place, self._place = self._place, None
        if place is not None:
            self._feed.leave(place)

    def __del__(self) -> None:
        if self._place is not None:
            with suppress(RuntimeError):  # the event loop has ended, and the writer with it
                self._feed.leave_soon(self._place)


class Picked(Generic[T]):
    """
    What *pick* makes of the chunks that a reader reads; those of which it makes ``None`` are passed over.
    """

    __slots__ = ("_pick", "_reader")

    def __init__(self, reader: Reader, pick: Callable[[Chunk], T | None]) -> None:
        self._reader = reader
        self._pick = pick

    def __aiter__(self) -> Picked[T]:
        return self

    async def __anext__(self) -> T:
        pick = self._pick
        async for chunk in self._reader:
            picked = pick(chunk)
            if picked is not None:
                return picked
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """
        Read no further; nobody waits for this reader any longer.
        """
        await self._reader.aclose()
