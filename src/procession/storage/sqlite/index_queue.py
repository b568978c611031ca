"""
SQLiteIndexQueue: what is still to be embedded, in one SQLite file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from procession.errors import StoreError
from procession.storage.index_queue import ToIndex
from procession.storage.pages import counted
from procession.storage.sqlite.conversation_file import LARGE, ConversationFile, Row
from procession.storage.sqlite.saving import number_of_index
from procession.storage.threads import MessageRef

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteIndexQueue"]

_INDEX = "for_index = (SELECT number FROM procession_indexes WHERE name = ?)"
_FREE = (
    "SELECT q.revision, t.thread_id, t.resource_id, m.message_id, m.data FROM procession_index_queue q"
    " JOIN procession_messages m ON m.number = q.message JOIN procession_threads t ON t.number = m.thread"
    f" WHERE q.{_INDEX} AND q.until <= ? AND q.revision > ? ORDER BY q.revision LIMIT ?"
)
_IS_THERE = (
    "SELECT 1 FROM procession_threads t JOIN procession_messages m ON m.thread = t.number"
    " WHERE t.thread_id = ? AND t.resource_id = ? AND m.message_id = ?"
)
_MOST = 1 << 31
"""More than can be taken at a time."""


class SQLiteIndexQueue(ConversationFile):
    """
    An ``IndexQueue`` in a file.
    """

    async def take(self, index: str, *, limit: int, seconds: float) -> list[ToIndex]:
        """
        Return up to *limit* messages that are to be embedded, and keep others from taking them.

        One that cannot be read stays with the others of its turn until *seconds* are over; where nothing else is to be
        embedded that is a ``StoreError``.
        """
        counted("limit", limit)
        now = self._clock()
        behind = -1

        def take(made: sqlite3.Connection) -> list[Row]:
            found = made.execute(_FREE, (index, now, behind, min(limit, _MOST))).fetchall()
            until = "UPDATE procession_index_queue SET until = ? WHERE revision = ?"
            made.executemany(until, [(now + seconds, row[0]) for row in found])
            return found

        taken: list[ToIndex] = []
        unreadable: StoreError | None = None
        while not taken and (found := await self._write(take)):  # a turn may be one that cannot be read at all
            behind = found[-1][0]
            for revision, thread_id, scope, message_id, data in found:
                try:
                    message = await self._message(data, thread_id, message_id, scope)
                except StoreError as error:
                    if unreadable is None and await self._waits(revision):
                        unreadable = error
                else:
                    taken.append(ToIndex(thread_id=thread_id, resource_id=scope, message=message, revision=revision))
        if unreadable is not None and not taken:
            raise unreadable
        return taken

    async def _waits(self, revision: int) -> bool:
        """
        Return whether what was taken still waits, or was deleted or saved anew meanwhile.
        """
        question = "SELECT 1 FROM procession_index_queue WHERE revision = ?"
        return await self._read(lambda made: made.execute(question, (revision,)).fetchone()) is not None

    async def done(self, index: str, items: Collection[ToIndex]) -> list[MessageRef]:
        """
        Take out what was embedded, and return those that were deleted meanwhile: their vectors have to go again.
        """

        def done(made: sqlite3.Connection) -> list[MessageRef]:
            gone: list[MessageRef] = []
            for item in items:
                made.execute(
                    f"DELETE FROM procession_index_queue WHERE revision = ? AND {_INDEX}", (item.revision, index)
                )
                which = (item.thread_id, item.resource_id, item.message.id)
                if made.execute(_IS_THERE, which).fetchone() is None:
                    gone.append(item.ref)
            return gone

        return await self._write(done)

    async def release(self, index: str, items: Collection[ToIndex]) -> None:
        """
        Let others take what was taken and could not be embedded.
        """
        statement = f"UPDATE procession_index_queue SET until = 0 WHERE revision = ? AND {_INDEX}"
        values = [(item.revision, index) for item in items]
        await self._write(lambda made: made.executemany(statement, values))

    async def waiting(self, index: str) -> int:
        """
        Return how many messages are to be embedded, taken or not.
        """
        return await self._read(lambda made: _waiting(made, index))

    async def note_all(self, index: str) -> int:
        """
        Note every message that is kept for *index*, those that wait for it already included, and return how many.
        """

        def note(made: sqlite3.Connection) -> int:
            made.execute(
                "INSERT INTO procession_index_queue (message, for_index, until)"
                " SELECT number, ?, 0 FROM procession_messages WHERE 1 ORDER BY number"
                " ON CONFLICT (message, for_index) DO NOTHING",
                (number_of_index(made, index),),
            )
            return _waiting(made, index)

        return await self._write(note, LARGE)

    async def indexes(self) -> Sequence[str]:
        """
        Return the names of the indexes that anything was ever noted for, the first one first.
        """

        def read(made: sqlite3.Connection) -> list[Row]:
            return made.execute("SELECT name FROM procession_indexes ORDER BY number").fetchall()

        return tuple(name for (name,) in await self._read(read))

    async def drop_index(self, index: str) -> int:
        """
        Forget an index, with what waits for it, and return how much that was.
        """

        def drop(made: sqlite3.Connection) -> int:
            gone = made.execute(f"DELETE FROM procession_index_queue WHERE {_INDEX}", (index,)).rowcount
            made.execute("DELETE FROM procession_indexes WHERE name = ?", (index,))
            return gone

        return await self._write(drop, LARGE)


def _waiting(made: sqlite3.Connection, index: str) -> int:
    question = f"SELECT count(*) FROM procession_index_queue WHERE {_INDEX}"
    number: int = made.execute(question, (index,)).fetchone()[0]
    return number
