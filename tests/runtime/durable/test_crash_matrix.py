"""Crashes (C4, A16): a process dies with each of its writes, and what follows does what was not done, and nothing that was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.durable.everything import RUN, Death, drive, everything, mortal
from tests.storage.journals import Clock

from procession.runtime.runtime import Runtime
from procession.storage.base import JournalRow, JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal


class World:
    """What is outside: what steps have said, and the charges, each key once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.charged: set[str] = set()

    def workflow(self) -> Any:
        """Return the workflow that acts on it."""
        return everything(self.lines.append, self.charged.add)


def completed(rows: Sequence[JournalRow]) -> list[str]:
    """Return the paths that a journal says are completed, in order."""
    return [row.path for row in rows if row.kind == "completed"]


def check(before: Sequence[JournalRow], done: Sequence[str], later: Sequence[str], after: Sequence[JournalRow]) -> None:
    """
    Check what was *done* until the crash and *later*, against the journal as it was *before* and *after*.

    What the journal had is not done again, and what it has in the end it has once.
    """
    assert max(Counter(completed(after)).values()) == 1
    again = {line.split()[0] for line in later}
    assert not again & set(completed(before))
    memos = {f"{row.path} memo" for row in before if row.kind == "memoized"}
    assert not memos & set(later)
    attempts = {f"{row.path} {row.attempt}" for row in before if row.kind == "retried"}
    assert not attempts & set(later)
    assert set(before) <= set(after)
    # A step runs at most once more than without the crash: the one that was under way.
    counts = Counter([*done, *later])
    assert all(count <= (3 if "approve" in line else 2) for line, count in counts.items()), counts


async def uninterrupted() -> tuple[int, Any, World, list[str]]:
    """Return how many writes there are, the outcome, what was done, and what is in the journal, without any crash."""
    world = World()
    store = mortal(InMemoryJournal())
    reader = await drive(Runtime(store), world.workflow())
    assert reader.status == "success"
    return store.writes, reader.output, world, completed(await store.entries(RUN))


@asynccontextmanager
async def opened(kind: str, path: Path, clock: Clock) -> AsyncGenerator[Callable[[], Any]]:
    """Yield a function that gives the store as another process would have it."""
    if kind == "memory":
        kept = InMemoryJournal(clock=clock)
        yield lambda: kept
        return
    async with SQLiteJournal(path, clock=clock) as store:
        yield lambda: store


@pytest.mark.parametrize(("kind", "written"), [("memory", True), ("memory", False), ("sqlite", True)])
async def test_a_run_survives_its_process_at_each_write(kind: str, written: bool, tmp_path: Path) -> None:
    """
    A process that dies with any write, be it kept or not: the run comes to the same end, and charges nobody twice.
    """
    writes, output, expected, paths = await uninterrupted()
    assert writes > 40
    for at in range(1, writes + 1):
        clock = Clock()
        async with opened(kind, tmp_path / f"{at}.db", clock) as store:
            world = World()
            with pytest.raises(Death):
                await drive(Runtime(mortal(store(), at, written=written)), world.workflow())
            before, done = await store().entries(RUN), list(world.lines)
            clock.now += 60
            reader = await drive(Runtime(store()), world.workflow())
            assert (reader.status, reader.output) == ("success", output), at
            after = await store().entries(RUN)
            assert sorted(completed(after)) == sorted(paths)
            check(before, done, world.lines[len(done) :], after)
            assert world.charged == expected.charged


async def test_a_run_survives_many_deaths(tmp_path: Path) -> None:
    """A run whose process dies every few writes comes to the same end as well."""
    _, output, expected, paths = await uninterrupted()
    for lives in (2, 3, 5):
        clock, world = Clock(), World()
        reader: Any = None
        kept: JournalStore = InMemoryJournal(clock=clock)
        for _ in range(60):
            try:
                reader = await drive(Runtime(mortal(kept, lives)), world.workflow())
                break
            except Death:
                clock.now += 60
        assert (reader.status, reader.output) == ("success", output)
        assert sorted(completed(await kept.entries(RUN))) == sorted(paths)
        assert world.charged == expected.charged


@pytest.mark.parametrize(("backend", "step"), [("asyncio", 1), ("trio", 4)])
def test_a_run_survives_sigkill_after_each_write(backend: str, step: int, tmp_path: Path) -> None:
    """
    Processes that are killed after each of their writes to a SQLite file, and new ones that go on.

    Every step is completed once, the service sees every key once, and the end is that of a run that nobody killed.
    """
    program = [sys.executable, "-W", "error", "-m", "tests.runtime.durable.crash_program", backend]
    program += [str(step), str(tmp_path)]
    run = subprocess.run(program, check=True, capture_output=True, text=True, timeout=50)
    told = [json.loads(line) for line in run.stdout.splitlines()]
    whole, killed = told[0], told[1:]
    assert whole["writes"] > 40
    assert [each["at"] for each in killed] == list(range(1, whole["writes"] + 1, step))
    for each in killed:
        assert each["signal"] == 9
        assert (each["status"], each["output"]) == ("success", whole["output"]), each["at"]
        before = [JournalRow(**row) for row in each["before"]]
        after = [JournalRow(**row) for row in each["after"]]
        assert sorted(completed(after)) == sorted(completed([JournalRow(**row) for row in whole["after"]]))
        check(before, each["done"], each["later"], after)
        assert each["charged"] == whole["charged"]
        assert set(each["charged"].values()) == {1}
