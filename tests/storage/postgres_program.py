"""
A program that writes conversations into Postgres, for the tests that need processes of their own.

``python -m tests.storage.postgres_program threads|forever|once URL SCHEMA NAME`` says ``ready``, waits for a line, and then
prints each turn that the store has said it saved.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from tests.storage.conversations import NOON

from procession.messages.message import Message

if TYPE_CHECKING:
    from procession.storage.postgres.store import PostgresStore

THREADS, TURNS, LONG = 200, 2, 20


def turn(name: str, number: int, messages: int) -> list[Message]:
    """Return the messages of a turn, all of one time: they stand as they were saved."""
    return [Message("user", name, id=f"{name} {number} {at}", created_at=NOON) for at in range(messages)]


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def save(store: PostgresStore, thread_id: str, name: str, turns: int, messages: int) -> None:
    """Save turns one after the other; each is said once the store has said that it was written."""
    for number in range(turns):
        await store.save(thread_id, "ada", turn(name, number, messages), indexes=["i"])
        say(f"{name} {number}")


async def main(*arguments: str) -> None:
    """Do what the arguments say: what needs packages is imported here, as others read the numbers above."""
    from procession.storage.postgres.store import (
        PostgresStore,
    )

    what, url, schema, name = arguments
    async with PostgresStore(url, schema=schema) as store:
        say("ready")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        if what == "threads":
            async with anyio.create_task_group() as group:
                for thread in range(THREADS):
                    group.start_soon(save, store, f"t{thread}", f"{name} t{thread}", TURNS, 2)
        else:
            await save(store, "t", name, 10**9 if what == "forever" else 1, LONG)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
