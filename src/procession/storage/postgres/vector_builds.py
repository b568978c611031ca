"""
VectorBuilds: how an index of vectors gets what looks the nearest up, while others go on putting and searching.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import Context
from weakref import WeakKeyDictionary

import anyio
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import ProcessionError
from procession.steps.event_loop import asyncio_loop
from procession.storage.postgres.connection import PostgresConnection
from procession.storage.postgres.vector_table import VectorTable

__all__ = ["VectorBuilds"]

_LIMIT = 6 * 3600.0
"""Seconds that building in the background may take."""

_AGAIN = 600.0
"""Seconds until building is tried again where it failed, or where somebody else was at it."""

_BETWEEN = 0.5
"""Seconds between two looks at whether somebody else is done."""


class VectorBuilds:
    """
    What is being built for the indexes of a store, each on a connection of its own that has nothing to do with the pool's.

    Of all who want to build for one index, in whatever process, one does.
    """

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection
        self._going_on: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[VectorTable, asyncio.Task[None]]] = (
            WeakKeyDictionary()
        )
        self._not_before: dict[VectorTable, float] = {}

    def may_begin(self, table: VectorTable) -> bool:
        """
        Return whether there is nobody at it here, nor was a moment ago.
        """
        going_on = self._going_on.get(asyncio.get_running_loop(), {})
        return table not in going_on and self._not_before.get(table, 0.0) <= time.monotonic()

    def begin(self, table: VectorTable) -> None:
        """
        Build in the background.  Where that fails an operator is told, and a later put tries again.
        """
        if self.may_begin(table):
            loop = asyncio.get_running_loop()
            going_on = self._going_on.setdefault(loop, {})
            # In a context of its own: what belongs to the call that has put is not kept for as long as this takes.
            task = going_on[table] = loop.create_task(self._build(table), context=Context())
            task.add_done_callback(lambda _: going_on.pop(table, None))

    async def build(self, table: VectorTable) -> bool:
        """
        Build, or wait for whoever does, and return whether there is an index now; there is none for long vectors.
        """
        return bool(await self._built(table, None, waits=True))

    async def aclose(self) -> None:
        """
        Stop what is being built in the present event loop.
        """
        loop = asyncio_loop()
        tasks = [] if loop is None else list(self._going_on.pop(loop, {}).values())
        for task in tasks:
            task.cancel()
        if tasks:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(tasks)

    async def _build(self, table: VectorTable) -> None:
        try:
            if await self._built(table, _LIMIT, waits=False) is not None:
                return
        except ProcessionError as error:
            import structlog

            structlog.get_logger("procession").warning(
                "no index of vectors was built", table=table.bare, why=str(error)
            )
        self._not_before[table] = time.monotonic() + _AGAIN

    async def _built(self, table: VectorTable, limit: float | None, *, waits: bool) -> bool | None:
        """
        Return whether there is an index now, ``None`` where somebody else is at it and is not waited for.
        """

        async def build(made: AsyncConnection) -> bool | None:
            # The lock is the session's, and goes with it.  It is not waited for in a statement: whoever builds waits in
            # turn for all statements that began before.
            while not (
                await made.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": table.build_key})
            ).scalar():
                if not waits:
                    return None
                await anyio.sleep(_BETWEEN)
            return await table.build(made)

        return await self._connection.apart(build, limit)
