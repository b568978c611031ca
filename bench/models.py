"""
Models that answer at once: as cheap as the floor's, so that what is measured is what stands around them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from procession.messages.chunks import Chunk, Finish, TextDelta, TextEnd, TextStart, ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from procession.models.model import ModelRequest

__all__ = ["Calling", "Talking"]


class Talking:
    """
    Answers with *length* chunks of text.
    """

    id = "talking"

    def __init__(self, length: int = 1, seconds: float = 0.0) -> None:
        self.length = length
        self.seconds = seconds
        """How long it takes to begin."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """
        Answer.
        """
        if self.seconds:
            await asyncio.sleep(self.seconds)
        yield TextStart()
        for _ in range(self.length):
            yield TextDelta("tok ")
        yield TextEnd()
        yield Finish("stop")


class Calling:
    """
    Calls the tool ``add`` until it has seen *steps* of its results, then says that it is done.
    """

    id = "calling"

    def __init__(self, steps: int, seconds: float = 0.0) -> None:
        self.steps = steps
        self.seconds = seconds
        """How long an answer takes."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """
        Answer.
        """
        if self.seconds:
            await asyncio.sleep(self.seconds)
        asked = len(request.messages) // 2
        if asked < self.steps:
            yield ToolCall(f"c{asked}", "add", {"a": asked})
            yield Finish("tool-calls")
        else:
            yield TextStart()
            yield TextDelta("done")
            yield TextEnd()
            yield Finish("stop")
