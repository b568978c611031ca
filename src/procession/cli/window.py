"""
A sliding window: many things worked on at the same time, their results handed on in order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar, cast

import anyio

__all__ = ["sliding"]

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 64
"""How many results per worker may wait for a slow one before them."""


async def sliding(
    items: AsyncIterator[T],
    work: Callable[[T], Awaitable[R]],
    hand_on: Callable[[R], None],
    *,
    concurrency: int,
) -> None:
    """
    Call *work* for each of *items*, at most *concurrency* at a time, and *hand_on* with the results in order.

    The next item is begun as soon as one is done.  Nothing is read further ahead than results may wait.
    """
    done: dict[int, R] = {}
    following = 0
    send, receive = anyio.create_memory_object_stream[tuple[int, T]](0)
    room = anyio.Semaphore(concurrency * AHEAD)

    async def worker() -> None:
        nonlocal following
        async with receive.clone() as mine:
            async for index, item in mine:
                done[index] = await work(item)
                while following in done:
                    hand_on(done.pop(following))
                    following += 1
                    room.release()

    try:
        async with anyio.create_task_group() as group:
            for _ in range(concurrency):
                group.start_soon(worker)
            async with receive, send:
                index = 0
                async for item in items:
                    await room.acquire()
                    await send.send((index, item))
                    index += 1
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def _first(error: BaseException) -> BaseException:
    """
    Return the first error of a group: it cancelled the others.
    """
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
