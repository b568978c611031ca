"""Answers (C5, B1-B3, B6, B9, B19, B20): every construct, one question or many, in any order, here or in another process."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.durable.asking import SHAPES, Ask, Did, answer_to, asking, known_output

from procession.errors import ResumeError, RunAlreadyClaimed
from procession.runtime.runtime import Runtime
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal

Shape = Callable[[Ask, Did], Any]

Order = Callable[[Sequence[str]], str]
"""Says which of the steps that wait is answered next."""

ORDERS: dict[str, Order] = {
    "first": lambda waiting: waiting[0],
    "last": lambda waiting: waiting[-1],
    "any": random.Random(7).choice,
}


async def completed(store: JournalStore) -> set[str]:
    """Return the paths of what is written down as completed."""
    return {row.path for row in await store.entries("r") if row.kind == "completed"}


async def answered_in(order: Order, shape: Shape, again: Callable[[], AsyncIterator[Runtime]]) -> None:
    """
    Run *shape* to its end, giving answers in an *order*, each by the runtime that *again* gives.

    With each answer that step goes on, and what follows it: nothing that is done, and nothing that waits for another
    answer, runs again.
    """
    did: list[str] = []
    workflow = shape(asking(did.append), did.append)
    expected = await known_output(shape)
    result: Any = None
    async for runtime in again():
        result = await runtime.run(workflow, 1, run_id="r")
    answers = 0
    while result.status == "suspended":
        answers += 1
        waiting = list(result.suspended)
        assert all(result.suspended[path] == {"of": path} for path in waiting)
        path = order(waiting)
        async for runtime in again():
            reader = await runtime.get("r", workflow=workflow)
            assert sorted(each.path for each in reader.waiting) == sorted(waiting)
            assert reader.labels == {f"label of {each}": each for each in waiting}
            if len(waiting) > 1:
                with pytest.raises(ResumeError, match=f"{len(waiting)} steps wait"):
                    await runtime.resume("r", 1, workflow=workflow)
            done, before = await completed(runtime.store), len(did)
            target: Any = {"step": path} if answers % 2 else {"label": f"label of {path}"}
            result = await runtime.resume("r", answer_to(path), workflow=workflow, **target)
            now = did[before:]
            assert path in now
            assert not done & set(now)
            parked = {each for each in waiting if each != path}
            assert not parked & set(now)
            above = {each for each in now if any(other.startswith(each + "/") for other in parked)}
            assert all(path.startswith(each + "/") for each in above)
            assert path not in result.suspended
            if result.status == "suspended":
                assert parked <= set(result.suspended)
    assert result.unwrap() == expected
    assert did.count("end") == 1
    async for runtime in again():
        assert (await runtime.get("r", workflow=workflow)).status == "success"
        paths = [row.path for row in await runtime.store.entries("r") if row.kind == "completed"]
        assert len(paths) == len(set(paths))
        asked = [
            (row.path, json.loads(row.data or "")["number"])
            for row in await runtime.store.entries("r")
            if row.kind == "suspended"
        ]
        assert len(asked) == len(set(asked)) == answers
        with pytest.raises(RunAlreadyClaimed):
            await runtime.resume("r", 1, workflow=workflow)


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("shape", SHAPES)
async def test_answers_in_any_order(shape: Shape, order: str) -> None:
    """SUS-002: in one process, whatever is answered first, what follows runs once all it needs is there."""
    for runtime in (Runtime(InMemoryJournal()), Runtime()):

        async def again(same: Runtime = runtime) -> AsyncIterator[Runtime]:
            yield same

        await answered_in(ORDERS[order], shape, again)


@pytest.mark.parametrize("shape", SHAPES)
async def test_answers_in_other_processes(shape: Shape, tmp_path: Path) -> None:
    """SUS-005: each answer is given by a runtime that has nothing but the file and the workflow."""
    number = 0
    for name, order in ORDERS.items():
        number += 1

        async def again(path: Path = tmp_path / f"{name}.db") -> AsyncIterator[Runtime]:
            async with SQLiteJournal(path) as store:
                yield Runtime(store)

        await answered_in(order, shape, again)


@pytest.mark.parametrize("shape", SHAPES)
async def test_two_answers_at_once_to_one_step(shape: Shape) -> None:
    """SUS-001: of two answers at once, by one runtime or by two, one wins, and what follows runs once."""
    did: list[str] = []
    workflow = shape(asking(did.append), did.append)
    expected = await known_output(shape)
    store = InMemoryJournal()
    runtimes = (Runtime(store), Runtime(store))
    results: list[Any] = [await runtimes[0].run(workflow, 1, run_id="r")]

    async def answer(runtime: Runtime, path: str, lost: list[str]) -> None:
        try:
            results.append(await runtime.resume("r", answer_to(path), step=path, workflow=workflow))
        except RunAlreadyClaimed:
            lost.append(path)

    turn = 0
    while results[-1].status == "suspended":
        path, before = next(iter(results[-1].suspended)), len(results)
        lost: list[str] = []
        turn += 1
        async with anyio.create_task_group() as group:
            group.start_soon(answer, runtimes[0], path, lost)
            group.start_soon(answer, runtimes[turn % 2], path, lost)
        assert (len(results), lost) == (before + 1, [path])
    assert results[-1].unwrap() == expected
    assert did.count("end") == 1
    paths = [row.path for row in await store.entries("r") if row.kind == "completed"]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "many" in shape.__name__])
async def test_answers_at_once_to_several_steps(shape: Shape) -> None:
    """B2, B3: answers that are given at once to all that waits are all taken, one after the other, and none is lost."""
    did: list[str] = []
    workflow = shape(asking(did.append), did.append)
    expected = await known_output(shape)
    runtime = Runtime(InMemoryJournal())
    result: Any = await runtime.run(workflow, 1, run_id="r")
    results: list[Any] = []

    async def answer(path: str) -> None:
        results.append(await runtime.resume("r", answer_to(path), step=path))

    while result.status == "suspended":
        waiting = list(result.suspended)
        results.clear()
        async with anyio.create_task_group() as group:
            for path in waiting:
                group.start_soon(answer, path)
        assert len(results) == len(waiting)
        result = results[-1]
    assert result.unwrap() == expected
    assert did.count("end") == 1


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "many" in shape.__name__])
async def test_answers_while_siblings_run(shape: Shape) -> None:
    """B3: an answer that comes while other branches go on waits for them; to what is answered already it is refused."""
    did: list[str] = []
    go_on, held = anyio.Event(), anyio.Event()
    kept = InMemoryJournal()

    class Slow(InMemoryJournal):
        slow = False

        def __getattribute__(self, name: str) -> Any:
            return getattr(kept, name) if name in ("add", "row", "claim", "entries") else super().__getattribute__(name)

        async def write(self, run_id: str, token: str, rows: Any = (), **how: Any) -> bool:
            if self.slow and any(row.kind == "completed" for row in rows):
                held.set()
                await go_on.wait()
            return await kept.write(run_id, token, rows, **how)

    store = Slow()
    runtime = Runtime(store)
    workflow = shape(asking(did.append), did.append)
    result: Any = await runtime.run(workflow, 1, run_id="r")
    waiting = list(result.suspended)
    assert len(waiting) > 1
    store.slow = True
    results: dict[str, Any] = {}

    async def answer(path: str) -> None:
        results[path] = await runtime.resume("r", answer_to(path), step=path)

    async with anyio.create_task_group() as group:
        group.start_soon(answer, waiting[0])
        await held.wait()
        with pytest.raises(RunAlreadyClaimed):
            await runtime.resume("r", 1, step=waiting[0])
        with pytest.raises(RunAlreadyClaimed):
            await Runtime(store).resume("r", 1, step=waiting[1], workflow=workflow)
        before = len(did)
        group.start_soon(answer, waiting[1])
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        assert did[before:] == []
        store.slow = False
        go_on.set()
    assert set(results) == set(waiting[:2])
    assert waiting[1] in results[waiting[0]].suspended
    assert waiting[1] not in results[waiting[1]].suspended
