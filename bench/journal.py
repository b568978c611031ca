"""
The journal on SQLite: what a step costs that is written down, beside a commit by ``sqlite3`` alone, and how long the
loop waits.  ``writes``, ``runs`` and ``loop`` are of the store alone, ``kept`` of whole runs.

A floor's commit is one row in a table of the same shape, in a file of its own, with the log that SQLite keeps by itself.
It does not ask who holds the run.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from bench import workflow
from bench.harness import Case
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import JournalRow, RunRow
from procession.storage.sqlite.journal import SQLiteJournal

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.harness import Bench, Effort, Row, Work

__all__ = ["Journalled", "benches", "commits"]

TOKEN = "0" * 32
DATA = '{"output": {"answer": "' + "y" * 100 + '"}}'
"""What a step leaves behind."""

_numbers = count()


@dataclass(frozen=True)
class Journalled:
    """
    Work on a journal in a new file, beside as many commits one after the other by ``sqlite3``.
    """

    variant: str
    n: int
    """Rows in one call."""
    work: Callable[[SQLiteJournal], Work]
    """Returns what is measured: calls of the store, or runs of a runtime that has it."""
    synchronous: Literal["normal", "full"] = "normal"
    base: Callable[[SQLiteJournal], Work] | None = None
    """Returns what is subtracted: the same without the part that is meant."""
    extra: Callable[[], Row] = dict
    bench: str = "journal"

    async def run(self, effort: Effort) -> Row:
        """
        Measure by the wall: waiting for the disk counts.
        """
        with tempfile.TemporaryDirectory() as folder:
            raw = sqlite3.connect(f"{folder}/floor.db", isolation_level=None)
            try:
                async with SQLiteJournal(f"{folder}/ours.db", synchronous=self.synchronous) as store:
                    case = Case(
                        bench=self.bench,
                        variant=self.variant,
                        n=self.n,
                        ours=self.work(store),
                        floor=commits(raw, self.n, self.synchronous),
                        ours_base=self.base(store) if self.base is not None else None,
                        clock="wall",
                        against="sqlite3",
                        extra=self.extra,
                    )
                    return await case.run(effort)
            finally:
                raw.close()


def commits(raw: sqlite3.Connection, rows: int, synchronous: str) -> Work:
    """
    Return work that commits *rows*, one by one.
    """
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute(f"PRAGMA synchronous = {synchronous}")
    raw.execute(
        "CREATE TABLE entries (run_id TEXT, seq INTEGER, kind TEXT, path TEXT, attempt INTEGER, data TEXT,"
        " PRIMARY KEY (run_id, seq)) WITHOUT ROWID"
    )

    async def commit() -> None:
        run_id = f"{next(_numbers):032x}"
        for seq in range(rows):
            raw.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (run_id, seq, "step", "a/b", 1, DATA))

    return commit


async def chain(store: SQLiteJournal, rows: int) -> None:
    """
    Begin a run and write *rows* in it, each when the one before is written.
    """
    run_id = f"{next(_numbers):032x}"
    await store.add(RunRow(run_id=run_id, owner="chain", kind="workflow", status="running"), token=TOKEN, seconds=60)
    for seq in range(rows):
        assert await store.write(run_id, TOKEN, [JournalRow(seq=seq, kind="step", path="a/b", data=DATA)])


async def many(store: SQLiteJournal, runs: int, rows: int) -> None:
    """
    Have *runs* write at the same time.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(runs):
            group.create_task(chain(store, rows))


@step
async def asking(ctx: StepContext[dict[str, int]]) -> dict[str, int]:
    """
    The end of a chain that waits for an answer.
    """
    return {"n": ctx.input["n"] + await ctx.suspend()}


def runs(store: SQLiteJournal, steps: int, at_once: int = 1) -> Work:
    """
    Return work that runs *at_once* chains of so many typed steps, each written down.
    """
    flow = workflow.chain(workflow.copies(workflow.typed, steps))
    runtime = Runtime(store)

    async def one() -> None:
        result = await runtime.create_run(flow).start({"n": 0})
        assert result.output == {"n": steps}, result

    async def work() -> None:
        if at_once == 1:
            return await one()
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(one())

    return work


def waits(store: SQLiteJournal, steps: int, answer: int | None = None) -> Work:
    """
    Return work that runs a chain of so many steps, which waits for an answer at its end, and with *answer* resumes it.
    """
    flow = workflow.chain([*workflow.copies(workflow.typed, steps - 1), asking])
    runtime = Runtime(store)

    async def work() -> None:
        run = runtime.create_run(flow)
        result: Any = await run.start({"n": 0})
        assert result.status == "suspended", result
        if answer is not None:
            result = await runtime.resume(run.id, answer)
            assert result.output == {"n": steps - 1 + answer}, result

    return work


class Block:
    """
    How long the event loop does not come round beside some *work*, at most.

    What disturbs from outside, another process that has the CPU or the disk, hits some calls, and what is ours hits each.
    So the worst of the best call is told, by the wall and by the CPU, and rounds in which the thread had to give up the
    CPU are not counted, where the system tells that.
    """

    def __init__(self, work: Callable[[SQLiteJournal], Work]) -> None:
        self._work = work
        self._worst: list[tuple[float, float]] = []

    def work(self, store: SQLiteJournal) -> Work:
        """
        Return the work, beside which the loop is watched.
        """
        work = self._work(store)

        async def watched() -> None:
            watching = asyncio.create_task(self._watch())
            await work()
            watching.cancel()
            await asyncio.wait([watching])

        return watched

    async def _watch(self) -> None:
        wall = cpu = 0.0
        try:
            while True:
                before, before_cpu, pushed = time.perf_counter(), time.thread_time(), _times_pushed()
                await asyncio.sleep(0)
                if pushed == _times_pushed():
                    wall = max(wall, time.perf_counter() - before)
                    cpu = max(cpu, time.thread_time() - before_cpu)
        finally:
            self._worst.append((wall, cpu))

    def told(self) -> Row:
        """
        Return what is printed of it.
        """
        wall, cpu = (round(min(each) * 1e3, 3) for each in zip(*self._worst, strict=True))
        return {"block_ms": wall, "block_cpu_ms": cpu}


def _times_pushed() -> int:
    """
    Return how often this thread had to give up the CPU; always 0 where the system does not tell.
    """
    who = getattr(resource, "RUSAGE_THREAD", None)
    return 0 if who is None else resource.getrusage(who).ru_nivcsw


def benches() -> list[Bench]:
    """
    Return the benchmarks of this file.
    """
    block = Block(lambda store: partial(many, store, 100, 20))
    kept_block = Block(partial(runs, steps=100))
    return [
        Journalled("writes_100", 100, lambda store: partial(chain, store, 100)),
        Journalled("writes_100_full", 100, lambda store: partial(chain, store, 100), "full"),
        Journalled("runs_100", 1000, lambda store: partial(many, store, 100, 10)),
        Journalled("loop_block", 2000, block.work, extra=block.told),
        Journalled("kept_100", 100, partial(runs, steps=100)),
        Journalled("kept_100_full", 100, partial(runs, steps=100), "full"),
        Journalled("kept_block", 100, kept_block.work, extra=kept_block.told),
        Journalled("kept_at_once_100", 1000, partial(runs, steps=10, at_once=100)),
        Journalled("kept_resume_100", 100, partial(waits, steps=100, answer=1), base=partial(waits, steps=100)),
    ]
