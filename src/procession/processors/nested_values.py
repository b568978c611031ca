"""
What guards look at in the chunks of a nested stream beside its text: results, errors, objects, reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from procession.errors import RunError
from procession.messages.chunks import (
    Chunk,
    ErrorChunk,
    Finish,
    ObjectDelta,
    ObjectResult,
    StepFinish,
    StepOutput,
    ToolCallApproval,
    ToolCallSuspended,
    ToolError,
    ToolOutput,
    ToolOutputDenied,
    ToolResult,
    TripwireChunk,
)
from procession.messages.text.spans import Region
from procession.processors.context import HookContext
from procession.processors.guarded_strings import Guarding, guarded_strings
from procession.processors.hold_back import PASSED, digest_of
from procession.processors.strings import KEY, strings_in

__all__ = ["LOOKED_INTO", "guarded_chunk", "texts_beside"]

_FIELDS: Mapping[type[Chunk], tuple[str, ...]] = {
    Finish: ("text",),
    ObjectResult: ("object",),
    StepFinish: ("retry_reason", "retry_metadata"),
    StepOutput: ("output",),
    ToolCallApproval: (),
    ToolCallSuspended: ("suspend_payload",),
    ToolError: ("error",),
    ToolOutput: ("output",),
    ToolOutputDenied: ("reason",),
    ToolResult: ("result",),
}
_WITH_ARGS = frozenset({ToolCallApproval, ToolCallSuspended, ToolError, ToolOutputDenied, ToolResult})
_TRIPWIRE = ("reason", "metadata", "message")
LOOKED_INTO: frozenset[type[Chunk]] = frozenset({*_FIELDS, ErrorChunk, ObjectDelta, TripwireChunk})
"""The kinds in which texts may stand that are no part of a text block."""


class _Scanning(Guarding, Protocol):
    scan_tool_args: bool


def guarded_chunk(
    guard: _Scanning, ctx: HookContext[Any], chunk: Chunk, look: Callable[[str], list[Region]]
) -> Chunk | None:
    """
    Return *chunk* as the strategy of *guard* leaves what *look* finds in it.

    An object that is not complete yet goes by only where nothing is to be changed.
    """
    if isinstance(chunk, ObjectDelta):
        return chunk if guard.passes else None
    changes: dict[str, Any] = {}
    for name, value in _values(guard, ctx, chunk).items():
        where = {"phase": ctx.hook.value, "chunk": chunk.type}
        made = guarded_strings(guard, ctx, value, look, where, keys=name != "args")
        if made is not value:
            changes[name] = made
    if not changes:
        return chunk
    if isinstance(chunk, TripwireChunk):
        return chunk.replace(tripwire=chunk.tripwire.replace(**changes))
    if isinstance(chunk, ErrorChunk):
        return ErrorChunk(RunError(changes["error"]))
    return chunk.replace(**changes)


def texts_beside(guard: _Scanning, ctx: HookContext[Any], chunk: Chunk) -> list[str]:
    """
    Return the texts in *chunk* that *guard* looks at.
    """
    return [
        text
        for name, value in _values(guard, ctx, chunk).items()
        for path, text in strings_in(value)
        if name != "args" or path[-1:] != (KEY,)
    ]


def _values(guard: _Scanning, ctx: HookContext[Any], chunk: Chunk) -> dict[str, Any]:
    if isinstance(chunk, TripwireChunk):
        return {name: getattr(chunk.tripwire, name) for name in _TRIPWIRE}
    if isinstance(chunk, ErrorChunk):
        return {"error": str(chunk.error)}
    if isinstance(chunk, Finish) and digest_of(chunk.text) in ctx.state.get(PASSED, ()):  # it was looked at in pieces
        return {}
    kind = type(chunk)
    found = {name: getattr(chunk, name) for name in _FIELDS.get(kind, ())}
    if guard.scan_tool_args and kind in _WITH_ARGS:
        found["args"] = getattr(chunk, "args")  # noqa: B009
    return found
