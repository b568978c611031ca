"""
A server on the loopback interface that keeps to no protocol: it reads a request, sends the bytes of a script, and hangs up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import TypeAlias

import anyio
from anyio.abc import SocketAttribute, SocketStream

Script: TypeAlias = bytes | Callable[[], Iterable[bytes]]

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
TLS = b"\x16"
"""How a client begins that wants to be encrypted."""


class RawServer:
    """
    What a test knows of the server.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.origin = ""
        self.heads: list[str] = []
        self.gone = anyio.Event()
        """Set once a client has closed a connection before everything was sent."""

    @property
    def base_url(self) -> str:
        """Where a model finds the server."""
        return f"{self.origin}/v1"

    async def serve(self, stream: SocketStream) -> None:
        """
        Answer one request on a connection of its own.
        """
        async with stream:
            data = b""
            while b"\r\n\r\n" not in data and not data.startswith(TLS):
                data += await stream.receive()
            self.heads.append(data.partition(b"\r\n\r\n")[0].decode("latin-1"))
            try:
                for packet in [self.script] if isinstance(self.script, bytes) else self.script():
                    await stream.send(packet)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.gone.set()


@asynccontextmanager
async def raw_server(script: Script) -> AsyncGenerator[RawServer, None]:
    """
    Run a server that answers every request with the bytes of *script* until the block is left.
    """
    server = RawServer(script)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        server.origin = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.serve)
            try:
                yield server
            finally:
                group.cancel_scope.cancel()


def for_ever(begin: bytes, again: bytes) -> Script:
    """
    Return a script that begins somehow and then says the same again and again.
    """
    return lambda: chain([begin], repeat(again))
