"""What is never observed: blocked turns, read-only requests, calls that do without, and what is another tenant's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.memory.observing_kit import (
    HERE,
    RESOURCE,
    THREAD,
    agent_of,
    answer,
    long_thread,
    memory_of,
    observer,
    sent,
    stored,
)

from procession.processors.memory.observed.observing import thread_key
from procession.processors.processor import Processor
from procession.storage.memory_store import InMemoryStore
from procession.testing.fake_model import FakeModel


class Blocks(Processor):
    """Stops the run, on one way or the other."""

    def __init__(self, side: str) -> None:
        super().__init__(id="blocks")
        hook = "process_input" if side == "input" else "process_output_result"
        setattr(self, hook, self._stop)

    def _stop(self, ctx: Any) -> None:
        ctx.abort("no")


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_a_blocked_turn_is_never_observed(side: str, mode: str) -> None:
    """MEM-003: neither the blocked words nor the blocked answer are observed, kept or shown, in both run modes."""
    store = await stored(20)
    watcher, model = observer(), FakeModel("Forbidden answer.", repeat_last=True)
    memory = memory_of(store, watcher)
    blocked = agent_of(memory, model, **{f"{side}_processors": [Blocks(side)]})
    if mode == "generate":
        await blocked.generate("Forbidden question.", **HERE)
    else:
        stream = blocked.stream("Forbidden question.", **HERE)
        async with stream:
            async for _ in stream:
                pass
    assert watcher.requests == []
    assert await store.note(thread_key(THREAD, RESOURCE)) is None
    await memory.observe(THREAD, RESOURCE)
    assert "Forbidden" not in str([request.messages for request in watcher.requests])
    await agent_of(memory, answering := FakeModel("Yes.")).generate("hi", **HERE)
    assert "Forbidden" not in str(answering.requests[0].messages)
    assert "Forbidden" not in str(await memory.recall(THREAD, RESOURCE))


@pytest.mark.parametrize("way", ["memory", "call"])
async def test_a_read_only_request_observes_nothing(way: str) -> None:
    """It recalls observations and messages, and neither asks nor writes; what would be too long is cut."""
    store = await stored(40)
    watcher, model = observer(), FakeModel("Yes.", repeat_last=True)
    memory = memory_of(store, watcher, read_only=way == "memory")
    options = {"read_only": True} if way == "call" else None
    await agent_of(memory, model).generate("Now?", **HERE, memory_options=options)
    assert watcher.requests == []
    assert await store.note(thread_key(THREAD, RESOURCE)) is None
    assert sent(model)[0] == "m16"


async def test_a_call_can_do_without() -> None:
    """With ``observational`` false a call recalls the last messages, as ever, and observes nothing."""
    store = await stored(40)
    watcher, model = observer(), FakeModel("Yes.", repeat_last=True)
    memory = memory_of(store, watcher, last_messages=4)
    await agent_of(memory, model).generate("Now?", **HERE, memory_options={"observational": False})
    assert sent(model) == ["m36", "m37", "m38", "m39", "Now?"]
    assert watcher.requests == []


async def test_a_call_without_a_thread_observes_nothing() -> None:
    """Without a thread there is nothing to observe."""
    watcher = observer()
    assert (await agent_of(memory_of(InMemoryStore(), watcher)).generate("Now?")).text == "Yes."
    assert watcher.requests == []


async def test_other_tenants_are_never_seen() -> None:
    """MEM-001: with either scope a request is shown no observation of another resource."""
    for scope in ("thread", "resource"):
        store = InMemoryStore()
        watcher, model = observer(answer("the pin idea is tulip")), FakeModel("Yes.", repeat_last=True)
        memory = memory_of(store, watcher, scope=scope)
        await store.save("t1", "u1", long_thread(20))
        assert await memory.observe("t1", "u1") == 1
        await agent_of(memory, model).generate("pin idea", thread="t2", resource="u2")
        assert "tulip" not in str(model.requests[-1].messages)
        assert await memory.observations("t1", "u2") == []
        assert await memory.observe("t1", "u2") == 0
