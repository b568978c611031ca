"""
What the reader of a run gets, and what its tools get, where a guard has put tokens in place of private values.

Messages, memory, the model and everything that is written down keep the tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from procession.agents.output import AgentResult
from procession.agents.state import LoopState
from procession.messages.chunks import Chunk
from procession.processors.stand_ins import RestoredStream, StandIns
from procession.steps.scope import RequestScope

__all__ = ["ReaderView", "as_read", "begin_request", "true_args"]


class ReaderView:
    """
    Takes the chunks of a run and hands them on to one reader, with the values in place of their tokens.
    """

    __slots__ = ("_put", "_stream")

    def __init__(self, put: Callable[[Chunk], Any], scope: RequestScope) -> None:
        self._put = put
        self._stream = RestoredStream(scope)

    def __call__(self, chunk: Chunk) -> Any:
        """
        Take *chunk*; returns something to await where the reader has to be waited for.
        """
        out = self._stream.chunks(chunk)
        if len(out) == 1:
            return self._put(out[0])
        return self._put_all(out) if out else None

    async def _put_all(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            waiting = self._put(chunk)
            if hasattr(waiting, "__await__"):
                await waiting


def begin_request(state: LoopState) -> None:
    """
    Note what framework processors may know of a request, tell those that want to know that it begins, and show its
    readers what a guard wants them to see.
    """
    resources = state.scope.resources
    resources["messages"] = state.messages
    resources["model"] = state.settings.model
    resources["streaming"] = state.settings.streaming
    resources["max_steps"] = state.settings.max_steps
    resources["max_processor_retries"] = state.settings.max_retries
    for processor in state.pipelines.begins:
        processor.begin_request(state.scope)
    if state.scope.reveals:
        if state.on_chunk is not None:
            state.on_chunk = ReaderView(state.on_chunk, state.scope)
        if state.emit is not None:
            state.emit = ReaderView(state.emit, state.scope)


def as_read(scope: RequestScope, result: AgentResult[Any]) -> AgentResult[Any]:
    """
    Return *result* as the reader gets it: the values in its text and its object, tokens in everything else.
    """
    known: StandIns | None = scope.stand_ins
    if known is None or not scope.reveals:
        return result
    made = result.object
    return result.replace(
        text=known.text(result.text),
        final_text=known.text(result.final_text),
        object=known.value(made) if isinstance(made, (dict, list, str)) else made,
    )


def true_args(scope: RequestScope, args: Any) -> Any:
    """
    Return what a tool is called with, with the values that a guard lets it have.
    """
    known: StandIns | None = scope.stand_ins
    return args if known is None else known.arguments(args)
