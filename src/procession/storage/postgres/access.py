"""
PostgresAccess: what every store in Postgres can do besides what it is for.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from procession.storage.postgres.connection import PostgresConnection
from procession.storage.postgres.upgrade import TableVersion, found_version, upgrade_tables

__all__ = ["PostgresAccess"]


class PostgresAccess:
    """
    A database whose tables can be upgraded, and whose connections can be closed.
    """

    _connection: PostgresConnection

    @property
    def place(self) -> str:
        """
        Where the database is, without who uses it.
        """
        return self._connection.place

    async def upgrade(self) -> TableVersion:
        """
        Make the tables, or make those of an earlier version into those of this one, and return what was there before.

        All or nothing, and safe from several processes at once.  It brings the extension pgvector into the database, too,
        where the server has it and the user may do that.  Raises ``StoreError`` for tables of a newer version.
        """
        return await upgrade_tables(self._connection)

    async def table_version(self) -> TableVersion:
        """
        Return which version the tables are of, and which is needed.
        """
        return await found_version(self._connection)

    async def aclose(self) -> None:
        """
        Close the connections of the present event loop; the next use makes others.
        """
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"
