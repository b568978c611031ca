"""
ToolContext: what a tool is given beside its arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from procession.errors import InputError
from procession.messages.chunks import Chunk, DataChunk, ToolOutput
from procession.messages.message import Message
from procession.steps.request_context import RequestContext
from procession.steps.scope import Emit, RequestScope

__all__ = ["ToolContext", "ToolWriter"]


class ToolContext:
    """
    What a tool is given beside its arguments.

    The agent loop makes one for each call.  Where a tool is run by hand, nothing needs to be given:

    >>> ToolContext().tool_call_id
    ''
    """

    __slots__ = ("_emit", "_messages", "attempt", "run_id", "scope", "tool_call_id", "tool_name")

    def __init__(
        self,
        *,
        tool_call_id: str = "",
        tool_name: str = "",
        scope: RequestScope | None = None,
        run_id: str = "",
        messages: Sequence[Message] | Callable[[], Sequence[Message]] = (),
        emit: Emit | None = None,
    ) -> None:
        self.tool_call_id = tool_call_id
        """The model's name for the call."""
        self.tool_name = tool_name
        self.scope = scope if scope is not None else RequestScope(run_id=run_id)
        """What the request carries beside its payload."""
        self.run_id = run_id or self.scope.run_id
        self._messages = messages
        self.attempt = 1
        """Which attempt this is, from 1."""
        self._emit = emit

    @property
    def messages(self) -> Sequence[Message]:
        """
        The conversation so far, to read.
        """
        return self._messages() if callable(self._messages) else self._messages

    @property
    def request_context(self) -> RequestContext:
        """
        The values of this request.
        """
        return self.scope.request_context

    @property
    def writer(self) -> ToolWriter:
        """
        The way to whoever reads the run's stream.
        """
        return ToolWriter(self, self._emit if self._emit is not None else self.scope.emit)


class ToolWriter:
    """
    Sends to whoever reads the run's stream; where nobody does, what is sent is dropped.
    """

    __slots__ = ("_context", "_emit")

    def __init__(self, context: ToolContext, emit: Emit | None) -> None:
        self._context = context
        self._emit = emit

    async def custom(self, chunk: DataChunk | Mapping[str, Any]) -> None:
        """
        Send data of the application: a ``DataChunk``, or its fields, such as
        ``{"type": "data-progress", "data": {"percent": 50}}``.

        Raises ``InputError`` where the type does not start with ``data-``.
        """
        await self._send(_data_chunk(chunk))

    async def write(self, output: Any) -> None:
        """
        Send a value as a ``tool-output`` chunk of this call.
        """
        await self._send(ToolOutput(self._context.tool_call_id, self._context.tool_name, output))

    async def _send(self, chunk: Chunk) -> None:
        if self._emit is not None:
            sent = self._emit(chunk)
            if inspect.isawaitable(sent):
                await sent


def _data_chunk(chunk: DataChunk | Mapping[str, Any]) -> DataChunk:
    fields: Mapping[str, Any] = {"type": chunk.type} if isinstance(chunk, DataChunk) else chunk
    type_ = fields.get("type")
    if not isinstance(type_, str) or not type_.startswith("data-"):
        raise InputError(
            f"a tool wrote a chunk of type {type_!r}",
            hint="data of the application has a type that starts with 'data-', e.g. 'data-progress'",
        )
    if isinstance(chunk, DataChunk):
        return chunk
    unknown = sorted(set(fields) - {"type", "data", "id", "transient"})
    if unknown:
        raise InputError(f"a {type_!r} chunk has no field {unknown[0]!r}: it has type, data, id, transient")
    return DataChunk(type_, fields.get("data"), fields.get("id"), bool(fields.get("transient", False)))
