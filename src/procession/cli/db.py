"""
``procession db``: the tables of a store, what version they are of, and how they become those of this one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from procession.cli.store import is_postgres, named_store, sqlite_path
from procession.errors import InputError, StoreError
from procession.messages.value import Value
from procession.storage.records import Records

if TYPE_CHECKING:
    from procession.storage.postgres.store import PostgresStore

__all__ = ["Tables", "read_tables", "upgrade_tables"]


class Tables(Value, kw_only=True):
    """
    The tables of one store: the version that was found, ``None`` where there are none, and the one that is needed.
    """

    store: str
    found: str | None
    needed: str
    is_upgraded: bool = False
    """Whether they have been made into what is needed since."""

    @property
    def is_current(self) -> bool:
        """
        Whether they are what is needed.
        """
        return self.is_upgraded or self.found == self.needed

    @property
    def as_json(self) -> str:
        """
        Return this as one line of JSON.
        """
        told = {"store": self.store, "found": self.found, "needed": self.needed, "current": self.is_current}
        return json.dumps(told, ensure_ascii=False)

    def __str__(self) -> str:
        found = f"tables of version {self.found}" if self.found is not None else "no tables"
        if self.found == self.needed:
            return f"{self.store}: {found}, as needed"
        if self.is_upgraded:
            return f"{self.store}: {found} before, now of version {self.needed}"
        return f"{self.store}: {found}, and version {self.needed} is needed: procession db upgrade"


def read_tables(store: str | None, schema: str | None) -> Tables:
    """
    Return what is there, and change nothing.

    Raises ``StoreError`` where it cannot be read.
    """
    return anyio.run(_read, store, schema)


def upgrade_tables(store: str | None, schema: str | None) -> Tables:
    """
    Make the tables into those of this version, and return what was there before.

    Raises ``StoreError`` where that cannot be, as for tables of a newer version.
    """
    return anyio.run(_upgrade, store, schema)


async def _read(store: str | None, schema: str | None) -> Tables:
    url = named_store(store)
    if not is_postgres(url):
        return _file_tables(_path(url, schema))
    async with _postgres(url, schema) as made:
        version = await made.table_version()
        if version.found is not None and version.found > version.needed:
            from procession.storage.postgres.connection import too_new

            raise too_new(version.found, made.place)
    return Tables(store=made.place, found=version.found, needed=version.needed)


async def _upgrade(store: str | None, schema: str | None) -> Tables:
    url = named_store(store)
    if not is_postgres(url):
        return await _upgrade_file(_path(url, schema))
    async with _postgres(url, schema) as made:
        version = await made.upgrade()
    return Tables(store=made.place, found=version.found, needed=version.needed, is_upgraded=True)


def _postgres(url: str, schema: str | None) -> PostgresStore:
    from procession.storage.postgres.store import PostgresStore

    return PostgresStore(url, schema=schema, records=Records())  # which needs no key for that


def _path(url: str, schema: str | None) -> Path:
    if schema is not None:
        raise InputError("--schema is for a store in Postgres", hint="leave it out for a file")
    return sqlite_path(url)


def _file_tables(path: Path) -> Tables:
    """
    Return what is in a file, which is not made and not changed.
    """
    import sqlite3

    from procession.storage.sqlite.conversation_file import CONVERSATIONS
    from procession.storage.sqlite.schema import VERSION, need_known_versions
    from procession.storage.sqlite.vectors import VECTORS

    found: str | None = None
    if path.exists():
        try:
            made = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            try:
                if made.execute("SELECT 1 FROM sqlite_master WHERE name = 'procession_schema'").fetchone():
                    row = made.execute("SELECT version FROM procession_schema").fetchone()
                    found = str(row[0]) if row is not None else None
                    need_known_versions(made, str(path), (CONVERSATIONS, VECTORS))
            finally:
                made.close()
        except sqlite3.Error as error:
            raise StoreError(f"the store {str(path)!r} cannot be read: {error}") from error
    return Tables(store=str(path), found=found, needed=str(VERSION))


async def _upgrade_file(path: Path) -> Tables:
    """
    Open a file, which upgrades it.
    """
    from procession.storage.sqlite.store import SQLiteStore

    before = _file_tables(path)
    async with SQLiteStore(path, records=Records()) as made:  # which needs no key for that
        await made.indexes()
    return before.replace(is_upgraded=True)
