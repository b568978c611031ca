"""
``python -m bench.pgvector URL``: vectors in Postgres, in a schema of their own that is deleted at the end.

They are put 10,000 at a time, then their index is built, with the memory and the workers that are told.  Each is 32 random
numbers around one of 1,000 centres, of which the first have most, mapped to 384 numbers with some noise on each; what is
sought is made in the same way and is not among them.  All are one resource's.  Prints a JSON line: how long putting and
building took, what a search takes and how many of the ten nearest it finds, beside one that compares each, what is on the disk,
and, where the server runs here and may be looked at, the most memory that its processes had while it was built.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import psycopg
from psycopg import sql

from bench.vectors import LENGTH
from procession.storage.postgres import vectors as postgres_vectors
from procession.storage.postgres.store import PostgresStore
from procession.storage.postgres.vector_table import VectorTable
from procession.storage.threads import MessageRef
from procession.storage.vectors import VectorHit, VectorItem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["main"]

SCHEMA = "procession bench"
TOP_K = 10
SEARCHES = 1000
COMPARED = 40
"""Searches that compare each, too: they are the measure of the others."""

BATCH = 10_000
"""Vectors that are put at a time."""

CENTRES = 1000
LATENT = 32
"""Numbers that a vector is made of: embeddings of texts lie in few dimensions, too, however many numbers they have."""


def mixture(count: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """
    Yield so many vectors, in batches.
    """
    numbers = np.random.default_rng(1)
    centres = numbers.standard_normal((CENTRES, LATENT), dtype=np.float32)
    spread = numbers.standard_normal((LATENT, LENGTH), dtype=np.float32) / np.float32(LATENT**0.5)
    weights = 1 / np.arange(10, CENTRES + 10)
    numbers = np.random.default_rng(seed)
    for begin in range(0, count, BATCH):
        size = min(BATCH, count - begin)
        around = centres[numbers.choice(CENTRES, size=size, p=weights / weights.sum())]
        latent = around + np.float32(0.7) * numbers.standard_normal((size, LATENT), dtype=np.float32)
        noise = np.float32(0.3) * numbers.standard_normal((size, LENGTH), dtype=np.float32)
        yield (latent @ spread + noise).astype(np.float32, copy=False)


async def measure(url: str, count: int, memory: str, workers: int) -> dict[str, object]:
    """
    Put so many vectors, build their index, search among them, and delete them.
    """
    settings = f"-c maintenance_work_mem={memory} -c max_parallel_maintenance_workers={workers}"
    told = f"{url}{'&' if '?' in url else '?'}options={quote(settings)}"
    async with (
        PostgresStore(told, schema=SCHEMA, timeout=600) as store,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as server,
    ):
        await store.upgrade()
        few = postgres_vectors._FEW  # pyright: ignore[reportPrivateUsage]
        try:
            postgres_vectors._FEW = count  # pyright: ignore[reportPrivateUsage]  # nothing is built while they are put
            put = await _put(store, count)
            async with _watched(server) as most:
                begun = time.perf_counter()
                await store.build_vector_index("bench")
                built = time.perf_counter() - begun
            postgres_vectors._FEW = few  # pyright: ignore[reportPrivateUsage]
            table = VectorTable.of("bench", SCHEMA)
            sizes = await server.execute(
                "SELECT pg_table_size(%(table)s::regclass), pg_relation_size(%(index)s::regclass)",
                {"table": table.name, "index": f"{table.name}_nearest"},
            )
            rows, index = await sizes.fetchone() or (0, 0)
            return {
                "bench": "pgvector",
                "vectors": count,
                "put_s": round(put, 1),
                "build_s": round(built, 1),
                **await _search(store, count),
                "rows_mb": round(rows / 1e6),
                "index_mb": round(index / 1e6),
                "build_memory_mb": round(max(most) / 1e6) if most else None,
            }
        finally:
            postgres_vectors._FEW = few  # pyright: ignore[reportPrivateUsage]
            await server.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(SCHEMA)))


async def _put(store: PostgresStore, count: int) -> float:
    """
    Put so many vectors, and return how many seconds that took.
    """
    spent = 0.0
    for number, batch in enumerate(mixture(count, seed=2)):
        items = [
            VectorItem(thread_id=f"t{row % 100}", resource_id="ada", message_id=f"m{row}", vector=vector)
            for row, vector in enumerate(batch, number * BATCH)
        ]
        begun = time.perf_counter()
        await store.put_vectors("bench", items)
        spent += time.perf_counter() - begun
    return spent


async def _search(store: PostgresStore, count: int) -> dict[str, float]:
    """
    Search, by the index and without it.
    """
    queries = [query for batch in mixture(SEARCHES, seed=3) for query in batch]
    few = postgres_vectors._FEW  # pyright: ignore[reportPrivateUsage]
    found: list[set[MessageRef]] = []
    seconds: list[float] = []
    for query in queries:
        begun = time.perf_counter()
        found.append(_refs(await store.search("bench", query, top_k=TOP_K, resource_id="ada")))
        seconds.append(time.perf_counter() - begun)
    compared: list[float] = []
    right = 0
    postgres_vectors._FEW = count  # pyright: ignore[reportPrivateUsage]
    for query, refs in zip(queries[:COMPARED], found, strict=False):
        begun = time.perf_counter()
        nearest = _refs(await store.search("bench", query, top_k=TOP_K, resource_id="ada"))
        compared.append(time.perf_counter() - begun)
        right += len(refs & nearest)
    postgres_vectors._FEW = few  # pyright: ignore[reportPrivateUsage]
    return {
        "search_p50_ms": round(median(seconds) * 1e3, 2),
        "search_p99_ms": round(quantiles(seconds, n=100)[98] * 1e3, 2),
        "compared_p50_ms": round(median(compared) * 1e3, 2),
        "recall_at_10": round(right / (COMPARED * TOP_K), 3),
    }


def _refs(hits: Sequence[VectorHit]) -> set[MessageRef]:
    return {hit.ref for hit in hits}


@asynccontextmanager
async def _watched(server: psycopg.AsyncConnection[Any]) -> AsyncGenerator[list[int]]:
    """
    Yield a list that grows by how many bytes of memory the server's processes have, twice a second.
    """
    seen: list[int] = []

    async def watch() -> None:
        while True:
            found = await server.execute("SELECT pid FROM pg_stat_activity")
            used = [_memory(row[0]) for row in await found.fetchall()]
            if any(used):
                seen.append(sum(used))
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        watching.cancel()
        await asyncio.wait([watching])


def _memory(process: int) -> int:
    """
    Return the bytes that a process has, what it shares divided by those who do; 0 where that cannot be seen.
    """
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        if "postgres" not in Path(f"/proc/{process}/comm").read_text():
            return 0  # the server runs somewhere else
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run from the command line and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.pgvector", description=__doc__)
    parser.add_argument("url", help="a Postgres that has pgvector: postgresql://user@host/database")
    parser.add_argument("--vectors", type=int, default=100_000, metavar="N", help="how many (100000 unless told)")
    parser.add_argument("--memory", default="4GB", help="maintenance_work_mem of who builds (4GB unless told)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="that help building (2 unless told)")
    options = parser.parse_args(arguments)
    print(json.dumps(asyncio.run(measure(options.url, options.vectors, options.memory, options.workers))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
