"""Many runs at once, any of which may be cancelled, left or broken off at any point: no call is lost or counted twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.processors.guardrails.cost_kit import PRICES, RESOURCE, for_user

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish, ResponseMetadata, TextDelta, TextEnd, TextStart
from procession.messages.usage import Usage
from procession.models.model import ModelRequest
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.guardrails.cost_guard import CostGuard
from procession.processors.recovery.stream_retry import StreamErrorRetry
from procession.storage.costs import CostBalance
from procession.storage.memory_costs import InMemoryCosts


class Fickle:
    """A model that takes its time, and breaks off now and then; counts how often it has begun to answer."""

    id = "fake"

    def __init__(self, random: Random) -> None:
        self.random = random
        self.begun = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer."""
        self.begun += 1
        yield ResponseMetadata("r", self.id)
        await self.wait()
        if self.random.random() < 0.3:
            raise ModelError("broke off", kind="stream", retryable=True)
        yield TextStart()
        for _ in range(3):
            await self.wait()
            yield TextDelta("hello ")
        yield TextEnd()
        yield Finish("stop", usage=Usage(10, 5))

    async def wait(self) -> None:
        """Let the others go on for a while."""
        for _ in range(self.random.randrange(8)):
            await anyio.lowlevel.checkpoint()


class Booked(InMemoryCosts):
    """A store that counts its entries."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()

    async def book(self, account: str, *args: Any, **options: Any) -> CostBalance:
        """Count them, and book."""
        self.ids |= {entry.id for entry in (args[0] if args else ())}
        return await super().book(account, *args, **options)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("reserve", [None, 1])
@pytest.mark.parametrize("cached", [False, True])
async def test_every_call_that_was_begun_is_booked_once(seed: int, reserve: int | None, cached: bool) -> None:
    """As many entries as calls, and nothing is held when all is over; a cache in between holds nobody up."""
    random, store = Random(seed), Booked()
    model = Fickle(random)
    stops = CostGuard(max_cost=1000, store=store, reserve=reserve, prices=PRICES)
    cache = [ResponseCache()] if cached else []
    agent = Agent("a", model=model, input_processors=[stops, *cache], error_processors=[StreamErrorRetry()])

    async def run(number: int) -> None:
        try:
            if number % 3:
                await agent.generate(f"Hi {number % 4}", **for_user())
                return
            async with agent.stream(f"Hi {number % 4}", **for_user()) as answer:
                async for _ in answer.full_stream:
                    if random.random() < 0.1:
                        break
        except ModelError:
            pass

    async def one(number: int) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run, number)
            if random.random() < 0.5:
                for _ in range(random.randrange(120)):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(24):
                group.start_soon(one, number)
    assert len(store.ids) == model.begun > 0
    assert (await store.balance(RESOURCE)).reserved == 0
