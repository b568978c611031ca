"""A real server on loopback, for a test: it is asked over a socket, and ends with the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import uvicorn

from procession.server.app import App

__all__ = ["Live", "live"]


class Live:
    """A server that runs: its address, and a client that asks it."""

    def __init__(self, server: uvicorn.Server, port: int, client: httpx.AsyncClient) -> None:
        self.server = server
        self.port = port
        self.client = client

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    async def get(self, path: str, **options: Any) -> Any:
        """Ask for a path that must be there, and return what its JSON says."""
        answer = await self.client.get(path, **options)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, **options: Any) -> Any:
        """Send JSON that must be taken, and return what the JSON of the answer says."""
        answer = await self.client.post(path, json={} if body is None else body, **options)
        assert answer.status_code < 300, answer.text
        return answer.json()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # they are the test runner's


@asynccontextmanager
async def live(app: App | Any, *, headers: Mapping[str, str] | None = None, **config: Any) -> AsyncGenerator[Live]:
    """
    Serve an ASGI application by uvicorn on a free port of loopback while a block runs.

    Only for asyncio, which uvicorn runs on: mark a module ``anyio_backend = "asyncio"`` by the fixture of its conftest.
    """
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        options: dict[str, Any] = {"log_level": "critical", "lifespan": "on", "timeout_graceful_shutdown": 5, **config}
        server = _Server(uvicorn.Config(app, **options))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            begun = asyncio.create_task(server.begun.wait())
            await asyncio.wait({serving, begun}, return_when=asyncio.FIRST_COMPLETED)
            begun.cancel()
            assert server.started, "the server did not start"
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            base = f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(base_url=base, headers=headers, timeout=30, limits=limits) as client:
                yield Live(server, port, client)
        finally:
            server.should_exit = True
            await serving
