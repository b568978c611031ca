"""Tasks that are cancelled while they begin, answer, restart or fork a run: it is there as a whole, and free."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.durable.everything import Death, mortal
from tests.storage.journals import Clock

from procession.errors import RunAlreadyClaimed
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import FINAL, JournalStore
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow


@step
async def plus_one(ctx: StepContext[int]) -> int:
    """Add one."""
    return ctx.input + 1


@step
async def asks(ctx: StepContext[int]) -> int:
    """Wait for a number, and add it."""
    return ctx.input + int(await ctx.suspend("?"))


WORKFLOW = create_workflow("w", int).then(plus_one).then(asks).then(plus_one.replace(id="end")).commit()


class Yielding:
    """A store that lets others have their turn before and after each call."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        """Return a method of the port."""

        async def method(*args: Any, **kwargs: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            result = await getattr(self._store, name)(*args, **kwargs)
            await anyio.lowlevel.checkpoint()
            return result

        return method


def yielding(store: JournalStore) -> Any:
    """Return *store* as one that yields."""
    return Yielding(store)


async def waits(store: InMemoryJournal, clock: Clock) -> None:
    """Let the run wait for its answer."""
    await Runtime(store).run(WORKFLOW, 1, run_id="r")


async def is_broken_off(store: InMemoryJournal, clock: Clock) -> None:
    """Let the run have its answer, and its process die."""
    await waits(store, clock)
    with pytest.raises(Death):
        await Runtime(mortal(store, 1)).resume("r", 10, workflow=WORKFLOW)
    clock.now += 60


async def is_not_there(store: InMemoryJournal, clock: Clock) -> None:
    """Let there be no run."""


async def begin(runtime: Runtime) -> Any:
    """Begin it."""
    return await runtime.run(WORKFLOW, 1, run_id="r")


async def answer(runtime: Runtime) -> Any:
    """Answer it."""
    return await runtime.resume("r", 10, workflow=WORKFLOW)


async def restart(runtime: Runtime) -> Any:
    """Take it up again."""
    return await runtime.restart("r", workflow=WORKFLOW)


async def cancel(runtime: Runtime) -> Any:
    """Cancel it."""
    return await runtime.cancel("r")


async def fork(runtime: Runtime) -> Any:
    """Fork it."""
    return await runtime.fork("r", "plus_one", new_run_id="new", workflow=WORKFLOW)


@pytest.mark.parametrize(
    ("before", "act"),
    [(is_not_there, begin), (waits, answer), (is_broken_off, restart), (waits, cancel), (waits, fork)],
)
async def test_whoever_is_cancelled_leaves_a_run_whole(
    before: Callable[[InMemoryJournal, Clock], Awaitable[None]], act: Callable[[Runtime], Awaitable[Any]]
) -> None:
    """Cancelled at any moment, a caller leaves the run free: as it was, to be taken up again, or at its end."""
    moment, done = 0, False
    while not done:
        moment += 1
        assert moment < 200
        clock = Clock()
        store = InMemoryJournal(clock=clock)
        await before(store, clock)

        async def acting(store: InMemoryJournal = store) -> None:
            nonlocal done
            await act(Runtime(yielding(store)))
            done = True

        async with anyio.create_task_group() as group:
            group.start_soon(acting)
            for _ in range(moment):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        later = Runtime(store)
        later.registry.add(WORKFLOW)
        for run_id in ("r", "new"):
            row = await store.row(run_id)
            if row is None:
                assert run_id == "new" or before is is_not_there
                continue
            assert not row.claimed, (moment, row)
            if row.status == "running":
                assert (await later.restart(run_id)).status in ("success", "suspended")
                row = await store.row(run_id)
                assert row is not None
            if row.status == "suspended":
                assert (await later.resume(run_id, 10)).unwrap() == 13
            elif row.status == "pending":
                assert await later.delete(run_id)
            else:
                assert row.status in FINAL
                with pytest.raises(RunAlreadyClaimed):
                    await later.restart(run_id)
    assert moment > 3
