"""
``procession mcp``: an agent, a workflow or an App as an MCP server.
"""

from __future__ import annotations

from procession.cli.command import TargetArgument, plain_errors

__all__ = ["mcp"]


def mcp(target: TargetArgument) -> None:
    """
    Serve an agent, a workflow or an App to an MCP client, by standard input and output.

    Whatever starts it, such as a desktop program, is its client. It ends when its input does.
    """
    from procession.cli.mcp import serve

    with plain_errors():
        serve(target)
