"""
App: agents and workflows that are served together.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from procession.errors import DefinitionError
from procession.server.served import Served

if TYPE_CHECKING:
    from procession.server.asgi import Door

__all__ = ["App"]


class App(Served):
    """
    Agents and workflows that are served together, over HTTP and in the Studio.

    The app is an ASGI application: any ASGI server runs it, and any other ASGI application mounts it under a prefix.

    >>> from procession.agents.agent import Agent
    >>> from procession.server.app import App
    >>> from procession.testing.fake_model import FakeModel
    >>> app = App(agents=[Agent("parrot", model=FakeModel(["Hello!"]), instructions="You are a parrot.")])
    >>> list(app.agents)
    ['parrot']
    """

    _asgi: Door | None = None

    @property
    def asgi(self) -> Door:
        """
        The ASGI application, made when it is first asked for.

        Raises ``DefinitionError`` where the extra ``server`` is not installed.
        """
        if self._asgi is None:
            try:
                from procession.server.asgi import build
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
                    raise
                raise DefinitionError(
                    f"an App is served by {error.name}, which is not installed",
                    hint="pip install 'procession[server]'",
                ) from error
            self._asgi = build(self)
        return self._asgi

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """
        Answer one request, by the ASGI protocol.
        """
        await self.asgi(scope, receive, send)

    def running(self) -> AbstractAsyncContextManager[None]:
        """
        Hold open what the app needs while a block runs: the lifespan of the application that mounts it.

        A server that runs the app itself does this by the lifespan protocol.
        """
        _ = self.asgi  # its routes may hold something open as well
        return self.service.running()

    def __repr__(self) -> str:
        return f"App(agents={list(self.agents)}, workflows={list(self.workflows)})"
