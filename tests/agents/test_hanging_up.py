"""Who stops reading on asyncio: the connection to the provider ends, and the event loop has nothing to complain of."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.models.wire import DONE, WireAnswer, WireServer, delta, serving

from procession.agents.agent import Agent
from procession.models.openai_chat import OpenAIChatModel

HELLO = WireAnswer((delta(content="Hello.", finish="stop"), DONE))


@pytest.fixture
def complaints() -> Iterator[list[Any]]:
    """Collect what nobody could be told of, such as a generator that ignored its end, or a task that was destroyed."""
    told: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, told.append
    yield told
    gc.collect()
    sys.unraisablehook = hook


@asynccontextmanager
async def quiet(complaints: list[Any], *answers: WireAnswer) -> AsyncGenerator[WireServer]:
    """Run a server; afterwards no task of ours may be left, and the event loop may have complained of nothing."""
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    async with serving(*answers) as server:
        yield server
    for _ in range(5):
        gc.collect()
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("way", ["aclose", "break", "cancel"])
def test_a_reader_that_leaves_after_one_chunk(way: str, complaints: list[Any]) -> None:
    """CAN-001: closing, breaking off and ``task.cancel()`` close the provider's connection and leave no task behind."""

    async def main() -> None:
        first = WireAnswer((delta(content="Hel"), anyio.Event(), delta("stop", content="lo"), DONE))
        async with quiet(complaints, first) as server:
            agent = Agent("a", model=OpenAIChatModel("m", base_url=server.base_url))
            read = asyncio.Event()

            async def leave() -> None:
                async with agent.stream("Hi") as stream:
                    reader = stream.text_stream
                    if way == "break":
                        async for _ in reader:
                            break
                        del reader
                        gc.collect()
                        return
                    assert await anext(reader) == "Hel"
                    read.set()
                    if way == "aclose":
                        await reader.aclose()
                    else:
                        await anext(reader)

            task = asyncio.create_task(leave())
            if way == "cancel":
                await read.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                await task
            with anyio.fail_after(5):
                await server.gone.wait()

    asyncio.run(main())
    gc.collect()
    assert complaints == []


def test_a_first_chunk_that_comes_too_late(complaints: list[Any]) -> None:
    """CAN-003: ``asyncio.wait_for`` round the first chunk times out, all closes cleanly, and the agent runs again."""

    async def main() -> None:
        async with quiet(complaints, WireAnswer((anyio.Event(),)), HELLO) as server:
            agent = Agent("a", model=OpenAIChatModel("m", base_url=server.base_url))
            async with agent.stream("Hi") as stream:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(stream.text_stream), 0.01)
            assert (await stream.result()).status == "aborted"
            async with agent.stream("Hi") as stream:
                assert await stream.text == "Hello."

    asyncio.run(main())
    gc.collect()
    assert complaints == []
