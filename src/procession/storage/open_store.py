"""
open_store: the store that a url, a path or the environment names.
"""

from __future__ import annotations

import os
import re
from typing import Protocol

from procession.errors import DefinitionError, InputError
from procession.storage.index_queue import IndexQueue
from procession.storage.notes import NoteStore
from procession.storage.records import Records
from procession.storage.threads import ThreadStore
from procession.storage.vectors import VectorStore

__all__ = ["DEFAULT_FILE", "STORE_VARIABLE", "OpenedStore", "open_store"]

STORE_VARIABLE = "PROCESSION_STORE"
"""The environment's variable that names the store where nobody else does."""

DEFAULT_FILE = "procession.db"
"""The file in the working directory that is the store where nothing names one."""

_FORMS = 'say "memory:", a path, "sqlite:///path" or "postgresql://user@host/database"'
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # of two letters at least: one is a drive
_FILE = "sqlite:///"
_WORDS = ("memory", "sqlite", "postgres", "postgresql")


class OpenedStore(ThreadStore, NoteStore, IndexQueue, VectorStore, Protocol):
    """
    A store of conversations, and of what belongs to them, that can be closed.
    """

    async def aclose(self) -> None:
        """
        Close what is open; the next use opens it again.
        """
        ...


def open_store(url: str | os.PathLike[str] | None = None, *, records: Records | None = None) -> OpenedStore:
    """
    Return the store that *url* names; nothing is opened or made before its first use.

    ``memory:`` is a store in memory, a path or ``sqlite:///path`` a SQLite file (a path that begins with a slash has four of
    them then), ``postgresql://...`` a database.  Without it the environment's ``PROCESSION_STORE`` says which, else it is the
    file ``procession.db`` in the working directory.  *records* says how texts stand in it, see ``Records``.

    >>> open_store("memory:").__class__.__name__
    'InMemoryStore'

    Raises ``InputError`` for what names no store, and ``DefinitionError`` where a package is missing that it needs.
    """
    if url is None:
        named = os.environ.get(STORE_VARIABLE)
        where, url = (STORE_VARIABLE, named) if named else ("the store", DEFAULT_FILE)
    else:
        where, url = "the store", os.fspath(url)
    found = _SCHEME.match(url)
    scheme = found.group() if found is not None else ""
    kind = scheme[:-1].lower()
    if url == "memory:":
        from procession.storage.memory_store import InMemoryStore

        return InMemoryStore()
    if kind in ("postgres", "postgresql") or kind.startswith("postgresql+"):
        return _postgres(url, records)
    if kind not in ("", "sqlite"):  # a url may hold a password: only its beginning is quoted
        raise InputError(f"{where} is of the unknown kind {scheme!r}", hint=_FORMS)
    path = url if not kind else url[len(_FILE) :] if url.startswith(_FILE) else ""
    if not path.strip() or path in _WORDS or "\0" in path or (kind and "?" in path):
        raise InputError(f"{where} is {url!r}, which names no file", hint=_FORMS)
    from procession.storage.sqlite.store import SQLiteStore

    return SQLiteStore(path, records=records)


def _postgres(url: str, records: Records | None) -> OpenedStore:
    try:
        from procession.storage.postgres.store import PostgresStore
    except ImportError as error:
        raise DefinitionError(
            f"a store in Postgres needs packages that are not installed: {error}",
            hint="pip install 'procession[postgres]'",
        ) from error
    return PostgresStore(url, records=records)
