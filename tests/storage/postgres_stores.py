"""What the tests of Postgres share: one server, and in it a place of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio.lowlevel
import pytest
from tests.storage.postgres_server import PostgresServer, find_postgres

if TYPE_CHECKING:
    from procession.storage.postgres.store import PostgresStore

HOW = "there is no PostgreSQL: apt-get install postgresql, then make services"
_numbers = count()


def started() -> Iterator[PostgresServer]:
    """Yield a server, or skip where there is none to start."""
    pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")
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


def fresh_database(server: PostgresServer) -> str:
    """Return the url of a database that is empty, for what can be told no schema."""
    import psycopg

    name = f"database{next(_numbers)}"
    with psycopg.connect(server.url, autocommit=True) as made:
        made.execute(f"CREATE DATABASE {name}".encode())
    return server.url.replace("/postgres", f"/{name}")


@asynccontextmanager
async def made(
    server: PostgresServer, *, clock: Callable[[], float] | None = None, **options: Any
) -> AsyncGenerator[Any]:
    """Yield an empty store, in a schema of its own."""
    from procession.storage.postgres.store import PostgresStore

    async with PostgresStore(server.url, schema=fresh_schema(), clock=clock, **options) as store:
        await store.upgrade()
        yield store


@asynccontextmanager
async def made_journal(server: PostgresServer, clock: Callable[[], float] | None = None) -> AsyncGenerator[Any]:
    """Yield an empty store of runs, in a schema of its own."""
    from procession.storage.postgres.journal import PostgresJournal

    async with PostgresJournal(server.url, schema=fresh_schema(), clock=clock) as journal:
        await journal.upgrade()
        yield journal


class Other:
    """Another client of the server."""

    def __init__(self, server: PostgresServer, store: PostgresStore) -> None:
        import psycopg

        self.made: Any = psycopg.connect(server.url, autocommit=True)
        self.made.execute(f'SET search_path TO "{schema_of(store)}"')

    @contextmanager
    def holding(self) -> Generator[None]:
        """Keep others from the table that a save with an index writes to after the messages."""
        with self.made.transaction():
            self.made.execute("LOCK TABLE procession_indexes IN ACCESS EXCLUSIVE MODE")
            yield

    async def has_come(self) -> int:
        """Wait until somebody waits for what is held, and return the process of the server that does so."""
        while True:
            found = self.made.execute(
                "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'procession_indexes'::regclass"
            ).fetchone()
            if found is not None:
                number: int = found[0]
                return number
            await anyio.lowlevel.checkpoint()

    def end(self) -> None:
        """Leave."""
        self.made.close()


def schema_of(store: PostgresStore) -> str:
    """Return where a store's tables are."""
    return str(store._connection.schema)  # pyright: ignore[reportPrivateUsage]
