"""Code that ignores its cancellation, for tests of what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from structlog.testing import capture_logs

from procession.tools.context import ToolContext
from procession.tools.tool import Tool

SHORT = 0.01
"""Seconds."""


class Straggler:
    """Code that shields itself until it is let go, and then does what it should not get done."""

    def __init__(self, late: Callable[[Any], Awaitable[None]]) -> None:
        self.late = late
        self.begun = anyio.Event()
        self.released = anyio.Event()
        self.over = anyio.Event()
        self.raised: BaseException | None = None

    async def __call__(self, ctx: Any) -> None:
        """Wait, and be late."""
        self.begun.set()
        with anyio.CancelScope(shield=True):
            await self.released.wait()
            try:
                await self.late(ctx)
            except BaseException as error:
                self.raised = error
                raise
            finally:
                self.over.set()

    async def end(self, *_: Any) -> None:
        """Let it go, and wait until it is over."""
        self.released.set()
        await self.over.wait()

    async def then_say(self, request: Any) -> str:
        """Be a model that answers once it is over."""
        await self.end()
        return "end"

    def as_tool(self, **options: Any) -> Tool[Any]:
        """Return a tool that does so."""

        async def execute(args: Any, ctx: ToolContext) -> None:
            await self(ctx)

        return Tool(name="late", parameters={"type": "object"}, execute=execute, **options)


@asynccontextmanager
async def quietly() -> AsyncGenerator[None]:
    """Do something with its logs captured, and not for ever."""
    with capture_logs(), anyio.fail_after(5):
        yield
