"""
What the tests of forms, chat, forks and comparisons act on.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, Literal

import anyio
from pydantic import BaseModel, Field
from tests.runtime.durable.faults import left_by_a_dead_process
from tests.studio import demo

from procession import Agent, App, StepContext, Workflow, create_workflow, step, tool
from procession.models.model import ModelRequest
from procession.processors.guardrails.pii import PIIDetector
from procession.runtime.runtime import Runtime
from procession.storage.memory_journal import InMemoryJournal
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall

__all__ = ["app", "broken_off", "halting"]


class Address(BaseModel):
    city: str
    zip: str | None = None


class Card(BaseModel):
    kind: Literal["card"] = "card"
    number: str


class Invoice(BaseModel):
    kind: Literal["invoice"] = "invoice"
    days: int = 14


class Order(BaseModel):
    """What is ordered, and for whom."""

    name: str = Field(description="Who gets it.")
    pieces: int = Field(ge=1)
    gift: bool = False
    size: Literal["small", "large"] = "small"
    day: datetime.date | None = None
    to: list[Address] = Field(default_factory=lambda: [])
    pay: Card | Invoice = Invoice()


class Decision(BaseModel):
    approved: bool
    remark: str = ""


@step
def price(ctx: StepContext[Order]) -> int:
    return ctx.input.pieces * 10


@step
def label(ctx: StepContext[int]) -> str:
    return f"{ctx.input} euros"


answers: list[Decision] = []


@step(resume_type=Decision)
async def approve(ctx: StepContext[int]) -> bool:
    decision: Decision = await ctx.suspend({"amount": ctx.input, "note": demo.HOSTILE}, label="manager")
    answers.append(decision)
    return decision.approved


@step
def order(ctx: StepContext[bool]) -> str:
    return "ordered" if ctx.input else "not this year"


@tool(requires_approval=True)
def refund(number: str, note: str) -> str:
    """Pay an order back."""
    return f"order {number} is paid back"


def _clerk(request: ModelRequest) -> Reply:
    if any(message.role == "tool" for message in request.messages):
        return Reply(text=f"Done. {demo.HOSTILE}")
    return Reply(text="I look.", tool_calls=[ScriptedCall("refund", {"number": "7", "note": demo.HOSTILE})])


def _payer(request: ModelRequest) -> Reply:
    if any(message.role == "tool" for message in request.messages):
        return Reply(text="It is paid back.")
    return Reply(text="I look.", tool_calls=[ScriptedCall("refund", {"number": "7", "note": "came broken"})])


def paying() -> Agent:
    """An agent that asks before it pays."""
    return Agent("clerk", model=FakeModel(_payer, repeat_last=True), tools=[refund])


def app() -> App:
    """An app with something of everything that can be acted on."""
    ordering: Any = create_workflow("ordering", Order).then(price).then(label).commit()
    relabelled: Any = create_workflow("relabelled", Order).then(price).map(str, id="as-text").commit()
    purchase: Workflow[Any, Any] = create_workflow("purchase", int).then(approve).then(order).commit()
    pieces = ["Of cour", "se! Write to help@exam", "ple.com, ", "order 1234567!"]
    support = Agent(
        "support", model=FakeModel(Reply(text=pieces), repeat_last=True), instructions="You help.",
        input_processors=[demo.guards], output_processors=[demo.Calm(), PIIDetector(redaction="placeholder")],
    )  # fmt: skip
    clerk = Agent("clerk", model=FakeModel(_clerk, repeat_last=True), tools=[refund])
    answers.clear()
    return App(
        agents=[support, clerk], workflows=[ordering, relabelled, purchase, create_workflow("patience").then(demo.slow).commit()],
        runtime=Runtime(InMemoryJournal()),
    )  # fmt: skip


def halting(halt: anyio.Event | None = None) -> Workflow[Any, Any]:
    """Return a workflow of two steps; the second never ends where *halt* is given, which it sets."""

    @step
    def keep(ctx: StepContext[Any]) -> str:
        return "kept"

    @step
    async def end(ctx: StepContext[str]) -> str:
        if halt is not None:
            halt.set()
            await anyio.sleep_forever()
        return f"{ctx.input}, done"

    return create_workflow("halting").then(keep).then(end).commit()


async def broken_off(clock: Callable[[], float]) -> InMemoryJournal:
    """Return a store in which the process of the run "lost" died in its second step."""
    store, halt = InMemoryJournal(clock=clock), anyio.Event()

    async def run() -> None:
        await Runtime(store).run(halting(halt), None, run_id="lost")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await halt.wait()
        store = left_by_a_dead_process(store, clock)
        tasks.cancel_scope.cancel()
    return store
