"""
Feed: the chunks of a run on their way from the loop to its readers.

The loop appends to a list, a reader takes what is new: no channel, no task per chunk.  A reader may join late and then
sees everything from the beginning; the loop waits once the slowest reader is 64 chunks behind, until somebody waits for
the end (``flow``).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable

import anyio

from procession.messages.chunks import Chunk

__all__ = ["Feed"]

AHEAD = 64
"""How many chunks the loop may be ahead of the slowest reader."""


class Feed:
    """
    One writer, any number of readers.

    With ``replay=False`` what every reader has seen is dropped, so that memory stays flat; a late reader then begins
    where the slowest one stands.
    """

    __slots__ = ("_base", "_chunks", "_closed", "_flowing", "_limit", "_moved", "_new", "_readers", "_replay")

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
        if self._new is not None:
            self._new.set()
            self._new = None

    def flow(self) -> None:
        """
        Wait for no reader any longer.
        """
        self._flowing = True
        self._progress()

    async def read(self) -> AsyncGenerator[Chunk, None]:
        """
        Yield every chunk, from the first one that is kept to the last one to come.
        """
        reader = object()
        position = self._readers[reader] = self._base
        self._progress()
        try:
            while True:
                end = self._base + len(self._chunks)
                if position < end:
                    batch = self._chunks[position - self._base :]
                    position = self._readers[reader] = end
                    self._progress()
                    for chunk in batch:
                        yield chunk
                elif self._closed:
                    return
                else:
                    if self._new is None:
                        self._new = anyio.Event()
                    await self._new.wait()
        finally:
            del self._readers[reader]
            self._progress()

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
