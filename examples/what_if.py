"""A run that ended, and the same run had one step said something else.  Run it: python examples/what_if.py"""

import anyio

from procession import Runtime, StepContext, create_workflow, step
from procession.storage.memory import InMemoryJournal


@step
def score(ctx: StepContext[str]) -> int:
    print("  scoring")  # what is dear, and not done twice
    return len(ctx.input)


@step
def by_hand(ctx: StepContext[int]) -> str:
    return f"a person looks at it (score {ctx.input})"


@step
def at_once(ctx: StepContext[int]) -> str:
    return f"granted at once (score {ctx.input})"


loan = (
    create_workflow("loan", str)
    .then(score)
    .branch([(lambda points: points < 10, by_hand)], default=at_once, id="decide")
    .map(lambda arms: next(iter(arms.values())), id="the-only-one")
    .commit()
)


async def main() -> None:
    runtime = Runtime(InMemoryJournal())
    first = await runtime.run(loan, "a bicycle", run_id="loan-1")
    print(first.output)

    again = await runtime.fork("loan-1", at="decide", outputs={"score": 42})  # a new run; the old one stays as it is
    print(again.output)
    print(loan.draw(run=again))


if __name__ == "__main__":
    anyio.run(main)
