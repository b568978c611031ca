"""
What makes a run notice that it is no longer wanted where nothing waits, or where a processor has swallowed it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from procession.messages.chunks import Chunk
from procession.steps.abort import AbortSignal

__all__ = ["heeding", "native_cancels", "notice_cancellation"]


async def heeding(stream: AsyncIterator[Chunk], signal: AbortSignal) -> AsyncGenerator[Chunk, None]:
    """
    Pass a model's stream on and stop at the chunk at which the *signal* is set: a stream that never waits for anything
    would otherwise run to its end.
    """
    try:
        async for chunk in stream:
            if signal.aborted:
                await checkpoint()
            yield chunk
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def native_cancels() -> Callable[[], int] | None:
    """
    Return what counts the cancellations of this task, on asyncio, which tells a task once: who swallows it, has
    swallowed it.  On trio a cancellation comes again by itself.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return None
    return task.cancelling if task is not None else None


async def notice_cancellation() -> None:
    """
    Raise the cancellation of this task that a processor or a tool has swallowed.
    """
    await checkpoint_if_cancelled()  # a cancel scope's comes again, and must be known as its own
    import asyncio

    raise asyncio.CancelledError
