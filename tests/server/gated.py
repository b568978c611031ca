"""Models that wait for a test."""

from collections.abc import AsyncIterator
from typing import Any

import anyio

from procession.messages.chunks import Chunk, Finish, TextDelta, TextEnd, TextStart

__all__ = ["Endless", "Gated"]


class Gated:
    """A model that says one word and then waits until it is let go, and tells how often it was asked, and whether left."""

    id = "gated"

    def __init__(self) -> None:
        self.asked = 0
        self.left = anyio.Event()
        self.speaking = anyio.Event()
        self.gate = anyio.Event()

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Answer in two words."""
        self.asked += 1
        try:
            yield TextStart()
            yield TextDelta("One")
            self.speaking.set()
            await self.gate.wait()
            yield TextDelta(" two.")
            yield TextEnd()
            yield Finish("stop")
        except BaseException:
            self.left.set()
            raise


class Endless:
    """A model that says one piece after the other, and counts them."""

    id = "endless"

    def __init__(self, piece: str) -> None:
        self.piece = piece
        self.said = 0
        self.left = anyio.Event()

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Answer without end."""
        try:
            yield TextStart()
            while True:
                self.said += 1
                yield TextDelta(self.piece)
                await anyio.lowlevel.checkpoint()
        finally:
            self.left.set()
