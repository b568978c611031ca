"""
Threads and messages in Postgres.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Executable,
    Row,
    Select,
    Text,
    any_,
    delete,
    func,
    literal,
    literal_column,
    select,
    true,
    tuple_,
    union,
    update,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import MessageError
from procession.messages.message import Message
from procession.storage.base import UNCHANGED, Unchanged
from procession.storage.message_records import message_text, metadata_of, metadata_text
from procession.storage.moments import moment_of
from procession.storage.pages import MOST, counted, cursor_of, read_cursor
from procession.storage.postgres.part import PostgresPart
from procession.storage.postgres.tables import MESSAGES, NAMES, NOTES, THREADS, TO_INDEX
from procession.storage.records import ELSEWHERE
from procession.storage.threads import MessageRef, Passage, Thread, ThreadPage

__all__ = ["PostgresThreads"]

_T, _M = THREADS.c, MESSAGES.c
_NEXT = literal_column("DEFAULT", BigInteger())  # the next number of an identity


class PostgresThreads(PostgresPart):
    """
    A ``ThreadStore`` in Postgres.

    Who writes in a thread holds its row until the end, so that what two of them save at a time does not mix.
    """

    async def thread(self, thread_id: str, *, resource_id: str | None = None) -> Thread | None:
        """
        Return a thread, or ``None`` where nothing was ever saved in it.
        """
        asked = _of(select(THREADS), thread_id, resource_id)
        found = await self._connection.read(lambda made: _one(made, asked))
        return None if found is None else await self._thread(found)

    async def threads(self, resource_id: str, *, limit: int = 100, cursor: str | None = None) -> ThreadPage:
        """
        Return a page of a resource's threads, those that were used last first.
        """
        counted("limit", limit, least=1)
        limit = min(limit, MOST)
        asked = select(THREADS).where(_T.resource_id == resource_id).order_by(_T.used.desc()).limit(limit + 1)
        if cursor is not None:
            asked = asked.where(_T.used < read_cursor(cursor))
        found = await self._connection.read(lambda made: _all(made, asked))
        page = tuple([await self._thread(row) for row in found[:limit]])
        return ThreadPage(page, cursor_of(found[limit - 1].used) if len(found) > limit else None)

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
        try:
            if not isinstance(title, Unchanged):
                changes["title"] = await self._stored_title(title, resource_id, thread_id)
            if not isinstance(metadata, Unchanged):
                changes["metadata"] = await self._stored_metadata(metadata, resource_id, thread_id)
        except BaseException:
            await self._let_go(changes.values(), resource_id)
            raise
        if not changes:
            return await self.thread(thread_id, resource_id=resource_id)
        known = _of(select(_T.title, _T.metadata), thread_id, resource_id).with_for_update()
        change = (
            update(THREADS).where(_T.id == thread_id).values(**changes, used=_NEXT, updated_at=self._now())
        ).returning(THREADS)

        async def write(made: AsyncConnection) -> tuple[Row[Any] | None, list[str | None]]:
            before = await _one(made, known)
            if before is None or (only_without_title and before.title is not None):
                return None, list(changes.values())
            return await _one(made, change), [getattr(before, name) for name in changes]

        found, gone = await self._write(write, list(changes.values()), resource_id)
        await self._let_go(gone, resource_id)
        return None if found is None else await self._thread(found)

    async def messages(
        self, thread_id: str, *, resource_id: str | None = None, last: int | None = None, before: str | None = None
    ) -> list[Message]:
        """
        Return a thread's messages, oldest first; with *last* only the newest ones, with *before* those before a message.
        """
        counted("last", last)
        here = _M.thread_id == _of(select(_T.id), thread_id, resource_id).scalar_subquery()
        owner = _of(select(_T.resource_id), thread_id, None).scalar_subquery()
        asked = select(_M.id, _M.body, owner.label("owner")).where(here)
        if before is not None:
            place = select(_M.moment, _M.number).where(here, _M.id == before).subquery()
            asked = asked.where(
                tuple_(_M.moment, _M.number)
                < tuple_(select(place.c.moment).scalar_subquery(), select(place.c.number).scalar_subquery())
            )
        asked = asked.order_by(_M.moment.desc(), _M.number.desc())
        if last is not None:
            asked = asked.limit(min(last, MOST))
        found = await self._connection.read(lambda made: _all(made, asked))
        own = [(row.id, row.body) for row in reversed(found)]
        return await self._messages(own, found[0].owner, thread_id) if found else []

    async def around(
        self, found: Collection[MessageRef], *, resource_id: str | None, before: int = 0, after: int = 0
    ) -> list[Passage]:
        """
        Return the messages that were *found* with those around them, a passage for each thread.
        """
        counted("before", before)
        counted("after", after)
        if not found:
            return []
        before, after = min(before, MOST), min(after, MOST)
        wanted_ids = [_texts([ref.thread_id for ref in found]), _texts([ref.message_id for ref in found])]
        asked_for = func.unnest(*wanted_ids).table_valued("thread_id", "id").render_derived()
        hits = select(_M.thread_id, _M.moment, _M.number).where(
            tuple_(_M.thread_id, _M.id).in_(select(asked_for.c.thread_id, asked_for.c.id))
        )
        if resource_id is not None:
            hits = hits.join(THREADS, _T.id == _M.thread_id).where(_T.resource_id == resource_id)
        hit = hits.cte("hit")
        near = MESSAGES.alias("near")
        place, its = tuple_(near.c.moment, near.c.number), tuple_(hit.c.moment, hit.c.number)
        side = select(near.c.id).where(near.c.thread_id == hit.c.thread_id).correlate(hit)
        back = side.where(place <= its).order_by(near.c.moment.desc(), near.c.number.desc()).limit(before + 1)
        on = side.where(place > its).order_by(near.c.moment, near.c.number).limit(after)
        sides = [each.lateral(name) for name, each in (("back", back), ("on", on))]
        wanted = union(*[select(hit.c.thread_id, each.c.id).select_from(hit.join(each, true())) for each in sides]).cte(
            "wanted"
        )
        asked = (
            select(_M.id.label("message_id"), _M.body, THREADS)
            .join(wanted, (wanted.c.thread_id == _M.thread_id) & (wanted.c.id == _M.id))
            .join(THREADS, _T.id == _M.thread_id)
            .order_by(_M.moment, _M.number)
        )
        rows = await self._connection.read(lambda made: _all(made, asked))
        threads: dict[str, list[Row[Any]]] = {ref.thread_id: [] for ref in found}
        for row in rows:
            threads[row.id].append(row)
        passages: list[Passage] = []
        for thread_id, own in threads.items():
            if own:
                bodies = [(row.message_id, row.body) for row in own]
                messages = await self._messages(bodies, own[0].resource_id, thread_id)
                passages.append(Passage(await self._thread(own[0]), tuple(messages)))
        return passages

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
        Save messages by id, all or none, in one transaction; the thread is written with the first of them.

        Raises ``MessageError`` where the thread belongs to another resource.
        """
        if not messages:
            return
        latest = {message.id: message_text(message) for message in messages}
        bodies: dict[str, str] = {}
        stored_title: str | None = None
        try:
            for id, text in latest.items():
                bodies[id] = await self._written(text, resource_id, "message", thread_id, id)
            stored_title = await self._stored_title(title, resource_id, thread_id)
        except BaseException:
            await self._let_go(bodies.values(), resource_id)
            raise
        written = [stored_title, *bodies.values()]
        moments = {message.id: moment_of(message.created_at) for message in messages}
        rows = [{"thread_id": thread_id, "id": id, "moment": moments[id], "body": bodies[id]} for id in latest]
        waiting = [
            {"thread_id": thread_id, "message_id": id, "index_name": index} for index in indexes for id in bodies
        ]

        async def write(made: AsyncConnection) -> list[str | None]:
            thread = await _one(made, self._claimed(thread_id, resource_id, stored_title))
            if thread is None:
                raise MessageError(
                    f"thread {thread_id!r} belongs to another resource", hint="use a thread id of this resource"
                )
            gone: list[str | None] = [] if stored_title == thread.title else [stored_title]
            if metadata is not None:
                gone.append(thread.metadata)
                written.append(await self._lay_over(made, thread_id, resource_id, thread.metadata, metadata))
            if not self._records.is_plain:
                gone += await _bodies(made, (_M.thread_id == thread_id) & (_M.id == any_(_texts(bodies))))
            await made.execute(_UPSERT, rows)
            if waiting:
                await made.execute(_NAME, [{"name": index} for index in indexes])
                await made.execute(_NOTE, waiting)
            return gone

        await self._let_go(await self._write(write, written, resource_id), resource_id)

    async def delete_messages(self, thread_id: str, resource_id: str, message_ids: Collection[str]) -> int:
        """
        Delete messages of a thread, with what is noted of them, and return how many there were.
        """
        here = _M.thread_id == _of(select(_T.id), thread_id, resource_id).scalar_subquery()
        gone = delete(MESSAGES).where(here, _M.id == any_(_texts(message_ids))).returning(_M.body)
        bodies = [row.body for row in await self._connection.write(lambda made: _all(made, gone))]
        await self._forget(bodies, resource_id)
        return len(bodies)

    async def delete_thread(self, thread_id: str, resource_id: str) -> bool:
        """
        Delete a thread with all that belongs to it; ``False`` where there is none.
        """
        return await self._delete(resource_id, thread_id) > 0

    async def delete_resource(self, resource_id: str) -> int:
        """
        Delete all threads and notes of a resource, and return how many threads there were.
        """
        return await self._delete(resource_id, None)

    async def _delete(self, resource_id: str, thread_id: str | None) -> int:
        """
        Delete what a resource has, or of that only what belongs to one thread, and return how many threads there were.
        """
        threads = _T.resource_id == resource_id
        of_thread = NOTES.c.thread_id
        notes: list[ColumnElement[bool]] = [of_thread.is_(None), of_thread.is_not(None)]  # each has an index of its own
        if thread_id is not None:
            threads, notes = threads & (_T.id == thread_id), [of_thread == thread_id]
        held = select(_T.id, _T.title, _T.metadata).where(threads).order_by(_T.id).with_for_update()

        async def write(made: AsyncConnection) -> tuple[int, list[str | None]]:
            gone: list[str | None] = []
            for some in notes:
                own = delete(NOTES).where(NOTES.c.resource_id == resource_id, some).returning(NOTES.c.body)
                gone += [row.body for row in await _all(made, own)]
            found = await _all(made, held)
            gone += [text for row in found for text in (row.title, row.metadata)]
            elsewhere = func.left(_M.body, len(ELSEWHERE)) == ELSEWHERE
            gone += await _bodies(made, _M.thread_id.in_(select(_T.id).where(threads)) & elsewhere)
            await made.execute(delete(THREADS).where(threads))
            return len(found), gone

        number, gone = await self._connection.write(write)
        await self._forget(gone, resource_id)
        return number

    def _claimed(self, thread_id: str, resource_id: str, title: str | None) -> Executable:
        """
        Return the statement that makes a thread, or takes it for whoever writes in it, if it is the resource's.
        """
        now = self._now()
        made = insert(THREADS).values(
            id=thread_id, resource_id=resource_id, created_at=now, updated_at=now, title=title
        )
        changes = {"used": _NEXT, "updated_at": now, "title": func.coalesce(_T.title, made.excluded.title)}
        return made.on_conflict_do_update(
            index_elements=[_T.id], set_=changes, where=_T.resource_id == made.excluded.resource_id
        ).returning(_T.title, _T.metadata)

    async def _lay_over(
        self, made: AsyncConnection, thread_id: str, resource_id: str, known: str | None, metadata: Mapping[str, Any]
    ) -> str | None:
        """
        Lay *metadata* over what a thread has, and return what stands there for it.
        """
        before = {} if known is None else await self._metadata(known, resource_id, thread_id)
        after = await self._stored_metadata({**before, **metadata}, resource_id, thread_id)
        await made.execute(update(THREADS).where(_T.id == thread_id).values(metadata=after))
        return after

    async def _stored_title(self, title: str | None, resource_id: str, thread_id: str) -> str | None:
        return None if title is None else await self._written_word(title, resource_id, "title", thread_id)

    async def _stored_metadata(
        self, metadata: Mapping[str, Any] | None, resource_id: str, thread_id: str
    ) -> str | None:
        if metadata is None:
            return None
        return await self._written(metadata_text(metadata), resource_id, "metadata", thread_id)

    async def _metadata(self, stored: str, resource_id: str, thread_id: str) -> dict[str, Any]:
        return metadata_of(await self._text(stored, resource_id, "metadata", thread_id), thread_id=thread_id)

    async def _thread(self, row: Row[Any]) -> Thread:
        title, metadata = row.title, row.metadata
        if title is not None:
            title = await self._word(title, row.resource_id, "title", row.id)
        if metadata is not None:
            metadata = await self._metadata(metadata, row.resource_id, row.id)
        return Thread(
            id=row.id,
            resource_id=row.resource_id,
            created_at=row.created_at.astimezone(UTC),
            updated_at=row.updated_at.astimezone(UTC),
            title=title,
            metadata=metadata,
        )


def _upsert() -> Insert:
    made = insert(MESSAGES)
    return made.on_conflict_do_update(
        index_elements=[_M.thread_id, _M.id], set_={"moment": made.excluded.moment, "body": made.excluded.body}
    )


_UPSERT = _upsert()
_NAME = insert(NAMES).on_conflict_do_nothing()
_NOTE = insert(TO_INDEX).on_conflict_do_update(
    index_elements=[TO_INDEX.c.thread_id, TO_INDEX.c.message_id, TO_INDEX.c.index_name],
    set_={"revision": _NEXT, "taken_until": None},
)


def _of(asked: Select[*tuple[Any, ...]], thread_id: str, resource_id: str | None) -> Select[*tuple[Any, ...]]:
    asked = asked.where(_T.id == thread_id)
    return asked if resource_id is None else asked.where(_T.resource_id == resource_id)


def _texts(values: Collection[str]) -> ColumnElement[Sequence[str]]:
    """
    Return *values* as one parameter, of which a statement has no more than some ten thousand.
    """
    return literal(list(values), ARRAY(Text))


async def _one(made: AsyncConnection, asked: Executable) -> Row[Any] | None:
    return (await made.execute(asked)).one_or_none()


async def _all(made: AsyncConnection, asked: Executable) -> Sequence[Row[Any]]:
    return (await made.execute(asked)).all()


async def _bodies(made: AsyncConnection, which: ColumnElement[bool]) -> list[str]:
    return [row.body for row in await _all(made, select(_M.body).where(which))]
