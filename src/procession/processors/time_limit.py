"""
Time limits of hooks.

A limit can only ask to stop: code may shield itself, swallow the cancellation, or never wait for anything.  So what
came too late has come too late, whatever it says (D17); and an async hook that has a limit runs in a task of its own,
so that one which ignores its cancellation can be left behind once the grace period is over.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from procession.processors.context import HookContext
from procession.steps.own_task import within_limit

__all__ = ["limited", "limited_hook", "limits_itself", "within"]

H = TypeVar("H", bound=Callable[..., Any])


async def within(seconds: float | None, ctx: HookContext[Any], work: Callable[[], Awaitable[Any]]) -> Any:
    """
    Await ``work()``, which is done for *ctx*; it is cancelled after *seconds*, if there is such a limit.

    Raises ``TimeoutError`` also where it then came to an end as if nothing had happened, and its subclass
    ``IgnoredCancellation`` where it came to none: it is left behind, and reported.
    """
    if seconds is None:
        return await work()
    return await within_limit(work, seconds, ctx.scope.grace, ctx.leave_behind)


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """
    Raise ``TimeoutError`` where the block, which nothing interrupts, took longer than *seconds*.
    """
    started = time.monotonic()
    yield
    if time.monotonic() - started > seconds:
        raise TimeoutError(f"took longer than {seconds:g} s")


def limits_itself(method: H) -> H:
    """
    Mark a hook that is called for every chunk and limits what it awaits itself: a task for each chunk would be dear.
    """
    method.limits_itself = True  # type: ignore[attr-defined]
    return method


def limited_hook(method: Callable[[Any], Any], seconds: float, *, is_async: bool) -> Callable[[Any], Any]:
    """
    Return the hook *method* with a time limit; a plain one cannot be interrupted and is only judged afterwards.
    """
    if getattr(method, "limits_itself", False):
        return method

    def call(ctx: Any) -> Any:
        with limited(seconds):
            return method(ctx)

    async def call_async(ctx: Any) -> Any:
        return await within_limit(lambda: method(ctx), seconds, ctx.scope.grace, ctx.leave_behind)

    return call_async if is_async else call
