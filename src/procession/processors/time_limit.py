"""
Time limits of hooks.

A limit can only ask to stop: code may shield itself, swallow the cancellation, or never wait for anything.  So what
came too late has come too late, whatever it says (D17).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import anyio

__all__ = ["limited", "limited_hook", "within"]


async def within(seconds: float | None, waiting: Awaitable[Any]) -> Any:
    """
    Await *waiting*; it is cancelled after *seconds*, if there is such a limit.

    Raises ``TimeoutError`` also where it then came to an end as if nothing had happened.
    """
    if seconds is None:
        return await waiting
    with anyio.fail_after(seconds) as limit:
        out = await waiting
    if anyio.current_time() >= limit.deadline:
        raise _too_late(seconds)
    return out


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """
    Raise ``TimeoutError`` where the block, which nothing interrupts, took longer than *seconds*.
    """
    started = time.monotonic()
    yield
    if time.monotonic() - started > seconds:
        raise _too_late(seconds)


def limited_hook(method: Callable[[Any], Any], seconds: float, *, is_async: bool) -> Callable[[Any], Any]:
    """
    Return the hook *method* with a time limit; a plain one cannot be interrupted and is only judged afterwards.
    """

    def call(ctx: Any) -> Any:
        with limited(seconds):
            return method(ctx)

    async def call_async(ctx: Any) -> Any:
        return await within(seconds, method(ctx))

    return call_async if is_async else call


def _too_late(seconds: float) -> TimeoutError:
    return TimeoutError(f"took longer than {seconds:g} s")
