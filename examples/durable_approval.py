"""An order that waits for a person, and goes on in another process.  Run it: python examples/durable_approval.py"""

import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from procession import Runtime, StepContext, create_workflow, step
from procession.storage.sqlite.journal import SQLiteJournal


@step
def price(ctx: StepContext[str]) -> int:
    print("  asking the price list")
    return 1200


@step(resume_type=bool)
async def approve(ctx: StepContext[int]) -> bool:
    agreed: bool = await ctx.suspend({"amount": ctx.input}, label="manager")
    return agreed


@step
def order(ctx: StepContext[bool]) -> str:
    item: str = ctx.init_data
    return f"{item} ordered for {ctx.result_of('price')} euros" if ctx.input else f"no {item} this year"


purchase = create_workflow("purchase", str).then(price).then(approve).then(order).commit()


async def ask(file: str) -> None:
    """Begin the run; the process may end, and days may pass."""
    async with SQLiteJournal(file) as journal:
        result = await Runtime(journal).run(purchase, "desk", run_id="desk-1")
        print(f"  {result.status}: {dict(result.suspended)}")


async def answer(file: str) -> None:
    """Find what waits, and answer it: what was done is not done again."""
    async with SQLiteJournal(file) as journal:
        runtime = Runtime(journal)
        runtime.registry.add(purchase)  # a new process says which workflows it knows
        for row in await runtime.list(status="suspended"):
            (waiting,) = (await runtime.get(row.run_id)).waiting
            print(f"  {row.run_id} waits for the {waiting.label}: {waiting.payload}")
            result = await runtime.resume(row.run_id, True)
            print(f"  {result.status}: {result.output}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        anyio.run({"ask": ask, "answer": answer}[sys.argv[1]], sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("ask", "answer"):  # each in a process of its own
                print(f"{part}:", flush=True)
                subprocess.run([sys.executable, __file__, part, str(Path(folder) / "runs.db")], check=True)
