"""A workflow's edges are typed: what a step gives is what the next one takes."""

from collections.abc import Mapping
from typing import assert_type

from procession import Agent, Step, StepContext, Workflow, create_workflow, step, tool


@step
async def length(ctx: StepContext[str]) -> int:
    """Give the length of a text."""
    return len(ctx.input)


@step
def half(ctx: StepContext[int]) -> float:
    """Give half of a number."""
    return ctx.input / 2


@step(id="as-text", timeout=1.0)
async def text(ctx: StepContext[float]) -> str:
    """Give a number as text."""
    return str(ctx.input)


assert_type(length, Step[str, int])
assert_type(half, Step[int, float])
assert_type(text, Step[float, str])

start = create_workflow("typed", str)
assert_type(start, Workflow[str, str])
assert_type(start.then(length), Workflow[str, int])
assert_type(start.then(length).then(half), Workflow[str, float])
assert_type(start.then(length).parallel([half]), Workflow[str, Mapping[str, float]])
assert_type(start.then(length).map(lambda number: [number]), Workflow[str, list[int]])
assert_type(start.then(length).then(half).then(text).commit(), Workflow[str, str])


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return city


# A tool takes its arguments and gives its result; an agent takes a prompt and gives text.
assert_type(create_workflow("tools", dict[str, str]).then(weather), Workflow[dict[str, str], str])
assert_type(start.then(Agent("writer", model="openai/any")), Workflow[str, str])
assert_type(start.then(Agent("writer", model="openai/any")).then(length), Workflow[str, int])

# A workflow stands in another one as a step of the same types.
inner = create_workflow("inner", int).then(half).commit()
assert_type(inner.as_step(), Step[int, float])
assert_type(start.then(length).then(inner), Workflow[str, float])

# Wrong edges are errors in the editor: `half` takes a number, `inner` too.
start.then(half)  # type: ignore[arg-type]
start.then(inner)  # type: ignore[arg-type]
start.then(length).parallel([length])  # type: ignore[arg-type]

# A clone has the types of its original.
assert_type(inner.clone("again"), Workflow[int, float])
assert_type(half.clone("again"), Step[int, float])
