"""
Conversations, notes and what is to be embedded; runs.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """
    Make the tables.
    """
    _conversations()
    _runs()


def _conversations() -> None:
    op.create_table(
        "procession_threads",
        sa.Column("id", sa.Text(collation="C"), primary_key=True),
        sa.Column("resource_id", sa.Text(collation="C"), nullable=False),
        sa.Column("used", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("metadata", sa.Text),
    )
    op.create_index("procession_threads_by_use", "procession_threads", ["resource_id", "used"])
    op.create_table(
        "procession_messages",
        sa.Column("thread_id", sa.Text(collation="C"), nullable=False),
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("number", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("moment", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "id"),
        sa.ForeignKeyConstraint(["thread_id"], ["procession_threads.id"], ondelete="CASCADE"),
    )
    op.create_index("procession_messages_by_time", "procession_messages", ["thread_id", "moment", "number"])
    op.create_table(
        "procession_notes",
        sa.Column("number", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("resource_id", sa.Text(collation="C"), nullable=False),
        sa.Column("kind", sa.Text(collation="C"), nullable=False),
        sa.Column("thread_id", sa.Text(collation="C")),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index(
        "procession_notes_of_threads",
        "procession_notes",
        ["resource_id", "thread_id", "kind"],
        unique=True,
        postgresql_where=sa.text("thread_id IS NOT NULL"),
    )
    op.create_index(
        "procession_notes_of_resources",
        "procession_notes",
        ["resource_id", "kind"],
        unique=True,
        postgresql_where=sa.text("thread_id IS NULL"),
    )
    op.create_table(
        "procession_indexes",
        sa.Column("name", sa.Text(collation="C"), primary_key=True),
        sa.Column("number", sa.BigInteger, sa.Identity(), nullable=False),
    )
    op.create_table(
        "procession_to_index",
        sa.Column("thread_id", sa.Text(collation="C"), nullable=False),
        sa.Column("message_id", sa.Text(collation="C"), nullable=False),
        sa.Column("index_name", sa.Text(collation="C"), nullable=False),
        sa.Column("revision", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("taken_until", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("thread_id", "message_id", "index_name"),
        sa.ForeignKeyConstraint(
            ["thread_id", "message_id"],
            ["procession_messages.thread_id", "procession_messages.id"],
            ondelete="CASCADE",
        ),
    )
    op.create_index("procession_to_index_in_order", "procession_to_index", ["index_name", "revision"])


def _runs() -> None:
    op.create_table(
        "procession_runs",
        sa.Column("run_id", sa.Text(collation="C"), primary_key=True),
        sa.Column("number", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("owner", sa.Text(collation="C"), nullable=False),
        sa.Column("kind", sa.Text(collation="C"), nullable=False),
        sa.Column("status", sa.Text(collation="C"), nullable=False),
        sa.Column("graph_hash", sa.Text(collation="C"), nullable=False),
        sa.Column("parent_run_id", sa.Text(collation="C")),
        sa.Column("forked_at", sa.Text(collation="C")),
        sa.Column("resource_id", sa.Text(collation="C")),
        sa.Column("thread_id", sa.Text(collation="C")),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("claim", sa.Text(collation="C")),
        sa.Column("claimed_until", sa.Double, nullable=False),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        sa.Column("data", sa.Text),
    )
    op.create_index("procession_runs_by_time", "procession_runs", ["created_at", "number"])
    op.create_index("procession_runs_by_status", "procession_runs", ["status", "created_at", "number"])
    op.create_index("procession_runs_by_resource", "procession_runs", ["resource_id", "created_at", "number"])
    op.create_index("procession_runs_by_thread", "procession_runs", ["thread_id", "created_at", "number"])
    op.create_index("procession_runs_by_parent", "procession_runs", ["parent_run_id", "created_at", "number"])
    op.create_table(
        "procession_entries",
        sa.Column("run_id", sa.Text(collation="C"), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text(collation="C"), nullable=False),
        sa.Column("path", sa.Text(collation="C"), nullable=False),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text),
        sa.PrimaryKeyConstraint("run_id", "seq"),
        sa.ForeignKeyConstraint(["run_id"], ["procession_runs.run_id"], ondelete="CASCADE"),
    )
    op.create_table(
        "procession_graphs",
        sa.Column("graph_hash", sa.Text(collation="C"), primary_key=True),
        sa.Column("spec", sa.Text, nullable=False),
    )
