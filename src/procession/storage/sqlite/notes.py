"""
SQLiteNotes: notes in one SQLite file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from procession.storage.notes import Note, NoteKey
from procession.storage.records import record_name
from procession.storage.sqlite.conversation_file import ConversationFile, Row

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteNotes"]

_WHICH = "WHERE resource_id = ? AND thread_id IS ? AND kind = ?"


class SQLiteNotes(ConversationFile):
    """
    A ``NoteStore`` in a file.
    """

    async def note(self, key: NoteKey) -> Note | None:
        """
        Return what is written under *key*, or ``None``.
        """

        async def read(row: Row | None) -> Note | None:
            if row is None:
                return None
            return Note(await self._text(row[2], key.resource_id, "note", key.kind, key.thread_id), row[1])

        return await self._found(lambda made: _find(made, key), read)

    async def put_note(self, key: NoteKey, text: str, *, version: int) -> Note | None:
        """
        Write *text* in place of that *version*, 0 where there was none; ``None`` where somebody else wrote meanwhile.
        """
        name = record_name("note", key.kind, key.thread_id)
        stored = await self._records.write(text, scope=key.resource_id, name=name)

        def write(made: sqlite3.Connection) -> tuple[bool, str | None]:
            found = _find(made, key)
            if version != (0 if found is None else found[1]):
                return False, stored
            if found is None:
                made.execute(
                    "INSERT INTO procession_notes (resource_id, thread_id, kind, version, text) VALUES (?, ?, ?, 1, ?)",
                    (*_values(key), stored),
                )
                return True, None
            made.execute(
                "UPDATE procession_notes SET version = version + 1, text = ? WHERE number = ?", (stored, found[0])
            )
            return True, found[2]

        written, _ = await self._write(
            write, len(stored), written=[stored], scope=key.resource_id, replaced=lambda done: [done[1]]
        )
        return Note(text, version + 1) if written else None

    async def delete_note(self, key: NoteKey) -> bool:
        """
        Forget what is written under *key*; ``False`` where nothing is.
        """

        def delete(made: sqlite3.Connection) -> Row | None:
            found = _find(made, key)
            made.execute(f"DELETE FROM procession_notes {_WHICH}", _values(key))
            return found

        found = await self._write(
            delete, scope=key.resource_id, deleted=lambda found: [found[2]] if found is not None else []
        )
        return found is not None


def _values(key: NoteKey) -> tuple[str, str | None, str]:
    return key.resource_id, key.thread_id, key.kind


def _find(made: sqlite3.Connection, key: NoteKey) -> Row | None:
    row: Row | None = made.execute(
        f"SELECT number, version, text FROM procession_notes {_WHICH}", _values(key)
    ).fetchone()
    return row
