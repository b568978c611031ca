"""
``python -m bench.pgvector URL``: vectors in Postgres, in a schema of their own that is deleted at the end.

Vectors lie around centres, as those of texts do, all of one resource.  Prints a JSON line: how long putting them took, what
a search takes that compares each and one that looks them up, and how many of the ten nearest it finds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from array import array
from collections.abc import Sequence
from statistics import median, quantiles

from bench.vectors import LENGTH
from procession.storage.postgres import vectors as postgres_vectors
from procession.storage.postgres.store import PostgresStore
from procession.storage.threads import MessageRef
from procession.storage.vectors import VectorHit, VectorItem

__all__ = ["main"]

TOP_K = 10
SEARCHES = 200
COMPARED = 20
"""Searches that compare each, too: they are the measure of the others."""


def vector(numbers: random.Random, centre: Sequence[float], spread: float) -> array[float]:
    """
    Return a vector near a centre.
    """
    return array("f", [number + spread * numbers.gauss(0, 1) for number in centre])


async def measure(url: str, count: int) -> dict[str, object]:
    """
    Put so many vectors, search among them, and delete them.
    """
    numbers = random.Random(1)
    centres = [[numbers.gauss(0, 1) for _ in range(LENGTH)] for _ in range(200)]
    async with PostgresStore(url, schema="procession bench", timeout=300) as store:
        await store.upgrade()
        begun = time.perf_counter()
        made = 0.0
        for begin in range(0, count, 1000):
            making = time.perf_counter()
            items = [
                VectorItem(
                    thread_id=f"t{row % 100}",
                    resource_id="ada",
                    message_id=f"m{row}",
                    vector=vector(numbers, centres[row % len(centres)], 0.7),
                )
                for row in range(begin, min(begin + 1000, count))
            ]
            made += time.perf_counter() - making
            await store.put_vectors("bench", items)
        put = time.perf_counter() - begun - made
        seconds: list[float] = []
        compared: list[float] = []
        found = 0
        for number in range(SEARCHES):
            query = vector(numbers, centres[number % len(centres)], 0.7)
            begun = time.perf_counter()
            hits = await store.search("bench", query, top_k=TOP_K, resource_id="ada")
            seconds.append(time.perf_counter() - begun)
            if number < COMPARED:
                few, postgres_vectors._FEW = postgres_vectors._FEW, count  # pyright: ignore[reportPrivateUsage]
                begun = time.perf_counter()
                right = await store.search("bench", query, top_k=TOP_K, resource_id="ada")
                compared.append(time.perf_counter() - begun)
                postgres_vectors._FEW = few  # pyright: ignore[reportPrivateUsage]
                found += len(_refs(hits) & _refs(right))
        await store.delete_vectors(index="bench")
    return {
        "bench": "pgvector",
        "vectors": count,
        "put_s": round(put, 1),
        "search_p50_ms": round(median(seconds) * 1e3, 2),
        "search_p99_ms": round(quantiles(seconds, n=100)[98] * 1e3, 2),
        "compared_p50_ms": round(median(compared) * 1e3, 2),
        "recall_at_10": round(found / (COMPARED * TOP_K), 3),
    }


def _refs(hits: Sequence[VectorHit]) -> set[MessageRef]:
    return {hit.ref for hit in hits}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run from the command line and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.pgvector", description=__doc__)
    parser.add_argument("url", help="a Postgres that has pgvector: postgresql://user@host/database")
    parser.add_argument("--vectors", type=int, default=100_000, metavar="N", help="how many (100000 unless told)")
    options = parser.parse_args(arguments)
    print(json.dumps(asyncio.run(measure(options.url, options.vectors))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
