"""
Serving a target to an MCP client by standard input and output, where nothing but messages may be written.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib.util import find_spec

from procession.cli.serve import app_in
from procession.errors import InputError

__all__ = ["serve"]


def serve(target: str) -> None:
    """
    Serve what *target* names until the input ends.

    Raises ``TargetError`` for what cannot be served, and ``InputError`` where the extra ``mcp`` is not installed.
    """
    with redirect_stdout(sys.stderr):  # what it prints while it is loaded is for people
        app = app_in(target)
    if find_spec("mcp") is None:
        raise InputError("an MCP server needs the package mcp", hint="pip install 'procession[mcp]'")
    import anyio

    from procession.server.mcp.serving import serve_stdio

    anyio.run(serve_stdio, app)
