"""
A program that writes in a SQLite journal, for the tests that need processes of their own.

``python -m tests.storage.journal_program chain|forever|claim|open FILE NAME`` says ``ready``, waits for a line, and then prints what came of it.
"""

from __future__ import annotations

import sys

import anyio
import anyio.to_thread

from procession.storage.base import JournalRow, RunRow
from procession.storage.sqlite.journal import SQLiteJournal


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def chain(journal: SQLiteJournal, run_id: str, rows: int) -> None:
    """Begin a run and write rows in it; each is said once the store has said that it was written."""
    assert await journal.add(RunRow(run_id=run_id, owner="flow", kind="workflow", status="running"), token="me")
    for seq in range(rows):
        assert await journal.write(run_id, "me", [JournalRow(seq=seq, kind="step", path="s", data="x" * (seq % 999))])
        say(f"{run_id} {seq}")


async def main(*arguments: str) -> None:
    """Do what the arguments say."""
    what, file, name = arguments
    say("ready")
    await anyio.to_thread.run_sync(sys.stdin.readline)
    async with SQLiteJournal(file) as journal:
        if what == "chain":
            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(chain, journal, f"{name}{number}", 100)
        elif what == "forever":
            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(chain, journal, f"{name}{number}", 10**9)
        elif what == "claim":
            for number in range(20):
                if await journal.claim(str(number), name, 30) is not None:
                    assert await journal.write(str(number), name, [JournalRow(seq=0, kind="won", path="", data=name)])
                    say(str(number))
                else:
                    assert not await journal.write(str(number), name, [JournalRow(seq=1, kind="lost", path="")])
        elif what == "open":
            say(" ".join(sorted(row.run_id for row in await journal.runs())))


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
