"""A workflow: steps in a row, a branch, a map.  Run it: python examples/01_workflow.py"""

from procession import StepContext, create_workflow, run_sync, step
from procession.workflows.render.draw import draw


@step
def parse(ctx: StepContext[str]) -> list[float]:
    """Read the numbers of a line."""
    return [float(word) for word in ctx.input.split()]


@step
async def mean(ctx: StepContext[list[float]]) -> float:
    """Take the mean of many numbers."""
    return sum(ctx.input) / len(ctx.input)


@step
def nothing(ctx: StepContext[list[float]]) -> float:
    """Stand in where there is nothing to take the mean of."""
    return 0.0


workflow = (
    create_workflow("average", str)
    .then(parse)
    .branch([(lambda numbers: len(numbers) > 0, mean)], default=nothing)
    .map(lambda outputs: next(iter(outputs.values())), id="the-only-one")
    .commit()
)

if __name__ == "__main__":
    result = run_sync(workflow, "3 4 8")
    print("mean:", result.unwrap())
    print(draw(workflow, run=result))
    failed = run_sync(workflow, "3 four 8")
    print(failed.status, "-", failed.error)
