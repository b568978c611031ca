"""
PostgresStore: conversations, and what belongs to them, in Postgres.
"""

from __future__ import annotations

from collections.abc import Callable

from procession.storage.postgres.access import PostgresAccess
from procession.storage.postgres.connection import PostgresConnection
from procession.storage.postgres.index_queue import PostgresIndexQueue
from procession.storage.postgres.notes import PostgresNotes
from procession.storage.postgres.threads import PostgresThreads
from procession.storage.postgres.vectors import PostgresVectors
from procession.storage.records import Records

__all__ = ["PostgresStore"]


class PostgresStore(PostgresThreads, PostgresNotes, PostgresIndexQueue, PostgresVectors, PostgresAccess):
    """
    A ``ThreadStore``, ``NoteStore``, ``IndexQueue`` and, where the server has pgvector, ``VectorStore`` in the database at
    *url*, for any number of processes and machines.

    It needs ``pip install 'procession[postgres]'`` and asyncio: the driver that it stands on does not run on trio.  Each
    event loop has connections of its own, made at the first use; leave them with ``aclose``, or with the end of
    ``async with``.  Tables are made by :meth:`upgrade`, or ``procession db upgrade``, and never by the way.

        async with PostgresStore("postgresql://user:password@host/database") as store:
            agent = Agent("helper", model="openai/gpt-5-mini", memory=Memory(storage=store))

    Every method raises ``StoreError``, which does not quote the url, where the database cannot be used or has tables of
    another version, ``InputError`` for ids with letters that Postgres cannot keep, and ``DefinitionError`` on trio.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str | None = None,
        pool_size: int = 10,
        timeout: float = 30.0,
        records: Records | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """
        The tables are in *schema*, or where the user of the database has its tables.  *pool_size* connections may be open
        for each event loop; *timeout* is how many seconds a call may take, waiting for a connection included.

        *records* says how texts stand in the tables: unless told otherwise encrypted where ``PROCESSION_STORE_KEY`` has
        a key.  *clock* tells the seconds since 1970; it is the server's unless one
        is given.

        Raises ``DefinitionError`` for an url that is none of Postgres, and for other things that cannot work.
        """
        super().__init__(
            PostgresConnection(url, schema=schema, pool_size=pool_size, timeout=timeout),
            records if records is not None else Records.from_environment(),
            clock,
        )

    async def aclose(self) -> None:
        """
        Close the connections of the present event loop; the next use makes others.  What it builds is broken off.
        """
        await self._builds.aclose()
        await super().aclose()
