"""
Feed: the chunks of a run on their way from the loop to its readers.

The loop appends to a list, a reader takes what is new: no channel, no task per chunk.  A reader may join late and then
sees everything from the beginning; the loop waits once the slowest reader is 64 chunks behind, until somebody waits for
the end (``flow``).
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

import anyio

from procession.messages.chunks import Chunk
from procession.steps.event_loop import asyncio_loop

__all__ = ["Feed"]

AHEAD = 64
"""How many chunks the loop may be ahead of the slowest reader."""


class Feed:
    """
    One writer, any number of readers.

    With ``replay=False`` what every reader has seen is dropped, so that memory stays flat; a late reader then begins
    where the slowest one stands.
    """

    __slots__ = ("_base", "_chunks", "_closed", "_flowing", "_limit", "_moved", "_new", "_readers", "_replay", "_soon")

    def __init__(self, *, replay: bool = True) -> None:
        self._chunks: list[Chunk] = []
        self._base = 0
        self._readers: dict[object, int] = {}
        self._limit = sys.maxsize
        """The length of the list from which on the writer waits: nobody is waited for before somebody reads."""
        self._closed = False
        self._flowing = False
        self._replay = replay
        self._new: anyio.Event | None = None
        self._moved: anyio.Event | None = None
        self._soon: Callable[..., object] | None = None
        """Calls a function in the event loop, from wherever; known once somebody reads."""

    def put(self, chunk: Chunk) -> Awaitable[None] | None:
        """
        Add a chunk; returns something to await where the readers are far behind.
        """
        self._chunks.append(chunk)
        if self._new is not None:
            self._new.set()
            self._new = None
        return self.caught_up() if len(self._chunks) >= self._limit else None

    def close(self) -> None:
        """
        There will be no more chunks.
        """
        self._closed = True
        self._tell_readers()

    def flow(self) -> None:
        """
        Wait for no reader any longer.
        """
        self._flowing = True
        self._progress()

    # -- for readers

    @property
    def closed(self) -> bool:
        """
        Whether there will be no more chunks.
        """
        return self._closed

    def join(self) -> object:
        """
        Let a reader begin; returns under what it is known.
        """
        if self._soon is None:
            self._soon = _calls_soon()
        place = object()
        self._readers[place] = self._base
        self._progress()
        return place

    def take(self, place: object) -> list[Chunk]:
        """
        Return what is new to a reader.
        """
        position = self._readers[place]
        if position == self._base + len(self._chunks):
            return []
        batch = self._chunks[position - self._base :]
        self._readers[place] = position + len(batch)
        self._progress()
        return batch

    async def news(self) -> None:
        """
        Wait until there is more, or the end.
        """
        if self._new is None:
            self._new = anyio.Event()
        await self._new.wait()

    def leave(self, place: object) -> None:
        """
        Forget a reader; another task that waits in it is woken.
        """
        del self._readers[place]
        self._progress()
        self._tell_readers()

    def leave_soon(self, place: object) -> None:
        """
        Forget a reader that was dropped: at some moment, in some thread.

        Raises ``RuntimeError`` where the event loop has ended.
        """
        if self._soon is not None:
            self._soon(self.leave, place)

    def _tell_readers(self) -> None:
        if self._new is not None:
            self._new.set()
            self._new = None

    def _progress(self) -> None:
        """
        Reckon again how far the writer may go.
        """
        slowest = min(self._readers.values(), default=None)
        if slowest is not None and not self._replay and slowest > self._base:
            del self._chunks[: slowest - self._base]
            self._base = slowest
        self._limit = sys.maxsize if slowest is None or self._flowing else slowest - self._base + AHEAD
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    async def caught_up(self) -> None:
        """
        Wait until no reader is far behind.
        """
        while len(self._chunks) >= self._limit:
            if self._moved is None:
                self._moved = anyio.Event()
            await self._moved.wait()


def _calls_soon() -> Callable[..., object]:
    """
    Return what calls a function in the running event loop, from any thread and at any moment.
    """
    loop = asyncio_loop()
    if loop is not None:
        return loop.call_soon_threadsafe
    import trio

    return trio.lowlevel.current_trio_token().run_sync_soon
