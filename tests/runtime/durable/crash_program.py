"""
A program that is killed after each of its writes, for the tests of crashes.

``python -m tests.runtime.durable.crash_program asyncio|trio STEP DIRECTORY`` prints a line of JSON for a run that nobody
kills, and then one for each write, or each STEPth, after which a run is killed: a process that is, and a new one that goes
on.  Both are forked, so that what they need is imported once.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
from tests.runtime.durable.everything import RUN, drive, everything, mortal
from tests.storage.journals import Clock

from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal


class Outside:
    """A file of lines, and a service that charges: a table with a unique key."""

    def __init__(self, directory: Path) -> None:
        self.lines = directory / "lines"
        # Processes are killed here, not machines: nobody need wait for the disk.
        self.service = sqlite3.connect(directory / "service.db", isolation_level=None)
        self.service.execute("pragma synchronous = off")
        self.service.execute("create table if not exists charges (key text unique)")

    def did(self, line: str) -> None:
        """Note a line."""
        with self.lines.open("a") as file:
            file.write(line + "\n")

    def charge(self, key: str) -> None:
        """Charge, unless that was done."""
        self.service.execute("insert or ignore into charges values (?)", (key,))

    def told(self) -> list[str]:
        """Return the lines."""
        return self.lines.read_text().splitlines() if self.lines.exists() else []

    def charged(self) -> dict[str, int]:
        """Return how often each key was charged."""
        return dict(self.service.execute("select key, count(*) from charges group by key order by key").fetchall())


async def live(directory: Path, at: int | None) -> dict[str, Any]:
    """Bring the run to its end, or be killed after the write number *at*."""
    outside, clock = Outside(directory), Clock()
    clock.now = 100.0 if at is not None else 200.0  # whoever comes later finds that the lease is over
    told = len(outside.told())
    async with SQLiteJournal(directory / "runs.db", clock=clock) as kept:
        before = await kept.entries(RUN)
        store = mortal(kept, at, die=lambda: os.kill(os.getpid(), signal.SIGKILL))
        reader = await drive(Runtime(store), everything(outside.did, outside.charge))
        lines = outside.told()
        return {
            "at": at, "writes": store.writes, "status": reader.status, "output": reader.output, "charged": outside.charged(),
            "before": [vars_of(row) for row in before], "after": [vars_of(row) for row in await kept.entries(RUN)],
            "done": lines[:told], "later": lines[told:],
        }  # fmt: skip


async def warm_up() -> None:
    """Have imported and compiled what every process needs."""
    await drive(Runtime(InMemoryJournal()), everything(lambda line: None, lambda key: None))
    import_module("trio")


def vars_of(row: Any) -> dict[str, Any]:
    """Return the fields of a row."""
    return {name: getattr(row, name) for name in ("seq", "kind", "path", "attempt", "data")}


def forked(backend: str, directory: Path, at: int | None) -> tuple[int, dict[str, Any]]:
    """Live in a process of its own; return the signal that ended it, and what it told."""
    told = directory / "told"
    pid = os.fork()
    if not pid:
        code = 1
        try:
            told.write_text(json.dumps(anyio.run(live, directory, at, backend=backend)))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status), {}
    assert status == 0
    return 0, json.loads(told.read_text())


def main(backend: str, step: str, place: str) -> None:
    """Do it all."""
    root = Path(place)
    anyio.run(warm_up)
    (root / "whole").mkdir()
    _, whole = forked(backend, root / "whole", None)
    say(whole)
    for at in range(1, whole["writes"] + 1, int(step)):
        directory = root / str(at)
        directory.mkdir()
        killed, _ = forked(backend, directory, at)
        _, later = forked(backend, directory, None)
        say({**later, "at": at, "signal": killed})


def say(what: dict[str, Any]) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
