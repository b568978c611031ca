"""
AgentStream: an answer as it comes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import TaskGroup

from procession.agents.call import Call
from procession.agents.feed import Feed
from procession.agents.output import AgentResult
from procession.errors import RunCancelled, RunError
from procession.messages.chunks import Chunk, ErrorChunk, TextDelta

__all__ = ["AgentStream"]


class AgentStream:
    """
    An answer as it comes: ``async with agent.stream("Hi") as stream``.

    Any number of readers may join at any time and see every chunk.  Leaving the block before the end cancels the run.
    """

    def __init__(self, start: Callable[[Any], Awaitable[Call]], *, replay: bool = True) -> None:
        self._start = start
        self._feed = Feed(replay=replay)
        self._over = False
        self._done: anyio.Event | None = None
        """Made for the first who waits for the end."""
        self._group: TaskGroup | None = None
        self._call: Call | None = None
        self._result: AgentResult | None = None
        self._error: BaseException | None = None

    async def __aenter__(self) -> AgentStream:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._drive)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        group = self._group
        if group is not None:
            if not self._over:  # to cancel what has ended would do no harm, and cost as much as a model call
                group.cancel_scope.cancel()
            # The block's own error is not handed to the group: it would come out wrapped.
            await group.__aexit__(None, None, None)

    async def _drive(self) -> None:
        try:
            self._call = await self._start(self._feed.put)
            self._result = await self._call.run()
        except Exception as error:  # the call could not begin, or a callback failed
            self._error = error
            self._feed.put(ErrorChunk(error))
        finally:
            self._feed.close()
            self._over = True
            if self._done is not None:
                self._done.set()

    @property
    def full_stream(self) -> AsyncGenerator[Chunk, None]:
        """
        Every chunk, from the first.
        """
        self._entered()
        return self._feed.read()

    @property
    def text_stream(self) -> AsyncGenerator[str, None]:
        """
        The text of the answer, piece by piece.

        A step that is sent back has already been seen here: use ``full_stream`` where that matters.
        """
        self._entered()
        return self._texts()

    async def _texts(self) -> AsyncGenerator[str, None]:
        async with aclosing(self._feed.read()) as chunks:  # so that a reader of the text that leaves is gone at once
            async for chunk in chunks:
                if type(chunk) is TextDelta:
                    yield chunk.text

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self.full_stream

    async def result(self) -> AgentResult:
        """
        Wait for the end and return the result; raises what ``generate`` raises.

        No reader is waited for from now on: one that has stopped reading would never let the end come.
        """
        self._entered()
        if not self._over:
            self._feed.flow()
            if self._done is None:
                self._done = anyio.Event()
            await self._done.wait()
        if self._error is not None:
            raise self._error
        if self._result is None or self._call is None:
            raise RunCancelled("the stream was closed before the run had a result")
        return self._call.unwrapped(self._result)

    async def text(self) -> str:
        """
        Wait for the end, as ``result`` does, and return the accepted text.
        """
        return (await self.result()).text

    def _entered(self) -> None:
        if self._group is None:
            raise RunError("the stream has not begun", hint="async with agent.stream(...) as stream: ...")
