"""
Answering: the ways to ask an agent, with the type of the value that is asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from procession.agents.options import CallOptions, NewRunOptions
from procession.agents.output import AgentResult
from procession.agents.raised import result_of, tell_raised
from procession.agents.stream import AgentStream
from procession.models.structured_output import StructuredOutput
from procession.steps.event_loop import run_to_end

if TYPE_CHECKING:
    from procession.agents.call import Call, Emit
    from procession.agents.caller import Caller

__all__ = ["Answering"]

T = TypeVar("T")


class Answering:
    """
    The ways to ask an agent: ``generate``, ``generate_sync`` and ``stream``.

    Where a call itself says with ``structured_output=`` what the answer is to be, a class or a ``StructuredOutput`` of
    one, a type checker knows ``result.object`` as that or ``None``, which it is where the run had no value.
    """

    @overload
    async def generate(
        self: Caller,
        messages: Any,
        *,
        structured_output: type[T] | StructuredOutput[T],
        **options: Unpack[NewRunOptions],
    ) -> AgentResult[T | None]: ...
    @overload
    async def generate(self: Caller, messages: Any, **options: Unpack[CallOptions]) -> AgentResult: ...
    async def generate(self: Caller, messages: Any, **options: Unpack[CallOptions]) -> AgentResult[Any]:
        """
        Answer *messages* (a text, a message, or several) and return the whole result.

        *options* are those of :class:`~procession.agents.options.CallOptions`.  A tripwire is in the result, unless
        ``raise_on_tripwire``.  Raises ``InputError`` and ``DefinitionError`` for options that cannot work,
        ``ProcessorError`` where a processor failed and ``ModelError`` where the model did.
        """
        return await result_of(self, options, _prepared(self, messages, options))

    @overload
    def generate_sync(
        self: Caller,
        messages: Any,
        *,
        structured_output: type[T] | StructuredOutput[T],
        **options: Unpack[NewRunOptions],
    ) -> AgentResult[T | None]: ...
    @overload
    def generate_sync(self: Caller, messages: Any, **options: Unpack[CallOptions]) -> AgentResult: ...
    def generate_sync(self: Caller, messages: Any, **options: Unpack[CallOptions]) -> AgentResult[Any]:
        """
        Do what ``generate`` does, from code that is not asynchronous; in a worker thread too.

        Raises ``RunError`` where an event loop is running in this thread already.
        """

        async def main() -> AgentResult:
            return await result_of(self, options, _prepared(self, messages, options))

        return run_to_end(main, name="generate_sync", instead="await generate() instead")

    @overload
    def stream(
        self: Caller,
        messages: Any,
        *,
        replay: bool = True,
        structured_output: type[T] | StructuredOutput[T],
        **options: Unpack[NewRunOptions],
    ) -> AgentStream[T | None]: ...
    @overload
    def stream(self: Caller, messages: Any, *, replay: bool = True, **options: Unpack[CallOptions]) -> AgentStream: ...
    def stream(self: Caller, messages: Any, *, replay: bool = True, **options: Unpack[CallOptions]) -> AgentStream[Any]:
        """
        Answer *messages* chunk by chunk: ``async with agent.stream("Hi") as stream: ...``.

        *options* are those of ``generate``.  With ``replay=False`` chunks are not kept for readers that join late, so
        that memory stays flat.
        """

        async def start(emit: Any) -> Call:
            return await _prepared(self, messages, options, emit=emit, streaming=True)

        return AgentStream(start, partial(tell_raised, self, options), replay=replay)


def _prepared(
    agent: Caller, messages: Any, options: CallOptions, *, emit: Emit | None = None, streaming: bool = False
) -> Awaitable[Call]:
    from procession.agents.call import prepare  # what runs agents comes with the first run

    return prepare(agent, messages, options, emit=emit, streaming=streaming)
