"""
Notes in Postgres.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.storage.notes import Note, NoteKey
from procession.storage.postgres.part import PostgresPart
from procession.storage.postgres.tables import NOTES

__all__ = ["PostgresNotes"]


class PostgresNotes(PostgresPart):
    """
    A ``NoteStore`` in Postgres: a note is written where it still is of the version that its writer has read.
    """

    async def note(self, key: NoteKey) -> Note | None:
        """
        Return what is written under *key*, or ``None``.
        """
        asked = select(NOTES.c.body, NOTES.c.version).where(_under(key))

        async def read(made: AsyncConnection) -> tuple[str, int] | None:
            found = (await made.execute(asked)).one_or_none()
            return None if found is None else (found.body, found.version)

        found = await self._connection.read(read)
        if found is None:
            return None
        stored, version = found
        return Note(await self._word(stored, key.resource_id, "note", key.kind, key.thread_id), version)

    async def put_note(self, key: NoteKey, text: str, *, version: int) -> Note | None:
        """
        Write *text* in place of that *version*; ``None`` where somebody else wrote meanwhile.
        """
        stored = await self._written_word(text, key.resource_id, "note", key.kind, key.thread_id)
        fresh = (
            insert(NOTES)
            .values(resource_id=key.resource_id, kind=key.kind, thread_id=key.thread_id, version=1, body=stored)
            .on_conflict_do_nothing()
            .returning(NOTES.c.version)
        )
        known = select(NOTES.c.body).where(_under(key), NOTES.c.version == version).with_for_update()
        change = update(NOTES).where(_under(key)).values(version=version + 1, body=stored)

        async def write(made: AsyncConnection) -> tuple[bool, list[str]]:
            if version == 0:
                return (await made.execute(fresh)).one_or_none() is not None, []
            before = (await made.execute(known)).scalar_one_or_none()
            if before is None:
                return False, []
            await made.execute(change)
            return True, [before]

        has_written, gone = await self._write(write, [stored], key.resource_id)
        await self._let_go(gone if has_written else [stored], key.resource_id)
        return Note(text, version + 1) if has_written else None

    async def delete_note(self, key: NoteKey) -> bool:
        """
        Forget what is written under *key*; ``False`` where nothing is.
        """
        gone = delete(NOTES).where(_under(key)).returning(NOTES.c.body)

        async def write(made: AsyncConnection) -> str | None:
            return (await made.execute(gone)).scalar_one_or_none()

        stored = await self._connection.write(write)
        if stored is not None:
            await self._forget([stored], key.resource_id)
        return stored is not None


def _under(key: NoteKey) -> ColumnElement[bool]:
    thread = NOTES.c.thread_id.is_(None) if key.thread_id is None else NOTES.c.thread_id == key.thread_id
    return (NOTES.c.resource_id == key.resource_id) & (NOTES.c.kind == key.kind) & thread
