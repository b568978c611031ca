"""
BackgroundGroup: what goes on in an open runtime that holds up no answer, and what ignored its cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

import anyio

from procession.steps.event_loop import running_loop
from procession.steps.later import do_later
from procession.steps.own_task import OwnTask
from procession.steps.scope import Leftover

__all__ = ["BackgroundGroup"]

_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether this is background work: what that leaves in its turn has no run that could wait for it."""


class BackgroundGroup:
    """
    The background work of one runtime, at most *limit* pieces at once, within the event loop that it was made in.
    """

    __slots__ = ("_closing", "_left", "_loop", "_tasks", "closed", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.closed = False
        self._closing = anyio.Event()
        self._loop = running_loop()
        self._tasks: dict[object, OwnTask] = {}
        self._left: dict[Leftover, str] = {}

    def start(self, function: Callable[..., Any], *args: Any) -> bool:
        """
        Begin ``function(*args)``; ``False`` where the group is full or closed, and in another thread or event loop.
        """
        full = len(self._tasks) >= self.limit and not _inside.get()
        if self.closed or full or running_loop() is not self._loop:
            return False
        key = object()
        context = copy_context()
        context.run(_inside.set, True)
        self._tasks[key] = OwnTask(partial(self._do, key, function, args), context)
        return True

    async def _do(self, key: object, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            await do_later(function, args)
        finally:
            self._tasks.pop(key, None)

    async def rest(self, seconds: float) -> bool:
        """
        Wait so long, such as before something is tried again; ``False``, at once, where the runtime closes meanwhile.
        """
        with anyio.move_on_after(seconds):
            await self._closing.wait()
        return not self._closing.is_set()

    def adopt(self, name: str, work: Leftover) -> None:
        """
        Look after *work*, which ignored its cancellation.
        """
        self._left = {each: name for each, name in self._left.items() if each.busy}
        if running_loop() is self._loop:
            self._left[work] = name

    async def close(self, drain: float, grace: float) -> None:
        """
        Wait *drain* seconds for what goes on, then cancel it and wait *grace* seconds more; what is left is reported.
        """
        self._closing.set()
        try:
            with anyio.move_on_after(drain):
                await self._over()
        finally:
            self.closed = True
            if self._busy():
                cut = len(self._tasks)
                for work in self._busy():
                    work.cancel()
                with anyio.move_on_after(grace, shield=True):
                    await self._over()
                _log_unfinished(cut, sorted(name for work, name in self._left.items() if work.busy), len(self._tasks))

    def _busy(self) -> list[Leftover]:
        return [*self._tasks.values(), *(work for work in self._left if work.busy)]

    async def _over(self) -> None:
        while busy := self._busy():
            await busy[0].wait()


def _log_unfinished(cancelled: int, left: list[str], stubborn: int) -> None:
    """
    Say what a runtime could not wait for.
    """
    import structlog

    structlog.get_logger("procession").warning(
        "runtime closed before its background was done", cancelled=cancelled, ignored_cancellation=stubborn, left=left
    )
