"""
OwnTask: one piece of work in a task of its own, so that whoever waits for it need not wait for ever.

A cancellation can only ask to stop: code may swallow it, or shield itself.  In the host's own task the host would have
to wait for it; a task of its own can be left behind once a grace period is over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

import anyio

from procession.steps.event_loop import asyncio_loop, begin_task, cancel_scope
from procession.steps.left import Mark, mark_of_this, marked
from procession.steps.scope import Leftover, RequestScope
from procession.steps.signals import Signal

if TYPE_CHECKING:
    import asyncio

__all__ = ["IgnoredCancellation", "OwnTask", "Overdue", "keep", "leave", "let_go", "within_grace", "within_limit"]  # fmt: skip

_LEFT: set[Any] = set()
"""What was left behind and still goes on: an event loop holds its tasks only weakly."""


class Overdue(TimeoutError):
    """
    Something took longer than it may.
    """


class IgnoredCancellation(Overdue):
    """
    Something took longer than it may, was told to stop, and did not within the grace period.
    """


def keep(work: Leftover) -> None:
    """
    Hold on to *work*, which goes on, until :func:`let_go`.
    """
    if work.busy:
        _LEFT.add(work)


def let_go(work: Leftover) -> None:
    """
    *work* has come to its end.
    """
    if _LEFT:
        _LEFT.discard(work)


def leave(scope: RequestScope, name: str, work: Leftover) -> None:
    """
    Leave *work* of the request behind, called *name*, which ignored its cancellation; that is logged.  What it still
    does reaches no run: see ``left.py``.
    """
    import structlog

    work.mark.left = True
    scope.left_behind += (name,)
    keep(work)
    if scope.background is not None:
        scope.background.adopt(name, work)
    log = structlog.get_logger("procession")
    log.warning("ignored its cancellation, left behind", name=name, run_id=scope.run_id)


class OwnTask:
    """
    ``work()`` in a task of its own, begun at once, with a copy of the context variables.

    With a *context* of its own it stands inside of nothing else that could be left behind.
    """

    __slots__ = ("_loop", "_over", "_scope", "_task", "_waiter", "_work", "ended", "error", "mark", "result")

    def __init__(self, work: Callable[[], Awaitable[Any]], context: Context | None = None) -> None:
        self._work = work
        self._scope = cancel_scope()
        self._over: anyio.Event | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.ended: float | None = None
        """When it came to its end, by the clock of the event loop; ``None`` while it goes on."""
        self.result: Any = None
        self.error: BaseException | None = None
        if context is None:
            context, self.mark = copy_context(), mark_of_this()
        else:
            self.mark = Mark(None)
        marked(self.mark, context)
        self._loop = asyncio_loop()
        self._task = begin_task(self._run, loop=self._loop, context=context)

    @property
    def busy(self) -> bool:
        """
        Whether it still goes on.
        """
        return self.ended is None

    async def _run(self) -> None:
        try:
            with self._scope:
                self.result = await self._work()
        except BaseException as error:  # for whoever waits, not for the event loop
            self.error = error
        finally:
            self.ended = self._loop.time() if self._loop is not None else anyio.current_time()
            if self._over is not None:
                self._over.set()
            if self._waiter is not None:
                _wake(self._waiter)
            let_go(self)

    async def wait(self) -> None:
        """
        Wait for its end.
        """
        if self.ended is None:
            if self._over is None:
                self._over = anyio.Event()
            await self._over.wait()

    async def wait_alone(self) -> None:
        """
        Do what ``wait`` does, for the only one who waits.
        """
        if self._loop is None:
            await self.wait()
        elif self.ended is None:  # a future: an event costs several times as much
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    async def wait_at_most(self, seconds: float) -> float:
        """
        Wait for its end, *seconds* at most, and return when those are over.  One may do so at a time.
        """
        if self._loop is None:
            with anyio.move_on_after(seconds) as limit:
                await self.wait()
            return limit.deadline
        deadline = self._loop.time() + seconds
        if self.ended is None:  # a timer and a future: a cancel scope and an event cost several times as much
            self._waiter = waiter = self._loop.create_future()
            timer = self._loop.call_at(deadline, _wake, waiter)
            try:
                await waiter
            finally:
                self._waiter = None
                timer.cancel()
        return deadline

    def cancel(self) -> None:
        """
        Ask it to stop.
        """
        self._scope.cancel()

    async def stop(self, grace: float) -> bool:
        """
        Ask it to stop, wait at most *grace* seconds, and return whether it came to its end.
        """
        self._scope.cancel()
        if self.ended is None:
            with anyio.move_on_after(grace, shield=True):
                await self.wait()
        return self.ended is not None

    def outcome(self) -> Any:
        """
        Return what the work returned, or raise what it raised.
        """
        if self.error is not None:
            raise self.error
        return self.result


async def within_grace(work: Callable[[], Awaitable[Any]], grace: float, abandon: Callable[[OwnTask], None]) -> Any:
    """
    Do *work* in a task of its own and return what it returns.

    Where the host is cancelled and the work ignores that, it is handed to *abandon* after *grace* seconds.
    """
    task = OwnTask(work)
    try:
        await task.wait_alone()
    except BaseException:
        if not await task.stop(grace):
            abandon(task)
        raise
    return task.outcome()


async def within_limit(
    work: Callable[[], Awaitable[Any]], seconds: float, grace: float, abandon: Callable[[OwnTask], None]
) -> Any:
    """
    Do *work* in a task of its own and return what it returns; it is cancelled after *seconds*.

    What ignores that is handed to *abandon* after *grace* seconds more, also where the host itself is cancelled.  What
    came too late has come too late, whatever it says: raises ``Overdue``, its subclass ``IgnoredCancellation``
    for what still goes on.  A signal that comes late counts.
    """
    task = OwnTask(work)
    try:
        deadline = await task.wait_at_most(seconds)
        in_time = task.ended is not None or await task.stop(grace)
    except BaseException:
        if not await task.stop(grace):
            abandon(task)
        raise
    if not in_time:
        abandon(task)
        raise IgnoredCancellation(f"took longer than {seconds:g} s and ignored its cancellation")
    if task.ended is not None and task.ended >= deadline:
        if isinstance(task.error, Signal) or (task.error is not None and not _is_usual(task.error)):
            raise task.error
        task.mark.left = True  # a thread of its own may still go on
        raise Overdue(f"took longer than {seconds:g} s") from task.error
    return task.outcome()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _is_usual(error: BaseException) -> bool:
    """
    Whether *error* is what a hook may be expected to end with that was cancelled.
    """
    return isinstance(error, (Exception, anyio.get_cancelled_exc_class()))
