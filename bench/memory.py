"""
Conversations in a SQLite file: what a turn costs beside a transaction by ``sqlite3`` alone, and that nothing grows with the
length of a thread.

A floor's turn is two messages as JSON and the thread's row, in tables with the same indexes, in a file of its own.  It asks
for nothing else: not whose the thread is.  Of ``grows_...`` the floor is ours, too, in a thread of 100 messages.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from bench.harness import Case
from procession.messages.message import Message
from procession.storage.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from bench.harness import Bench, Effort, Row, Work

__all__ = ["benches"]

ASKED = "Where is my parcel? I ordered it two weeks ago, and nobody has told me anything since."
ANSWERED = "It left our warehouse on Monday and is with the carrier now. " * 5
SHORT, LONG, LONG_IF_QUICK = 100, 100_000, 1_000
"""Messages in the threads that are compared."""

PORTION = 1_000
"""Messages that are saved at a time before anything is measured."""

_numbers = count()


def turn() -> list[Message]:
    """
    Return the two messages of a turn.
    """
    return [Message.user(ASKED), Message.assistant(ANSWERED)]


async def fill(store: SQLiteStore, thread_id: str, messages: int) -> None:
    """
    Save a thread of so many messages, a second apart, in times long past.
    """
    begun = datetime(2020, 1, 1, tzinfo=UTC)
    for first in range(0, messages, PORTION):
        some = range(first, min(messages, first + PORTION))
        said = [Message.user(ASKED).replace(created_at=begun + timedelta(seconds=number)) for number in some]
        await store.save(thread_id, "ada", said)


async def last(store: SQLiteStore, thread_id: str) -> None:
    """
    Load the newest ten messages.
    """
    assert len(await store.messages(thread_id, resource_id="ada", last=10)) == 10


async def save(store: SQLiteStore, thread_id: str, indexes: Sequence[str] = ()) -> None:
    """
    Save a turn.
    """
    await store.save(thread_id, "ada", turn(), indexes=indexes)


async def at_once(store: SQLiteStore, threads: int) -> None:
    """
    Save a turn in each of so many threads at the same time.
    """
    async with asyncio.TaskGroup() as group:
        for number in range(threads):
            group.create_task(save(store, f"t{number}"))


@dataclass(frozen=True)
class Grown:
    """
    The same in a thread of 100,000 messages, and in one of 100.
    """

    variant: str
    work: Callable[[SQLiteStore, str], Work]
    bench: str = "memory"

    async def run(self, effort: Effort) -> Row:
        """
        Measure by the CPU, that of the thread included in which the file is read.
        """
        long = LONG if effort.thorough else LONG_IF_QUICK
        with tempfile.TemporaryDirectory() as folder:
            async with SQLiteStore(f"{folder}/memory.db") as store:
                await fill(store, "long", long)
                await fill(store, "short", SHORT)
                case = Case(
                    bench=self.bench,
                    variant=self.variant,
                    n=1,
                    ours=self.work(store, "long"),
                    floor=self.work(store, "short"),
                    against=f"{SHORT} messages",
                )
                return await case.run(effort) | {"messages": long}


@dataclass(frozen=True)
class Turns:
    """
    Turns that are saved, beside as many transactions by ``sqlite3``, one after the other.
    """

    variant: str
    n: int
    work: Callable[[SQLiteStore], Work]
    notes: bool = False
    """Whether each message is noted for an index as well, by the floor, too."""
    bench: str = "memory"

    async def run(self, effort: Effort) -> Row:
        """
        Measure by the wall: waiting for the disk counts.
        """
        with tempfile.TemporaryDirectory() as folder:
            raw = sqlite3.connect(f"{folder}/floor.db", isolation_level=None)
            try:
                async with SQLiteStore(f"{folder}/ours.db") as store:
                    case = Case(
                        bench=self.bench,
                        variant=self.variant,
                        n=self.n,
                        ours=self.work(store),
                        floor=transactions(raw, self.n, self.notes),
                        clock="wall",
                        against="sqlite3",
                    )
                    return await case.run(effort)
            finally:
                raw.close()


def transactions(raw: sqlite3.Connection, turns: int, notes: bool) -> Work:
    """
    Return work that saves so many turns by hand.
    """
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = normal")
    raw.execute("PRAGMA secure_delete = ON")
    raw.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, resource TEXT, updated_at REAL)")
    raw.execute("CREATE INDEX threads_by_use ON threads (resource, updated_at)")
    raw.execute(
        "CREATE TABLE messages (number INTEGER PRIMARY KEY, thread TEXT, id TEXT, at INTEGER, data TEXT, UNIQUE (thread, id))"
    )
    raw.execute("CREATE INDEX messages_by_time ON messages (thread, at)")
    raw.execute("CREATE TABLE queue (revision INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER UNIQUE, name TEXT)")
    raw.execute("CREATE INDEX queue_in_order ON queue (name, revision)")
    raw.execute("INSERT INTO threads VALUES ('t', 'ada', 0)")

    async def save() -> None:
        for _ in range(turns):
            number = next(_numbers)
            raw.execute("BEGIN IMMEDIATE")
            for role, text in (("user", ASKED), ("assistant", ANSWERED)):
                id = f"{role[0]}{number:031x}"
                data = json.dumps({"id": id, "role": role, "at": number, "parts": [{"type": "text", "text": text}]})
                added = raw.execute("INSERT INTO messages VALUES (NULL, 't', ?, ?, ?)", (id, number, data))
                if notes:
                    raw.execute("INSERT INTO queue VALUES (NULL, ?, 'recall')", (added.lastrowid,))
            raw.execute("UPDATE threads SET updated_at = ? WHERE id = 't'", (number,))
            raw.execute("COMMIT")

    return save


def benches() -> list[Bench]:
    """
    Return the benchmarks of this file.
    """
    return [
        Grown("grows_last_10", lambda store, thread: partial(last, store, thread)),
        Grown("grows_save", lambda store, thread: partial(save, store, thread)),
        Turns("save_turn", 1, lambda store: partial(save, store, "t")),
        Turns("save_turn_indexed", 1, lambda store: partial(save, store, "t", ("recall",)), notes=True),
        Turns("save_at_once_100", 100, lambda store: partial(at_once, store, 100)),
    ]
