"""
The tables of a file: their version, and how a file of an earlier one becomes one of this.

Runs have the version that the file has as a whole; every other family of tables has its own, and stands only in files
that it is used in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from procession.errors import StoreError
from procession.messages.value import Value

if TYPE_CHECKING:
    import sqlite3

__all__ = ["VERSION", "Family", "need_known_versions", "prepare_tables"]

VERSION = 3
"""The version of the tables that this code reads and writes."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS procession_schema (version INTEGER NOT NULL)"
_FAMILIES = "CREATE TABLE IF NOT EXISTS procession_families (name TEXT PRIMARY KEY, version INTEGER NOT NULL)"

# The content comes last in its row: what comes before is read without it.  A process of an earlier version that still
# has the file open writes words for an end that are none of these, and is refused.
_RUNS = """CREATE TABLE procession_runs (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('pending', 'running', 'suspended', 'success', 'failed', 'blocked', 'cancelled')),
    graph_hash TEXT NOT NULL, parent_run_id TEXT, forked_at TEXT, resource_id TEXT, thread_id TEXT,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, claim TEXT, claimed_until REAL NOT NULL,
    cancel_requested INTEGER NOT NULL, data TEXT
)"""

_INDEXES = (
    "CREATE INDEX procession_runs_by_time ON procession_runs (created_at)",
    "CREATE INDEX procession_runs_by_status ON procession_runs (status, created_at)",
    "CREATE INDEX procession_runs_by_resource ON procession_runs (resource_id, created_at)"
    " WHERE resource_id IS NOT NULL",
    "CREATE INDEX procession_runs_by_parent ON procession_runs (parent_run_id, created_at)"
    " WHERE parent_run_id IS NOT NULL",
    "CREATE INDEX procession_runs_by_thread ON procession_runs (thread_id, created_at) WHERE thread_id IS NOT NULL",
)

_REST = (
    # By run and number, and nowhere else: a table with an index beside it would write
    # two fifths more.
    """CREATE TABLE procession_entries (
        run_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL, attempt INTEGER NOT NULL,
        data TEXT, PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID""",
    "CREATE TABLE procession_graphs (graph_hash TEXT PRIMARY KEY, spec TEXT NOT NULL)",
)

_SAYS = "CASE WHEN data IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.options.{}') END"
"""What the kept options of an agent's run say."""

_FROM_1 = (
    "ALTER TABLE procession_runs RENAME TO procession_runs_1",
    _RUNS,
    f"""INSERT INTO procession_runs
    SELECT NULL, run_id, owner, 'agent',
        CASE status WHEN 'completed' THEN 'success' WHEN 'aborted' THEN 'cancelled' ELSE status END,
        '', NULL, NULL, {_SAYS.format("resource")}, {_SAYS.format("thread")},
        created_at, updated_at, claim, claimed_until, 0, data
    FROM procession_runs_1 ORDER BY rowid""",
    "DROP TABLE procession_runs_1",
    *_INDEXES,
    *_REST,
)

_FROM_2 = (
    "ALTER TABLE procession_runs RENAME TO procession_runs_2",
    _RUNS,
    f"""INSERT INTO procession_runs
    SELECT number, run_id, owner, kind, status, graph_hash, parent_run_id, forked_at, resource_id,
        CASE kind WHEN 'agent' THEN {_SAYS.format("thread")} END, created_at, updated_at, claim, claimed_until, cancel_requested, data
    FROM procession_runs_2 ORDER BY number""",
    "DROP TABLE procession_runs_2",
    *_INDEXES,
)

_CHANGES = {1: _FROM_1, 2: _FROM_2}
"""What makes a file of an earlier version into one of this, by its version."""


class Family(Value, kw_only=True):
    """
    Tables that belong together, and have a version together.
    """

    name: str
    tables: Sequence[str]
    """The statements that make them, as they are now, where there are none."""
    upgrades: Sequence[Sequence[str]] = ()
    """The statements that make those of version 1 into those of 2, those of 2 into those of 3, and so on."""

    @property
    def version(self) -> int:
        """
        The version that *tables* make.
        """
        return 1 + len(self.upgrades)


def prepare_tables(
    made: sqlite3.Connection, path: str, more: Sequence[str] = (), families: Sequence[Family] = ()
) -> None:
    """
    Make the tables where there are none, or make those of an earlier version into these: all or nothing.

    *more* are statements for tables of a store of its own, which are there only in files that it uses: the version of a
    file says nothing of them, so that they can be made in any.  The *families* have versions of their own.

    Raises ``StoreError`` for a file of a later version, which is left as it is.
    """
    made.execute("BEGIN IMMEDIATE")
    try:
        made.execute(_SCHEMA)
        found = made.execute("SELECT version FROM procession_schema").fetchone()
        if found is None:
            for table in (_RUNS, *_INDEXES, *_REST):
                made.execute(table)
            made.execute("INSERT INTO procession_schema VALUES (?)", (VERSION,))
        elif found[0] in _CHANGES:
            for change in _CHANGES[found[0]]:
                made.execute(change)
            made.execute("UPDATE procession_schema SET version = ?", (VERSION,))
        elif found[0] != VERSION:
            raise _newer(path, "its tables are", found[0], VERSION)
        for table in more:
            made.execute(table)
        for family in families:
            _prepare_family(made, path, family)
        made.execute("COMMIT")
    except BaseException:
        if made.in_transaction:
            made.execute("ROLLBACK")
        raise


def need_known_versions(made: sqlite3.Connection, path: str, families: Sequence[Family]) -> None:
    """
    Raise ``StoreError`` for a file with tables of a later version, and change nothing.
    """
    for (version,) in made.execute("SELECT version FROM procession_schema"):
        if version not in (*_CHANGES, VERSION):
            raise _newer(path, "its tables are", version, VERSION)
    if not made.execute("SELECT 1 FROM sqlite_master WHERE name = 'procession_families'").fetchone():
        return
    for family in families:
        for (version,) in made.execute("SELECT version FROM procession_families WHERE name = ?", (family.name,)):
            if version not in range(1, family.version + 1):
                raise _newer(path, f"its tables of {family.name} are", version, family.version)


def _prepare_family(made: sqlite3.Connection, path: str, family: Family) -> None:
    made.execute(_FAMILIES)
    found = made.execute("SELECT version FROM procession_families WHERE name = ?", (family.name,)).fetchone()
    if found is None:
        changes = family.tables
    elif found[0] in range(1, family.version + 1):
        changes = [change for step in family.upgrades[found[0] - 1 :] for change in step]
    else:
        raise _newer(path, f"its tables of {family.name} are", found[0], family.version)
    for change in changes:
        made.execute(change)
    if found is None or found[0] != family.version:
        made.execute("INSERT OR REPLACE INTO procession_families VALUES (?, ?)", (family.name, family.version))


def _newer(path: str, what: str, found: object, known: int) -> StoreError:
    return StoreError(
        f"the store {path!r} was written by a newer version: {what} of version {found}, and this one knows {known}",
        hint="update procession, or use another file",
    )
