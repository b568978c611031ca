"""What the tests of journals share: rows, a clock that is set by hand, and how a store of either kind is made."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio.lowlevel

from procession.storage.base import JournalRow, RunRow
from procession.storage.sqlite.journal import SQLiteJournal

RUNS = [str(number) for number in range(5)]
"""Runs of which each is held by its own id."""

RUN = RunRow(run_id="r", owner="agent", data='{"a":1}')
"""A run that waits."""


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def entry(seq: int, data: str | None = None, path: str = "step") -> JournalRow:
    """Return a row of a journal."""
    return JournalRow(seq=seq, kind="step", path=path, data=data)


def known(row: RunRow | None) -> tuple[str, str | None] | None:
    """Return what most tests ask of a run: its status and its data."""
    return None if row is None else (row.status, row.data)


class Locked:
    """Another one that writes in the file, and keeps others from it."""

    def __init__(self, path: Path) -> None:
        self._made = sqlite3.connect(path / "runs.db", isolation_level=None, check_same_thread=False)
        self._made.execute("BEGIN IMMEDIATE")

    def end(self) -> None:
        """Let the others write."""
        self._made.execute("COMMIT")
        self._made.close()


async def write(store: SQLiteJournal, run_id: str, seq: int = 0, data: str | None = None) -> None:
    """Write a row in one of the runs."""
    assert await store.write(run_id, run_id, [entry(seq, data)])


async def rounds(number: int = 20) -> None:
    """Let the loop go round."""
    for _ in range(number):
        await anyio.lowlevel.checkpoint()
