"""
``python -m bench.postgres URL``: turns in Postgres beside psycopg alone, and that loading does not grow with a thread.

In a schema of its own that is deleted at the end.  Prints a JSON line: milliseconds in the middle and at best, ours and the
floor's in turns.  A floor's turn is two messages and the thread's row in one transaction, in the same tables, by a connection that
stays open; it asks neither whose the thread is nor whether the connection still is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median

import psycopg

from bench.memory import ANSWERED, ASKED, LONG, SHORT, turn
from procession.messages.message import Message
from procession.storage.postgres.store import PostgresStore

__all__ = ["main"]

SCHEMA = "procession bench turns"
ROUNDS = 200


async def measure(url: str, long: int) -> dict[str, object]:
    """
    Save and load turns, ours and the floor's one after the other.
    """
    async with PostgresStore(url, schema=SCHEMA, timeout=300) as store:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as raw:
            await raw.execute(f'DROP SCHEMA IF EXISTS "{SCHEMA}" CASCADE'.encode())
            try:
                await store.upgrade()
                await raw.execute(f'SET search_path TO "{SCHEMA}"'.encode())
                for thread_id, count in (("short", SHORT), ("long", long), ("floor", SHORT)):
                    for first in range(0, count, 1000):
                        said = [Message.user(ASKED) for _ in range(min(1000, count - first))]
                        await store.save(thread_id, "ada", said)
                await raw.execute("ANALYZE")
                took = await _in_turns(
                    {
                        "load_10_of_short": lambda: store.messages("short", resource_id="ada", last=10),
                        "load_10_of_long": lambda: store.messages("long", resource_id="ada", last=10),
                        "load_10_psycopg": lambda: _load(raw),
                        "save_turn": lambda: store.save("short", "ada", turn()),
                        "save_turn_of_long": lambda: store.save("long", "ada", turn()),
                        "save_turn_psycopg": lambda: _save(raw),
                    }
                )
            finally:
                await raw.execute(f'DROP SCHEMA IF EXISTS "{SCHEMA}" CASCADE'.encode())
    return {"bench": "postgres", "short": SHORT, "long": long, **{f"{name}_ms": value for name, value in took.items()}}


async def _in_turns(works: dict[str, Callable[[], Awaitable[object]]]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            begun = time.perf_counter()
            await work()
            seconds[name].append(time.perf_counter() - begun)
    return {name: [round(some(each) * 1e3, 2) for some in (median, min)] for name, each in seconds.items()}


async def _load(raw: psycopg.AsyncConnection) -> None:
    found = await raw.execute(
        "SELECT id, body FROM procession_messages WHERE thread_id = 'floor' ORDER BY moment DESC, number DESC LIMIT 10"
    )
    assert len([json.loads(body) for _, body in await found.fetchall()]) == 10


async def _save(raw: psycopg.AsyncConnection) -> None:
    async with raw.transaction():
        await raw.execute("UPDATE procession_threads SET updated_at = clock_timestamp() WHERE id = 'floor'")
        for role, text in (("user", ASKED), ("assistant", ANSWERED)):
            body = json.dumps({"role": role, "parts": [{"type": "text", "text": text}]})
            await raw.execute(
                "INSERT INTO procession_messages (thread_id, id, moment, body) VALUES ('floor', gen_random_uuid(), %s, %s)",
                (time.time_ns() // 1000, body),
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run from the command line and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=__doc__)
    parser.add_argument("url", help="a Postgres: postgresql://user@host/database")
    parser.add_argument(
        "--messages", type=int, default=LONG, metavar="N", help=f"of the long thread ({LONG} unless told)"
    )
    options = parser.parse_args(arguments)
    print(json.dumps(asyncio.run(measure(options.url, options.messages))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
