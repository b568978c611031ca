"""
AgentStream: an answer as it comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio

from procession.agents.feed import Feed
from procession.agents.output import AgentResult, AgentStep, ModelResponse
from procession.agents.reader import Picked, Reader
from procession.errors import RunCancelled, RunError
from procession.messages.chunks import (
    Chunk,
    ErrorChunk,
    ObjectDelta,
    ObjectResult,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
)
from procession.messages.message import Message
from procession.messages.usage import Usage

__all__ = ["AgentStream", "Later"]

T = TypeVar("T")
if TYPE_CHECKING:
    import typing_extensions
    from anyio.abc import TaskGroup

    from procession.agents.call import Call

    Out = typing_extensions.TypeVar("Out", default=Any)
else:
    Out = TypeVar("Out")


class Later(Generic[T]):
    """
    Something of the result, to be awaited as often as one likes; it raises what ``AgentStream.result`` raises.
    """

    __slots__ = ("_name", "_stream")

    def __init__(self, stream: AgentStream[Any], name: str) -> None:
        self._stream = stream
        self._name = name

    def __await__(self) -> Generator[Any, Any, T]:
        result = yield from self._stream.result().__await__()
        found: T = getattr(result, self._name)
        return found

    def __repr__(self) -> str:
        return f"<{self._name} of a stream: await it>"


class AgentStream(Generic[Out]):
    """
    An answer as it comes: ``async with agent.stream("Hi") as stream``.

    Any number of readers may join at any time and see every chunk.  Leaving the block before the end cancels the run.
    Whatever the result has can be awaited by its name, ``await stream.text``, and raises what ``generate`` raises.

    >>> import anyio
    >>> from procession.agents.agent import Agent
    >>> from procession.testing.fake_model import FakeModel
    >>> async def main():
    ...     async with Agent("parrot", model=FakeModel("Hello.")).stream("Hi") as stream:
    ...         return [piece async for piece in stream.text_stream], await stream.finish_reason
    >>> anyio.run(main)
    (['Hello.'], 'stop')
    """

    def __init__(
        self,
        start: Callable[[Any], Awaitable[Call]],
        tell: Callable[[Call | None, Exception], Awaitable[bool]],
        *,
        replay: bool = True,
    ) -> None:
        self._start = start
        self._tell = tell
        """Tells ``on_error`` what ``result`` raises, and whether there is one."""
        self._feed = Feed(replay=replay)
        self._over = False
        self._done: anyio.Event | None = None
        """Made for the first who waits for the end."""
        self._group: TaskGroup | None = None
        self._call: Call | None = None
        self._result: AgentResult | None = None
        self._error: BaseException | None = None
        self._heard = False
        """Whether somebody asked for what tells of an error: all chunks, the result, or a callback."""

    async def __aenter__(self) -> AgentStream[Out]:
        if self._group is not None:
            raise RunError(
                "the stream was entered before",
                hint="one stream is one run, whose chunks stay readable behind its block; agent.stream(...) makes another",
            )
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._drive)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        group = self._group
        if group is not None:
            try:
                if not self._over:
                    await self._close(kind)
            finally:
                # The block's own error is not handed to the group: it would come out wrapped.
                await group.__aexit__(None, None, None)
        if self._error is not None and not self._heard and kind is None:
            _log_unheard(self._error)

    async def _close(self, kind: type[BaseException] | None) -> None:
        """
        Abort the run, and cancel it where it has not ended after the grace period, or the block is being cancelled.
        """
        assert self._group is not None
        self._feed.flow()
        call = self._call
        try:
            if (
                call is not None
                and call.has_begun
                and (kind is None or not issubclass(kind, anyio.get_cancelled_exc_class()))
            ):
                call.abort("the stream was closed")
                if self._done is None:
                    self._done = anyio.Event()
                with anyio.move_on_after(2 * call.state.scope.grace):  # one for the hooks, one for the store
                    await self._done.wait()
        finally:
            if not self._over:
                self._group.cancel_scope.cancel()

    async def _drive(self) -> None:
        try:
            self._call = await self._start(self._feed.put)
            self._result = await self._call.run()
            self._call.unwrapped(self._result)
        except Exception as error:
            self._error = error
            if self._result is None:  # the call could not begin, or another one took its place
                self._feed.put(ErrorChunk(error))
            self._heard |= await self._tell(self._call, error)
        finally:
            if self._result is None and self._call is not None:  # cancelled: how far it had come
                self._result = self._call.result
            self._feed.close()
            self._over = True
            if self._done is not None:
                self._done.set()

    @property
    def full_stream(self) -> Reader:
        """
        Every chunk, from the first.
        """
        self._heard = True
        return self._reader()

    @property
    def text_stream(self) -> Picked[str]:
        """
        The text of the answer, piece by piece.

        A step that is sent back has already been seen here: use ``full_stream`` where that matters.
        """
        return Picked(self._reader(), _text_of)

    @property
    def object_stream(self) -> Picked[Any]:
        """
        The structured output as plain data: as far as it has come, and whole at the end; a value that is ``None`` is
        passed over.

        A step that is sent back has already been seen here; only the value that stands is the last one.
        """
        return Picked(self._reader(), _object_of)

    def __aiter__(self) -> Reader:
        return self.full_stream

    async def result(self) -> AgentResult[Out]:
        """
        Wait for the end and return the result; raises what ``generate`` raises.

        No reader is waited for from now on: one that has stopped reading would never let the end come.
        """
        self._entered()
        self._heard = True
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

    # -- what the result has: each waits for the end, as ``result`` does

    @property
    def text(self) -> Later[str]:
        """
        The accepted text of all steps.
        """
        return Later(self, "text")

    @property
    def usage(self) -> Later[Usage]:
        """
        The tokens of every model call, those of agents inside included.
        """
        return Later(self, "usage")

    @property
    def finish_reason(self) -> Later[str]:
        """
        Why the last step ended; ``other`` for a blocked run.
        """
        return Later(self, "finish_reason")

    @property
    def steps(self) -> Later[Sequence[AgentStep]]:
        """
        The accepted steps.
        """
        return Later(self, "steps")

    @property
    def tool_calls(self) -> Later[Sequence[ToolCall]]:
        """
        The tool calls of all accepted steps.
        """
        return Later(self, "tool_calls")

    @property
    def tool_results(self) -> Later[Sequence[ToolResult | ToolError]]:
        """
        The tool results of all accepted steps.
        """
        return Later(self, "tool_results")

    @property
    def object(self) -> Later[Out]:
        """
        The structured output.
        """
        return Later(self, "object")

    @property
    def messages(self) -> Later[Sequence[Message]]:
        """
        This turn's answer.
        """
        return Later(self, "messages")

    @property
    def response(self) -> Later[ModelResponse]:
        """
        What the provider says of the last step's response, and this turn's answer.
        """
        return Later(self, "response")

    def _reader(self) -> Reader:
        self._entered()
        return Reader(self._feed)

    def _entered(self) -> None:
        if self._group is None:
            raise RunError("the stream has not begun", hint="async with agent.stream(...) as stream: ...")


def _log_unheard(error: BaseException) -> None:
    """
    Say that a stream failed whose reader saw no more than that it ended; the message may hold private text.
    """
    import structlog

    structlog.get_logger("procession.agents").warning(
        "a stream failed and nobody asked how it ended: await stream.result() raises why", error=type(error).__name__
    )


def _text_of(chunk: Chunk) -> str | None:
    return chunk.text if type(chunk) is TextDelta else None


def _object_of(chunk: Chunk) -> Any:
    return chunk.object if isinstance(chunk, (ObjectDelta, ObjectResult)) else None
