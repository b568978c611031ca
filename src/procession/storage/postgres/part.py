"""
PostgresPart: what each part of a store in Postgres works with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import ColumnElement, func
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import StoreError
from procession.messages.message import Message
from procession.storage.message_records import message_of
from procession.storage.postgres.connection import PostgresConnection, Work
from procession.storage.records import Records, record_name

__all__ = ["PostgresPart"]

Out = TypeVar("Out")

_MANY = 50
"""Messages that are read on the event loop, in about a millisecond."""


class PostgresPart:
    """
    The database, and how texts stand in it: as JSON, so that no letter is one that Postgres refuses.
    """

    def __init__(
        self, connection: PostgresConnection, records: Records, clock: Callable[[], float] | None = None
    ) -> None:
        self._connection = connection
        self._records = records
        self._clock = clock

    def _now(self) -> ColumnElement[datetime]:
        """
        Return what time it is, for all who use the database: by its own clock.
        """
        return func.clock_timestamp() if self._clock is None else func.to_timestamp(self._clock())

    # -- texts as they stand in the tables

    async def _written(self, text: str, resource_id: str, kind: str, *parts: str | None) -> str:
        """
        Return what stands for *text*, which is JSON, of a *kind*, and of a thread, a message, ...
        """
        if self._records.is_plain:
            return text
        return await self._records.write(text, scope=resource_id, name=record_name(kind, *parts))

    async def _text(self, stored: str, resource_id: str, kind: str, *parts: str | None) -> str:
        """
        Return the text that *stored* stands for.
        """
        if self._records.is_plain and stored.startswith(("{", '"')):
            return stored
        return await self._records.read(stored, scope=resource_id, name=record_name(kind, *parts))

    async def _written_word(self, word: str, resource_id: str, kind: str, *parts: str | None) -> str:
        """
        Return what stands for a *word*, such as a title, whatever letters are in it.
        """
        text = json.dumps(word, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
        return await self._written(text, resource_id, kind, *parts)

    async def _word(self, stored: str, resource_id: str, kind: str, *parts: str | None) -> str:
        try:
            found = json.loads(await self._text(stored, resource_id, kind, *parts))
        except ValueError:
            found = None
        if not isinstance(found, str):
            raise StoreError(
                f"record {record_name(kind, *parts)} is corrupt: what stands in the store is no text",
                hint="restore it from a backup, or delete it",
            )
        return found

    async def _message(self, stored: str, resource_id: str, thread_id: str, message_id: str) -> Message:
        text = await self._text(stored, resource_id, "message", thread_id, message_id)
        return message_of(text, thread_id=thread_id, message_id=message_id)

    async def _messages(self, found: Sequence[tuple[str, str]], resource_id: str, thread_id: str) -> list[Message]:
        """
        Return the messages of which *found* has the ids and what stands in the tables.
        """
        texts = [(id, await self._text(stored, resource_id, "message", thread_id, id)) for id, stored in found]

        def read() -> list[Message]:
            return [message_of(text, thread_id=thread_id, message_id=id) for id, text in texts]

        return read() if len(texts) <= _MANY else await anyio.to_thread.run_sync(read)

    # -- and elsewhere

    async def _write(self, work: Work[Out], written: Sequence[str | None], resource_id: str) -> Out:
        """
        Do *work* in a transaction.  What was *written* for it elsewhere is let go where that was certainly not committed.
        """
        is_done = False

        async def watched(made: AsyncConnection) -> Out:
            nonlocal is_done
            is_done = False
            result = await work(made)
            is_done = True  # what breaks from here on may break behind the commit
            return result

        try:
            return await self._connection.write(watched)
        except BaseException:
            if not is_done:
                await self._let_go(written, resource_id)
            raise

    async def _let_go(self, stored: Iterable[str | None], resource_id: str) -> None:
        """
        Let go what stands elsewhere for what was replaced, or not written after all, whoever cancels meanwhile.
        """
        texts = [text for text in stored if text is not None]
        if texts and not self._records.is_plain:
            with anyio.CancelScope(shield=True):
                await self._records.let_go(texts, scope=resource_id)

    async def _forget(self, stored: Iterable[str | None], resource_id: str) -> None:
        """
        Delete what stands elsewhere for what was deleted, or say that it is still there: where no sink is given, too.
        """
        await self._records.forget([text for text in stored if text is not None], scope=resource_id)
