"""
Serving an App by uvicorn, from its first address to its last call.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import uvicorn

from procession.errors import DefinitionError
from procession.server.app import App
from procession.server.guard import is_loopback

__all__ = ["Server", "check_bound", "serve"]

_EVERYWHERE: Final = ("0.0.0.0", "::")
"""The addresses that stand for all of a machine, and are the name of none."""


def check_bound(app: App, host: str) -> None:
    """
    Raise ``DefinitionError`` where *app* would be reached from other machines by whoever likes.
    """
    if not is_loopback(host) and not app.guard.needs_token and not app.guard.trusted:
        raise DefinitionError(
            f"at {host} the server can be reached from other machines, and it has no token",
            hint="give it one: App(token=...) or --token-env NAME; or bind it to 127.0.0.1",
        )


class Server(uvicorn.Server):
    """
    A server that takes no further calls once it is told to end, and gives those that go on their time.
    """

    def __init__(
        self, app: App, config: uvicorn.Config, started: Callable[[str], None], drain: float | None = None
    ) -> None:
        super().__init__(config)
        self._app = app
        self._told = started
        self._seconds = drain
        self._draining: asyncio.Task[None] | None = None
        self.ended_by: int | None = None
        """The signal that ended it."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """
        Begin to listen, and say where.
        """
        await super().startup(sockets)
        if self.started:
            self._told(_address(self.servers[0].sockets[0]))

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """
        Listen to the signals that end a program; a second one cancels what goes on, a third waits for nothing.
        """
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def told(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._end, number)

        for number in before:
            signal.signal(number, told)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int) -> None:
        if self._draining is not None:
            self.force_exit = self.should_exit  # the third: nothing is waited for
            self._draining.cancel()
            return
        self.ended_by = number
        self._draining = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        try:
            await self._app.service.drain(self._seconds)
        except asyncio.CancelledError:
            self._app.service.cut()
        finally:
            self.should_exit = True


def serve(
    app: App,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    sockets: Sequence[socket.socket] | None = None,
    started: Callable[[str], None] = lambda url: None,
    drain: float | None = None,
) -> int | None:
    """
    Serve *app* until a signal ends it, and return which: ``None`` where it could not begin.

    *started* is told the address once it listens; *drain* takes the place of the limit of that name.  Raises ``DefinitionError`` where it would be open to other machines
    without a token.
    """
    check_bound(app, host)
    app.configure(hosts=[_name(host)])
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "lifespan": "on",
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # who asks is who connects: what a client says of itself is no address
        "ws": "none",
        "timeout_graceful_shutdown": 5,  # calls have had their time by then
    }
    server = Server(app, uvicorn.Config(app, **options), started, drain)
    asyncio.run(server.serve(list(sockets) if sockets is not None else None))
    return server.ended_by


def _name(host: str) -> str:
    """
    Return what the server is asked by that is bound to *host*: of all of a machine, the machine's name.
    """
    return socket.gethostname() if host in _EVERYWHERE else host


def _address(listening: Any) -> str:
    host, port = listening.getsockname()[:2]
    host = _name(host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
