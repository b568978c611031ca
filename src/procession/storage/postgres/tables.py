"""
The tables, as statements name them.  How they come about is in the migrations.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

__all__ = [
    "ENTRIES",
    "GRAPHS",
    "MESSAGES",
    "METADATA",
    "NAMES",
    "NOTES",
    "RUNS",
    "THREADS",
    "TO_INDEX",
    "VERSION",
    "VERSION_TABLE",
]

VERSION = "0001"
"""The version of the tables that this code reads and writes: that of the last migration."""

VERSION_TABLE = "procession_version"

METADATA = MetaData()


def _name() -> Text:
    return Text(collation="C")  # names are compared byte by byte, whatever the language of the database


THREADS = Table(
    "procession_threads",
    METADATA,
    Column("id", _name(), primary_key=True),
    Column("resource_id", _name(), nullable=False),
    Column("used", BigInteger, Identity(), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("title", Text),
    Column("metadata", Text),
    Index("procession_threads_by_use", "resource_id", "used"),
)
"""Threads.  ``used`` grows each time one is written; titles and metadata are JSON, as ``Records`` keep it."""

MESSAGES = Table(
    "procession_messages",
    METADATA,
    Column("thread_id", _name(), nullable=False),
    Column("id", _name(), nullable=False),
    Column("number", BigInteger, Identity(), nullable=False),
    Column("moment", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("thread_id", "id"),
    ForeignKeyConstraint(["thread_id"], ["procession_threads.id"], ondelete="CASCADE"),
    Index("procession_messages_by_time", "thread_id", "moment", "number"),
)
"""Messages: of one ``moment``, microseconds since 1970, in the order in which they were saved."""

NOTES = Table(
    "procession_notes",
    METADATA,
    Column("number", BigInteger, Identity(), primary_key=True),
    Column("resource_id", _name(), nullable=False),
    Column("kind", _name(), nullable=False),
    Column("thread_id", _name()),
    Column("version", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    # Two indexes, as to one alone no thread is never the same as no thread.
    Index(
        "procession_notes_of_threads",
        "resource_id",
        "thread_id",
        "kind",
        unique=True,
        postgresql_where=text("thread_id IS NOT NULL"),
    ),
    Index(
        "procession_notes_of_resources",
        "resource_id",
        "kind",
        unique=True,
        postgresql_where=text("thread_id IS NULL"),
    ),
)
"""Notes.  A note of a thread may be there before the thread is."""

NAMES = Table(
    "procession_indexes",
    METADATA,
    Column("name", _name(), primary_key=True),
    Column("number", BigInteger, Identity(), nullable=False),
)
"""The indexes that anything was ever noted for."""

TO_INDEX = Table(
    "procession_to_index",
    METADATA,
    Column("thread_id", _name(), nullable=False),
    Column("message_id", _name(), nullable=False),
    Column("index_name", _name(), nullable=False),
    Column("revision", BigInteger, Identity(), nullable=False),
    Column("taken_until", DateTime(timezone=True)),
    PrimaryKeyConstraint("thread_id", "message_id", "index_name"),
    ForeignKeyConstraint(
        ["thread_id", "message_id"],
        ["procession_messages.thread_id", "procession_messages.id"],
        ondelete="CASCADE",
    ),
    Index("procession_to_index_in_order", "index_name", "revision"),
)
"""What is to be embedded.  ``revision`` grows each time a message is noted, and is the order of the queue."""

RUNS = Table(
    "procession_runs",
    METADATA,
    Column("run_id", _name(), primary_key=True),
    Column("number", BigInteger, Identity(), nullable=False),
    Column("owner", _name(), nullable=False),
    Column("kind", _name(), nullable=False),
    Column("status", _name(), nullable=False),
    Column("graph_hash", _name(), nullable=False),
    Column("parent_run_id", _name()),
    Column("forked_at", _name()),
    Column("resource_id", _name()),
    Column("thread_id", _name()),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("claim", _name()),
    Column("claimed_until", Double, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("data", Text),
    Index("procession_runs_by_time", "created_at", "number"),
    Index("procession_runs_by_status", "status", "created_at", "number"),
    Index("procession_runs_by_resource", "resource_id", "created_at", "number"),
    Index("procession_runs_by_thread", "thread_id", "created_at", "number"),
    Index("procession_runs_by_parent", "parent_run_id", "created_at", "number"),
)
"""Runs.  Times are seconds since 1970; ``claim`` is the token of whoever holds the run."""

ENTRIES = Table(
    "procession_entries",
    METADATA,
    Column("run_id", _name(), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", _name(), nullable=False),
    Column("path", _name(), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("data", Text),
    PrimaryKeyConstraint("run_id", "seq"),
    ForeignKeyConstraint(["run_id"], ["procession_runs.run_id"], ondelete="CASCADE"),
)
"""What was completed in runs."""

GRAPHS = Table(
    "procession_graphs",
    METADATA,
    Column("graph_hash", _name(), primary_key=True),
    Column("spec", Text, nullable=False),
)
"""Workflows as data."""
