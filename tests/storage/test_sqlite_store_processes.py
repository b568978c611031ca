"""Real processes on one file of conversations: many who save at once, and some that are killed in the middle of it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.storage.conversation_program import INDEXES, PARTS, TURNS
from tests.storage.test_journal_processes import outcomes

from procession.storage.sqlite.store import SQLiteStore


def begin(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start the program, which waits to be told to go on."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.storage.conversation_program", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def all_ready(processes: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    """Return the processes once all of them have begun."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    return processes


async def test_200_threads_in_four_processes(tmp_path: Path, anyio_backend: str) -> None:
    """
    Four processes that save in 50 threads each at once, and all of them in one more, lose nothing and double nothing:
    every turn is whole, in its order, its metadata are there, and each message is noted once for each index.
    """
    file = tmp_path / "memory.db"
    outcomes(all_ready([begin("save", file, name, "50", anyio_backend) for name in "abcd"]))
    names = [f"{name}{number}" for name in "abcd" for number in range(50)]
    async with SQLiteStore(file) as store:
        page = await store.threads("ada", limit=1000)
        assert sorted(thread.id for thread in page.threads) == sorted([*names, "shared"])
        metadata = {thread.id: thread.metadata for thread in page.threads}
        for name in names:
            assert [message.id for message in await store.messages(name)] == [
                f"{name}.{turn}.{part}" for turn in range(TURNS) for part in range(PARTS)
            ]
            assert metadata[name] == {name: TURNS - 1}
        shared = [message.id for message in await store.messages("shared")]
        assert sorted(shared) == sorted(f"{name}.{turn}" for name in names for turn in range(TURNS))
        for name in names:
            assert [id for id in shared if id.startswith(f"{name}.")] == [f"{name}.{turn}" for turn in range(TURNS)]
        assert metadata["shared"] == dict.fromkeys(names, TURNS - 1)
        for index in INDEXES:
            assert await store.waiting(index) == len(names) * TURNS * (PARTS + 1)
    assert sound(file)


async def test_a_turn_is_whole_or_absent_after_a_kill(tmp_path: Path, anyio_backend: str) -> None:
    """
    A process that saves turns in three threads is killed at some moment, 16 times, in one file: each turn that it was told
    of is there, each that is there is whole and noted for each index, and no more than one of a thread was not told of.
    """
    file = tmp_path / "memory.db"
    said = outcomes(all_ready([begin("kill", file, name, "8", anyio_backend) for name in "ab"]))
    told: dict[str, int] = {}
    for line in [line for lines in said for line in lines]:
        for one in json.loads(line):
            thread, number = one.split()
            told[thread] = int(number)
    assert len(told) >= 16
    async with SQLiteStore(file) as store:
        found = 0
        for thread in (await store.threads("ada", limit=1000)).threads:
            ids = [message.id for message in await store.messages(thread.id)]
            turns = len(ids) // PARTS
            assert ids == [f"{thread.id}.{turn}.{part}" for turn in range(turns) for part in range(PARTS)]
            assert thread.metadata == {thread.id: turns - 1}
            assert 0 <= turns - 1 - told.pop(thread.id, -1) <= 1
            found += len(ids)
        assert told == {}
        for index in INDEXES:
            assert await store.waiting(index) == found
        assert len(await store.take(INDEXES[0], limit=found, seconds=1)) == found
    assert sound(file)


def sound(file: Path) -> bool:
    """Tell whether SQLite finds nothing wrong with the file."""
    with sqlite3.connect(file) as made:
        answer = made.execute("PRAGMA integrity_check").fetchall()
    made.close()
    return answer == [("ok",)]
