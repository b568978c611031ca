"""Runs in two processes that write one working memory in one SQLite file at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from procession.processors.memory.memory import Memory
from procession.storage.sqlite.store import SQLiteStore

PROGRAM = str(Path(__file__).with_name("writing_program.py"))
RUNS = 30


def begun(*arguments: str) -> subprocess.Popen[str]:
    """Begin a process whose runs write to a store under a name, on an event loop."""
    store, name, backend = arguments
    return subprocess.Popen(
        [sys.executable, "-W", "error", PROGRAM, store, name, str(RUNS), backend],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def all_write(processes: list[subprocess.Popen[str]]) -> None:
    """Let all processes write once each has read, and wait for their ends."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "read\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=100)
        assert (process.returncode, errors) == (0, "")


async def test_two_processes_lose_nothing(tmp_path: Path, anyio_backend: str) -> None:
    """Sixty runs in two processes have all read the same before the first one writes: each one's line is there, once."""
    file = str(tmp_path / "memory.db")
    all_write([begun(file, name, anyio_backend) for name in ("one", "two")])
    async with SQLiteStore(file) as store:
        text = await Memory(store, working_memory=True).working_memory(resource="ada")
    assert text.split("\n")[0] == "# Facts"
    assert sorted(text.split("\n")[1:]) == sorted(
        f"- {name} {number}" for name in ("one", "two") for number in range(RUNS)
    )
