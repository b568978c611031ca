"""Calls whose place on a thread a later one takes: they have one end, that of an aborted run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.agents.kit import WAYS, Seen, at

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.agents.turns import LINES, ThreadPolicy
from procession.messages.chunks import Chunk, Finish, TextDelta
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

ON: dict[str, Any] = {"thread": "t", "resource": "r"}
REASON = "a later call on thread 't' took the place of this one"


@pytest.fixture(autouse=True)
async def _nothing_is_held() -> AsyncIterator[None]:
    """Whatever happened, no thread stays taken."""
    yield
    assert not LINES


async def turns() -> None:
    """Let every task have a few turns."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


class Halves:
    """A model that says half of its first answer, and never the rest."""

    id = "halves"

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer."""
        self.requests.append(request)
        if len(self.requests) == 1:
            yield TextDelta("Half")
            await anyio.sleep_forever()
        yield TextDelta("Whole.")
        yield Finish("stop")


@pytest.mark.parametrize("way", WAYS)
async def test_a_call_whose_place_was_taken_has_one_end(way: str) -> None:
    """It ends as aborted, whichever way it was called: what it had delivered is kept, and the next call reads it."""
    store, said = InMemoryStore(), anyio.Event()

    model = Halves()
    agent = Agent("a", model=model, memory=Memory(store))
    told: list[tuple[str, AgentResult]] = []
    callbacks: dict[str, Any] = {name: partial(_note, told, name) for name in ("on_abort", "on_finish", "on_error")}
    seen: list[Seen] = []

    def tell(chunk: Chunk) -> None:
        if isinstance(chunk, TextDelta):
            said.set()
        if way == "generate":
            seen[0].chunks.append(chunk)

    async def first() -> None:
        seen.append(Seen())
        if way == "generate":
            seen[0].keep(await agent.generate("one", on_chunk=tell, **callbacks, **ON))
        else:
            await seen[0].through(agent, way, "one", {"on_chunk": tell, **callbacks, **ON})

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await said.wait()
            assert (await agent.generate("two", thread_policy="cancel_previous", **ON)).text == "Whole."
    result = seen[0].result
    assert (result.status, result.text, result.abort_reason) == ("aborted", "Half", REASON)
    assert seen[0].chunks.types[-2:] == ["abort", "finish"]
    assert "error" not in seen[0].chunks.types
    assert told == [("on_abort", result), ("on_finish", result)]
    assert [message.text for message in model.requests[1].messages] == ["one", "Half", "two"]


def _note(told: list[tuple[str, Any]], name: str, value: Any) -> None:
    told.append((name, value))


async def test_an_answer_that_is_whole_is_nobodys_to_take() -> None:
    """A call that has answered and is only saving ends as it would have: the later one waits for it."""
    saving, go_on = anyio.Event(), anyio.Event()

    class Slow(InMemoryStore):
        async def save(self, *args: Any, **options: Any) -> Any:
            saving.set()
            await go_on.wait()
            return await super().save(*args, **options)

    agent = Agent("a", model=FakeModel("ok", repeat_last=True), memory=Memory(Slow()))
    results: list[AgentResult] = []

    async def call(name: str, policy: ThreadPolicy) -> None:
        results.append(await agent.generate(name, thread_policy=policy, **ON))

    async with anyio.create_task_group() as group:
        group.start_soon(call, "one", "queue")
        await saving.wait()
        group.start_soon(call, "two", "cancel_previous")
        await turns()
        go_on.set()
    assert [(result.status, result.text) for result in results] == [("completed", "ok"), ("completed", "ok")]


async def test_an_abort_is_heard_while_a_call_waits_for_those_whose_place_it_takes() -> None:
    """A call that is aborted before those before it have stopped ends at once, and asks nobody."""
    released, signal, model = anyio.Event(), AbortSignal(), FakeModel(["ok"], repeat_last=True)
    begun = anyio.Event()

    async def stubborn(ctx: Any) -> None:
        begun.set()
        with anyio.CancelScope(shield=True):
            await released.wait()

    agent = Agent("a", model=model, input_processors=[at("process_input", stubborn)], runtime=Runtime(grace=3600))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: agent.generate("one", **ON))
            await begun.wait()
            group.start_soon(_abort_soon, signal)
            result = await agent.generate("two", thread_policy="cancel_previous", abort_signal=signal, **ON)
            assert (result.status, result.abort_reason, model.requests) == ("aborted", "enough", [])
            released.set()


async def _abort_soon(signal: AbortSignal) -> None:
    await turns()
    signal.abort("enough")
