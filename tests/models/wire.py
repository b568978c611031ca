"""
A server on the loopback interface that answers with the very packets a test wrote down.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
from anyio.abc import SocketAttribute, SocketStream

from procession.messages.value import Value

Packet = bytes | anyio.Event | Literal["close"]


class WireAnswer(Value):
    """
    What the server sends for one request: each packet of bytes by itself, waiting where an event stands, and
    dropping the connection at ``"close"``.
    """

    packets: Sequence[Packet] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)


class WireServer:
    """
    What a test knows of the server.
    """

    def __init__(self, answers: Sequence[WireAnswer]) -> None:
        self.answers = list(answers)
        self.base_url = ""
        self.heads: list[str] = []
        """The request lines and headers, as they came."""
        self.bodies: list[dict[str, Any]] = []
        self.connections = 0
        self.asked = anyio.Event()
        """Set once a whole request has come in."""
        self.gone = anyio.Event()
        """Set once a client has closed a connection."""

    async def serve(self, stream: SocketStream) -> None:
        """
        Answer the requests of one connection.
        """
        self.connections += 1
        async with stream:
            while await self._answer(stream):
                pass

    async def _answer(self, stream: SocketStream) -> bool:
        if not await self._receive(stream):
            self.gone.set()
            return False
        answer = self.answers.pop(0)
        lines = [f"HTTP/1.1 {answer.status} Status", *(f"{name}: {value}" for name, value in answer.headers)]
        await stream.send("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
        for packet in answer.packets:
            if packet == "close":
                return False
            if isinstance(packet, anyio.Event):
                if not await _wait_or_hang_up(packet, stream):
                    self.gone.set()
                    return False
            else:
                await stream.send(b"%x\r\n%b\r\n" % (len(packet), packet))
        await stream.send(b"0\r\n\r\n")
        return True

    async def _receive(self, stream: SocketStream) -> bool:
        data = b""
        try:
            while b"\r\n\r\n" not in data:
                data += await stream.receive()
            head, _, body = data.partition(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
            )
            while len(body) < length:
                body += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return False
        self.heads.append(head.decode())
        self.bodies.append(json.loads(body))
        self.asked.set()
        return True


async def _wait_or_hang_up(event: anyio.Event, stream: SocketStream) -> bool:
    """
    Wait for *event*; return ``False`` where the client closes the connection first.
    """
    stayed = False

    async def watch() -> None:
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        await event.wait()
        stayed = True
        group.cancel_scope.cancel()
    return stayed


@asynccontextmanager
async def serving(*answers: WireAnswer) -> AsyncGenerator[WireServer, None]:
    """
    Run a server that gives *answers*, one to each request, until the block is left.
    """
    server = WireServer(answers)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(SocketAttribute.local_port)
        server.base_url = f"http://127.0.0.1:{port}/v1"
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.serve)
            try:
                yield server
            finally:
                group.cancel_scope.cancel()


def event(payload: Any) -> bytes:
    """
    One server-sent event.
    """
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    """
    One chunk of a Chat Completions stream.
    """
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return event({"id": "r-1", "model": "m", "choices": [choice]})


DONE = b"data: [DONE]\n\n"
