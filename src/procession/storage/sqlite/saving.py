"""
Saving: what a turn writes in a file of conversations.  It asks for the thread and for nothing that was said in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from procession.messages.value import Value

if TYPE_CHECKING:
    import sqlite3

__all__ = ["USE", "Outcome", "Saving", "note_message", "number_of_index", "save_messages"]

Outcome: TypeAlias = Literal["saved", "foreign", "changed"]
"""Whether it was saved; nothing is written where the thread is another's, or its metadata are not those that were known."""

USE = (
    "UPDATE procession_threads SET updated_at = ?, used ="
    " (SELECT max(used) + 1 FROM procession_threads WHERE resource_id = ?)"
)
"""Makes a thread the one that was used last."""

_PUT = (
    "INSERT INTO procession_messages (thread, message_id, at, data) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (thread, message_id) DO UPDATE SET at = excluded.at, data = excluded.data"
)

_TABLES_TOUCHED = 5
"""Pages of tables and their indexes that change besides those that hold the texts."""

_QUEUE_TOUCHED = 4
"""Pages that change where messages are noted for indexes."""


class Saving(Value, kw_only=True):
    """
    What is to be saved, as it is to stand in the file.
    """

    thread_id: str
    resource_id: str
    rows: Sequence[tuple[str, int, str]]
    """Of each message its id, its time and its text."""
    title: str | None
    indexes: Sequence[str]
    tells_replaced: bool
    """Whether to tell what stood where something else stands now."""
    now: float
    metadata: str | None = None
    """In place of those that were known, if any are given."""
    known_metadata: str | None = None
    lay_over: Callable[[str | None], str] | None = None
    """In place of both: makes the metadata that are to stand there of those that do."""

    @property
    def texts(self) -> list[str | None]:
        """
        All that is to be written.
        """
        return [*(text for _, _, text in self.rows), self.title, self.metadata]

    @property
    def size(self) -> int:
        """
        About how many bytes the log gets of it.
        """
        texts = sum(len(text or "") for text in self.texts)
        return texts + (_TABLES_TOUCHED + (_QUEUE_TOUCHED if self.indexes else 0)) * 4096


def save_messages(saving: Saving, made: sqlite3.Connection) -> tuple[Outcome, list[str | None]]:
    """
    Save, and return what came of it, and the texts that stand in the file no longer, or never did.
    """
    found = made.execute(
        "SELECT number, resource_id, title, metadata FROM procession_threads WHERE thread_id = ?", (saving.thread_id,)
    ).fetchone()
    if found is not None and found[1] != saving.resource_id:
        return "foreign", saving.texts
    known_metadata, metadata = None if found is None else found[3], saving.metadata
    if saving.lay_over is not None:
        metadata = saving.lay_over(known_metadata)
    elif metadata is not None and saving.known_metadata != known_metadata:
        return "changed", [metadata]
    if found is None:
        added = made.execute(
            "INSERT INTO procession_threads (thread_id, resource_id, created_at, updated_at, used)"
            " VALUES (?, ?, ?, ?, 0)",
            (saving.thread_id, saving.resource_id, saving.now, saving.now),
        )
        thread, title = added.lastrowid, None
    else:
        thread, _, title, _ = found
    made.execute(
        f"{USE}, title = coalesce(title, ?), metadata = coalesce(?, metadata) WHERE number = ?",
        (saving.now, saving.resource_id, saving.title, metadata, thread),
    )
    gone: list[str | None] = []
    if saving.tells_replaced:
        gone = [saving.title if title is not None else None, known_metadata if metadata is not None else None]
        known = "SELECT data FROM procession_messages WHERE thread = ? AND message_id = ?"
        for id, _, _ in saving.rows:
            gone += [data for (data,) in made.execute(known, (thread, id))]
    made.executemany(_PUT, [(thread, *row) for row in saving.rows])
    for index in saving.indexes:
        number = number_of_index(made, index)
        for id, _, _ in saving.rows:
            note_message(made, number, thread, id)
    return "saved", gone


def number_of_index(made: sqlite3.Connection, name: str) -> int:
    """
    Return the number of an index, which is given to it when anything is first noted for it.
    """
    found = made.execute("SELECT number FROM procession_indexes WHERE name = ?", (name,)).fetchone()
    if found is None:
        made.execute("INSERT INTO procession_indexes (name) VALUES (?)", (name,))
        return number_of_index(made, name)
    number: int = found[0]
    return number


def note_message(made: sqlite3.Connection, index: int, thread: int | None, message_id: str) -> None:
    """
    Note a message for the index with that number, under a new revision.
    """
    made.execute(
        "INSERT OR REPLACE INTO procession_index_queue (message, for_index, until)"
        " SELECT number, ?, 0 FROM procession_messages WHERE thread = ? AND message_id = ?",
        (index, thread, message_id),
    )
