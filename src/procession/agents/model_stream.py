"""
Model streams: one of a model that failed before it began, and the end of one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from procession.messages.chunks import Chunk

__all__ = ["close_stream", "failing"]


async def failing(error: BaseException) -> AsyncIterator[Chunk]:
    """
    The stream of a model whose plain ``stream`` raised: reading it does.
    """
    nothing: tuple[Chunk, ...] = ()
    for chunk in nothing:
        yield chunk
    raise error


async def close_stream(stream: AsyncIterator[Chunk]) -> None:
    """
    Close *stream*, where it can be closed.
    """
    close = getattr(stream, "aclose", None)
    if close is not None:
        with suppress(Exception):  # the answer, and the verdict on it, stand
            await close()
