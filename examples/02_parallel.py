"""Steps side by side, and a graph with named dependencies.  Run it: python examples/02_parallel.py"""

from collections.abc import Mapping

import anyio

from procession import StepContext, create_workflow, run, step
from procession.workflows.render.draw import draw


@step
async def stock(ctx: StepContext[str]) -> int:
    await anyio.sleep(0.02)  # asks the warehouse
    return len(ctx.input)


@step
async def price(ctx: StepContext[str]) -> float:
    await anyio.sleep(0.02)  # asks the price list
    return 9.5


@step
def quote(ctx: StepContext[Mapping[str, float]]) -> str:
    return f"{ctx.input['stock']:.0f} left at {ctx.input['price']:.2f}"


@step
def greeting(ctx: StepContext[str]) -> str:
    return f"About the {ctx.input}:"


@step
def letter(ctx: StepContext[Mapping[str, str]]) -> str:
    return f"{ctx.input['greeting']} {ctx.input['quote']}."


# Branches run at the same time; what comes out is a mapping by step id.
offer = create_workflow("offer", str).parallel([stock, price]).then(quote).commit()

# The explicit form: each step says what it waits for, and is begun as soon as that is there.
graph = create_workflow("letter", str)
graph.add(stock)
graph.add(price)
graph.add(quote, after=[stock, price])
graph.add(greeting)
graph.add(letter, after=[greeting, quote])
workflow = graph.commit()


async def main() -> None:
    print((await run(offer, "lamp")).unwrap())
    result = await run(workflow, "lamp")
    print(result.unwrap())
    print(draw(workflow, run=result))


if __name__ == "__main__":
    anyio.run(main)
