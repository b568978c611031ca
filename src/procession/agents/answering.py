"""
Answering: the ways to ask an agent, with the type of the value that is asked for.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar, Unpack, overload

from procession.agents.call import Call, prepare
from procession.agents.caller import Caller
from procession.agents.options import CallOptions, NewRunOptions
from procession.agents.output import AgentResult
from procession.agents.raised import result_of, tell_raised
from procession.agents.stream import AgentStream
from procession.agents.structured.output import StructuredOutput
from procession.steps.event_loop import run_to_end

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
        return await result_of(self, options, prepare(self, messages, options, emit=None, streaming=False))

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
            return await result_of(self, options, prepare(self, messages, options, emit=None, streaming=False))

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
            return await prepare(self, messages, options, emit=emit, streaming=True)

        return AgentStream(start, partial(tell_raised, self, options), replay=replay)
