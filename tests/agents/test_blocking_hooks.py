"""Hooks that block: they run in a few threads, keep their order and hold nobody up."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from procession.agents.agent import Agent
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel


async def test_a_blocking_hook_lets_others_go_on() -> None:
    """CON-002: with ``blocking = True`` the event loop runs while a plain hook waits; hooks keep their order."""
    reached = anyio.Event()
    go = threading.Event()
    order: list[str] = []

    class Blocks(Processor):
        id = "blocks"
        blocking = True

        def process_input(self, ctx: Any) -> None:
            anyio.from_thread.run_sync(reached.set)
            assert go.wait(10)  # set by the event loop, which could not do so if this held it up
            order.append("first")

    class After(Processor):
        id = "after"

        def process_input(self, ctx: Any) -> None:
            order.append("second")

    agent = Agent("a", model=FakeModel(["ok"]), input_processors=[Blocks(), After()])
    async with anyio.create_task_group() as group:
        group.start_soon(agent.generate, "Hi")
        await reached.wait()
        assert order == []
        go.set()
    assert order == ["first", "second"]


async def test_blocking_hooks_share_few_threads_and_hold_nobody_up() -> None:
    """CON-002: of twenty streams no more hooks block at once than there are worker threads, and the loop runs on."""
    most = 3
    inside, peak = 0, 0
    guarded = threading.Lock()
    full, go = anyio.Event(), threading.Event()

    class Blocks(Processor):
        id = "blocks"
        blocking = True

        def process_input(self, ctx: Any) -> None:
            nonlocal inside, peak
            with guarded:
                inside += 1
                peak = max(peak, inside)
                reached = inside == most
            if reached:
                anyio.from_thread.run_sync(full.set)
            assert go.wait(10)  # as a call that blocks would
            with guarded:
                inside -= 1

    agent = Agent("a", model=FakeModel(["ok"], repeat_last=True), input_processors=[Blocks()])
    said: list[str] = []

    async def ask() -> None:
        async with agent.stream("Hi") as stream:
            said.append(await stream.text)

    limiter = anyio.to_thread.current_default_thread_limiter()
    before, limiter.total_tokens = limiter.total_tokens, most
    try:
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask)
            await full.wait()
            for _ in range(100):  # the heart beats: nothing that blocks is on the event loop
                await anyio.lowlevel.checkpoint()
            assert (peak, said) == (most, [])
            go.set()
    finally:
        limiter.total_tokens = before
    assert said == ["ok"] * 20
    assert peak == most
