"""
Vectors on their way into a table: any number in one statement, in the form in which Postgres itself keeps them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import cast

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.storage.nearest import FLOAT_BYTES, floats_of
from procession.storage.postgres.failures import unkept_letter
from procession.storage.postgres.vector_table import VectorTable
from procession.storage.vector_rows import facts_text
from procession.storage.vectors import VectorItem

__all__ = ["copy_vectors"]

_BLOCK = 500
"""Rows that are made at a time, on the event loop: some milliseconds."""

# What PostgreSQL's COPY says of its binary form: https://www.postgresql.org/docs/current/sql-copy.html
_BEGIN = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_FIELDS = Struct(">h")
_LENGTH = Struct(">i")
_NONE = _LENGTH.pack(-1)
_PART = Struct(">ii")
_VECTOR = Struct(">ihh")


async def copy_vectors(
    made: AsyncConnection, table: VectorTable, items: Sequence[VectorItem], units: Sequence[bytes]
) -> None:
    """
    Add the items, whose vectors are *units*, to a table, within the transaction that is going on.

    Raises ``InputError`` for an id with a letter that Postgres cannot keep.
    """
    driver = cast("psycopg.AsyncConnection", (await made.get_raw_connection()).driver_connection)
    statement = (
        f"COPY {table.name} (resource_id, thread_id, message_id, part, facts, vector) FROM STDIN WITH (FORMAT binary)"
    )
    try:
        async with driver.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for block in _blocks(items, units):
                await copy.write(block)
    except psycopg.Error as error:  # as whoever asks SQLAlchemy for something is told of it
        raise DBAPIError.instance("COPY", None, error, psycopg.Error) from None


def _blocks(items: Sequence[VectorItem], units: Sequence[bytes]) -> Iterator[bytes]:
    yield _BEGIN
    for begin in range(0, len(items), _BLOCK):
        end = begin + _BLOCK
        yield b"".join([_row(item, unit) for item, unit in zip(items[begin:end], units[begin:end], strict=True)])
    yield _END


def _row(item: VectorItem, unit: bytes) -> bytes:
    facts = facts_text(item.facts)
    numbers = floats_of(unit)
    if sys.byteorder == "little":
        numbers.byteswap()
    return b"".join(
        (
            _FIELDS.pack(6),
            _text(item.resource_id),
            _text(item.thread_id),
            _text(item.message_id),
            _PART.pack(4, item.part),
            _NONE if facts is None else _field(b"\1" + facts.encode()),  # the first byte is jsonb's version
            _VECTOR.pack(4 + len(unit), len(unit) // FLOAT_BYTES, 0),
            numbers.tobytes(),
        )
    )


def _text(text: str) -> bytes:
    if "\0" in text:
        raise unkept_letter()
    return _field(text.encode())


def _field(content: bytes) -> bytes:
    return _LENGTH.pack(len(content)) + content
