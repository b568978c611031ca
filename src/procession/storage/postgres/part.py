"""
PostgresPart: what each part of a store in Postgres works with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import anyio.to_thread
from sqlalchemy import ColumnElement, func

from procession.errors import StoreError
from procession.messages.message import Message
from procession.storage.message_records import message_of
from procession.storage.postgres.connection import PostgresConnection
from procession.storage.records import Records, record_name

__all__ = ["PostgresPart"]

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

    async def _forget(self, stored: Iterable[str | None], resource_id: str) -> None:
        """
        Delete what is kept elsewhere for what stood in the tables.
        """
        texts = [] if self._records.is_plain else [text for text in stored if text is not None]
        if texts:
            await self._records.forget(texts, scope=resource_id)
