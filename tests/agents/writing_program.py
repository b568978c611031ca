"""
A program in which several runs write down a line each in one working memory, for the tests that need processes.

``python writing_program.py STORE NAME RUNS BACKEND`` says ``read`` once all runs have read it, and lets them write once it
is told so by a line on its standard input.
"""

from __future__ import annotations

import sys

import anyio

from procession.agents.agent import Agent
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool


async def main(url: str, name: str, runs: int) -> None:
    """Do what the arguments say."""
    async with Memory(url, working_memory=True) as memory:
        began = 0
        go = anyio.Event()

        async def one(number: int) -> None:
            async def write(request: ModelRequest) -> Reply:
                nonlocal began
                began += 1
                if began == runs:
                    sys.stdout.write("read\n")
                    sys.stdout.flush()
                    await anyio.to_thread.run_sync(sys.stdin.readline)
                    go.set()
                await go.wait()
                return call_tool("updateWorkingMemory", {"memory": f"# Facts\n- {name} {number}"})

            agent = Agent("a", model=FakeModel([write, "done"]), memory=memory)
            result = await agent.generate("Hi", thread=f"{name}-{number}", resource="ada")
            assert result.unsaved is None, result.unsaved

        async with anyio.create_task_group() as group:
            for number in range(runs):
                group.start_soon(one, number)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]), backend=sys.argv[4])
