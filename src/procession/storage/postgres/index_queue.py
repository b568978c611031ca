"""
What is to be embedded, in Postgres.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, Select, delete, func, literal, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import StoreError
from procession.storage.index_queue import ToIndex
from procession.storage.pages import MOST, counted
from procession.storage.postgres.part import PostgresPart
from procession.storage.postgres.tables import MESSAGES, NAMES, THREADS, TO_INDEX
from procession.storage.threads import MessageRef

__all__ = ["PostgresIndexQueue"]

_Q, _M, _T = TO_INDEX.c, MESSAGES.c, THREADS.c
_KEY = (_Q.thread_id, _Q.message_id)


class PostgresIndexQueue(PostgresPart):
    """
    An ``IndexQueue`` in Postgres: who takes passes over what others are taking, and waits for nobody.
    """

    async def take(self, index: str, *, limit: int, seconds: float) -> list[ToIndex]:
        """
        Return up to *limit* messages that are to be embedded, and keep others from taking them.

        One that cannot be read stays with the others of its turn until *seconds* are over; where nothing else is to be
        embedded that is a ``StoreError``.
        """
        counted("limit", limit)
        behind = -1
        items: list[ToIndex] = []
        unreadable: StoreError | None = None
        while not items and (found := await self._taken(index, limit, seconds, behind)):
            behind = found[-1][1]  # a turn may be one that cannot be read at all
            for row, revision in found:
                try:
                    message = await self._message(row.body, row.resource_id, row.thread_id, row.id)
                except StoreError as error:
                    if unreadable is None and await self._waits(index, revision):
                        unreadable = error
                else:
                    items.append(
                        ToIndex(
                            thread_id=row.thread_id, resource_id=row.resource_id, message=message, revision=revision
                        )
                    )
        if unreadable is not None and not items:
            raise unreadable
        return items

    async def _taken(
        self, index: str, limit: int, seconds: float, behind: int
    ) -> list[tuple[Row[*tuple[Any, ...]], int]]:
        """
        Take up to *limit* messages that were noted *behind* a revision, and return their rows, each with its revision.
        """
        free = (
            select(*_KEY)
            .where(
                _Q.index_name == index,
                _Q.revision > behind,
                or_(_Q.taken_until.is_(None), _Q.taken_until <= self._now()),
            )
            .order_by(_Q.revision)
            .limit(min(limit, MOST))
            .with_for_update(skip_locked=True)
            .cte("free")
        )
        until = self._now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
        taken = (
            update(TO_INDEX)
            .where(_Q.index_name == index, _Q.thread_id == free.c.thread_id, _Q.message_id == free.c.message_id)
            .values(taken_until=until)
            .returning(_Q.thread_id, _Q.message_id, _Q.revision)
        )

        async def write(made: AsyncConnection) -> list[tuple[Row[*tuple[Any, ...]], int]]:
            revisions = {(row.thread_id, row.message_id): row.revision for row in await made.execute(taken)}
            # By a statement of its own: what it sees is no older than the revisions.
            asked = (
                select(_M.thread_id, _M.id, _M.body, _T.resource_id)
                .join(THREADS, _T.id == _M.thread_id)
                .where(tuple_(_M.thread_id, _M.id).in_(list(revisions)))
            )
            found = [(row, revisions[row.thread_id, row.id]) for row in await made.execute(asked)] if revisions else []
            return sorted(found, key=lambda each: each[1])

        return await self._connection.write(write)

    async def _waits(self, index: str, revision: int) -> bool:
        """
        Return whether what was taken still waits, or was deleted or saved anew meanwhile.
        """
        asked = select(_Q.revision).where(_Q.index_name == index, _Q.revision == revision)

        async def read(made: AsyncConnection) -> bool:
            return (await made.execute(asked)).first() is not None

        return await self._connection.read(read)

    async def done(self, index: str, items: Collection[ToIndex]) -> list[MessageRef]:
        """
        Take out what was embedded, and return those that were deleted meanwhile.
        """
        if not items:
            return []
        gone = delete(TO_INDEX).where(_Q.index_name == index, _among(items))
        asked = (
            select(_M.thread_id, _M.id, _T.resource_id)
            .join(THREADS, _T.id == _M.thread_id)
            .where(tuple_(_M.thread_id, _M.id).in_([(item.thread_id, item.message.id) for item in items]))
        )

        async def write(made: AsyncConnection) -> set[tuple[str, str, str]]:
            await made.execute(gone)
            return {(row.thread_id, row.id, row.resource_id) for row in await made.execute(asked)}

        there = await self._connection.write(write)
        return [item.ref for item in items if (item.thread_id, item.message.id, item.resource_id) not in there]

    async def release(self, index: str, items: Collection[ToIndex]) -> None:
        """
        Let others take what was taken and could not be embedded.
        """
        if not items:
            return
        free = update(TO_INDEX).where(_Q.index_name == index, _among(items)).values(taken_until=None)
        await self._connection.write(lambda made: made.execute(free))

    async def waiting(self, index: str) -> int:
        """
        Return how many messages are to be embedded.
        """
        return await self._connection.read(lambda made: _count(made, index))

    async def note_all(self, index: str) -> int:
        """
        Note every message that is kept for *index*, and return how many wait for it.
        """
        every = select(_M.thread_id, _M.id, literal(index)).order_by(_M.number)
        noted = insert(TO_INDEX).from_select(["thread_id", "message_id", "index_name"], every).on_conflict_do_nothing()

        async def write(made: AsyncConnection) -> int:
            await made.execute(insert(NAMES).values(name=index).on_conflict_do_nothing())
            await made.execute(noted)
            return await _count(made, index)

        return await self._connection.write(write)

    async def indexes(self) -> Sequence[str]:
        """
        Return the names of the indexes that anything was ever noted for.
        """
        asked: Select[Any] = select(NAMES.c.name).order_by(NAMES.c.number)

        async def read(made: AsyncConnection) -> tuple[str, ...]:
            return tuple((await made.execute(asked)).scalars())

        return await self._connection.read(read)

    async def drop_index(self, index: str) -> int:
        """
        Forget an index, with what waits for it, and return how much that was.
        """

        async def write(made: AsyncConnection) -> int:
            gone = await made.execute(delete(TO_INDEX).where(_Q.index_name == index))
            await made.execute(delete(NAMES).where(NAMES.c.name == index))
            return gone.rowcount

        return await self._connection.write(write)


def _among(items: Collection[ToIndex]) -> Any:
    return tuple_(*_KEY, _Q.revision).in_([(item.thread_id, item.message.id, item.revision) for item in items])


async def _count(made: AsyncConnection, index: str) -> int:
    return (await made.execute(select(func.count()).select_from(TO_INDEX).where(_Q.index_name == index))).scalar_one()
