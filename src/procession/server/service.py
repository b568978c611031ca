"""
Service: a server while it runs: what it has opened, how much goes on, and its end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import anyio

from procession.errors import RequestRefused
from procession.runtime.runtime import Runtime
from procession.server.limits import Limits

__all__ = ["Service"]


class Service:
    """
    A server while it runs.
    """

    def __init__(self, limits: Limits, runtimes: Sequence[Runtime]) -> None:
        self._limits = limits
        self._runtimes = tuple(dict.fromkeys(runtimes))
        self._going: set[anyio.CancelScope] = set()
        self._readers: set[anyio.CancelScope] = set()
        self._idle: anyio.Event | None = None
        self.draining = False
        """Whether it takes no further calls, because it ends."""

    def refuse_draining(self) -> None:
        """
        Raise ``RequestRefused`` where no further calls are taken.
        """
        if self.draining:
            raise RequestRefused("the server is ending", status=503, reason="draining", after=1)

    @contextmanager
    def call(self) -> Iterator[None]:
        """
        Count a call while the block runs; it is cancelled where the server ends and cannot wait any longer.

        Raises ``RequestRefused`` where there are too many, and while the server drains.
        """
        self.refuse_draining()
        if len(self._going) >= self._limits.calls:
            raise RequestRefused("too many calls at once", status=503, reason="too-many-calls", after=1)
        scope = anyio.CancelScope()
        self._going.add(scope)
        try:
            with scope:
                yield
        finally:
            self._going.discard(scope)
            if self._idle is not None and not self._going:
                self._idle.set()
        if scope.cancelled_caught:
            raise RequestRefused("the server is ending", status=503, reason="draining", after=1)

    @contextmanager
    def reader(self) -> Iterator[None]:
        """
        Count a reader of events while the block runs: it ends as soon as the server drains, to be taken up elsewhere.

        Raises ``RequestRefused`` where there are too many.
        """
        self.refuse_draining()
        if len(self._readers) >= self._limits.readers:
            raise RequestRefused("too many readers at once", status=429, reason="too-many-readers", after=5)
        scope = anyio.CancelScope()
        self._readers.add(scope)
        try:
            with scope:
                yield
        finally:
            self._readers.discard(scope)

    async def drain(self, seconds: float | None = None) -> None:
        """
        Take no further calls, wait *seconds* for those that go on, then cancel them.
        """
        self.draining = True
        for reader in list(self._readers):
            reader.cancel()
        if self._going:
            self._idle = anyio.Event()
            with anyio.move_on_after(self._limits.drain if seconds is None else seconds):
                await self._idle.wait()
        for going in list(self._going):
            going.cancel()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """
        Hold the runtimes open while the block runs, and drain at its end.
        """
        self.draining = False
        async with AsyncExitStack() as stack:
            for runtime in self._runtimes:
                if not runtime.is_open:
                    await stack.enter_async_context(runtime)
            try:
                yield
            finally:
                await self.drain()
