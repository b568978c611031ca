"""
What makes a run notice that it is no longer wanted where nothing waits, or where a processor has swallowed it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from procession.messages.chunks import Chunk
from procession.steps.abort import AbortSignal
from procession.steps.left import is_left_behind
from procession.steps.signals import CancelRun

if TYPE_CHECKING:
    from procession.agents.state import LoopState

__all__ = ["heeding", "native_cancels", "notice_cancellation", "stop_unwanted"]


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


async def stop_unwanted(state: LoopState, pooled: bool = False) -> None:
    """
    Stop a run that is no longer wanted before a tool starts: tools do what cannot be taken back, and a processor or a
    model's client may have swallowed the cancellation, or not have waited for anything since.

    *pooled* says that this is not the task that drives the run: that one is cancelled by whoever cancels it.
    """
    if not pooled:
        if state.cancels is not None and state.cancels() > state.cancelled_before:
            await notice_cancellation()
        await checkpoint_if_cancelled()
    signal = state.scope.abort_signal
    if (signal is not None and signal.aborted) or is_left_behind():
        raise CancelRun("the run is no longer wanted")
