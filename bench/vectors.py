"""
Vectors in a SQLite file: what a search among them costs beside comparing as many in NumPy alone, in one array in memory.

``exact_*`` seeks in one scope of so many vectors of 384 numbers: the floor multiplies a matrix with a vector and picks the
nearest ten.  ``small_beside_*`` seeks among a hundred of one resource beside so many of others.  ``cold_ms`` is the first
search of a store that has nothing in memory, ``cpu_ms`` what the best one has the CPU for, ``block_ms`` how long the event loop does not come round beside a search.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.harness import Case
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.vectors import VectorItem

if TYPE_CHECKING:
    from bench.harness import Bench, Effort, Row, Work

__all__ = ["LENGTH", "Recall", "benches", "random_vectors"]

LENGTH = 384
"""Numbers in each vector."""

OWN = 100
"""Vectors of the resource that has few."""

QUICK = 50
"""By how much there are fewer where it is only shown that it runs."""


def random_vectors(count: int, *, seed: int = 1) -> Sequence[array[float]]:
    """
    Return vectors in random directions.
    """
    numbers = random.Random(seed)
    return [array("f", [numbers.gauss(0, 1) for _ in range(LENGTH)]) for _ in range(count)]


@dataclass(frozen=True)
class Recall:
    """
    A search in one scope.
    """

    variant: str
    n: int
    """Vectors of one resource."""
    is_beside: bool = False
    """Whether it is another resource, with few, for which is sought."""
    bench: str = "vectors"

    async def run(self, effort: Effort) -> Row:
        """
        Fill a file, and measure by the wall.
        """
        count = self.n if effort.thorough else self.n // QUICK
        some = random_vectors(min(count, 2000))  # what repeats costs as much
        owner = "few" if self.is_beside else "many"
        told: Row = {}
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/vectors.db"
            async with SQLiteStore(path) as store:
                for begin in range(0, count, 1000):
                    await store.put_vectors("bench", _items("many", some, begin, min(begin + 1000, count)))
                await store.put_vectors("bench", _items("few", some, 0, OWN))
            async with SQLiteStore(path) as store:
                await store.thread("none")  # the file is open

                async def search() -> None:
                    hits = await store.search("bench", some[7], top_k=10, resource_id=owner)
                    assert len(hits) == 10, hits

                begun = time.perf_counter()
                await search()
                told["cold_ms"] = round((time.perf_counter() - begun) * 1e3, 3)
                told["cpu_ms"] = round(min([await _cpu(search) for _ in range(15 if effort.thorough else 1)]) * 1e3, 3)
                told["block_ms"] = await _block_ms(search, 15 if effort.thorough else 1)
                compared = OWN if self.is_beside else count
                case = Case(
                    bench=self.bench,
                    variant=self.variant,
                    n=1,
                    ours=search,
                    floor=_floor([some[row % len(some)] for row in range(compared)], some[7]),
                    clock="wall",
                    against="NumPy",
                    extra=lambda: told,
                )
                row = await case.run(effort)
        return row | {"ms": round(row["wall_us"] / 1e3, 3), "vectors": count}


def _items(owner: str, vectors: Sequence[array[float]], begin: int, end: int) -> list[VectorItem]:
    return [
        VectorItem(
            thread_id=f"{owner}-{row % 100}",
            resource_id=owner,
            message_id=f"{row:032x}",
            vector=vectors[row % len(vectors)],
            facts={"role": "user"},
        )
        for row in range(begin, end)
    ]


def _floor(vectors: Sequence[array[float]], query: array[float]) -> Work:
    """
    Return what finds the ten nearest in an array; in lists, where NumPy is not installed.
    """
    try:
        import numpy as np
    except ImportError:

        async def plain() -> None:
            scores = [sum(map(float.__mul__, vector, query)) for vector in vectors]
            sorted(range(len(scores)), key=scores.__getitem__)[-10:]

        return plain
    matrix: Any = np.array(vectors, dtype=np.float32)
    sought = np.array(query, dtype=np.float32)

    async def find() -> None:
        scores = matrix @ sought
        best = np.argpartition(scores, -10)[-10:]
        best[np.argsort(-scores[best])]

    return find


async def _cpu(work: Work) -> float:
    begun = time.process_time()
    await work()
    return time.process_time() - begun


async def _block_ms(work: Work, calls: int) -> float:
    """
    Return for how long at most the loop does not come round beside *work*, in the best of some calls: what disturbs from
    outside hits some of them, and what is ours hits each.
    """
    worst: list[float] = []
    for _ in range(calls):
        task = asyncio.ensure_future(work())
        longest = 0.0
        while not task.done():
            before = time.perf_counter()
            await asyncio.sleep(0.0005)
            longest = max(longest, time.perf_counter() - before - 0.0005)
        await task
        worst.append(longest)
    return round(min(worst) * 1e3, 3)


def benches() -> list[Bench]:
    """
    Return the benchmarks of this file.
    """
    return [
        Recall("exact_1000", 1_000),
        Recall("exact_10000", 10_000),
        Recall("exact_100000", 100_000),
        Recall("small_beside_100000", 100_000, is_beside=True),
    ]
