"""
Server-sent events: a stream of events as an answer, for as long as its reader is there.

A client that reads slowly is waited for, so that nothing heaps up here; one that reads nothing at all is let go after
``Limits.stalled`` seconds, and one that is gone is noticed at once, between events as well.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from procession.server.endpoint import json_bytes
from procession.server.limits import Limits

__all__ = ["EventStream", "event"]

_BEAT = b": alive\n\n"


def event(data: Any, *, type: str | None = None, id: int | str | None = None) -> bytes:
    r"""
    Return one event as it is sent; *data* is what JSON can say.

    >>> event({"text": "Hi"}, type="text-delta", id=3)
    b'id: 3\nevent: text-delta\ndata: {"text":"Hi"}\n\n'
    """
    head = b""
    if id is not None:
        head += f"id: {id}\n".encode()
    if type is not None:
        head += b"event: " + type.replace("\r", " ").replace("\n", " ").encode("utf-8", "replace") + b"\n"
    return head + b"data: " + json_bytes(data) + b"\n\n"


class EventStream(Response):
    """
    An answer of events, made by :func:`event`, that *events* gives.

    Where the reader goes, or lets everything lie, *events* is cancelled where it waits, and closed.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], limits: Limits) -> None:
        super().__init__(None, 200, {"cache-control": "no-store", "x-accel-buffering": "no"}, self.media_type)
        del self.headers["content-length"]
        self._events = events
        self._limits = limits
        self._silent = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Send the events.
        """
        async with aclosing(self._events), anyio.create_task_group() as group:
            group.start_soon(self._watch, receive, group.cancel_scope)
            await self._send(send, {"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            group.start_soon(self._beat, send)
            async for sent in self._events:
                self._silent = False
                await self._send(send, _piece(sent))
            await self._send(send, _piece(b"", more=False))
            group.cancel_scope.cancel()

    async def _send(self, send: Send, message: Message) -> None:
        with anyio.fail_after(self._limits.stalled):
            await send(message)

    async def _watch(self, receive: Receive, reader: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        reader.cancel()

    async def _beat(self, send: Send) -> None:
        while True:
            self._silent = True
            await anyio.sleep(self._limits.heartbeat)
            if self._silent:
                await self._send(send, _piece(_BEAT))


def _piece(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
