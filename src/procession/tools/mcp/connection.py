"""
A connection to a server of tools: opened when it is first needed, and again once it has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final, TypeVar, cast

import anyio
from mcp import Client, ClientSession, MCPError
from mcp.client import IncomingMessage
from mcp.types import Implementation, ToolListChangedNotification
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from procession.errors import ProcessionError, RunError, ToolServerError
from procession.steps.event_loop import asyncio_loop, begin_task, running_loop
from procession.tools.mcp.schemas import visible
from procession.tools.mcp.transports import Opener

__all__ = ["Connection"]

Out = TypeVar("Out")

_LONGEST: Final = 1_000
"""Characters of a server's error that are told."""


class _Link:
    """
    One time that the server was connected to.
    """

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.settled = anyio.Event()
        self.ended = anyio.Event()
        self.closed = anyio.Event()
        self.session: ClientSession | None = None
        self.error: ToolServerError | None = None


class Connection:
    """
    A connection to a server of tools.

    A task of its own opens, holds and closes it, so that any task may ask, and any may end it.
    """

    def __init__(self, server: str, opener: Opener, seconds: float, changed: Callable[[], None]) -> None:
        self._server = server
        self._opener = opener
        self._seconds = seconds
        self._changed = changed
        """Called where the server's tools may be others than before."""
        self._link: _Link | None = None
        self._links: dict[_Link, Any] = {}
        self._loop = running_loop()
        self._over = False

    async def close(self) -> None:
        """
        End the connection; a server that is a process of ours ends, too.
        """
        self._over = True
        with anyio.CancelScope(shield=True):  # none must be left behind, and each wait of its end has a limit
            for link in list(self._links):
                link.ended.set()
                if not link.settled.is_set():
                    link.scope.cancel()
                await link.closed.wait()

    async def ask(self, work: Callable[[ClientSession], Awaitable[Out]], seconds: float, what: str) -> Out:
        """
        Return what *work* makes of the session, within *seconds*; the server is connected to where it is not.

        Raises ``ToolServerError``.  What was asked is never asked again: nobody knows whether the server has done it.
        """
        self._check_usable(what)
        late = f"server {self._server!r} did not answer within {seconds:g} s ({what})"
        link: _Link | None = None
        try:
            with anyio.fail_after(seconds):
                link = self._link
                if link is None or link.ended.is_set():
                    link = self._link = _Link()
                    self._links[link] = begin_task(self._hold, link, loop=asyncio_loop())
                await link.settled.wait()
                if link.session is None:
                    raise link.error or ToolServerError(f"server {self._server!r} was closed")
                return await work(link.session)
        except ProcessionError:
            raise
        except TimeoutError:
            raise ToolServerError(late) from None
        except MCPError as error:
            if link is not None and error.code in (CONNECTION_CLOSED, INVALID_REQUEST):
                link.ended.set()  # INVALID_REQUEST is how a session that the server has forgotten is told
            if error.code == CONNECTION_CLOSED:
                raise ToolServerError(
                    f"the connection to server {self._server!r} ended before it answered ({what})",
                    hint="whether it has done what was asked is not known; the next call connects anew",
                ) from None
            if error.code == PARSE_ERROR:  # the SDK's own words, which quote what came
                raise ToolServerError(
                    f"server {self._server!r} answered what is no JSON, or too much of it ({what})"
                ) from None
            said = visible(error.message)[:_LONGEST]
            raise ToolServerError(f"server {self._server!r} refused ({what}): {said}") from None
        except ValidationError:  # its words quote what came
            raise ToolServerError(f"server {self._server!r} answered what MCP has no meaning for ({what})") from None
        except Exception as error:
            if link is not None:
                link.ended.set()
            raise ToolServerError(f"server {self._server!r} failed ({what}): {type(error).__name__}") from error

    def _check_usable(self, what: str) -> None:
        if self._over:
            raise ToolServerError(
                f"server {self._server!r} is not connected to ({what})", hint="use its tools inside of `async with`"
            )
        if running_loop() is not self._loop:
            raise RunError(
                f"server {self._server!r} was connected to in another event loop ({what})",
                hint="connect to it where its tools are called",
            )

    async def _hold(self, link: _Link) -> None:
        """
        Connect, and stay connected until the link is said to have ended.
        """
        about = Implementation(name="procession", version=version("procession"))
        try:
            with link.scope:
                link.scope.deadline = anyio.current_time() + self._seconds
                client = Client(
                    self._opener(link.ended.set),
                    cache=None,
                    message_handler=self._heard,
                    client_info=about,
                )
                async with client, anyio.create_task_group() as group:
                    link.scope.deadline = float("inf")
                    link.session = client.session
                    self._changed()
                    link.settled.set()
                    group.start_soon(self._listen, client)
                    await link.ended.wait()
                    group.cancel_scope.cancel()
            if link.session is None:
                link.error = ToolServerError(
                    f"server {self._server!r} could not be connected to within {self._seconds:g} s"
                )
        except Exception as error:
            link.error = ToolServerError(f"server {self._server!r} could not be connected to: {_said(error)}")
        finally:
            link.session = None
            link.ended.set()
            link.settled.set()
            link.closed.set()
            self._links.pop(link, None)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed()

    async def _listen(self, client: Client) -> None:
        """
        Hear of changes where the server's protocol wants to be asked for them.
        """
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._changed()
        except Exception:  # it tells of none; what is called is compared whenever it is connected to
            return


def _said(error: BaseException) -> str:
    """
    Return what can be told of why there is no connection: no address, and no words of others but an error of MCP.
    """
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, MCPError):
        return visible(error.message)[:_LONGEST]
    if isinstance(error, FileNotFoundError):
        return "there is no such program or folder"
    return type(error).__name__
