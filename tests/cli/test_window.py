"""The sliding window."""

from collections.abc import AsyncIterator

import anyio
import pytest

from procession.cli.window import AHEAD, sliding


async def numbers(count: int) -> AsyncIterator[int]:
    """Yield numbers from 0."""
    for number in range(count):
        yield number


@pytest.mark.parametrize("concurrency", [1, 3, 8])
async def test_at_most_so_many_and_in_order(concurrency: int) -> None:
    """No more than asked are in flight, that many are, and results come in order whatever their speed."""
    now = peak = 0
    all_busy = anyio.Event()
    taken: list[int] = []

    async def work(number: int) -> int:
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        if now == concurrency:
            all_busy.set()
        await all_busy.wait()
        for _ in range(1 + (number * 7) % 5):
            await anyio.lowlevel.checkpoint()
        now -= 1
        return number

    with anyio.fail_after(5):
        await sliding(numbers(50), work, taken.append, concurrency=concurrency)
    assert taken == list(range(50))
    assert peak == concurrency


async def test_the_window_slides() -> None:
    """A slow one in front does not hold back those behind it: the next begins as soon as any is done."""
    release = anyio.Event()
    begun: list[int] = []

    async def work(number: int) -> int:
        begun.append(number)
        if number == 0:
            await release.wait()
        elif number == 9:
            release.set()
        return number

    taken: list[int] = []
    with anyio.fail_after(5):
        await sliding(numbers(10), work, taken.append, concurrency=2)
    assert taken == list(range(10))


async def test_results_that_wait_are_bounded() -> None:
    """Nothing is read further ahead than results may wait for a slow one."""
    release = anyio.Event()
    read = 0

    async def endless() -> AsyncIterator[int]:
        nonlocal read
        for number in range(10 * AHEAD):
            read += 1
            yield number

    async def work(number: int) -> int:
        if number == 0:
            await release.wait()
        return number

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sliding(endless(), work, lambda _: None, concurrency=2))
        await anyio.wait_all_tasks_blocked()
        assert read <= 2 * AHEAD + 1
        release.set()
    assert read == 10 * AHEAD


async def test_an_error_comes_out_as_it_is() -> None:
    """What handing on or working raises ends everything and is raised bare, not in a group."""

    async def work(number: int) -> int:
        if number == 3:
            raise BrokenPipeError
        await anyio.sleep_forever()
        return number

    with pytest.raises(BrokenPipeError):
        await sliding(numbers(50), work, lambda _: None, concurrency=8)
