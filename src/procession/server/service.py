"""
Service: a server while it runs: what it has opened, how much goes on, and its end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import Context
from functools import partial

import anyio

from procession.errors import RequestRefused
from procession.processors.tenant import SERVED
from procession.runtime.runtime import Runtime
from procession.server.going import GRACE, Going
from procession.server.limits import Limits
from procession.steps.own_task import OwnTask

__all__ = ["Service"]


class Service:
    """
    A server while it runs.
    """

    def __init__(self, limits: Limits, runtimes: Sequence[Runtime]) -> None:
        self._limits = limits
        self._runtimes = tuple(dict.fromkeys(runtimes))
        self._calls: set[Going] = set()
        self._readers: set[Going] = set()
        self._detached: dict[Going, OwnTask] = {}
        self._changed: anyio.Event | None = None
        self.named: dict[str, Going] = {}
        """The calls of agents that go on, by the ids of their runs: to cancel one."""
        self.draining = False
        """Whether it takes no further calls, because it ends."""
        self.holds: list[Callable[[], AbstractAsyncContextManager[None]]] = []
        """What is held open besides, for as long as the server runs."""

    def refuse_draining(self) -> None:
        """
        Raise ``RequestRefused`` where no further calls are taken.
        """
        if self.draining:
            raise _ending()

    def refuse_full(self) -> None:
        """
        Raise ``RequestRefused`` where nothing further could be detached.
        """
        self.refuse_draining()
        self._refuse_crowd(len(self._detached))

    @contextmanager
    def call(self) -> Generator[Going]:
        """
        Count a call while the block runs.

        Raises ``RequestRefused`` where there are too many, and while the server drains.
        """
        self.refuse_draining()
        self._refuse_crowd(len(self._calls))
        yield from self._counted(self._calls)

    @contextmanager
    def reader(self) -> Generator[Going]:
        """
        Count a reader of events while the block runs: it ends as soon as the server drains, to be taken up elsewhere.

        Raises ``RequestRefused`` where there are too many.
        """
        self.refuse_draining()
        if len(self._readers) >= self._limits.readers:
            raise RequestRefused("too many readers at once", status=429, reason="too-many-readers", after=5)
        yield from self._counted(self._readers)

    def detach(self, work: Callable[[Going], Awaitable[None]], run_id: str | None = None) -> Going:
        """
        Begin ``work(going)``, which goes on without the request that asked for it; an agent's call is called *run_id*.

        Raises ``RequestRefused`` where too much goes on, and while the server drains.
        """
        self.refuse_full()
        going = Going()
        if run_id is not None:
            self.named.setdefault(run_id, going)
        context = Context()
        context.run(SERVED.set, True)
        self._detached[going] = OwnTask(partial(self._do, going, work, run_id), context)
        return going

    async def _do(self, going: Going, work: Callable[[Going], Awaitable[None]], run_id: str | None) -> None:
        try:
            with going.scope:
                await work(going)
        finally:
            self._detached.pop(going, None)
            self._forget(run_id, going)
            self._tell()

    @contextmanager
    def called(self, run_id: str, going: Going) -> Generator[None]:
        """
        Call *going* by the id of its run while the block runs; where a call has that id already, it keeps it: whoever
        answers a question twice must not take the first call from whoever would cancel it.
        """
        self.named.setdefault(run_id, going)
        try:
            yield
        finally:
            self._forget(run_id, going)

    def _forget(self, run_id: str | None, going: Going) -> None:
        if run_id is not None and self.named.get(run_id) is going:
            del self.named[run_id]

    async def drain(self, seconds: float | None = None) -> None:
        """
        Take no further calls, wait *seconds* for those that go on, then tell them to end, and cancel those that do not.
        """
        self.draining = True
        for reader in list(self._readers):
            reader.end(_ending(), grace=1)
        with anyio.move_on_after(self._limits.drain if seconds is None else seconds):
            await self._idle()
        self._end_all(grace=GRACE)
        with anyio.move_on_after(2 * GRACE):  # what ignores that it is cancelled holds up no end
            await self._idle()

    def cut(self) -> None:
        """
        Cancel what goes on, at once.
        """
        self.draining = True
        self._end_all(grace=0)
        for going in self._going():
            going.scope.cancel()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """
        Hold the runtimes open while the block runs, and drain at its end.
        """
        self.draining = False
        async with AsyncExitStack() as stack:
            for runtime in self._runtimes:
                await stack.enter_async_context(runtime.opened())
            for hold in self.holds:
                await stack.enter_async_context(hold())
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self.drain()

    # -- what goes on

    def _end_all(self, *, grace: float) -> None:
        for runtime in self._runtimes:
            runtime.give_back()
        for going in self._going():
            going.end(_ending(), grace=grace)

    def _going(self) -> list[Going]:
        return [*self._calls, *self._detached]

    def _counted(self, kind: set[Going]) -> Generator[Going]:
        going = Going()
        kind.add(going)
        try:
            yield going
        finally:
            kind.discard(going)
            self._tell()

    def _refuse_crowd(self, count: int) -> None:
        if count >= self._limits.calls:
            raise RequestRefused("too many calls at once", status=503, reason="too-many-calls", after=1)

    async def _idle(self) -> None:
        while self._going():
            self._changed = anyio.Event()
            await self._changed.wait()

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed.set()


def _ending() -> RequestRefused:
    return RequestRefused("the server is ending", status=503, reason="draining", after=1)
