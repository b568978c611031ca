"""
SQLiteThreads: threads and their messages in one SQLite file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from procession.errors import MessageError, StoreError
from procession.messages.message import Message
from procession.storage.base import UNCHANGED, Unchanged
from procession.storage.message_records import message_text, metadata_of, metadata_text
from procession.storage.moments import moment_of, time_of
from procession.storage.pages import MOST, counted, cursor_of, read_cursor
from procession.storage.records import record_name
from procession.storage.sqlite.conversation_file import LARGE, ConversationFile, Row
from procession.storage.sqlite.removal import remove_messages, remove_resource, remove_thread
from procession.storage.sqlite.saving import USE, Saving, save_messages
from procession.storage.threads import MessageRef, Passage, Thread, ThreadPage

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteThreads"]

_THREAD = "number, thread_id, resource_id, created_at, updated_at, used, title, metadata"
_PLACE = "SELECT at, number FROM procession_messages WHERE thread = ? AND message_id = ?"
_BEFORE = "thread = ? AND (at, number) < (?, ?) ORDER BY at DESC, number DESC LIMIT ?"
_AFTER = "thread = ? AND (at, number) > (?, ?) ORDER BY at, number LIMIT ?"
_ALL = -1
"""The limit that is none."""

_AT_THE_END = 1 << 62
"""A moment behind all others."""

_A_PAGE = 4096
"""Bytes that are written at least for each message that is deleted."""


class SQLiteThreads(ConversationFile):
    """
    A ``ThreadStore`` in a file.
    """

    async def thread(self, thread_id: str, *, resource_id: str | None = None) -> Thread | None:
        """
        Return a thread, or ``None`` where nothing was ever saved in it.
        """
        return await self._found(lambda made: _find(made, thread_id, resource_id), self._thread)

    async def threads(self, resource_id: str, *, limit: int = 100, cursor: str | None = None) -> ThreadPage:
        """
        Return a page of a resource's threads, those that were used last first.
        """
        counted("limit", limit, least=1)
        behind = read_cursor(cursor) if cursor is not None else _AT_THE_END
        limit = min(limit, MOST)

        def read(made: sqlite3.Connection) -> list[Row]:
            return made.execute(
                f"SELECT {_THREAD} FROM procession_threads WHERE resource_id = ? AND used < ? ORDER BY used DESC LIMIT ?",
                (resource_id, behind, limit + 1),
            ).fetchall()

        async def page(rows: list[Row]) -> ThreadPage:
            threads = [one for row in rows[:limit] if (one := await self._thread(row)) is not None]
            return ThreadPage(tuple(threads), cursor_of(rows[limit - 1][5]) if len(rows) > limit else None)

        return await self._found(read, page)

    async def update_thread(
        self,
        thread_id: str,
        resource_id: str,
        *,
        title: str | Unchanged | None = UNCHANGED,
        metadata: Mapping[str, Any] | Unchanged | None = UNCHANGED,
        only_without_title: bool = False,
    ) -> Thread | None:
        """
        Give a thread another title, or other metadata in place of what it had; ``None`` where there is no such thread,
        or it has a title and may not.
        """
        changes: dict[str, str | None] = {}
        if not isinstance(title, Unchanged):
            changes["title"] = title
        if not isinstance(metadata, Unchanged):
            changes["metadata"] = metadata_text(metadata) if metadata is not None else None
        if not changes:
            return await self.thread(thread_id, resource_id=resource_id)
        texts = {name: text for name, text in changes.items() if text is not None}
        stored = await self._stored([(text, record_name(name, thread_id)) for name, text in texts.items()], resource_id)
        changes |= dict(zip(texts, stored, strict=True))
        now = self._clock()

        def write(made: sqlite3.Connection) -> tuple[Row | None, list[str | None]]:
            found = _find(made, thread_id, resource_id)
            if found is None or (only_without_title and found[6] is not None):
                return None, list(changes.values())
            sets = ", ".join(f"{name} = ?" for name in changes)
            made.execute(f"{USE}, {sets} WHERE number = ?", (now, resource_id, *changes.values(), found[0]))
            replaced = [text for name, text in zip(("title", "metadata"), found[6:], strict=True) if name in changes]
            return _find(made, thread_id, resource_id), replaced

        row, _ = await self._write(
            write,
            sum(len(text or "") for text in changes.values()),
            written=changes.values(),
            scope=resource_id,
            replaced=lambda done: done[1],
        )
        try:
            return await self._thread(row)
        except StoreError:  # perhaps somebody else has changed the other one since
            return await self.thread(thread_id, resource_id=resource_id)

    async def messages(
        self, thread_id: str, *, resource_id: str | None = None, last: int | None = None, before: str | None = None
    ) -> list[Message]:
        """
        Return a thread's messages, oldest first; with *last* only the newest ones, with *before* those before a message.
        """
        counted("last", last)
        limit = _ALL if last is None else min(last, MOST)

        def read(made: sqlite3.Connection) -> tuple[str, list[Row]]:
            thread = _find(made, thread_id, resource_id)
            if thread is None:
                return "", []
            place: Row | None = (_AT_THE_END, 0)
            if before is not None:
                place = made.execute(_PLACE, (thread[0], before)).fetchone()
            if place is None:
                return "", []
            found = made.execute(
                f"SELECT message_id, data FROM procession_messages WHERE {_BEFORE}", (thread[0], *place, limit)
            ).fetchall()
            return thread[2], found[::-1]

        return await self._found(read, lambda found: self._messages(found[1], thread_id, found[0]))

    async def around(
        self, found: Collection[MessageRef], *, resource_id: str | None, before: int = 0, after: int = 0
    ) -> list[Passage]:
        """
        Return the messages that were *found* with those around them, a passage for each thread.
        """
        counted("before", before)
        counted("after", after)
        wanted: dict[str, list[str]] = {}
        for ref in found:
            wanted.setdefault(ref.thread_id, []).append(ref.message_id)

        def read(made: sqlite3.Connection) -> list[tuple[Row, list[Row]]]:
            passages: list[tuple[Row, list[Row]]] = []
            for thread_id, ids in wanted.items():
                thread = _find(made, thread_id, resource_id)
                near = _near(made, thread[0], ids, before, after) if thread is not None else []
                if thread is not None and near:
                    one = "SELECT message_id, data FROM procession_messages WHERE number = ?"
                    passages.append((thread, [made.execute(one, (number,)).fetchone() for _, number in near]))
            return passages

        async def passages(near: list[tuple[Row, list[Row]]]) -> list[Passage]:
            return [
                Passage(thread, tuple(await self._messages(rows, thread.id, thread.resource_id)))
                for row, rows in near
                if (thread := await self._thread(row)) is not None
            ]

        return await self._found(read, passages)

    async def save(
        self,
        thread_id: str,
        resource_id: str,
        messages: Sequence[Message],
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        indexes: Collection[str] = (),
    ) -> None:
        """
        Save messages by id, all or none; the thread is written with the first of them.

        Raises ``MessageError`` where the thread belongs to another resource, and for what cannot be written as JSON.
        """
        if not messages:
            return
        each = list({message.id: message for message in messages}.values())
        texts = [(message_text(one), record_name("message", thread_id, one.id)) for one in each]
        if title is not None:
            texts.append((title, record_name("title", thread_id)))
        stored = await self._stored(texts, resource_id)
        saving = Saving(
            thread_id=thread_id,
            resource_id=resource_id,
            rows=[(one.id, moment_of(one.created_at), text) for one, text in zip(each, stored, strict=False)],
            title=stored[-1] if title is not None else None,
            indexes=tuple(dict.fromkeys(indexes)),
            tells_replaced=not self._records.is_plain,
            now=self._clock(),
        )
        if metadata is not None and self._records.is_plain:
            metadata_text(metadata)  # what cannot be written is refused before anything is
            saving, metadata = saving.replace(lay_over=partial(_laid_over, thread_id, dict(metadata))), None
        outcome = "changed"
        while outcome == "changed":  # somebody else has changed the metadata since they were read
            if metadata is not None:
                saving = await self._laid_over(saving, metadata)
            outcome, _ = await self._write(
                partial(save_messages, saving),
                saving.size,
                written=saving.texts,
                scope=resource_id,
                replaced=lambda done: done[1],
            )
        if outcome == "foreign":
            raise MessageError(
                f"thread {thread_id!r} belongs to another resource", hint="use a thread id of this resource"
            )

    async def delete_messages(self, thread_id: str, resource_id: str, message_ids: Collection[str]) -> int:
        """
        Delete messages of a thread, with what is noted of them for indexes, and return how many there were.
        """
        ids = list(dict.fromkeys(message_ids))
        count, _ = await self._write(
            lambda made: remove_messages(made, thread_id, resource_id, ids),
            _A_PAGE * len(ids),
            scope=resource_id,
            deleted=lambda done: done[1],
        )
        return count

    async def delete_thread(self, thread_id: str, resource_id: str) -> bool:
        """
        Delete a thread with its messages, its notes and what is noted for indexes; ``False`` where there is none.
        """
        was_there, _ = await self._write(
            lambda made: remove_thread(made, thread_id, resource_id),
            LARGE,
            scope=resource_id,
            deleted=lambda done: done[1],
        )
        return was_there

    async def delete_resource(self, resource_id: str) -> int:
        """
        Delete all threads and notes of a resource, and return how many threads there were.
        """
        count, _ = await self._write(
            lambda made: remove_resource(made, resource_id), LARGE, scope=resource_id, deleted=lambda done: done[1]
        )
        return count

    # -- threads as they stand in the file

    async def _laid_over(self, saving: Saving, metadata: Mapping[str, Any]) -> Saving:
        """
        Return *saving* with *metadata* laid over what the thread has at the moment.
        """
        id, scope = saving.thread_id, saving.resource_id

        async def read(row: Row | None) -> tuple[str | None, dict[str, Any]]:
            known = row[7] if row is not None else None
            return known, await self._metadata(known, id, scope) or {}

        try:
            known, values = await self._found(lambda made: _find(made, id, scope), read)
            laid = metadata_text({**values, **metadata})
            (stored,) = await self._stored([(laid, record_name("metadata", id))], scope)
        except BaseException:
            await self._let_go(saving.replace(metadata=None).texts, scope)
            raise
        return saving.replace(metadata=stored, known_metadata=known)

    async def _thread(self, row: Row | None) -> Thread | None:
        if row is None:
            return None
        _, id, scope, created_at, updated_at, _, title, metadata = row
        try:
            created, updated = time_of(created_at), time_of(updated_at)
        except (TypeError, OverflowError):  # a file may be written by others
            raise StoreError(f"thread {id!r} is corrupt: its times are none", hint="restore it, or delete it") from None
        return Thread(
            id=id,
            resource_id=scope,
            created_at=created,
            updated_at=updated,
            title=None if title is None else await self._text(title, scope, "title", id),
            metadata=await self._metadata(metadata, id, scope),
        )

    async def _metadata(self, stored: str | None, thread_id: str, scope: str) -> dict[str, Any] | None:
        if stored is None:
            return None
        return metadata_of(await self._text(stored, scope, "metadata", thread_id), thread_id=thread_id)


def _find(made: sqlite3.Connection, thread_id: str, resource_id: str | None) -> Row | None:
    row: Row | None = made.execute(
        f"SELECT {_THREAD} FROM procession_threads WHERE thread_id = ?", (thread_id,)
    ).fetchone()
    return row if row is not None and resource_id in (None, row[2]) else None


def _laid_over(thread_id: str, metadata: dict[str, Any], known: str | None) -> str:
    return metadata_text({**metadata_of(known, thread_id=thread_id), **metadata} if known is not None else metadata)


def _near(made: sqlite3.Connection, thread: int, ids: Sequence[str], before: int, after: int) -> list[Row]:
    """
    Return the places of those messages, and of so many before and after each, in order.
    """
    near: set[Row] = set()
    for id in ids:
        place = made.execute(_PLACE, (thread, id)).fetchone()
        if place is None:
            continue
        near.add(place)
        for where, limit in ((_BEFORE, before), (_AFTER, after)):
            question = f"SELECT at, number FROM procession_messages WHERE {where}"
            near.update(made.execute(question, (thread, *place, min(limit, MOST))))
    return sorted(near)
