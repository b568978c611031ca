"""
A server on the loopback interface that speaks HTTP/2 over TLS, and says what it is told, stream by stream.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import h2.config
import h2.connection
import h2.events
import pytest
import trustme
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSListener

HEADERS = [(":status", "200"), ("content-type", "text/event-stream")]


class H2Stream:
    """
    One request, and what is said to it.
    """

    def __init__(self, connection: H2Connection, stream_id: int) -> None:
        self.connection = connection
        self.id = stream_id
        self.body = b""
        self.reset = anyio.Event()
        """Set once the client has no use for the answer."""
        self.error_code: int | None = None

    async def say(self, data: bytes, *, end: bool = False) -> None:
        """
        Send a piece of the answer.
        """
        self.connection.state.send_data(self.id, data, end_stream=end)
        await self.connection.flush()

    async def answer(self, *pieces: bytes) -> None:
        """
        Send the headers, and these pieces.
        """
        self.connection.state.send_headers(self.id, HEADERS)
        await self.connection.flush()
        for piece in pieces:
            await self.say(piece)


class H2Connection:
    """
    One connection: reads frames, and hands over the requests that are complete.
    """

    def __init__(self, server: H2Server, stream: ByteStream) -> None:
        self.server = server
        self.stream = stream
        self.state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.requests: dict[int, H2Stream] = {}
        self.lock = anyio.Lock()

    async def flush(self) -> None:
        """
        Send what is to be sent.
        """
        async with self.lock:
            await self.stream.send(self.state.data_to_send() or b"")

    async def serve(self) -> None:
        """
        Read until the client closes the connection.
        """
        self.state.initiate_connection()
        await self.flush()
        while True:
            for event in self.state.receive_data(await self.stream.receive()):
                await self.take(event)
            await self.flush()

    async def take(self, event: h2.events.Event) -> None:
        """
        Note what has happened.
        """
        if isinstance(event, h2.events.RequestReceived):
            self.requests[event.stream_id] = H2Stream(self, event.stream_id)
        elif isinstance(event, h2.events.DataReceived):
            self.requests[event.stream_id].body += event.data or b""
            self.state.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            await self.server.incoming.send(self.requests[event.stream_id])
        elif isinstance(event, h2.events.StreamReset):
            self.requests[event.stream_id].error_code = int(event.error_code or 0)
            self.requests[event.stream_id].reset.set()


class H2Server:
    """
    What a test knows of the server.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self.connections = 0
        self.seen: list[H2Stream] = []
        """The requests that were asked for, in their order."""
        self.incoming, self.outgoing = anyio.create_memory_object_stream[H2Stream](100)

    async def request(self) -> H2Stream:
        """
        Return the next request, as soon as all of it is there.
        """
        self.seen.append(await self.outgoing.receive())
        return self.seen[-1]

    async def serve(self, stream: ByteStream) -> None:
        """
        Serve one connection.
        """
        self.connections += 1
        async with stream:
            try:
                await H2Connection(self, stream).serve()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass


@asynccontextmanager
async def h2_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, speaks: str = "h2"
) -> AsyncGenerator[H2Server, None]:
    """
    Run the server until the block is left, and have clients trust it; *speaks* is what it offers.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate: Any = authority.issue_cert("127.0.0.1")
    certificate.configure_cert(context)
    context.set_alpn_protocols([speaks])
    server = H2Server()
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    server.base_url = f"https://127.0.0.1:{plain.extra(SocketAttribute.local_port)}/v1"
    listener = TLSListener(plain, ssl_context=context, standard_compatible=False)
    async with listener, server.incoming, server.outgoing:
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.serve)
            try:
                yield server
            finally:
                group.cancel_scope.cancel()
