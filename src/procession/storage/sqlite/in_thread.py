"""
Work in a worker thread that is waited for, whoever cancels meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

__all__ = ["in_thread"]

Out = TypeVar("Out")

_MOST = 4
"""Threads at a time: more would wait for each other."""

_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("procession_sqlite_threads")


async def in_thread(work: Callable[[], Out]) -> Out:
    """
    Do *work* once, in a worker thread, and return what it returns.

    The threads that steps and tools may occupy are not asked for, so that those may wait for what is written.
    Cancelling does not end the wait before the work has ended: not by a scope, and not by asyncio's own
    ``Task.cancel()``, which no shield keeps off and which is raised afterwards.
    """
    once = _Once(work)
    interrupted: BaseException | None = None
    with anyio.CancelScope(shield=True):
        while not once.has_ended:
            try:
                if once.has_begun:
                    await anyio.sleep(0.001)  # whoever would have told of the end was cancelled
                else:
                    await anyio.to_thread.run_sync(once, limiter=_limiter())
            except anyio.get_cancelled_exc_class() as error:
                interrupted = error
    if interrupted is not None:
        raise interrupted
    return once.outcome()


def _limiter() -> anyio.CapacityLimiter:
    found: anyio.CapacityLimiter | None = _LIMITER.get(None)
    if found is None:
        found = anyio.CapacityLimiter(_MOST)
        _LIMITER.set(found)
    return found


class _Once(Generic[Out]):
    """
    Work that is done by the first thread that comes for it.
    """

    def __init__(self, work: Callable[[], Out]) -> None:
        self._work = work
        self._begun = threading.Lock()
        self.has_ended = False
        self.outcome: Callable[[], Out]

    def __call__(self) -> None:
        if not self._begun.acquire(blocking=False):
            return
        try:
            result = self._work()
            self.outcome = lambda: result
        except BaseException as error:
            failure = error
            self.outcome = lambda: _raised(failure)
        finally:
            self.has_ended = True

    @property
    def has_begun(self) -> bool:
        """
        Whether a thread has come for it.
        """
        return self._begun.locked()


def _raised(error: BaseException) -> NoReturn:
    raise error
