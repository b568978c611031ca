"""
VectorTable: the table of one index of vectors, how it comes about and how it is locked.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from procession.errors import StoreError
from procession.storage.postgres.vector_extension import need_extension

__all__ = ["TableState", "VectorTable", "lock_threads", "tables_of"]

_PREFIX = "procession_vectors_"

_VECTORS_INDEXED = 2000
"""The longest vectors that pgvector's index takes with 32 bits for each number."""

_HALVES_INDEXED = 4000
"""And with 16 bits; longer ones are compared one by one."""


class TableState(NamedTuple):
    """
    What there is of an index.
    """

    length: int
    """How many numbers each vector has."""
    is_indexed: bool
    """Whether the nearest can be looked up: not while that is being built, nor where building was broken off."""
    scans_on: bool
    """Whether pgvector goes on looking where a condition leaves too few: since its version 0.8."""

    @property
    def may_be_indexed(self) -> bool:
        """
        Whether there is no index, and could be one.
        """
        return not self.is_indexed and self.length <= _HALVES_INDEXED


class VectorTable(NamedTuple):
    """
    The table of one index.  Its name is made of a digest: a name in Postgres has no more than 63 letters.
    """

    schema: str | None
    bare: str

    @classmethod
    def of(cls, index: str, schema: str | None) -> VectorTable:
        """
        Return the table of the index of that name.
        """
        return cls(schema, _PREFIX + _digest(index).hex()[:24])

    @property
    def name(self) -> str:
        """
        Its name in a statement.
        """
        return self.bare if self.schema is None else f"{_quoted(self.schema)}.{self.bare}"

    async def state(self, made: AsyncConnection) -> TableState | None:
        """
        Return what there is, ``None`` where there is no table; nobody removes it until the transaction ends.
        """
        await made.execute(text("SELECT pg_advisory_xact_lock_shared(:key)"), {"key": _key(self.name)})
        return await self._state(made)

    async def prepared(self, made: AsyncConnection, length: int, place: str) -> TableState:
        """
        Return what there is, once the table is made; one for vectors of another length is made anew if it is empty.
        """
        found = await self._state(made)  # without the lock: who has it already may not ask for more
        if found is None or (found.length != length and await self.is_empty(made)):
            await made.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _key(self.name)})
            found = await self._state(made)
            if found is not None and found.length != length and await self.is_empty(made):
                await made.execute(text(f"DROP TABLE {self.name}"))
                found = None
            if found is None:
                await need_extension(made, place)
                await self._create(made, length)
        else:
            await made.execute(text("SELECT pg_advisory_xact_lock_shared(:key)"), {"key": _key(self.name)})
        found = await self._state(made)
        if found is None:
            raise StoreError("an index of vectors was deleted while something was put into it", hint="try again")
        return found

    async def is_empty(self, made: AsyncConnection) -> bool:
        """
        Return whether it has no vectors.
        """
        return (await made.execute(text(f"SELECT FROM {self.name} LIMIT 1"))).first() is None

    @property
    def build_key(self) -> int:
        """
        The number of the advisory lock of whoever builds.
        """
        return _key(f"{self.name} nearest")

    async def build(self, made: AsyncConnection) -> bool:
        """
        Make the index in which the nearest are looked up, while others read and write, and return whether there is one.

        Vectors that are too long for one have none.  It is for who has the lock, and is in no transaction.
        """
        found = await self._state(made)
        if found is None:
            raise StoreError("there are no vectors to build an index of", hint="put some first")
        if not found.may_be_indexed:
            return found.is_indexed
        # What is there and cannot be used was left by who did not get to the end: the lock says that nobody is at it.
        await made.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {self.name}_nearest"))
        kind = "vector_cosine_ops" if found.length <= _VECTORS_INDEXED else "halfvec_cosine_ops"
        await made.execute(
            text(
                f"CREATE INDEX CONCURRENTLY {self.bare}_nearest ON {self.name}"
                f" USING hnsw (({_indexed(found.length)}) {kind})"
            )
        )
        return True

    def distance(self, length: int) -> str:
        """
        Return the distance to ``:sought`` as the index has it.
        """
        kind = "vector" if length <= _VECTORS_INDEXED else f"halfvec({length})"
        return f"{_indexed(length)} <=> CAST(:sought AS {kind})"

    async def _state(self, made: AsyncConnection) -> TableState | None:
        found = (
            await made.execute(
                text(
                    "SELECT atttypmod,"
                    " EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(:nearest) AND indisvalid),"
                    " (SELECT string_to_array(extversion, '.')::int[] >= ARRAY[0, 8] FROM pg_extension"
                    "  WHERE extname = 'vector')"
                    " FROM pg_attribute WHERE attrelid = to_regclass(:name) AND attname = 'vector'"
                ),
                {"name": self.name, "nearest": f"{self.name}_nearest"},
            )
        ).one_or_none()
        return None if found is None else TableState(found[0], found[1], bool(found[2]))

    async def _create(self, made: AsyncConnection, length: int) -> None:
        await made.execute(
            text(
                f"CREATE TABLE {self.name} (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                ' resource_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL,'
                ' message_id text COLLATE "C" NOT NULL, part integer NOT NULL, facts jsonb,'
                f" vector vector({length}) NOT NULL)"
            )
        )
        await made.execute(text(f"CREATE INDEX {self.bare}_resource ON {self.name} (resource_id)"))
        await made.execute(text(f"CREATE INDEX {self.bare}_message ON {self.name} (thread_id, message_id)"))


async def tables_of(made: AsyncConnection, schema: str | None) -> list[VectorTable]:
    """
    Return the tables of all indexes.
    """
    found = await made.execute(
        text(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND starts_with(relname, :prefix)"
            " AND relnamespace = to_regnamespace(coalesce(:schema, quote_ident(current_schema()))) ORDER BY 1"
        ),
        {"prefix": _PREFIX, "schema": None if schema is None else _quoted(schema)},
    )
    return [VectorTable(schema, row[0]) for row in found]


async def lock_threads(made: AsyncConnection, index: str, threads: Collection[str]) -> None:
    """
    Wait for others who put vectors of the same threads, and keep them waiting until the transaction ends.
    """
    keys = sorted({_key(f"{index}\0{thread_id}") for thread_id in threads})
    await made.execute(
        text("SELECT pg_advisory_xact_lock(key) FROM unnest(CAST(:keys AS bigint[])) AS key"), {"keys": keys}
    )


def _indexed(length: int) -> str:
    return "vector" if length <= _VECTORS_INDEXED else f"vector::halfvec({length})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _digest(name: str) -> bytes:
    return sha256(name.encode("utf-8", "surrogatepass")).digest()


def _key(name: str) -> int:
    """
    Return the number of an advisory lock.
    """
    return int.from_bytes(_digest(f"procession {name}")[:8], "big", signed=True)
