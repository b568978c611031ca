"""
A program that saves turns in a file of conversations, for the tests that need processes of their own.

``python -m tests.storage.conversation_program save|kill FILE NAME NUMBER asyncio|trio`` says ``ready``, waits for a line, and then says
what came of it: ``save`` which turns it has saved, ``kill`` which ones a child had that was killed in the middle, so many times.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime

import anyio
import anyio.to_thread

from procession.messages.message import Message
from procession.storage.sqlite.store import SQLiteStore

TURNS = 4
"""Turns that each thread is given by ``save``."""

PARTS = 5
"""Messages of a turn."""

INDEXES = ("first", "second")
"""What each message is noted for."""


def say(text: str) -> None:
    """Print a line at once, in one piece."""
    os.write(sys.stdout.fileno(), f"{text}\n".encode())


def turn(name: str, number: int) -> list[Message]:
    """Return the messages of a turn, which are some kilobytes together."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Message.user("x" * 700 * part, id=f"{name}.{number}.{part}").replace(created_at=at) for part in range(PARTS)
    ]


async def thread(store: SQLiteStore, name: str, turns: int, tell: bool = False) -> None:
    """Save turns in a thread of its own, and one message each in a thread that all share."""
    for number in range(turns):
        await store.save(name, "ada", turn(name, number), metadata={name: number}, indexes=INDEXES)
        if tell:
            say(f"{name} {number}")
        else:
            shared = Message.user(name, id=f"{name}.{number}")
            await store.save("shared", "ada", [shared], metadata={name: number}, indexes=INDEXES)


async def save(file: str, name: str, threads: int) -> None:
    """Save in so many threads at the same time."""
    say("ready")
    await anyio.to_thread.run_sync(sys.stdin.readline)
    async with SQLiteStore(file) as store, anyio.create_task_group() as group:
        for number in range(threads):
            group.start_soon(thread, store, f"{name}{number}", TURNS)


async def forever(file: str, name: str) -> None:
    """Save turns in three threads until somebody kills this process."""
    async with SQLiteStore(file) as store, anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(thread, store, f"{name}-{number}", 10**9, True)


def kill(file: str, name: str, times: int, backend: str) -> None:
    """Have a child save turns, and kill it at some moment, so many times; say which turns it was told of."""
    chance = random.Random(name)
    for number in range(times):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(write, sys.stdout.fileno())
            anyio.run(forever, file, f"{name}{number}", backend=backend)
            os._exit(1)
        os.close(write)
        with os.fdopen(read) as told:
            lines = [told.readline() for _ in range(chance.randrange(1, 30))]
            time.sleep(chance.random() * 0.004)  # some moment: nothing is waited for
            os.kill(child, signal.SIGKILL)
            lines += told
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        say(json.dumps([line.strip() for line in lines if line.endswith("\n")]))  # the last one may have been cut


if __name__ == "__main__":
    what, file, name, number, backend = sys.argv[1:]
    if what == "save":
        anyio.run(save, file, name, int(number), backend=backend)
    else:
        say("ready")
        sys.stdin.readline()
        kill(file, name, int(number), backend)
