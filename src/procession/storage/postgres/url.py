"""
Where a database is, and what of that may be told.
"""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from procession.errors import DefinitionError

__all__ = ["place_of", "read_url"]

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")


def read_url(url: str) -> URL:
    """
    Return *url* as the driver needs it.

    Raises ``DefinitionError``, which does not quote it, where it is none of Postgres, or says not clearly where the
    password ends.
    """
    try:
        made = make_url(url)
    except (ArgumentError, ValueError):
        made = None
    if made is None or made.drivername not in _SCHEMES:
        raise DefinitionError(
            "the url of a store in Postgres cannot be read"
            if made is None
            else f"the url of a store in Postgres begins with {made.drivername}://",
            hint="write postgresql://user:password@host:5432/database",
        )
    if "@" in (made.host or ""):  # it would be told as a part of where the database is
        raise DefinitionError(
            "the url of a store in Postgres has two @",
            hint="write %40 for the one in the password, or in the user's name",
        )
    return made.set(drivername="postgresql+psycopg")


def place_of(url: URL) -> str:
    """
    Return what errors call the database: where it is, and nothing of who uses it.

    >>> place_of(read_url("postgres://ada:secret@db.example/shop?sslmode=require"))
    'db.example/shop'
    """
    port = f":{url.port}" if url.port is not None else ""
    return f"{url.host or 'localhost'}{port}/{url.database or ''}"
