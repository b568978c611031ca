"""
NestedStream: the chunks of a run inside another one, on their way to the reader of the outer one.
"""

from __future__ import annotations

from collections.abc import Awaitable

from procession.agents.call import Emit
from procession.agents.output import AgentResult
from procession.errors import RunError
from procession.messages.chunks import AbortChunk, Chunk, ErrorChunk, Finish, TripwireChunk, TripwireInfo
from procession.steps.left import is_left_behind
from procession.steps.signals import Signal, Tripwire
from procession.tools.context import ToolContext

__all__ = ["NestedStream"]


class NestedStream:
    """
    Takes each chunk of an inner run, as it comes, through the stream's processors of the outer one to its reader.

    What one of those decides, or fails with, is the outer run's.  The inner run is stopped by it as by a tripwire, so
    that none of its tools runs any more and its tokens are counted, and never takes it for its own: it is not sent back.
    """

    __slots__ = ("_agent_id", "_ctx", "_raised", "emit", "streaming")

    def __init__(self, agent_id: str, ctx: ToolContext) -> None:
        self._agent_id = agent_id
        self._ctx = ctx
        self._raised: Exception | Signal | None = None
        passes_on = ctx.scope.resources.get("passes_on")
        streaming = passes_on() if passes_on is not None else None
        self.streaming = bool(streaming)
        """Whether the inner run is to answer as a stream, as the outer one does."""
        self.emit: Emit | None = self._pass_on if streaming is not None else None
        """Takes the inner run's chunks, or ``None`` where nobody hears of them."""

    async def read(self, run: Awaitable[AgentResult]) -> AgentResult:
        """
        Return the result of the inner *run*, whose chunks ``emit`` takes.

        Raises what a processor of the outer run decided about them, or failed with.
        """
        result = await run
        if self._raised is not None:
            raise self._raised
        return result

    async def _pass_on(self, chunk: Chunk) -> None:
        if self._raised is None and not is_left_behind():
            if isinstance(chunk, ErrorChunk):  # its words may be those of a provider
                chunk = ErrorChunk(RunError(f"agent {self._agent_id!r} failed: {type(chunk.error).__name__}"))
            try:
                await self._ctx.writer.write(chunk)
                return
            except (Exception, Signal) as raised:
                self._raised = raised
        if not _tells_the_end(chunk):
            raise Tripwire(TripwireInfo("the run around it was stopped"))


def _tells_the_end(chunk: Chunk) -> bool:
    """
    Whether *chunk* says how a run has ended: there is nothing left to be stopped.
    """
    return isinstance(chunk, (AbortChunk, ErrorChunk, TripwireChunk)) or (
        isinstance(chunk, Finish) and chunk.reason == "aborted"
    )
