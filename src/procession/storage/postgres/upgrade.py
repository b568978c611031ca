"""
How the tables of a database become those of this version.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.messages.value import Value
from procession.storage.postgres.connection import PostgresConnection, too_new
from procession.storage.postgres.tables import VERSION
from procession.storage.postgres.vector_extension import bring_extension

__all__ = ["TableVersion", "found_version", "upgrade_tables"]

_LOCK = int.from_bytes(b"processn", "big", signed=True)
"""The advisory lock of those who upgrade, of which Postgres keeps one for each database."""


class TableVersion(Value):
    """
    The version of the tables in a database, ``None`` where there are none, and that which this version needs.
    """

    found: str | None
    needed: str = VERSION

    @property
    def is_current(self) -> bool:
        """
        Whether the tables are as they have to be.
        """
        return self.found == self.needed


async def found_version(connection: PostgresConnection) -> TableVersion:
    """
    Return what is there.
    """
    return TableVersion(await connection.define(connection.version))


async def upgrade_tables(connection: PostgresConnection, to: str = VERSION) -> TableVersion:
    """
    Make the tables into those of a version, all or nothing, and return what was there before.

    The extension pgvector is brought into the database if it is on the server and the user may do that.
    Of several that do so at a time one does it, and the others find it done.  Raises ``StoreError`` where they are of a
    newer version.
    """

    async def upgrade(made: AsyncConnection) -> TableVersion:
        await made.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        found = await connection.version(made)
        if found is not None and found > VERSION:
            raise too_new(found, connection.place)
        await bring_extension(made)
        if found != to:
            await made.run_sync(_upgrade, connection.schema, to)
        return TableVersion(found)

    return await connection.define(upgrade)


def _upgrade(made: Connection, schema: str | None, to: str) -> None:
    if schema is not None:
        quoted = made.dialect.identifier_preparer.quote(schema)
        if made.execute(select(func.to_regnamespace(quoted))).scalar() is None:
            made.execute(text(f"CREATE SCHEMA {quoted}"))
        # Until the transaction ends: so that migrations need not say where, and still find what extensions brought.
        path = func.concat(quoted, ", ", func.current_setting("search_path"))
        made.execute(select(func.set_config("search_path", path, True)))
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes.update(connection=made, schema=schema)
    command.upgrade(config, to)
