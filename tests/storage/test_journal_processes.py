"""Real processes on one file: races, many who write at once, and a process that is killed between two writes."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.storage.journals import RUN, entry
from tests.storage.test_sqlite_file import VERSION_1

from procession.storage.base import JournalRow
from procession.storage.sqlite.journal import SQLiteJournal


def begin(what: str, file: Path, name: str) -> subprocess.Popen[str]:
    """Start the program, which waits to be told to go on."""
    made = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.storage.journal_program", what, str(file), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made


def outcomes(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    """Have all go on at the same time, and return the lines that each prints until its end."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=50)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return said


async def rows(file: Path) -> dict[str, list[JournalRow]]:
    """Return what is in the file."""
    async with SQLiteJournal(file) as journal:
        return {row.run_id: await journal.entries(row.run_id) for row in await journal.runs(limit=1000)}


def test_of_many_processes_one_wins(tmp_path: Path) -> None:
    """Five processes claim twenty runs at the same time: each run has one winner, and only that one's row (SUS-001)."""
    file = tmp_path / "runs.db"

    async def prepare() -> None:
        async with SQLiteJournal(file) as journal:
            for number in range(20):
                await journal.add(RUN.replace(run_id=str(number)))

    anyio.run(prepare)
    said = outcomes([begin("claim", file, f"p{number}") for number in range(5)])
    assert sorted(run_id for lines in said for run_id in lines) == sorted(str(number) for number in range(20))
    found = anyio.run(rows, file)
    for number, lines in enumerate(said):
        for run_id in lines:
            assert found[run_id] == [JournalRow(seq=0, kind="won", path="", data=f"p{number}")]


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    """Three processes with five runs each write in one file side by side, from its making on; nothing is refused."""
    file = tmp_path / "runs.db"
    said = outcomes([begin("chain", file, name) for name in "abc"])
    assert [len(lines) for lines in said] == [500] * 3
    found = anyio.run(rows, file)
    assert sorted(found) == sorted(f"{name}{number}" for name in "abc" for number in range(5))
    assert [[row.seq for row in kept] for kept in found.values()] == [list(range(100))] * 15


@pytest.mark.parametrize("lines", [1, 50, 3000])
def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path, lines: int) -> None:
    """A process with five runs is killed in the middle: each row that it was told of is there, and no half of any."""
    file = tmp_path / "runs.db"
    process = begin("forever", file, "r")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    said = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    assert process.wait(timeout=50) == -signal.SIGKILL
    process.stdin.close()
    process.stdout.close()
    told: dict[str, int] = {}
    for line in "".join([*said, rest]).splitlines(keepends=True):
        if line.endswith("\n"):  # the last one may have been cut
            run_id, seq = line.split()
            told[run_id] = int(seq)
    found = anyio.run(rows, file)
    for run_id, last in told.items():
        kept = found[run_id]
        assert [row.seq for row in kept] == list(range(len(kept)))
        assert last < len(kept) <= last + 2
        assert all(row.data == "x" * (row.seq % 999) for row in kept)

    async def go_on() -> None:
        async with SQLiteJournal(file) as journal:
            for run_id, kept in found.items():
                assert await journal.claim(run_id, "another", 30, of=["running"]) is not None
                assert not await journal.write(run_id, "me", [entry(len(kept))])
                assert await journal.write(run_id, "another", [entry(len(kept))], status="success")

    anyio.run(go_on)


def test_many_processes_open_a_file_of_the_first_version(tmp_path: Path) -> None:
    """One of them changes it, the others wait for that, and all see the same runs."""
    file = Path(shutil.copy(VERSION_1, tmp_path / "runs.db"))
    said = outcomes([begin("open", file, "") for _ in range(5)])
    assert said == [["aborted blocked completed failed held waits"]] * 5
