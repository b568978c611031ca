"""
PostgresPart: what each part of a store in Postgres works with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func

from procession.messages.message import Message
from procession.messages.serial import from_json, to_json
from procession.storage.postgres.connection import PostgresConnection
from procession.storage.records import Records, record_name

__all__ = ["PostgresPart"]

_half_of_a_pair = re.compile("[\ud800-\udfff]")


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

    async def _stored(self, value: Any, resource_id: str, kind: str, *parts: str | None) -> str:
        text = to_json(value)
        if not text.isascii():
            text = _half_of_a_pair.sub(_escaped, text)
        if self._records.is_plain:
            return text
        return await self._records.write(text, scope=resource_id, name=record_name(kind, *parts))

    async def _read(self, stored: str, resource_id: str, kind: str, *parts: str | None) -> Any:
        if not (self._records.is_plain and stored.startswith(("{", '"'))):
            stored = await self._records.read(stored, scope=resource_id, name=record_name(kind, *parts))
        return from_json(stored)

    async def _forget(self, stored: Collection[str], resource_id: str) -> None:
        if stored and not self._records.is_plain:
            await self._records.forget(stored, scope=resource_id)

    async def _message(self, stored: str, resource_id: str, thread_id: str, message_id: str) -> Message:
        found: Message = await self._read(stored, resource_id, "message", thread_id, message_id)
        return found


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
