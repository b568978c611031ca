"""
An App as an MCP server: its tools are listed and called by the official SDK, over standard input and output or HTTP.
"""

from __future__ import annotations

from typing import Any

import anyio
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

import procession
from procession.errors import RequestRefused
from procession.server.errors import error_body
from procession.server.going import Going
from procession.server.mcp.offers import Answer, Offer, offers_of
from procession.server.refusals import check_served
from procession.server.served import Served

__all__ = ["mcp_server", "serve_stdio"]


def mcp_server(app: Served) -> Server[Any]:
    """
    Return *app* as a server of the SDK.

    Raises ``DefinitionError`` where two of its tools would have one name.
    """
    offers = offers_of(app)
    listed = types.ListToolsResult(
        tools=[
            types.Tool(name=offer.name, description=offer.description, input_schema=dict(offer.parameters))
            for offer in offers.values()
        ]
    )

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        offer = offers.get(params.name)
        if offer is None:
            raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name[:100]!r}")
        args = params.arguments or {}
        faults = offer.faults(args)
        if faults:
            return _result(Answer(text="; ".join(faults), is_error=True))
        try:
            app.guard.refuse_read_only()
            with app.service.call() as going:
                answer = await _ask(app, offer, args, going, ctx)
        except Exception as error:
            answer = Answer(text=error_body(error, "")["error"]["message"], is_error=True)
        return _result(answer)

    return Server("procession", version=procession.__version__, on_list_tools=list_tools, on_call_tool=call_tool)


async def _ask(app: Served, offer: Offer, args: Any, going: Going, ctx: ServerRequestContext[Any]) -> Answer:
    """
    Return what a call comes to; it is told to end where it takes too long, and where the server ends.

    A client that cancels the request cancels this, and the run with it.
    """

    async def tell(progress: int, said: str | None) -> None:
        await ctx.session.report_progress(progress, None, said)

    answer: Answer | None = None

    async def work() -> None:
        nonlocal answer
        answer = await offer.ask(args, going.signal, tell)

    await going.attend(work, anyio.sleep_forever, seconds=app.limits.seconds, grace=app.limits.drain)
    if answer is None or (answer.is_error and going.because is not None):
        raise going.because or RequestRefused("the call was ended", status=503, reason="ended")
    return answer


def _result(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=dict(answer.value) if answer.value is not None else None,
        is_error=answer.is_error,
    )


async def serve_stdio(app: Served) -> None:
    """
    Serve *app* by this process's standard input and output, until the input ends.

    Raises ``DefinitionError`` for what is not served over HTTP either: a cache that would share answers.
    """
    check_served(app)
    server = mcp_server(app)
    async with app.service.running(), stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
