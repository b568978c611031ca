"""
SharedCalls: calls of agents that were given an id, so that whoever asks again by it joins the same call.

They are remembered in this process, as long as there are not too many newer ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio

from procession.agents.stream import AgentStream
from procession.errors import RequestRefused
from procession.messages.chunks import ErrorChunk
from procession.server.going import Going, gone
from procession.server.run_calls import taken
from procession.server.service import Service
from procession.steps.abort import AbortSignal

__all__ = ["SharedCall", "SharedCalls", "fingerprint"]


class SharedCall:
    """
    A call of an agent that goes on without the request that began it, until nobody waits for it any longer.
    """

    def __init__(
        self, service: Service, run_id: str, stream: Callable[[AbortSignal], AgentStream[Any]], same: str
    ) -> None:
        self.same = same
        """What the call was asked, in short: whoever joins it must ask the same."""
        self.over = False
        self.alone = False
        """Whether it goes on where nobody waits for it."""
        self._readers = 0
        self._entered = anyio.Event()
        self._stream: AgentStream[Any] | None = None
        self._make = stream
        self._going = service.detach(self._drive, run_id)

    async def _drive(self, going: Going) -> None:
        stream = self._make(going.signal)
        try:
            async with stream:
                self._stream = stream
                self._entered.set()
                with suppress(Exception):  # whoever waits is told
                    await stream.result()
        finally:
            self.over = True
            self._entered.set()

    async def begun(self) -> None:
        """
        Wait until the run has begun.

        Raises what kept it from beginning.
        """
        async with self.joined() as stream:
            async for chunk in stream.full_stream:
                if isinstance(chunk, ErrorChunk):
                    await stream.result()
                return

    @asynccontextmanager
    async def joined(self) -> AsyncGenerator[AgentStream[Any]]:
        """
        Wait for the call while the block runs; it is told to end where the last who waits leaves before its end.
        """
        self._readers += 1
        try:
            await self._entered.wait()
            if self._stream is None:  # it was cancelled before it began
                raise RequestRefused("the call has not begun", status=503, reason="draining", after=1)
            yield self._stream
        finally:
            self._readers -= 1
            if not self._readers and not self.over and not self.alone:
                self._going.end(gone())


class SharedCalls:
    """
    The calls that were given an id.
    """

    def __init__(self, service: Service, remembered: int) -> None:
        self._service = service
        self._remembered = remembered
        self._calls: dict[tuple[str, str], SharedCall] = {}

    def get(self, owner: str, run_id: str, same: str) -> SharedCall | None:
        """
        Return the call of that id, if it was begun here.

        Raises ``RequestRefused`` where something else was asked by that id.
        """
        call = self._calls.get((owner, run_id))
        if call is not None and call.same != same:
            raise taken(run_id)
        return call

    def begin(
        self, owner: str, run_id: str, same: str, stream: Callable[[AbortSignal], AgentStream[Any]]
    ) -> SharedCall:
        """
        Begin a call.

        Raises ``RequestRefused`` where too much goes on, and while the server drains.
        """
        call = self._calls[owner, run_id] = SharedCall(self._service, run_id, stream, same)
        self._forget()
        return call

    def _forget(self) -> None:
        """
        Forget the oldest calls that are over, all but so many.
        """
        for key in [key for key, call in self._calls.items() if call.over][
            : max(0, len(self._calls) - self._remembered)
        ]:
            del self._calls[key]


def fingerprint(*asked: Any) -> str:
    """
    Return what was asked, in short.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
