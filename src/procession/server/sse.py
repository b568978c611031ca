"""
Server-sent events: a stream of events as an answer, for as long as its reader is there.

Whoever makes the events waits until each is sent, so that a client which reads slowly slows down its own stream alone,
and nothing heaps up for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from procession.server.endpoint import Asked, json_bytes
from procession.server.errors import error_body

__all__ = ["BEAT", "EventStream", "Say", "event", "event_of"]

Say: TypeAlias = Callable[[bytes], Awaitable[None]]
BEAT = b": alive\n\n"
"""What is no event: it says that the connection stands."""


def event(data: object, *, type: str | None = None, id: int | str | None = None) -> bytes:
    r"""
    Return one event as it is sent; *data* is what JSON can say.

    >>> event({"text": "Hi"}, type="text-delta", id=3)
    b'id: 3\nevent: text-delta\ndata: {"text":"Hi"}\n\n'
    """
    return event_of(json_bytes(data), type=type, id=id)


def event_of(data: bytes, *, type: str | None = None, id: int | str | None = None) -> bytes:
    """
    Return one event whose *data* is JSON already, in one line.
    """
    head = b""
    if id is not None:
        head += b"id: %s\n" % str(id).encode()
    if type is not None:
        head += b"event: %s\n" % type.replace("\r", " ").replace("\n", " ").encode("utf-8", "replace")
    return b"%sdata: %s\n\n" % (head, data)


class EventStream(Response):
    """
    An answer of events: *produce* is given a function that sends one, made by :func:`event`, and awaits it for each.

    What *produce* raises before its first event is answered as JSON with its status, later as an event ``error``, or as
    *failed* writes it.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        produce: Callable[[Say], Awaitable[None]],
        asked: Asked,
        *,
        failed: Callable[[Exception, str], bytes] | None = None,
    ) -> None:
        super().__init__(None, 200, {"cache-control": "no-store", "x-accel-buffering": "no"}, self.media_type)
        del self.headers["content-length"]
        self._produce = produce
        self._asked = asked
        self._failed = failed if failed is not None else _failed
        self._begun = False
        self._silent = True
        self._turn = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Send the events.
        """
        failed: Exception | None = None
        async with anyio.create_task_group() as group:

            async def say(sent: bytes) -> None:
                self._silent = False
                await self._send(send, sent)

            async def beat() -> None:
                nonlocal failed
                try:
                    await self._beat(send)
                except Exception as error:
                    failed = error
                    group.cancel_scope.cancel()

            group.start_soon(beat)
            try:
                await self._produce(say)
            except Exception as error:  # not out of the group, which would wrap it
                failed = error
            group.cancel_scope.cancel()
        if failed is not None:
            if not self._begun:
                raise failed
            await self._send(send, self._failed(failed, self._asked.request_id))
        await self._send(send, b"", more=False)

    async def _beat(self, send: Send) -> None:
        while True:
            self._silent = True
            await anyio.sleep(self._asked.app.limits.heartbeat)
            if self._silent:
                await self._send(send, BEAT)

    async def _send(self, send: Send, body: bytes, *, more: bool = True) -> None:
        async with self._turn:
            if not self._begun:
                self._begun = True
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send(_piece(body, more))


def _failed(error: Exception, request_id: str) -> bytes:
    return event(error_body(error, request_id), type="error")


def _piece(body: bytes, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
