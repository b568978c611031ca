"""
What goes on beside a run: monitors that ask somebody.  They begin at once and are awaited when the run ends (D36).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

from procession.processors.adapter import report_failure
from procession.processors.context import HookContext
from procession.processors.time_limit import within
from procession.steps.own_task import OwnTask
from procession.steps.signals import Signal
from procession.steps.stray import is_failure

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
    """

    __slots__ = ("_ctx", "_look", "_task", "_timeout")

    def __init__(self, ctx: HookContext[Any], look: Callable[[], Awaitable[Any]], timeout: float | None) -> None:
        self._ctx = ctx
        self._look = look
        self._timeout = timeout
        self._task = OwnTask(self._run)

    async def _run(self) -> None:
        try:
            await within(self._timeout, self._ctx, self._look)
        except BaseException as error:  # what only watches decides nothing
            if not (isinstance(error, Signal) or is_failure(error)):
                raise
            report_failure(self._ctx, error)

    def __await__(self) -> Generator[Any, Any, None]:
        return self._ended().__await__()

    async def _ended(self) -> None:
        try:
            await self._task.wait()
        except BaseException:
            self.close()
            raise
        self._task.outcome()

    def close(self) -> None:
        """
        Give it up: the run was cancelled.
        """
        self._task.cancel()
