"""
What the browser tests look at: an agent with processors, and a workflow with one of everything.
"""

from __future__ import annotations

import re
from typing import Any

import anyio
from pydantic import BaseModel

from procession import (
    Agent,
    Chunk,
    Processor,
    RetryPolicy,
    StepContext,
    Workflow,
    create_workflow,
    step,
    tool,
)
from procession.messages.chunks import TextDelta
from procession.processors.contexts import InputContext, OutputStreamContext
from procession.testing.fake_model import FakeModel

__all__ = [
    "HOSTILE", "Gate", "buying", "clash", "guards", "hostile", "many", "orders", "parrot", "purchase", "race", "refuser", "support",
]  # fmt: skip

HOSTILE = "<img src=x onerror=alert(1)>\"'`</script><script>alert(2)</script><svg/onload=alert(3)>"


class HideNumbers(Processor):
    """Hide long numbers."""

    id = "hide-numbers"
    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        for message in ctx.messages:
            message.text = re.sub(r"\b\d{6,}\b", "[order]", message.text)


class NoShouting(Processor):
    """Turn away whoever shouts."""

    id = "no-shouting"

    async def process_input(self, ctx: InputContext) -> None:
        if ctx.view[-1].text.isupper():
            ctx.abort("shouting", message="Please say that again, quietly.")


class Hide(Processor):
    """Write its id over what is secret."""

    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        for message in ctx.messages:
            message.text = message.text.replace("secret", f"[{self.id}]")


class Calm(Processor):
    """Calm the answer down, chunk by chunk."""

    id = "calm"
    mutates = True

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        chunk = ctx.part
        return chunk.replace(text=chunk.text.replace("!", ".")) if isinstance(chunk, TextDelta) else chunk


@tool
def find_order(number: str) -> str:
    """Say where an order is."""
    return f"order {number} is on its way"


guards: Workflow[Any, Any] = (
    create_workflow("guards", kind="processor").parallel([HideNumbers(), NoShouting()], id="side-by-side").commit()
)


clash: Workflow[Any, Any] = (
    create_workflow("clash", kind="processor").parallel([Hide(id="left"), Hide(id="right")], id="both").commit()
)


def support() -> Agent:
    """An agent with guards before it and a processor on its stream."""
    model = FakeModel("It is on its way! It comes tomorrow!", repeat_last=True)
    return Agent(
        "support", model=model, instructions="You help.", tools=[find_order],
        input_processors=[guards], output_processors=[Calm()],
    )  # fmt: skip


def parrot() -> Agent:
    """An agent with nothing around it."""
    return Agent("parrot", model=FakeModel("Hello!", repeat_last=True))


@step
def fetch(ctx: StepContext[dict[str, Any]]) -> dict[str, Any]:
    return {**ctx.input, "items": [{"name": name, "price": 10 * n} for n, name in enumerate("abcde", 1)]}


@step(retry=RetryPolicy(max_attempts=3))
def look_up(ctx: StepContext[dict[str, Any]]) -> dict[str, Any]:
    if ctx.attempt < 2:
        raise TimeoutError("the price list did not answer")
    return ctx.input


@step
def cheap(ctx: StepContext[Any]) -> Any:
    return {"route": "cheap"}


@step
def dear(ctx: StepContext[Any]) -> Any:
    return {"route": "dear"}


@step
def double(ctx: StepContext[int]) -> int:
    return ctx.input * 2


@step
def check_item(ctx: StepContext[dict[str, Any]]) -> dict[str, Any]:
    return {**ctx.input, "ok": ctx.input["price"] < 40}


@step
def tax(ctx: StepContext[Any]) -> Any:
    return {"tax": 19}


@step
def postage(ctx: StepContext[Any]) -> Any:
    return {"postage": 5}


costs: Workflow[Any, Any] = (
    create_workflow("costs").parallel([tax, postage], id="both").map(lambda both: both, id="gathered").commit()
)

orders: Workflow[Any, Any] = (
    create_workflow("orders", dict[str, Any], description="An order, from the shop to the door.")
    .then(fetch)
    .then(look_up)
    .then(costs)
    .branch(
        [(lambda value: len(value) > 5, dear), (lambda value: len(value) <= 5, cheap)], id="route"
    )
    .map(lambda arms: 1, id="first-round")
    .do_until(double, lambda value: value > 6)
    .map(lambda value: [{"name": n, "price": 10 * n} for n in range(1, 13)], id="lines")
    .foreach(check_item, concurrency=4)
    .map(lambda lines: {"lines": len(lines)}, id="counted")
    .commit()
)  # fmt: skip


@step
async def slow(ctx: StepContext[Any]) -> Any:
    await anyio.sleep(30)


@step
async def breaks(ctx: StepContext[Any]) -> Any:
    await anyio.sleep(0.05)
    raise ValueError("the warehouse is on fire")


race: Workflow[Any, Any] = create_workflow("race").parallel([slow, breaks], id="together").commit()


@step(resume_type=bool)
async def approve(ctx: StepContext[int]) -> bool:
    agreed: bool = await ctx.suspend({"amount": ctx.input}, label="manager")
    return agreed


@step
def order(ctx: StepContext[bool]) -> str:
    return "ordered" if ctx.input else "not this year"


purchase: Workflow[Any, Any] = create_workflow("purchase", int).then(approve).then(order).commit()


class Decision(BaseModel):
    """What a manager says to a purchase."""

    approved: bool
    remark: str = ""


@step(resume_type=Decision)
async def decide(ctx: StepContext[int]) -> bool:
    decision: Decision = await ctx.suspend({"amount": ctx.input, "for": "a desk"}, label="manager")
    return decision.approved


buying: Workflow[Any, Any] = create_workflow("buying", int).then(decide).then(order).commit()


@step(id='a"><img src=x onerror=alert(1)>', description=HOSTILE)
def first(ctx: StepContext[Any]) -> Any:
    return {HOSTILE: HOSTILE, "link": "javascript:alert(4)"}


@step(id='x-->y; click x href "javascript:alert(1)"')  # without the ] of the case: no step may be called so
def last(ctx: StepContext[Any]) -> Any:
    raise ValueError(HOSTILE)


hostile: Workflow[Any, Any] = (
    create_workflow("<b onclick=alert(5)>w", description=HOSTILE).then(first).then(last).commit()
)


class Refuse(Processor):
    """Turn all away, with a reason that is no mere text."""

    id = "<img src=x onerror=alert(6)>"

    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        for message in ctx.messages:
            message.text = f"{HOSTILE} was: {message.text}"
        ctx.abort(HOSTILE, metadata={"why": HOSTILE})


def refuser() -> Agent:
    """An agent whose processor has a hostile id, and blocks for a hostile reason."""
    return Agent(
        "refuser", model=FakeModel(HOSTILE, repeat_last=True), description=HOSTILE, input_processors=[Refuse()]
    )


@step
def one_item(ctx: StepContext[int]) -> int:
    return ctx.input


# Three events for each item, and six more.
many: Workflow[Any, Any] = create_workflow("many", list[int]).foreach(one_item, concurrency=50).commit()


class Gate:
    """A workflow that goes on when it is told to, one step after the other."""

    def __init__(self) -> None:
        self.opened = [anyio.Event() for _ in range(2)]

        @step
        async def one(ctx: StepContext[Any]) -> Any:
            await self.opened[0].wait()
            return 1

        @step
        async def two(ctx: StepContext[Any]) -> Any:
            await self.opened[1].wait()
            return 2

        self.workflow: Workflow[Any, Any] = create_workflow("gate").then(one).then(two).commit()
