"""CostGuard on one SQLite file: many runs at the same time, of one process and of two, and one that is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from procession.agents.agent import Agent
from procession.processors.guardrails.cost_guard import CostGuard
from procession.steps.request_context import RequestContext
from procession.storage.costs import UNIT, CostBalance
from procession.storage.sqlite.costs import SQLiteCosts
from procession.testing.fake_model import FakeModel

ACCOUNT = '["user", null, "u"]'
PRICES = {"fake": {"input": "1000", "output": "10000"}}

PROGRAM = """
import sys
import anyio
from tests.processors.guardrails.test_cost_guard_processes import one, stops
from procession.storage.sqlite.costs import SQLiteCosts

async def main():
    statuses = []
    async with SQLiteCosts(sys.argv[1]) as costs:
        print("ready", flush=True)
        sys.stdin.readline()
        async with anyio.create_task_group() as group:
            for _ in range(25):
                group.start_soon(one, stops(costs), statuses)
    print(statuses.count("completed"), statuses.count("blocked"), flush=True)

anyio.run(main)
"""

KILLED = """
import os, signal, sys
import anyio
from tests.processors.guardrails.test_cost_guard_processes import one, stops
from procession.storage.sqlite.costs import SQLiteCosts

async def main():
    async with SQLiteCosts(sys.argv[1]) as costs:
        await one(stops(costs, reserve_seconds=float(sys.argv[2])), [], lambda request: os.kill(os.getpid(), signal.SIGKILL))

anyio.run(main)
"""


def stops(costs: SQLiteCosts, reserve_seconds: float = 600) -> CostGuard:
    """Return a guard that lets a user spend what ten calls cost, and holds what each costs."""
    return CostGuard(
        max_cost="0.60", scope="user", store=costs, prices=PRICES, reserve="0.06", reserve_seconds=reserve_seconds
    )


async def one(guard: CostGuard, statuses: list[str], script: object = "Hi.") -> None:
    """Run an agent once, and note how that ended."""
    agent = Agent("a", model=FakeModel(script), input_processors=[guard])  # type: ignore[arg-type]
    result = await agent.generate("Hi", request_context=RequestContext({"user_id": "u"}))
    statuses.append(result.status)


async def test_many_runs_on_one_file(tmp_path: Path) -> None:
    """Of forty runs at once as many get through as the limit allows, and what they spent is booked to the last unit."""
    statuses: list[str] = []
    async with SQLiteCosts(tmp_path / "costs.db") as costs:
        guard = stops(costs)
        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(one, guard, statuses)
        assert await costs.balance(ACCOUNT) == CostBalance(spent=60 * UNIT // 100)
    assert (statuses.count("completed"), statuses.count("blocked")) == (10, 30)


def test_many_runs_of_two_processes(tmp_path: Path) -> None:
    """Runs of two processes share the limit: together they spend it, and not more."""
    file = tmp_path / "costs.db"
    made = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROGRAM, str(file)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in made:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in made:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=50)[0].split() for process in made]
    assert sum(int(completed) for completed, _ in said) == 10
    assert sum(int(blocked) for _, blocked in said) == 40

    async def stands() -> CostBalance:
        async with SQLiteCosts(file) as costs:
            return await costs.balance(ACCOUNT)

    assert anyio.run(stands) == CostBalance(spent=60 * UNIT // 100)


@pytest.mark.parametrize(("seconds", "held"), [("600", 6 * UNIT // 100), ("0.000001", 0)])
def test_what_a_killed_process_held_ends_with_its_time(tmp_path: Path, seconds: str, held: int) -> None:
    """A process that is killed in the middle of a call holds what it reserved until its time is over, and no longer."""
    file = tmp_path / "costs.db"
    ended = subprocess.run([sys.executable, "-W", "error", "-c", KILLED, str(file), seconds], timeout=50, check=False)
    assert ended.returncode == -9

    async def stands() -> CostBalance:
        async with SQLiteCosts(file) as costs:
            return await costs.balance(ACCOUNT)

    assert anyio.run(stands) == CostBalance(reserved=held)
