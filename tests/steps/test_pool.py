"""The pool: many pieces of work in few tasks."""

from __future__ import annotations

from contextvars import ContextVar

import anyio
import anyio.lowlevel
import pytest

from procession.steps.pool import PENDING, Pool
from procession.steps.result import Failed, Stop


async def test_everything_is_done_in_order_of_start() -> None:
    """Pieces start in the order of their numbers, and their results stand at them."""
    started: list[int] = []

    async def work(index: int) -> int:
        started.append(index)
        if index % 3 == 0:
            await anyio.lowlevel.checkpoint()
        return index * index

    pool = Pool(work, 50)
    await pool.run(1.0)
    assert started == list(range(50))
    assert pool.results == [index * index for index in range(50)]


@pytest.mark.parametrize("limit", [1, 2, 7])
async def test_never_more_than_the_limit_at_once(limit: int) -> None:
    """At most *limit* pieces are under way, and that many where each of them waits."""
    running = peak = 0

    async def work(index: int) -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        running -= 1

    await Pool(work, 30, limit).run(1.0)
    assert peak == limit


async def test_pieces_that_wait_overlap() -> None:
    """A piece that waits for a later one is not waited for in vain."""
    opened = anyio.Event()

    async def work(index: int) -> None:
        if index == 4:
            opened.set()
        else:
            await opened.wait()

    await Pool(work, 5).run(1.0)
    assert opened.is_set()


async def test_context_variables_stay_in_their_piece() -> None:
    """What one piece sets in a context variable, neither the next piece nor the host sees."""
    variable: ContextVar[str] = ContextVar("variable", default="outside")
    seen: list[str] = []

    async def work(index: int) -> None:
        seen.append(variable.get())
        variable.set(f"piece {index}")
        if index % 2:
            await anyio.lowlevel.checkpoint()

    await Pool(work, 6).run(1.0)
    assert seen == ["outside"] * 6
    assert variable.get() == "outside"


async def test_a_piece_may_open_scopes() -> None:
    """Pieces run in tasks of their own, so that each may hold a cancel scope over a wait."""

    async def work(index: int) -> bool:
        with anyio.move_on_after(0.001) as scope:
            await anyio.sleep_forever()
        return scope.cancelled_caught

    pool = Pool(work, 4)
    await pool.run(1.0)
    assert pool.results == [True] * 4


async def test_cancel_ends_what_runs_and_starts_no_more() -> None:
    """After ``cancel`` no piece starts, those under way are cancelled, and ``run`` returns once they are over."""
    cancelled: list[int] = []

    async def work(index: int) -> Stop | None:
        if index == 3:
            return Failed("x", ValueError())
        try:
            await anyio.sleep_forever()
        except BaseException:
            cancelled.append(index)
            raise
        return None

    def stopped(stop: Stop) -> Stop:
        pool.cancel()
        return stop

    pool = Pool(work, 100, stopped=stopped)
    await pool.run(1.0)
    assert sorted(cancelled) == [0, 1, 2]
    assert pool.started == 4
    assert not pool.busy
    assert isinstance(pool.results[3], Failed)
    assert pool.results[4] is PENDING


async def test_what_ignores_cancellation_is_not_waited_for_for_ever() -> None:
    """``run`` returns after the grace period although a piece goes on; ``wait`` waits for that one."""
    released = anyio.Event()

    async def work(index: int) -> Stop | str:
        if index == 1:
            return Failed("x", ValueError())
        with anyio.CancelScope(shield=True):
            await released.wait()
        return "late"

    def stopped(stop: Stop) -> Stop:
        pool.cancel()
        return stop

    pool = Pool(work, 2, stopped=stopped)
    await pool.run(0.01)
    assert pool.busy
    released.set()
    await pool.wait()
    assert pool.running() == []
    assert pool.results[0] == "late"


async def test_cancelling_the_host_cancels_the_pieces() -> None:
    """Where the task that awaits the pool is cancelled, nothing of it is left running."""
    cancelled = 0

    async def work(index: int) -> None:
        nonlocal cancelled
        try:
            await anyio.sleep_forever()
        except BaseException:
            cancelled += 1
            raise

    pool = Pool(work, 3)
    with anyio.move_on_after(0.01):
        await pool.run(1.0)
    assert cancelled == 3
    assert not pool.busy


async def test_an_error_of_a_piece_comes_out() -> None:
    """A piece that raises cancels the others, and its error is raised by ``run``."""

    async def work(index: int) -> None:
        if index == 2:
            raise LookupError("two")
        await anyio.sleep_forever()

    with pytest.raises(LookupError, match="two"):
        await Pool(work, 5).run(1.0)


async def test_pieces_may_be_added_while_others_run() -> None:
    """``grow`` adds a piece from within another."""
    done: list[int] = []

    async def work(index: int) -> None:
        done.append(index)
        if len(done) < 10:
            await anyio.lowlevel.checkpoint()
            pool.grow()

    pool = Pool(work, 1)
    await pool.run(1.0)
    assert done == list(range(10))
