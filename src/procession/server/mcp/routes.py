"""
The route ``/mcp``: MCP's streamable HTTP, behind the guard of every other route.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from procession.errors import RequestRefused
from procession.server.served import Served

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

__all__ = ["routes"]

_SESSIONS: Final = 256
_IDLE: Final = 1800.0


def routes(app: Served) -> list[BaseRoute]:
    """
    Return the route.
    """
    return [Route("/mcp", _Endpoint(app), methods=["GET", "POST", "DELETE"], include_in_schema=False)]


class _Endpoint:
    """
    What answers at ``/mcp`` while the app runs.
    """

    def __init__(self, app: Served) -> None:
        self._app = app
        self._manager: StreamableHTTPSessionManager | None = None
        app.service.holds.append(self._held)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            raise RequestRefused(
                "MCP is not served here",
                status=503,
                reason="mcp-unavailable",
                hint="pip install 'procession[mcp]'; an App that is mounted needs `async with app.running()`",
            )
        self._app.service.refuse_draining()
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def _held(self) -> AsyncGenerator[None]:
        """
        Hold the sessions of clients while the app runs.
        """
        try:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
            from mcp.server.transport_security import TransportSecuritySettings
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            yield
            return
        from procession.server.mcp.serving import mcp_server

        made: Any = mcp_server(self._app)
        manager = StreamableHTTPSessionManager(
            made,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard has checked
            session_idle_timeout=_IDLE,
            max_request_body_size=self._app.limits.body,
            max_sessions=_SESSIONS,
        )
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None
