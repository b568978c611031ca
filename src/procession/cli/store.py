"""
Stores: where the runs are that a command line speaks of.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from procession.errors import InputError
from procession.runtime.runtime import Runtime
from procession.storage.base import JournalStore
from procession.storage.memory_journal import InMemoryJournal
from procession.storage.open_store import DEFAULT_FILE, STORE_VARIABLE, open_store
from procession.storage.records import Records

__all__ = ["is_postgres", "named_store", "open_runtime", "sqlite_path"]


def named_store(store: str | None) -> str:
    """
    Return the store that is named: by the option, by the environment, else the file ``procession.db``.
    """
    return store or os.environ.get(STORE_VARIABLE) or DEFAULT_FILE


def is_postgres(url: str) -> bool:
    """
    Return whether *url* names a database of Postgres.
    """
    return url.partition(":")[0].partition("+")[0] in ("postgres", "postgresql")


def sqlite_path(url: str) -> Path:
    """
    Return the file that *url* names.

    Raises ``InputError`` where it names none.
    """
    from procession.storage.sqlite.store import SQLiteStore

    made = open_store(url, records=Records())  # nothing is opened: it says what the name stands for
    if not isinstance(made, SQLiteStore):
        raise InputError(
            "a store in memory has no tables, and no runs of before", hint="name a file, or postgresql://..."
        )
    return Path(made.place)


@asynccontextmanager
async def open_runtime(store: str | None, thing: Any = None, *, make: bool = False) -> AsyncGenerator[Runtime]:
    """
    Open the runtime of the runs that a command speaks of, until the block is left.

    They are in the *store* that is named, else where *thing*, an agent, keeps them itself if that outlives the process, else
    where the environment says, or in ``procession.db``.  Where *thing* is an agent, it keeps its runs there as well.  With
    *make* a file is made where there is none.

    Raises ``InputError`` where there is no such file, ``StoreError`` where it cannot be used.
    """
    own = getattr(thing, "runtime", None)
    if store is None and isinstance(own, Runtime) and not isinstance(own.store, InMemoryJournal):
        async with own:
            yield own
        return
    url = named_store(store)
    async with _journal(url, make=make) as journal, Runtime(journal) as runtime:
        if isinstance(own, Runtime):
            thing.runtime = runtime
        yield runtime


@asynccontextmanager
async def _journal(url: str, *, make: bool) -> AsyncGenerator[JournalStore]:
    if is_postgres(url):
        open_store(url, records=Records())  # says which package is missing
        from procession.storage.postgres.journal import PostgresJournal

        opened: Any = PostgresJournal(url)
    else:
        path = sqlite_path(url)
        if not make and not path.exists():
            raise InputError(f"there is no store {str(path)!r}", hint=f"name one: --store, or {STORE_VARIABLE}")
        from procession.storage.sqlite.journal import SQLiteJournal

        opened = SQLiteJournal(path)
    records = Records.from_environment()
    async with opened as journal:
        if records.is_plain:
            yield journal
        else:
            from procession.storage.sealed_journal import SealedJournal

            yield SealedJournal(journal, records)
