"""
Pool: many pieces of work in few tasks.

A worker takes pieces one after the other and first makes sure that one follower is scheduled.  If nothing suspends,
the leader does everything; when a piece suspends, the follower leads.  Every piece runs in a real task, so that it may
open cancel scopes and be cancelled, yet a thousand pieces that never wait cost two tasks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import anyio

from procession.steps.event_loop import asyncio_loop, begin_task, cancel_scope
from procession.steps.left import mark_of_this, marked
from procession.steps.own_task import keep, let_go
from procession.steps.result import STOPS, Stop
from procession.steps.stray import is_stray

if TYPE_CHECKING:
    import asyncio

__all__ = ["PENDING", "Pool"]

PENDING: Any = object()

FEW = 4
"""So few pieces get a worker each at once: three guards that wait should begin together, not one turn apart."""


class Pool:
    """
    Runs ``work(0) … work(count - 1)``, at most *limit* at the same time, started in this order.

    What a piece returns stands in ``results``; a ``Stop`` is handed to *stopped* first, which may return what stands
    for it, and may cancel the pool.  More pieces can be added while work is going on: :meth:`grow`.

    The workers are tasks of the event loop: a task group costs four times as much, and would wait for ever for a piece
    that ignores its cancellation.  Each has a cancel scope, so shielded clean-up is respected, and :meth:`run` does not
    return before they are over or the grace period is; only the deadline of a scope around the pool is not seen from
    inside.
    """

    __slots__ = (
        "_alive", "_error", "_keys", "_loop", "_scopes", "_signal", "_tasks", "_waiting", "cancelled",
        "count", "limit", "mark", "results", "started", "stopped", "work",
    )  # fmt: skip

    def __init__(
        self,
        work: Callable[[int], Awaitable[Any]],
        count: int,
        limit: int | None = None,
        *,
        stopped: Callable[[Stop], Any] | None = None,
    ) -> None:
        self.work = work
        self.count = count
        self.limit = count if limit is None else limit
        self.stopped = stopped
        self.results: list[Any] = [PENDING] * count
        """What the pieces returned, ``PENDING`` where one has not come to its end."""
        self.started = 0
        """How many pieces have been started: always the first ones."""
        self.cancelled = False
        self.mark = mark_of_this()
        """Tells what still goes on that it was left behind."""
        self._alive = 0
        self._waiting = 0
        self._keys = 0
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._signal = anyio.Event()

    @property
    def busy(self) -> bool:
        """
        Whether some piece has not come to its end.
        """
        return self._waiting > 0 or self._alive > 0

    def grow(self) -> None:
        """
        Add a piece of work, from within another one.
        """
        self.count += 1
        self.limit += 1
        self.results.append(PENDING)

    def cancel(self) -> None:
        """
        Start nothing more and cancel what is running.
        """
        if not self.cancelled:
            self.cancelled = True
            for scope in tuple(self._scopes.values()):
                scope.cancel()
            signal, self._signal = self._signal, anyio.Event()
            signal.set()

    async def run(self, grace: float) -> None:
        """
        Do all the work and return when it is done.

        After a cancellation return at the latest *grace* seconds later: what ignores it is still ``busy`` then, is
        left behind, and can be waited for.
        """
        self._loop = asyncio_loop()
        self._begin()
        try:
            while self.busy and not self.cancelled:
                await self._signal.wait()
            if self.busy:
                with anyio.move_on_after(grace, shield=True):
                    await self.wait()
        except BaseException:
            self.cancel()
            if self.busy:
                with anyio.move_on_after(grace, shield=True):
                    await self.wait()
            raise
        finally:
            keep(self)
        if self._error is not None:
            raise self._error

    def running(self) -> list[int]:
        """
        Return the numbers of the pieces that were started and have not come to their end.
        """
        return [index for index in range(self.started) if self.results[index] is PENDING]

    async def wait(self) -> None:
        """
        Wait until nothing is running any more.
        """
        while self.busy:
            await self._signal.wait()

    def _begin(self) -> None:
        for _ in range(min(self.count, self.limit) if self.count <= FEW else 1):
            self._spawn()

    def _spawn(self) -> None:
        self._waiting += 1
        key = self._keys = self._keys + 1
        task = begin_task(self._worker, key, loop=self._loop)
        if task is not None:
            self._tasks[key] = task

    async def _worker(self, key: int) -> None:
        self._waiting -= 1
        self._alive += 1
        work, results, stopped = self.work, self.results, self.stopped
        marked(self.mark)
        base = copy_context()
        try:
            if self.started < self.count and not self.cancelled:
                with cancel_scope() as self._scopes[key]:
                    while self.started < self.count and not self.cancelled:
                        index = self.started
                        self.started = index + 1
                        if not self._waiting and self.started < self.count and self._alive < self.limit:
                            self._spawn()
                        output = await work(index)
                        if type(output) in STOPS and stopped is not None:
                            output = stopped(output)
                        results[index] = output
                        if copy_context() != base:  # context variables were set: the next piece must not see them
                            break
        except BaseException as error:
            self.cancel()
            if isinstance(error, anyio.get_cancelled_exc_class()) and not is_stray(error):
                raise  # from outside the pool: nothing of it is to go on
            self._error = error
        finally:
            self._alive -= 1
            self._scopes.pop(key, None)
            self._tasks.pop(key, None)
            if self.started < self.count and not self._waiting and not self.cancelled:
                base.run(self._spawn)
            elif not self.busy:
                self._signal.set()
                let_go(self)
