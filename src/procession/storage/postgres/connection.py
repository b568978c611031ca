"""
PostgresConnection: a database, and the connections to it that each event loop has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import anyio
from sqlalchemy import Text, column, func, select, table, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from procession.errors import DefinitionError, StoreError
from procession.steps.event_loop import asyncio_loop
from procession.storage.postgres.failures import failure_of, is_worth_again
from procession.storage.postgres.tables import VERSION, VERSION_TABLE
from procession.storage.postgres.url import place_of, read_url
from procession.storage.records import can_stand

__all__ = ["PostgresConnection", "Work"]

Out = TypeVar("Out")

Work: TypeAlias = Callable[[AsyncConnection], Awaitable[Out]]
"""What is done with a connection.  It may be called again, with what it did before undone."""

_ATTEMPTS = 5
"""How often something is done of which Postgres says that it met something else."""

_LONGEST_NAME = 63
"""Bytes of a name that Postgres keeps: it cuts longer ones."""

_ODD = frozenset("\0%:[]")
"""What stands for something else in the statements of SQLAlchemy, or in none at all."""

_GRACE = 2.0
"""Seconds for which a statement that is to stop is waited for, before its connection is closed."""


class PostgresConnection:
    """
    The database at *url*, used through up to *pool_size* connections for each event loop.

    They are made when they are needed, and made anew when the server has closed them.  A call that does not end within
    *timeout* seconds, waiting for a connection included, is stopped here and at the server.
    """

    def __init__(self, url: str, *, schema: str | None = None, pool_size: int = 10, timeout: float = 30.0) -> None:
        self._url = read_url(url)
        if schema is not None:
            _need_schema(schema)
        if pool_size < 1:
            raise DefinitionError(f"pool_size is {pool_size!r}", hint="give connections, at least 1")
        if not timeout > 0:
            raise DefinitionError(f"timeout is {timeout!r}", hint="give seconds, more than 0")
        self.schema = schema
        self.place = place_of(self._url)
        self._pool_size = pool_size
        self._timeout = timeout
        self._engines: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncEngine] = WeakKeyDictionary()
        self._checked = False

    async def read(self, work: Work[Out]) -> Out:
        """
        Do *work*, which only reads and is one statement, and return what it returns.

        Raises ``StoreError`` where the database cannot be used, or its tables are not those of this version.
        """
        return await self.write_one(work)

    async def write_one(self, work: Work[Out]) -> Out:
        """
        Do *work*, which is one statement, and so a transaction by itself.
        """

        async def write(engine: AsyncEngine) -> Out:
            async with engine.connect() as made:
                await made.execution_options(isolation_level="AUTOCOMMIT")
                await self._check(made)
                return await work(made)

        return await self._do(write)

    async def write(self, work: Work[Out]) -> Out:
        """
        Do *work* in a transaction: all of it, or nothing where it raises.
        """

        async def write(engine: AsyncEngine) -> Out:
            async with engine.begin() as made:
                await self._check(made)
                return await work(made)

        return await self._do(write)

    async def define(self, work: Work[Out]) -> Out:
        """
        Do *work* in a transaction, for as long as it takes and whatever the tables are.
        """

        async def define(engine: AsyncEngine) -> Out:
            async with engine.begin() as made:
                return await work(made)

        return await self._do_apart(define)

    async def apart(self, work: Work[Out], limit: float | None) -> Out:
        """
        Do *work* on a connection of its own, each statement a transaction by itself that may take *limit* seconds.
        """

        async def apart(engine: AsyncEngine) -> Out:
            async with engine.connect() as made:
                await made.execution_options(isolation_level="AUTOCOMMIT")
                await self._check(made)
                await made.execute(text(f"SET statement_timeout = {int((limit or 0) * 1000)}"))
                return await work(made)

        return await self._do_apart(apart)

    async def version(self, made: AsyncConnection) -> str | None:
        """
        Return the version of the tables, ``None`` where there are none.
        """
        quote = made.dialect.identifier_preparer.quote
        name = VERSION_TABLE if self.schema is None else f"{quote(self.schema)}.{quote(VERSION_TABLE)}"
        if (await made.execute(select(func.to_regclass(name)))).scalar() is None:
            return None
        number = column("version_num", Text())
        known = table(VERSION_TABLE, number, schema=self.schema)
        found: str | None = (await made.execute(select(number).select_from(known))).scalar()
        return found

    async def aclose(self) -> None:
        """
        Close the connections of the present event loop; the next use makes others.
        """
        loop = asyncio_loop()
        engine = self._engines.pop(loop, None) if loop is not None else None
        if engine is not None:
            with anyio.CancelScope(shield=True):
                await engine.dispose()

    async def _check(self, made: AsyncConnection) -> None:
        """
        Raise ``StoreError`` where the tables are not those that this version knows; once they are, they stay so.
        """
        if self._checked:
            return
        found = await self.version(made)
        if found is None:
            raise StoreError(f"Postgres at {self.place} has no tables of procession", hint=UPGRADE)
        if found < VERSION:
            raise StoreError(
                f"the tables in Postgres at {self.place} are of version {found}, and this one needs {VERSION}",
                hint=UPGRADE,
            )
        if found > VERSION:
            raise too_new(found, self.place)
        self._checked = True

    async def _do_apart(self, work: Callable[[AsyncEngine], Awaitable[Out]]) -> Out:
        made = self._made(None)
        try:
            return await self._do(work, engine=made)
        finally:
            with anyio.CancelScope(shield=True):
                await made.dispose()

    async def _do(self, work: Callable[[AsyncEngine], Awaitable[Out]], *, engine: AsyncEngine | None = None) -> Out:
        loop = asyncio_loop()
        if loop is None:
            raise DefinitionError(
                "a store in Postgres was used on trio, and its driver runs on asyncio only",
                hint="run on asyncio, or use SQLiteStore",
            )
        limit = None
        if engine is None:
            limit, engine = self._timeout, self._engines.get(loop)
            if engine is None:
                engine = self._engines[loop] = self._made(limit)
        for attempt in range(_ATTEMPTS):
            try:
                return await self._in_time(work(engine), limit)
            except (SQLAlchemyError, OSError, UnicodeEncodeError) as error:
                if attempt + 1 < _ATTEMPTS and is_worth_again(error):
                    continue
                raise failure_of(error, self.place) from None  # what they say themselves quotes what is private
        raise AssertionError

    async def _in_time(self, work: Awaitable[Out], limit: float | None) -> Out:
        """
        Do *work* in a task of its own, so that who is cancelled, however often, cancels it once: then the driver has its
        statement stopped at the server, and gives the connection back or closes it.
        """

        async def done() -> Out:
            return await work

        task = asyncio.get_running_loop().create_task(done())
        task.add_done_callback(_looked_at)
        try:
            await asyncio.wait((task,), timeout=limit)
        finally:
            if not task.done():
                with anyio.CancelScope(shield=True):
                    await _stop(task)
        if task.cancelled() or not task.done():
            raise StoreError(f"Postgres at {self.place} did not answer within {limit or 0.0:g} seconds")
        return task.result()

    def _made(self, limit: float | None) -> AsyncEngine:
        given: dict[str, object] = {"client_encoding": "utf8", "application_name": "procession", "connect_timeout": 10}
        if limit is not None:
            milliseconds = max(1, int(limit * 1000))
            given["connect_timeout"] = max(2, min(10, int(limit)))
            given["tcp_user_timeout"] = milliseconds
            given["options"] = (
                f"-c statement_timeout={milliseconds} -c idle_in_transaction_session_timeout={milliseconds}"
            )
        for name, said in self._url.query.items():  # what the url says goes before
            value = said if isinstance(said, str) else ",".join(said)
            given[name] = f"{given[name]} {value}" if name == "options" and name in given else value
        return create_async_engine(
            self._url.set(query={}),
            pool_size=self._pool_size,
            max_overflow=0,
            pool_timeout=limit if limit is not None else 10,
            pool_pre_ping=True,
            pool_use_lifo=True,
            hide_parameters=True,
            connect_args=given,
            execution_options={"schema_translate_map": {None: self.schema}} if self.schema is not None else {},
        )


UPGRADE = "procession db upgrade --store URL, or `await store.upgrade()`"
"""What makes the tables into those of this version."""


def _need_schema(name: str) -> None:
    """
    Raise ``DefinitionError`` for a name that the server would cut, and so may be another's, or that statements cannot have.
    """
    if not name or not can_stand(name) or len(name.encode()) > _LONGEST_NAME or not _ODD.isdisjoint(name):
        raise DefinitionError(
            f"schema is {name!r}",
            hint=f"give the name of a schema, up to {_LONGEST_NAME} bytes and without NUL, %, :, [ and ], or None",
        )


def too_new(found: str, place: str) -> StoreError:
    """
    Return the error that tells of tables of a later version.
    """
    return StoreError(
        f"the tables in Postgres at {place} are of a newer version, {found}, and this one knows {VERSION}",
        hint="update procession",
    )


async def _stop(task: asyncio.Task[Out]) -> None:
    """
    Have *task* end: by a statement that is stopped at the server, else by closing its connection.
    """
    for _ in range(2):
        task.cancel()
        if (await asyncio.wait((task,), timeout=_GRACE))[0]:
            return


def _looked_at(task: asyncio.Task[Out]) -> None:
    if not task.cancelled():
        task.exception()
