"""
Import time, in fresh processes by turns with one that imports what the library is built on.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.fresh import PEAK, run_python
from bench.harness import Bench, Effort, Round, Row, Time, row

__all__ = ["benches"]

BASE = "import pydantic, anyio; pydantic.BaseModel"
HEAVY = ("dbos", "httpx", "networkx", "rich", "sqlalchemy", "structlog", "termaid", "typer")
"""What an import of the library must leave alone."""

FIRST_RUN = """
from procession import StepContext, create_workflow, run_sync, step

@step
async def double(ctx: StepContext[int]) -> int:
    return 2 * ctx.input

assert run_sync(create_workflow("double", int).then(double).commit(), 21).unwrap() == 42
"""

PROBE = """
import asyncio, contextvars, json, sys, time
before, wall, cpu = len(sys.modules), time.perf_counter(), time.process_time()
{program}
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
heavy = sorted(set({heavy!r}) & set(sys.modules))
print(json.dumps([[cpu * 1e6, wall * 1e6], peak_mb(), len(sys.modules) - before, heavy]))
"""


@dataclass(frozen=True)
class Import:
    """
    What a program that imports the library does first.
    """

    variant: str
    program: str
    bench: str = "imports"

    async def run(self, effort: Effort) -> Row:
        """
        Measure; the first process of each is not counted, since it compiles what it imports.
        """
        rounds: list[Round] = []
        peaks: list[float] = []
        seen: list[Any] = []
        with TemporaryDirectory() as bytecode:
            for count in range(effort.rounds + 1):
                floor, *_ = await self._probe(BASE, bytecode)
                ours, peak, *seen = await self._probe(self.program, bytecode)
                if count:
                    rounds.append(Round(Time(*floor), Time(*ours)))
                    peaks.append(peak)
        made = row(self.bench, self.variant, 1, rounds, peak_mb=median(peaks), against=BASE)
        return made | {"modules": seen[0], "heavy": seen[1]}

    async def _probe(self, program: str, bytecode: str) -> Any:
        return await run_python(PEAK + PROBE.format(program=program, heavy=HEAVY), bytecode=bytecode)


def benches() -> list[Bench]:
    """
    Return the benchmarks of importing: the bare door, the names of a first program, all of them, and a first run.

    The last one brings in what checks types and the event loop, which the imports alone leave for later.
    """
    return [
        Import("bare", "import procession"),
        Import("names", "from procession import Agent, Processor, create_workflow, step, tool"),
        Import("all", "import procession\nfor name in procession.__all__: getattr(procession, name)"),
        Import("first_run", FIRST_RUN),
    ]
