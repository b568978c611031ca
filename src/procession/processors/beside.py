"""
What goes on beside a run: monitors that ask somebody.  They begin at once and are awaited when the run ends (D36).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from procession.processors.adapter import report_failure
from procession.processors.context import HookContext
from procession.processors.time_limit import within
from procession.steps.pool import asyncio_loop
from procession.steps.signals import Signal

if TYPE_CHECKING:
    import asyncio

__all__ = ["watch_beside"]

C = TypeVar("C", bound=HookContext[Any])


def watch_beside(ctx: C, look: Callable[[C], Awaitable[Any]], timeout: float | None) -> None:
    """
    Let *look* go on beside the run, for *timeout* seconds at most, with a context that shows what *ctx* shows now.

    That it failed is reported, and changes nothing.
    """
    own = ctx.apart()
    ctx.scope.pending.append(_Watch(own, lambda: look(own), timeout))


class _Watch:
    """
    One such thing in a task of its own: awaited like a callback, closed where the run is given up.

    The task is the event loop's, since no task group of the run is open at every hook; it ends by its time limit.
    """

    __slots__ = ("_ctx", "_error", "_look", "_over", "_scope", "_task", "_timeout")

    def __init__(self, ctx: HookContext[Any], look: Callable[[], Awaitable[Any]], timeout: float | None) -> None:
        self._ctx = ctx
        self._look = look
        self._timeout = timeout
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        loop = asyncio_loop()
        if loop is not None:
            self._task = loop.create_task(self._run())
        else:
            import trio

            trio.lowlevel.spawn_system_task(self._run, context=copy_context())

    async def _run(self) -> None:
        try:
            with self._scope:
                await within(self._timeout, self._look())
        except (Exception, Signal) as error:  # what only watches decides nothing
            report_failure(self._ctx, error)
        except BaseException as error:  # for whoever waits, not for the event loop
            self._error = error
        finally:
            self._over.set()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._ended().__await__()

    async def _ended(self) -> None:
        try:
            await self._over.wait()
        except BaseException:
            self.close()
            raise
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """
        Give it up: the run was cancelled.
        """
        self._scope.cancel()
