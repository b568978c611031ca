"""What waits for a store that failed: in whose order, for how long, and what it says where it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
import structlog
from tests.agents.kit import ask
from tests.agents.test_store_faults import IDS, FlakyStore, echo, parrot, stored

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError
from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.processors.memory.outbox import outbox_of
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply


async def test_many_threads_that_fail_hold_up_no_other() -> None:
    """However many turns the store will never take, those behind them have their turn."""
    store = FlakyStore(saves=False)
    agent = parrot(store, echo())
    bad = [f"bad-{at}" for at in range(7)]
    for thread in (*bad, "t"):
        await ask(agent, thread=thread, resource="ada")
    store.saves, store.refused = True, frozenset(bad)
    for _ in range(4):
        await Memory(store).flush()
    assert await stored(store) == ["Hi", "x"]
    store.refused = frozenset()
    assert await Memory(store).flush() == 0
    assert [await stored(store, thread) for thread in bad] == [["Hi", "x"]] * 7


async def test_what_the_store_never_takes_is_given_up() -> None:
    """A turn that is refused for long while the store takes others is lost, and told so: its thread goes on."""
    store = FlakyStore(saves=False)
    agent = parrot(store, echo())
    outbox_of(store).give_up = 0.0
    await ask(agent, thread="bad", resource="ada")
    assert await Memory(store).flush() == 1  # it takes nothing at all: who knows whose fault that is
    store.saves, store.refused = True, frozenset({"bad"})
    await ask(agent, **IDS)
    with structlog.testing.capture_logs() as logs:
        assert await Memory(store).flush() == 0
    assert [(log["event"], log["error"]) for log in logs] == [
        ("a turn that waited was refused, and is lost", "ConnectionError")
    ]
    store.refused = frozenset()
    seen = await ask(agent, messages="more", thread="bad", resource="ada")
    assert seen.result.unsaved is None
    assert await stored(store, "bad") == ["more", "x"]


async def test_what_no_store_could_take_does_not_wait_on() -> None:
    """A turn that waited, and that the store, once it is back, refuses as none that it could keep is lost, and told so."""

    class Strict(FlakyStore):
        async def save(self, thread_id: str, resource_id: str, messages: Sequence[Message], **more: Any) -> None:
            if self.saves and "odd" in messages[0].text:
                raise InputError("a message has letters that the store cannot keep")
            await super().save(thread_id, resource_id, messages, **more)

    store = Strict(saves=False)
    await ask(parrot(store, echo()), messages="odd", **IDS)
    await ask(parrot(store, echo()), messages="even", **IDS)
    store.saves = True
    with structlog.testing.capture_logs() as logs:
        assert await Memory(store).flush() == 0
    assert [log["event"] for log in logs] == ["a turn that waited was refused, and is lost"]
    assert await stored(store) == ["even", "x"]


async def test_an_aborted_turn_waits_for_a_slow_store() -> None:
    """Whoever aborts waits no longer than the grace period for the store; the turn waits on, and the result says so."""
    signal = AbortSignal()

    class Slow(FlakyStore):
        async def save(self, *args: Any, **more: Any) -> None:
            if not self.saves:
                await anyio.sleep_forever()
            await super().save(*args, **more)

    def text() -> Any:
        yield "Hel"
        signal.abort("enough")
        yield "never seen"

    store = Slow(saves=False)
    agent = Agent("parrot", model=FakeModel([Reply(text())]), memory=Memory(store), runtime=Runtime(grace=0.01))
    result = (await ask(agent, "stream", abort_signal=signal, **IDS)).result
    assert result.status == "aborted"
    assert result.unsaved is not None
    assert result.unsaved.waiting
    store.saves = True
    assert await Memory(store).flush() == 0
    assert await stored(store) == ["Hi", "Hel"]


async def test_a_runtime_that_closes_tries_once_more() -> None:
    """Between two tries the store may have come back: the last one is when the runtime closes."""
    store = FlakyStore(saves=False)
    outbox_of(store).pause = 1000.0
    with structlog.testing.capture_logs() as logs:
        async with Runtime(drain=0.01) as runtime:
            await ask(Agent("parrot", model=echo(), memory=Memory(store), runtime=runtime), **IDS)
            store.saves = True
    assert "the runtime closed before its turns were saved" not in [log["event"] for log in logs]
    assert await stored(store) == ["Hi", "x"]


def test_a_store_must_be_something_of_its_own() -> None:
    """What waits belongs to one store: one that has no identity is refused when the memory is made."""

    @dataclass
    class Equal(InMemoryStore):
        """A store that is equal to others, and so has no hash."""

        name: str = ""

    with pytest.raises(DefinitionError, match="Equal"):
        Memory(Equal())
