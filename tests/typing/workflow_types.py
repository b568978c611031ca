"""What each builder call gives, and what a run of it: read by type checkers, run by nobody."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, assert_type

from procession import Run, RunResult, Runtime, StepContext, Workflow, create_workflow, pick, run, step
from procession.runtime.run import RunStream
from procession.steps.item_error import ItemError
from procession.workflows.nodes import arm
from procession.workflows.sources import from_step


@step
async def length(ctx: StepContext[str]) -> int:
    """Give the length of a text."""
    return len(ctx.input)


@step
def half(ctx: StepContext[int]) -> int:
    """Give half of a number."""
    return ctx.input // 2


async def plain(ctx: StepContext[str]) -> int:
    """Give a number, as a function that is no step yet."""
    return len(ctx.input)


def positive(value: int) -> bool:
    """Say whether a number is positive."""
    return value > 0


def half_of(value: int) -> int:
    """Give half of a number, as a function of it."""
    return value // 2


async def texts(value: int) -> list[str]:
    """Give a list of texts."""
    return ["x"] * value


start = create_workflow("typed", str)
numbers = start.then(length)

assert_type(create_workflow("open"), Workflow[Any, Any])
assert_type(start.then(plain), Workflow[str, int])
assert_type(numbers.branch([(positive, half), (positive, half)]), Workflow[str, Mapping[str, int]])
assert_type(numbers.branch([(lambda value: value < 0, half)]), Workflow[str, Mapping[str, int]])
assert_type(numbers.branch([(positive, half)], default=half), Workflow[str, Mapping[str, int]])
assert_type(numbers.branch([arm(half, when=positive)]), Workflow[str, Mapping[str, Any]])
assert_type(numbers.parallel([half, half], merge="chain"), Workflow[str, Mapping[str, int]])
assert_type(numbers.parallel([half]).map(lambda outputs: outputs["half"]), Workflow[str, int])
assert_type(numbers.parallel([half]).map(pick("half")), Workflow[str, Any])
assert_type(numbers.map(texts), Workflow[str, list[str]])
assert_type(numbers.map(texts).foreach(length, concurrency=4), Workflow[str, list[int]])
assert_type(numbers.do_while(half, positive), Workflow[str, int])
assert_type(numbers.do_until(half, lambda value: value == 0, max_iterations=9), Workflow[str, int])
assert_type(numbers.sleep(0.1), Workflow[str, int])
assert_type(numbers.sleep(lambda value: float(value)), Workflow[str, int])
assert_type(create_workflow("graph", str).add(length), Workflow[str, Any])

assert_type(numbers.map(texts).foreach(length, on_error="collect"), Workflow[str, list[int | ItemError]])
assert_type(numbers.sleep_until(datetime.now(UTC)), Workflow[str, int])
assert_type(numbers.sleep_until(lambda value: datetime.fromtimestamp(value, UTC)), Workflow[str, int])
assert_type(numbers.parallel([half], concurrency=2), Workflow[str, Mapping[str, int]])

assert_type(numbers.map({"a": from_step("length"), "b": half_of}), Workflow[str, dict[str, Any]])
numbers.map({"a": length})  # type: ignore[dict-item]

numbers.branch([(lambda value: value > 0, length)])  # type: ignore[arg-type]
numbers.do_while(length, positive)  # type: ignore[arg-type]
numbers.foreach(half, concurrency="four")  # type: ignore[call-overload]
numbers.map(half, allow_drop="no")  # type: ignore[call-overload]
numbers.parallel([half], merge="best")  # type: ignore[call-overload]


async def runs() -> None:
    """Run a typed workflow in every way."""
    runtime = Runtime()
    committed = numbers.commit()
    assert_type(runtime.create_run(committed), Run[str, int])
    assert_type(await runtime.run(committed, "text"), RunResult[int])
    assert_type((await run(committed, "text")).unwrap(), int)
    assert_type(runtime.stream(committed, "text"), RunStream[str, int])
    async with runtime.stream(committed, "text") as running:
        assert_type(running, Run[str, int])
        assert_type(await running.result(), RunResult[int])
    await run(committed, 3)  # type: ignore[misc]
