"""The leak check itself: it finds what it is there for."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import anyio.lowlevel
import pytest
from tests import leaks
from tests.leaks import Watch

from procession.steps.own_task import OwnTask

pytestmark = pytest.mark.anyio


async def test_a_task_that_goes_on_is_found() -> None:
    """A task of the event loop that was begun and has not ended is told by its name, and no longer once it has."""
    watch = Watch()
    gate = anyio.Event()
    task = OwnTask(gate.wait)
    assert await watch.leaks() == ["task OwnTask._run"]
    gate.set()
    await task.wait()
    assert await watch.leaks() == []


async def test_tasks_of_before_are_nobodys_leak() -> None:
    """What was there when the watch began does not count."""
    gate = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(gate.wait)
        await anyio.lowlevel.checkpoint()
        assert await Watch().leaks() == []
        gate.set()


async def test_an_open_generator_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An async generator of the package that was begun and not closed is told by its name."""

    async def numbers() -> AsyncGenerator[int, None]:
        yield 1
        yield 2

    monkeypatch.setattr(leaks, "PACKAGE", __file__)
    opened = numbers()
    assert await anext(opened) == 1
    assert any("numbers" in each for each in await Watch().leaks())
    await opened.aclose()
    assert await Watch().leaks() == []
