"""Chains of every construct, and the chains that an editor must refuse: read by type checkers, run by nobody."""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypedDict, assert_type

from procession import Step, StepContext, Workflow, create_workflow, pick, step


class Order(TypedDict):
    """An order."""

    id: str
    total: float


class Priced(Order):
    """An order with its price."""

    price: float


@step
async def load(ctx: StepContext[str]) -> Order:
    """Load an order."""
    return {"id": ctx.input, "total": 1.0}


@step
def price(ctx: StepContext[Order]) -> Priced:
    """Price it."""
    return {**ctx.input, "price": ctx.input["total"]}


@step
def label(ctx: StepContext[Order]) -> str:
    """Give its label."""
    return ctx.input["id"]


@step
def again(ctx: StepContext[Priced]) -> Priced:
    """Price it again."""
    return ctx.input


def is_big(order: Order) -> bool:
    """Say whether an order is a big one."""
    return order["total"] > 10


async def is_dear(order: Priced) -> bool:
    """Say whether an order costs much."""
    return order["price"] > 10


def split(order: Priced) -> list[Order]:
    """Split an order."""
    return [order]


def due(order: Order) -> datetime:
    """Say when an order is due."""
    return datetime.fromtimestamp(order["total"], UTC)


start = create_workflow("orders", str)
loaded = start.then(load)
priced = loaded.then(price)
assert_type(start, Workflow[str, str])
assert_type(loaded, Workflow[str, Order])
assert_type(priced, Workflow[str, Priced])

# A chain through every construct keeps its input's type, and each call the type of what it gives.
assert_type(priced.then(label), Workflow[str, str])  # a subtype may be given
assert_type(priced.sleep(1).sleep_until(due), Workflow[str, Priced])
assert_type(priced.do_while(again, is_dear).do_until(again, is_dear, max_iterations=3), Workflow[str, Priced])
assert_type(priced.map(split), Workflow[str, list[Order]])
assert_type(priced.map(split).foreach(price), Workflow[str, list[Priced]])
assert_type(priced.map(split).foreach(price).map(lambda found: found[0]), Workflow[str, Priced])
assert_type(priced.map(split).foreach(label).foreach(load), Workflow[str, list[Order]])
assert_type(loaded.parallel([price, price]), Workflow[str, Mapping[str, Priced]])
assert_type(loaded.parallel([price]).map(lambda outputs: outputs["price"]), Workflow[str, Priced])
assert_type(loaded.parallel([price, label]).map(pick("label")), Workflow[str, Any])
assert_type(loaded.branch([(is_big, price)], default=price), Workflow[str, Mapping[str, Priced]])
assert_type(loaded.branch([(is_big, price)]).map(lambda outputs: list(outputs)), Workflow[str, list[str]])
assert_type(loaded.commit(), Workflow[str, Order])

# A workflow inside another is a step from its input to its output, also twice over.
inner = create_workflow("inner", str).then(load).then(price).commit()
outer = create_workflow("outer", str).then(inner).then(label).commit()
assert_type(inner.as_step(), Step[str, Priced])
assert_type(outer, Workflow[str, str])
assert_type(start.then(outer).then(inner), Workflow[str, Priced])
assert_type(create_workflow("each", list[str]).foreach(inner), Workflow[list[str], list[Priced]])
assert_type(create_workflow("open").then(load), Workflow[Any, Order])

# What cannot be given is an error where it is written.
start.then(price)  # type: ignore[arg-type]
loaded.then(again)  # type: ignore[arg-type]
loaded.then(inner)  # type: ignore[arg-type]
priced.map(split).then(price)  # type: ignore[arg-type]
loaded.parallel([price]).then(price)  # type: ignore[arg-type]
loaded.branch([(is_dear, price)])  # type: ignore[list-item]
loaded.branch([(is_big, price)]).then(price)  # type: ignore[arg-type]
loaded.do_while(price, is_big).then(load)  # type: ignore[arg-type]
priced.do_until(again, len)  # type: ignore[arg-type]
start.then(load).sleep_until(split)  # type: ignore[arg-type]
start.then(load).map(is_dear)  # type: ignore[arg-type]
