"""
Where a chunk of a sub-agent stands: in the ``tool-output`` of which calls, one inside the other.
"""

from __future__ import annotations

from typing import TypeAlias

from procession.messages.chunks import Chunk, ToolOutput

__all__ = ["Calls", "opened", "wrapped"]

Calls: TypeAlias = tuple[tuple[str, str], ...]
"""The ids and names of the tool calls round a chunk, the outermost first."""


def opened(chunk: Chunk) -> tuple[Calls, Chunk]:
    """
    Return the calls round the innermost chunk in *chunk*, and that one; a ``tool-output`` of a value stays as it is.

    >>> from procession.messages.chunks import TextDelta
    >>> opened(ToolOutput("c1", "agent-a", TextDelta("Hi")))[0]
    (('c1', 'agent-a'),)
    """
    calls: list[tuple[str, str]] = []
    while isinstance(chunk, ToolOutput) and isinstance(chunk.output, Chunk):
        calls.append((chunk.tool_call_id, chunk.tool_name))
        chunk = chunk.output
    return tuple(calls), chunk


def wrapped(calls: Calls, chunk: Chunk) -> Chunk:
    """
    Return *chunk* inside the ``tool-output`` of *calls*.
    """
    for id, name in reversed(calls):
        chunk = ToolOutput(id, name, chunk)
    return chunk
