"""Readers that stop before the end, and whoever waits for the result meanwhile."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from procession.agents.agent import Agent
from procession.agents.feed import AHEAD
from procession.testing.fake_model import FakeModel, Reply

MANY = AHEAD * 4


def parrot() -> Agent:
    """Return an agent whose answer is many more chunks than the loop may be ahead."""
    return Agent("parrot", model=FakeModel(Reply(["x"] * MANY)))


@pytest.mark.parametrize("view", ["full_stream", "text_stream", "itself"])
@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("wanted", ["result", "text"])
async def test_a_result_waits_for_no_reader_that_has_stopped(view: str, replay: bool, wanted: str) -> None:
    """Whoever waits for the result gets it, also where a reader was left in the middle and is still held."""
    async with parrot().stream("Hi", replay=replay) as stream:
        reader: Any = aiter(stream) if view == "itself" else getattr(stream, view)
        async for _ in reader:
            break
        with anyio.fail_after(10):
            got = await (stream.result() if wanted == "result" else stream.text)
        assert (got if isinstance(got, str) else got.text) == "x" * MANY
        await reader.aclose()


async def test_a_reader_goes_on_where_it_stopped() -> None:
    """A reader that was left in the middle may go on after the result, and misses nothing."""
    async with parrot().stream("Hi", replay=False) as stream:
        reader = stream.text_stream
        first = await reader.__anext__()
        with anyio.fail_after(10):
            await stream.result()
        assert [first, *[piece async for piece in reader]] == ["x"] * MANY


async def test_a_run_that_waits_already_goes_on() -> None:
    """A run that a stopped reader has held up goes on once somebody asks for the result."""
    async with parrot().stream("Hi") as stream:
        reader = stream.full_stream
        await reader.__anext__()
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(10):
            assert await stream.text == "x" * MANY
        await reader.aclose()


async def test_whoever_leaves_the_text_leaves_nothing_behind() -> None:
    """A closed reader of the text holds nobody up and leaves no generator behind to warn of."""
    async with parrot().stream("Hi") as stream:
        reader = stream.text_stream
        await reader.__anext__()
        await reader.aclose()
        assert len([chunk async for chunk in stream if chunk.type == "text-delta"]) == MANY
