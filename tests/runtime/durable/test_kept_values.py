"""Values that wait: of whatever type, they are what they were, in every store and in another process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from procession.messages.shapes import is_dict
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow


class Color(Enum):
    """A color."""

    RED = "red"


class Item(BaseModel):
    """A model of pydantic's."""

    x: int


@dataclass
class Order:
    """A dataclass of all of it."""

    e: Color
    m: Item
    at: datetime
    k: dict[int, str]
    s: set[int]
    t: tuple[int, str]
    dec: Decimal
    b: bytes
    u: UUID
    p: PurePosixPath


PLAIN: dict[str, Any] = {
    "dt": datetime(2026, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=2))),
    "b": b"\x00\xff",
    "dec": Decimal("1.10"),
    "u": UUID("12345678-1234-5678-1234-567812345678"),
    "s": {1, 2},
    "t": (1, 2),
    "k": {1: "a"},
    "p": PurePosixPath("/a"),
}

ORDER = Order(
    Color.RED, Item(x=1), datetime(2026, 3, 1, tzinfo=UTC), {1: "a"}, {1, 2}, (1, "a"), Decimal("1.10"), b"\x00\xff",
    PLAIN["u"], PurePosixPath("/a"),
)  # fmt: skip


@asynccontextmanager
async def opened(kind: str, path: Path, memory: InMemoryJournal) -> AsyncGenerator[JournalStore]:
    """Yield the store as another process would have it."""
    if kind == "memory":
        yield memory
        return
    async with SQLiteJournal(path) as store:
        yield store


def same(value: Any, other: Any) -> bool:
    """Return whether two values are equal and of the same types."""
    if type(value) is not type(other) or value != other:
        return False
    if isinstance(value, datetime):
        return bool(value.utcoffset() == other.utcoffset())
    if is_dict(value):
        return all(same(value[key], other[key]) for key in value)
    if isinstance(value, Order):
        return same(vars(value), vars(other))
    return True


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_types_survive_a_run_that_waits(kind: str, tmp_path: Path) -> None:
    """SUS-006: input, outputs, memos, questions, answers and state come back equal and of the same types, zones kept."""
    seen: list[Any] = []

    @step
    async def gives(ctx: StepContext[dict[str, Any]]) -> Order:
        seen.append(ctx.input)
        ctx.set_state(plain=PLAIN)
        return ORDER

    @step(resume_type=Order, suspend_type=Order)
    async def asks(ctx: StepContext[Order]) -> Order:
        def memo() -> Order:
            return ORDER

        seen.append(ctx.input)
        seen.append(await ctx.memoize("order", memo))
        answer: Order = await ctx.suspend(ORDER)
        seen.append(answer)
        seen.append(ctx.state["plain"])
        return answer

    workflow = create_workflow("w", dict[str, Any]).then(gives).then(asks).commit()
    memory = InMemoryJournal()
    async with opened(kind, tmp_path / "runs.db", memory) as store:
        assert (await Runtime(store).run(workflow, PLAIN, run_id="r")).status == "suspended"
    async with opened(kind, tmp_path / "runs.db", memory) as store:
        runtime = Runtime(store)
        reader = await runtime.get("r", workflow=workflow)
        seen += [reader.waiting[0].payload, reader.output_of("gives")]
        result = await runtime.resume("r", ORDER, workflow=workflow)
        seen.append(result.unwrap())
        seen.append((await runtime.get("r", workflow=workflow)).output_of("asks"))
    assert len(seen) == 11
    for value in seen:
        assert same(value, PLAIN if isinstance(value, dict) else ORDER), value


@pytest.mark.parametrize("deep", [False, True])
async def test_a_step_in_the_middle_goes_on_elsewhere(deep: bool, tmp_path: Path) -> None:
    """SUS-005, SUS-011: of five steps the first two are not done again, and the third has its own input and the answer."""
    did: list[tuple[str, int]] = []

    def counting(name: str) -> Step[int, int]:
        @step(id=name)
        async def count(ctx: StepContext[int]) -> int:
            did.append((ctx.path, ctx.input))
            return ctx.input + 1

        return count

    @step
    async def third(ctx: StepContext[int]) -> int:
        did.append((ctx.path, ctx.input))
        return ctx.input + int(await ctx.suspend({"was": ctx.input}))

    workflow: Any = create_workflow("five", int).then(counting("first")).then(counting("second"))
    inner = create_workflow("inner", int).then(third).commit()
    workflow = workflow.then(inner if deep else third).then(counting("fourth")).then(counting("fifth")).commit()
    path = "inner/third" if deep else "third"
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        assert (await Runtime(store).run(workflow, 1, run_id="r")).suspended == {path: {"was": 3}}
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        runtime = Runtime(store)
        runtime.registry.add(workflow)
        result = await runtime.resume("r", 100)
    assert result.unwrap() == 105
    assert did == [("first", 1), ("second", 2), (path, 3), (path, 3), ("fourth", 103), ("fifth", 104)]
    assert [record.status for record in result.steps.values()] == ["success"] * len(result.steps)
