"""
The extension pgvector, and how it comes into a database.
"""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import StoreError

__all__ = ["bring_extension", "need_extension"]


async def bring_extension(made: AsyncConnection) -> bool:
    """
    Have the extension in the database if that can be, and return whether it is there.
    """
    if await _is_there(made):
        return True
    may = "SELECT FROM pg_available_extensions WHERE name = 'vector' AND has_database_privilege(current_database(), 'CREATE')"
    if (await made.execute(text(may))).first() is None:
        return False
    try:
        async with made.begin_nested():
            await made.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except DBAPIError:
        # Of two at a time one fails, whatever IF NOT EXISTS promises; and some servers leave extensions to administrators.
        return await _is_there(made)
    return True


async def need_extension(made: AsyncConnection, place: str) -> None:
    """
    Have the extension in the database.  Raises ``StoreError`` that says what to do where that cannot be.
    """
    if await bring_extension(made):
        return
    if (await made.execute(text("SELECT FROM pg_available_extensions WHERE name = 'vector'"))).first() is None:
        raise StoreError(
            f"Postgres at {place} cannot keep vectors: its server does not have the extension pgvector",
            hint="install it on the server (Debian: postgresql-NN-pgvector), then: CREATE EXTENSION vector",
        )
    raise StoreError(
        f"Postgres at {place} cannot keep vectors: the extension pgvector is not in this database, and this user may"
        " not bring it in",
        hint="have an administrator say: CREATE EXTENSION vector",
    )


async def _is_there(made: AsyncConnection) -> bool:
    return (await made.execute(text("SELECT FROM pg_extension WHERE extname = 'vector'"))).first() is not None
