"""
A program that answers runs in a SQLite file, while another one does the same.

``python -m tests.runtime.durable.resume_program FILE CHARGES RUNS`` says ``ready``, waits for a line, and then prints for each run
how that went: its status, or the code of the error.  What is charged is added to the file CHARGES.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from procession.errors import RunAlreadyClaimed
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import Workflow, create_workflow


def approval(charge: Callable[[str], None]) -> Workflow[int, str]:
    """Return a workflow that asks, and charges."""

    @step(resume_type=bool)
    async def approve(ctx: StepContext[int]) -> int:
        approved: bool = await ctx.suspend({"amount": ctx.input})
        return ctx.input if approved else 0

    @step(id="charge")
    async def charges(ctx: StepContext[int]) -> str:
        charge(ctx.idempotency_key)
        return f"charged {ctx.input}"

    return create_workflow("approval", int).then(approve).then(charges).commit()


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def main(*arguments: str) -> None:
    """Answer them."""
    file, charges, runs = arguments

    def charge(key: str) -> None:
        with Path(charges).open("a") as lines:
            lines.write(key + "\n")

    async with SQLiteJournal(file) as store:
        runtime = Runtime(store)
        runtime.registry.add(approval(charge))
        say("ready")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for number in range(int(runs)):
            try:
                result = await runtime.resume(f"r{number}", True)
            except RunAlreadyClaimed as error:
                say(error.code)
            else:
                say(result.status)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
