"""Holding a run: the lease is prolonged while the run lives, and whoever has lost it stops."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest
from tests.runtime.durable.faults import failing, faulty
from tests.runtime.durable.test_store_faults import RUNNING, chain
from tests.storage.journals import Clock

from procession.errors import RunAlreadyClaimed, StoreError
from procession.runtime.durable import holding
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow


async def test_whoever_lost_a_run_stops() -> None:
    """A holder whose lease ran out and whose run somebody took up does nothing more, says so, and writes nothing."""
    clock, ran = Clock(), list[str]()
    kept = InMemoryJournal(clock=clock)
    workflow = chain(ran)
    others: list[Any] = []

    async def overtake(run_id: str, token: str, rows: Any = (), **how: Any) -> None:
        if rows and rows[0].path == "b" and not others:
            clock.now += 60
            others.append(await Runtime(kept).restart("r", workflow=workflow))

    result = await Runtime(faulty(kept, write=overtake)).run(workflow, 0, run_id="r")
    assert isinstance(result.error, RunAlreadyClaimed)
    assert "somebody else" in str(result.error)
    assert others[0].unwrap() == 3
    assert ran == ["a", "b", "b", "c"]
    assert [row.path for row in await kept.entries("r")] == ["a", "b", "c"]
    assert (await Runtime(kept).get("r")).output == 3


async def test_whoever_lost_a_run_stops_in_the_middle_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes long is cancelled once its run is found to be somebody else's."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    monkeypatch.setattr(holding, "LEASE", 0.003)
    started = anyio.Event()

    @step
    async def hangs(ctx: StepContext[int]) -> int:
        started.set()
        await anyio.sleep_forever()
        return 0

    clock = Clock()
    kept = InMemoryJournal(clock=clock)
    async with Runtime(kept).stream(create_workflow("hangs", int).then(hangs).commit(), 0, run_id="r") as run:
        await started.wait()
        clock.now += 60
        assert await kept.claim("r", "thief", 30, of=RUNNING) is not None
        result = await run.result()
    assert isinstance(result.error, RunAlreadyClaimed)
    row = await kept.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("running", True)


async def test_the_lease_is_prolonged_while_the_run_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step may take longer than the lease: nobody can take its run up meanwhile."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    monkeypatch.setattr(holding, "LEASE", 0.003)
    clock = Clock()
    kept = InMemoryJournal(clock=clock)
    prolonged = anyio.Event()

    async def note(*args: Any, **kwargs: Any) -> None:
        prolonged.set()

    @step
    async def waits(ctx: StepContext[int]) -> int:
        clock.now += 0.002
        await prolonged.wait()
        await anyio.sleep(0.002)  # until what was noted is also done
        clock.now += 0.002
        with pytest.raises(RunAlreadyClaimed):
            await Runtime(kept).restart("r")
        return 1

    workflow = create_workflow("waits", int).then(waits).commit()
    assert (await Runtime(faulty(kept, claim=note)).run(workflow, 0, run_id="r")).unwrap() == 1


async def test_the_lease_is_prolonged_by_the_time_that_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder that a step has kept from its turn prolongs its claim as soon as it has it."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    monkeypatch.setattr(holding, "LEASE", 0.09)
    asked: list[str] = []
    prolonged = anyio.Event()

    async def looked(*args: Any, **kwargs: Any) -> None:
        asked.append("row")

    async def claimed(*args: Any, **kwargs: Any) -> None:
        asked.append("claim")
        prolonged.set()

    @step
    async def hogs(ctx: StepContext[int]) -> int:
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
        asked.clear()
        with anyio.fail_after(5):
            await prolonged.wait()
        return ctx.input

    store = faulty(InMemoryJournal(), row=looked, claim=claimed)
    (await Runtime(store).run(create_workflow("hogs", int).then(hogs).commit(), 1)).unwrap()
    assert asked[0] == "claim"


@pytest.mark.parametrize("error", [StoreError, OSError])
async def test_the_lease_is_prolonged_after_the_store_has_failed(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the store raises while its holder looks at the run, the run goes on being held."""
    monkeypatch.setattr(holding, "POLL", 0.001)
    monkeypatch.setattr(holding, "LEASE", 0.03)
    prolonged = anyio.Event()

    async def note(*args: Any, **kwargs: Any) -> None:
        prolonged.set()

    @step
    async def waits(ctx: StepContext[int]) -> int:
        with anyio.fail_after(5):
            await prolonged.wait()
        return ctx.input

    store = faulty(InMemoryJournal(), row=failing(1, 2, error=error), claim=note)
    (await Runtime(store).run(create_workflow("waits", int).then(waits).commit(), 1)).unwrap()
