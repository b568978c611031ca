"""
A thousand agent runs at the same time, three model calls each, in a process of its own.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from bench import floors
from bench.fresh import PEAK, run_python
from bench.harness import Bench, Effort, Round, Row, Time, row, spend
from bench.models import Calling

__all__ = ["benches", "rounds"]

STEPS = 3
SECONDS = 0.001
"""How long the model takes for an answer."""


@dataclass(frozen=True)
class Many:
    """
    *runs* agents at once; ``peak_mb`` is the whole process, interpreter and imports included.
    """

    runs: int
    bench: str = "many"

    @property
    def variant(self) -> str:
        """
        The name of the benchmark.
        """
        return f"runs_{self.runs}"

    async def run(self, effort: Effort) -> Row:
        """
        Measure in a fresh process.
        """
        source = f"{PEAK}\nfrom bench.many import rounds\nimport json\n"
        source += f"print(json.dumps([rounds({self.runs}, {effort.rounds}), peak_mb()]))"
        measured, peak = await run_python(source)
        taken = [Round(Time(*floor), Time(*ours)) for floor, ours in measured]
        made = row(self.bench, self.variant, self.runs, taken, peak_mb=peak)
        return made | {"runs_per_second": round(1e6 / made["wall_us"])}


def rounds(runs: int, count: int) -> list[Round]:
    """
    Take *count* rounds of *runs* at once; to be called in a process that does nothing else.
    """
    from bench.loop import add
    from procession.agents.agent import Agent

    agent = Agent("calling", model=Calling(STEPS - 1, SECONDS), tools=[add])

    async def ours() -> None:
        results = await asyncio.gather(*(agent.generate("hi") for _ in range(runs)))
        assert all(result.text == "done" for result in results)

    floor = partial(floors.many, runs, STEPS, SECONDS)

    async def measure() -> list[Round]:
        await floor()
        await agent.generate("hi")
        return [Round(await spend(floor, runs, 0.0), await spend(ours, runs, 0.0)) for _ in range(count)]

    return asyncio.run(measure())


def benches() -> list[Bench]:
    """
    Return the one benchmark of this file.
    """
    return [Many(1000)]
