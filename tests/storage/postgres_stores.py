"""What the tests of Postgres share: one server, and in it a place of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from tests.storage.postgres_server import PostgresServer, find_postgres

HOW = "there is no PostgreSQL: apt-get install postgresql, then make services"
_numbers = count()


def started() -> Iterator[PostgresServer]:
    """Yield a server, or skip where there is none to start."""
    programs = find_postgres()
    if programs is None:
        pytest.skip(HOW)
    server = PostgresServer(programs)
    try:
        yield server
    finally:
        server.remove()


def fresh_schema() -> str:
    """Return the name of a schema that no other test has."""
    return f"test {next(_numbers)}"


@asynccontextmanager
async def made(
    server: PostgresServer, *, clock: Callable[[], float] | None = None, **options: Any
) -> AsyncGenerator[Any]:
    """Yield an empty store, in a schema of its own."""
    from procession.storage.postgres.store import PostgresStore

    async with PostgresStore(server.url, schema=fresh_schema(), clock=clock, **options) as store:
        await store.upgrade()
        yield store
