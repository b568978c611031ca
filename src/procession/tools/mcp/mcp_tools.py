"""
MCPTools: the tools of an MCP server, as tools of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeAlias, TypedDict, overload
from urllib.parse import urlsplit

import anyio
from typing_extensions import Unpack

from procession.errors import DefinitionError, ToolArgumentsError, ToolServerError
from procession.tools.context import ToolContext
from procession.tools.json_schema import faults_of
from procession.tools.mcp.limits import MCPLimits
from procession.tools.mcp.listing import Listed, check_pins, digest_of, list_tools, named, read, selected
from procession.tools.mcp.results import for_the_model, value_of
from procession.tools.tool import Tool

if TYPE_CHECKING:
    from mcp import ClientSession

    from procession.tools.mcp.connection import Connection
    from procession.tools.mcp.transports import Opener

__all__ = ["MCPOptions", "MCPTools"]

Approval: TypeAlias = "bool | Collection[str] | Callable[[Mapping[str, Any], ToolContext], bool | Awaitable[bool]]"


class MCPOptions(TypedDict, total=False):
    """
    What may be said of a server's tools.
    """

    name: str
    """What the server is called in errors; left out, its program or host."""
    prefix: str
    """What stands before each name that a model knows a tool by, such as ``"crm_"``."""
    include: Collection[str]
    """The tools that are taken, by their names on the server; left out, all."""
    exclude: Collection[str]
    """The tools that are left out."""
    requires_approval: Approval
    """Whether a person must agree to a call: to each, to those of the tools named, or as a function says."""
    heed_hints: bool
    """Whether a tool of which the server says that it may destroy something needs approval as well; ``True`` where it is
    left out.  What a server says never lets a call pass that needs approval."""
    pinned: Mapping[str, str]
    """``tools.pins`` of another time: tools that say something else by now, and tools that are not in it, are refused."""
    descriptions: Mapping[str, str]
    """Words of your own in place of the server's, by the names on the server."""
    timeout: float
    """Seconds that a call may take, 60 where it is left out; the server is told that it is cancelled."""
    connect_timeout: float
    """Seconds that connecting and listing the tools may take, 30 where it is left out."""
    limits: MCPLimits
    """How much the server may say."""


class MCPTools(Sequence[Tool[Any]]):
    """
    The tools of an MCP server, as tools of ours, for as long as a block runs.

    >>> import sys
    >>> server = MCPTools.stdio([sys.executable, "server.py"], prefix="crm_", exclude=["delete_all"])
    >>> server
    MCPTools('server.py', not connected)

    ``async with server as tools: Agent(..., tools=[*tools])`` connects to it; its end ends the connection.
    """

    def __init__(self, opener: Callable[[MCPLimits, float], Opener], server: str, options: MCPOptions) -> None:
        unknown = sorted(set(options) - set(MCPOptions.__annotations__))
        if unknown:
            raise DefinitionError(
                f"MCPTools has no option {unknown[0]!r}", hint=f"it has {', '.join(MCPOptions.__annotations__)}"
            )
        self.name = options.get("name", server)
        """What the server is called in errors."""
        self._options = options
        self._opener = opener
        self._limits = options.get("limits", MCPLimits()).checked()
        self._timeout = _seconds("timeout", options.get("timeout", 60.0))
        self._connect_timeout = _seconds("connect_timeout", options.get("connect_timeout", 30.0))
        for option in ("include", "exclude", "requires_approval"):
            if isinstance(options.get(option), str):
                raise DefinitionError(f"MCPTools was given a text as {option}", hint="give a list of names")
        self._connection: Connection | None = None
        self._tools: tuple[Tool[Any], ...] | None = None
        self._listed: dict[str, Listed] = {}
        self._now: dict[str, str] = {}
        self._stale = True
        self._lock: anyio.Lock | None = None

    @classmethod
    def stdio(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        stderr: TextIO | None = None,
        **options: Unpack[MCPOptions],
    ) -> MCPTools:
        """
        Return the tools of a server that is started as a process: a program and its arguments.

        It is given *env* and a few variables such as ``PATH``, none of the others of this process, and works in *cwd*.
        What it writes to its standard error goes to *stderr*, a file; left out, to that of this process.
        """
        parts = [command] if isinstance(command, str) else [*command]
        if isinstance(command, str) or not parts:
            raise DefinitionError(
                f"a server of tools is started by {command!r}", hint='give a list: ["python", "server.py"]'
            )

        def opener(limits: MCPLimits, seconds: float) -> Opener:
            from procession.tools.mcp.transports import over_stdio

            return over_stdio(parts, env, cwd, stderr if stderr is not None else sys.__stderr__ or sys.stderr)

        own = [part for part in parts if not part.startswith("-")]
        return cls(opener, Path(own[1] if len(own) > 1 else parts[0]).name, options)

    @classmethod
    def http(cls, url: str, *, headers: Mapping[str, str] | None = None, **options: Unpack[MCPOptions]) -> MCPTools:
        """
        Return the tools of a server that is reached over HTTP (MCP's streamable HTTP).

        *headers*, such as ``{"Authorization": "Bearer ..."}``, go with every request; no redirect takes them to
        another host.  Neither they nor *url* are in any error or in ``repr``: only the host is.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DefinitionError("the address of a server of tools is no http:// or https:// URL")
        if parts.username is not None:
            raise DefinitionError(
                f"the address of the server at {parts.hostname!r} has a password in it",
                hint="give it as a header: headers={'Authorization': ...}",
            )

        def opener(limits: MCPLimits, seconds: float) -> Opener:
            from procession.tools.mcp.transports import over_http

            return over_http(url, headers, limits.message, seconds)

        return cls(opener, parts.hostname, options)

    async def __aenter__(self) -> Self:
        """
        Connect, and list the tools.

        Raises ``ToolServerError`` where the server cannot be reached or says too much, and ``DefinitionError`` where its
        tools are not those that are wanted.
        """
        if self._connection is not None:
            raise DefinitionError(f"{self!r} is connected already", hint="make one for each block")
        try:
            from procession.tools.mcp.connection import Connection
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2"):
                raise
            raise DefinitionError(
                "tools of an MCP server need the package mcp", hint="pip install 'procession[mcp]'"
            ) from error
        self._lock = anyio.Lock()
        self._connection = Connection(
            self.name, self._opener(self._limits, self._connect_timeout), self._connect_timeout, self._change
        )
        try:
            await self.refresh()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        self._tools = None
        if connection is not None:
            await connection.close()

    async def refresh(self) -> tuple[Tool[Any], ...]:
        """
        List the tools again, as they are now, and return them: give them to an agent to have it use them.

        Tools that were listed before and have changed refuse every call from then on.  Raises what ``async with`` raises.
        """
        found = await self._list()
        options = self._options
        wanted = selected(found, options.get("include"), options.get("exclude", ()), self.name)
        pinned = options.get("pinned")
        if pinned is not None:
            check_pins(wanted, pinned, self.name)
        own = options.get("descriptions", {})
        listed = [read(tool, own.get(tool.name), self._limits) for tool in wanted]
        names = named([one.name for one in listed], options.get("prefix", ""), self.name)
        approval = options.get("requires_approval", False)
        if not isinstance(approval, bool) and not callable(approval):
            unknown = sorted({*approval} - {one.name for one in listed})
            if unknown:
                raise DefinitionError(
                    f"requires_approval names {unknown[0]!r}, which is none of the tools of server {self.name!r}"
                )
        self._listed = {one.name: one for one in listed}
        self._tools = tuple(self._tool(one, names[one.name]) for one in listed)
        return self._tools

    @property
    def pins(self) -> dict[str, str]:
        """
        What stands for each tool's name, description and schemas as the server says them now: keep it, look at it, and
        give it as ``pinned=``.
        """
        return {name: one.digest for name, one in self._listed.items()}

    def _tool(self, listed: Listed, name: str) -> Tool[Any]:
        approval = self._options.get("requires_approval", False)
        if not isinstance(approval, bool) and not callable(approval):
            approval = listed.name in approval
        if listed.destructive and self._options.get("heed_hints", True):
            approval = True

        def check(args: Mapping[str, Any]) -> Mapping[str, Any]:
            faults = faults_of(args, listed.check)
            if faults:
                raise ToolArgumentsError(name, faults)
            return args

        async def execute(args: Mapping[str, Any], ctx: ToolContext) -> Any:
            return await self._call(listed, args)

        return Tool(
            name=name,
            description=listed.description,
            parameters=listed.parameters,
            check=check,
            execute=execute,
            requires_approval=approval,
            to_model_output=for_the_model,
        )

    async def _call(self, listed: Listed, args: Mapping[str, Any]) -> Any:
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult

        if self._connection is None:
            raise ToolServerError(
                f"server {self.name!r} is not connected to (tool {listed.name!r})",
                hint="use its tools inside of `async with`",
            )
        request = CallToolRequest(params=CallToolRequestParams(name=listed.name, arguments=dict(args)))

        async def call(session: ClientSession) -> CallToolResult:
            if self._stale:
                await self._look(session)
            now = self._now.get(listed.name)
            if now != listed.digest:
                what = "is gone from" if now is None else "is not what it was when it was listed by"
                raise ToolServerError(
                    f"tool {listed.name!r} {what} server {self.name!r}",
                    hint="look at what it says now, then `await tools.refresh()`",
                )
            return await session.send_request(request, CallToolResult)

        result = await self._connection.ask(call, self._timeout, f"tool {listed.name!r}")
        if result.result_type != "complete":
            raise ToolServerError(f"tool {listed.name!r} asks for an answer first, which nobody here can give")
        return value_of(result, listed.output, listed.name, self._limits)

    async def _list(self) -> Mapping[str, Any]:
        if self._connection is None:
            raise ToolServerError(f"server {self.name!r} is not connected to", hint="use it in `async with`")
        self._stale = True
        return await self._connection.ask(self._look, self._connect_timeout, "its tools")

    async def _look(self, session: ClientSession) -> Mapping[str, Any]:
        """
        List the tools, and remember what stands for each.
        """
        assert self._lock is not None
        async with self._lock:
            self._stale = False  # before it is asked: a change that is told of meanwhile is another one
            try:
                found = await list_tools(session, self.name, self._limits)
            except BaseException:
                self._stale = True
                raise
            self._now = {name: digest_of(tool) for name, tool in found.items()}
        return found

    def _change(self) -> None:
        self._stale = True

    def __len__(self) -> int:
        return len(self._ours())

    @overload
    def __getitem__(self, index: int) -> Tool[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Tool[Any]]: ...
    def __getitem__(self, index: int | slice) -> Tool[Any] | Sequence[Tool[Any]]:
        return self._ours()[index]

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._ours())

    def _ours(self) -> tuple[Tool[Any], ...]:
        if self._tools is None:
            raise DefinitionError(
                f"the tools of server {self.name!r} are not known yet",
                hint="async with MCPTools...(...) as tools: Agent(..., tools=[*tools])",
            )
        return self._tools

    def __repr__(self) -> str:
        state = "not connected" if self._tools is None else f"{len(self._tools)} tools"
        return f"MCPTools({self.name!r}, {state})"


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise DefinitionError(f"MCPTools was given {name}={value!r}", hint="give a number of seconds")
    return float(value)
