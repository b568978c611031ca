"""A store that fails takes no answer from the user: the turn waits, is saved when the store is back, or is told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError, ProcessorError, StoreError, UnreadableThread
from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.processors.memory.outbox import Outbox, TurnToSave, outbox_of
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


class FlakyStore(InMemoryStore):
    """A store that goes away, for saves or for reads, and comes back."""

    def __init__(self, *, saves: bool = True, reads: bool = True) -> None:
        super().__init__()
        self.saves = saves
        self.reads = reads
        self.tried: list[str] = []
        self.refused: frozenset[str] = frozenset()
        self.has_tried = anyio.Event()

    async def save(self, thread_id: str, resource_id: str, messages: Sequence[Message], **more: Any) -> None:
        """Save, or fail."""
        self.tried.append(thread_id)
        if len(self.tried) > 3:
            self.has_tried.set()
        if not self.saves or thread_id in self.refused:
            raise ConnectionError("no route to the host of Ada's secret")
        await super().save(thread_id, resource_id, messages, **more)

    async def messages(self, *args: Any, **more: Any) -> list[Message]:
        """Read, or fail."""
        if not self.reads:
            raise ConnectionError("no route to the host of Ada's secret")
        return await super().messages(*args, **more)


def parrot(store: InMemoryStore | SQLiteStore, model: FakeModel, **options: Any) -> Agent:
    """Return an agent that remembers in *store*."""
    return Agent("parrot", model=model, memory=Memory(store, **options))


def echo() -> FakeModel:
    """Return a model that says x, as often as it is asked."""
    return FakeModel("x", repeat_last=True)


async def stored(store: InMemoryStore, thread: str = "t") -> list[str]:
    """Return the texts of what is in the thread."""
    return [message.text for message in await store.messages(thread)]


def sent(model: FakeModel, at: int) -> list[str]:
    """Return the texts of what the model was sent."""
    return [message.text for message in model.requests[at].messages]


@both_ways
async def test_the_answer_reaches_the_user(way: str) -> None:
    """The call completes, says what became of its turn, and the log says so without what was said."""
    agent = parrot(FlakyStore(saves=False), FakeModel("secret plans"))
    with structlog.testing.capture_logs() as logs:
        seen = await ask(agent, way, "my secret", **IDS)
    result = seen.result
    assert (result.status, result.text, seen.chunks.types[-1]) == ("completed", "secret plans", "finish")
    unsaved = result.unsaved
    assert unsaved is not None
    assert (unsaved.thread, unsaved.messages, unsaved.waiting) == ("t", 2, True)
    assert isinstance(unsaved.reason, StoreError)
    assert isinstance(unsaved.reason.__cause__, ConnectionError)
    [log] = [log for log in logs if log["log_level"] == "warning"]
    assert (log["event"], log["store"], log["error"]) == ("a turn was not saved", "FlakyStore", "ConnectionError")
    assert "secret" not in str(logs)
    assert "secret" not in str(unsaved.reason)


@both_ways
async def test_all_is_well_mostly(way: str) -> None:
    """A turn that was saved leaves nothing to say."""
    assert (await ask(parrot(InMemoryStore(), echo()), way, **IDS)).result.unsaved is None


@both_ways
async def test_what_waits_is_saved_before_the_next_read(way: str) -> None:
    """The next turn recalls what waited, once the store is back, and both are there in order."""
    store, model = FlakyStore(saves=False), FakeModel(["one", "two"])
    agent = parrot(store, model)
    await ask(agent, way, "a", **IDS)
    store.saves = True
    seen = await ask(agent, way, "b", **IDS)
    assert sent(model, 1) == ["a", "one", "b"]
    assert seen.result.unsaved is None
    assert await stored(store) == ["a", "one", "b", "two"]


@both_ways
async def test_what_waits_is_part_of_the_conversation(way: str) -> None:
    """A store that can be read and takes nothing, as with a full disk, has the model know the conversation all the same."""
    store, model = FlakyStore(saves=False), FakeModel(["one", "two", "three", "four"])
    agent = parrot(store, model, last_messages=3)
    for text in "abc":
        await ask(agent, way, text, **IDS)
    assert sent(model, 2) == [".", "one", "b", "two", "c"]
    await ask(agent, way, "d", thread="t", resource="eve")  # to whom the thread is as good as not there
    assert sent(model, 3) == ["d"]
    store.saves = True
    assert await Memory(store).flush() == 0
    assert await stored(store) == ["a", "one", "b", "two", "c", "three"]


@both_ways
async def test_flush_saves_what_waits(way: str) -> None:
    """``memory.flush()`` says how many turns wait still; a later save goes behind them, also with another memory."""
    store = FlakyStore(saves=False)
    agent = parrot(store, echo())
    await ask(agent, way, "a", **IDS)
    await ask(agent, way, "b", thread="other", resource="ada")
    assert agent.memory is not None
    assert await agent.memory.flush() == 2
    store.saves, store.tried = True, []
    await ask(parrot(store, echo(), last_messages=None), way, "c", **IDS)
    assert store.tried == ["t", "other", "t"]
    assert await agent.memory.flush() == 0
    assert await stored(store) == ["a", "x", "c", "x"]
    assert await stored(store, "other") == ["b", "x"]


async def test_one_thread_that_fails_holds_up_no_other() -> None:
    """A turn that the store will never take has others saved; those of its own thread keep their order."""
    store = FlakyStore()
    store.refused = frozenset({"bad"})
    agent = parrot(store, echo())
    await ask(agent, thread="bad", resource="ada")
    store.saves = False
    await ask(agent, **IDS)
    store.saves = True
    assert await Memory(store).flush() == 1
    assert await stored(store) == ["Hi", "x"]
    seen = await ask(agent, messages="more", thread="bad", resource="ada")
    assert seen.result.unsaved is not None
    store.refused = frozenset()
    assert await Memory(store).flush() == 0
    assert await stored(store, "bad") == ["Hi", "x", "more", "x"]


async def test_an_open_runtime_tries_again() -> None:
    """Where a runtime is open, what waits is saved in its background once the store is back: nobody need call again."""
    store = FlakyStore(saves=False)
    outbox_of(store).pause = 0.001
    async with Runtime() as runtime:
        agent = Agent("parrot", model=echo(), memory=Memory(store), runtime=runtime)
        await ask(agent, **IDS)
        with anyio.fail_after(5):
            await store.has_tried.wait()  # several times: it does not give up
        store.saves = True
    assert await stored(store) == ["Hi", "x"]


async def test_a_runtime_that_closes_says_what_is_not_saved() -> None:
    """What could not be saved until the runtime closed is told in the log, and waits as before."""
    store = FlakyStore(saves=False)
    outbox_of(store).pause = 0.001
    with structlog.testing.capture_logs() as logs:
        async with Runtime(drain=0.01) as runtime:
            await ask(Agent("parrot", model=echo(), memory=Memory(store), runtime=runtime), **IDS)
    said = [log for log in logs if log["event"] == "the runtime closed before its turns were saved"]
    assert [log["turns"] for log in said] == [1]
    store.saves = True
    assert await Memory(store).flush() == 0
    assert await stored(store) == ["Hi", "x"]


async def test_what_waits_has_bounds() -> None:
    """What there is no room for is lost, and told so."""
    box = Outbox(max_turns=1, max_bytes=2000)
    small = TurnToSave(thread_id="t", resource_id="ada", messages=(Message.user("small"),))
    assert not box.hold(small.replace(messages=(Message.user("large" * 1000),)))
    assert box.hold(small)
    assert not box.hold(small)
    assert len(box) == 1
    store = FlakyStore(saves=False)
    outbox_of(store).max_turns = 1
    agent = parrot(store, echo())
    with structlog.testing.capture_logs() as logs:
        first, second = await ask(agent, **IDS), await ask(agent, **IDS)
    assert first.result.unsaved is not None
    assert second.result.unsaved is not None
    assert (first.result.unsaved.waiting, second.result.unsaved.waiting) == (True, False)
    told = [log["event"] for log in logs if log["log_level"] == "warning"]
    assert told == ["a turn was not saved", "a turn was not saved, and is lost"]


async def test_a_thread_that_became_somebody_elses_is_no_reason_to_wait() -> None:
    """A turn that waited, and whose thread belongs to another resource by now, is dropped and told in the log."""
    store = FlakyStore(saves=False)
    await ask(parrot(store, echo()), **IDS)
    store.saves = True
    await InMemoryStore.save(store, "t", "eve", [Message.user("mine")])
    with structlog.testing.capture_logs() as logs:
        assert await Memory(store).flush() == 0
    assert [log["event"] for log in logs] == ["a turn that waited was refused, and is lost"]
    assert await stored(store) == ["mine"]


@both_ways
async def test_a_store_that_cannot_be_read_stops_the_call(way: str) -> None:
    """To answer without the conversation is not for us to decide: the error names the store, and nothing private."""
    model = echo()
    seen = await ask(parrot(FlakyStore(reads=False), model), way, **IDS)
    assert isinstance(seen.error, ProcessorError)
    assert seen.error.processor_id == "message-history"
    assert isinstance(seen.error.__cause__, UnreadableThread)
    assert "FlakyStore could not give back the thread: ConnectionError" in str(seen.error)
    assert "secret" not in str(seen.error)
    assert model.requests == []


@both_ways
async def test_the_input_filter_names_the_store_too(way: str) -> None:
    """A client that sends the conversation again has the store asked twice: whoever asks first says which one failed."""

    class NoLookUp(FlakyStore):
        async def around(self, *args: Any, **more: Any) -> Any:
            raise ConnectionError("no route to the host of Ada's secret")

    seen = await ask(parrot(NoLookUp(), echo()), way, [Message.user("a"), Message.user("b")], **IDS)
    assert isinstance(seen.error, ProcessorError)
    assert seen.error.processor_id == "memory-input-filter"
    assert "NoLookUp could not give back the thread: ConnectionError" in str(seen.error)


@both_ways
async def test_what_is_set_up_wrongly_is_said(way: str) -> None:
    """A store that says what is wrong with its use is quoted; a turn that no store could ever take does not wait."""

    class Asyncio(FlakyStore):
        async def messages(self, *args: Any, **more: Any) -> list[Message]:
            raise DefinitionError("this store runs on asyncio alone")

    seen = await ask(parrot(Asyncio(), echo()), way, **IDS)
    assert "this store runs on asyncio alone" in str(seen.error)

    class Strict(FlakyStore):
        async def save(self, *args: Any, **more: Any) -> None:
            raise InputError("a message has letters that the store cannot keep")

    seen = await ask(parrot(Strict(), echo()), way, **IDS)
    assert seen.result.unsaved is not None
    assert not seen.result.unsaved.waiting


@both_ways
async def test_an_id_that_no_file_can_keep_holds_up_no_other_turn(way: str, tmp_path: Path) -> None:
    """A client's id that can never be written is refused at once: its turn does not wait, and later ones are saved."""
    async with SQLiteStore(tmp_path / "memory.db") as store:
        agent = parrot(store, echo())
        seen = await ask(agent, way, [Message.user("odd", id="\ud800")], **IDS)
        assert seen.result.status == "completed"
        assert seen.result.unsaved is not None
        assert (seen.result.unsaved.waiting, len(outbox_of(store))) == (False, 0)
        assert (await ask(agent, way, "well", **IDS)).result.unsaved is None
        assert [message.text for message in await store.messages("t")] == ["well", "x"]


@both_ways
async def test_a_store_that_cannot_be_read_may_be_done_without(way: str) -> None:
    """``on_error="skip"`` answers without what was said before."""
    store = FlakyStore(reads=False)
    seen = await ask(parrot(store, echo(), on_error="skip"), way, **IDS)
    assert (seen.result.status, seen.result.text) == ("completed", "x")
    store.reads = True
    assert await stored(store) == ["Hi", "x"]


@both_ways
async def test_a_blocked_turn_does_not_wait(way: str) -> None:
    """MEM-003: what a guard stopped is not kept for later, either."""
    store = FlakyStore(saves=False)
    agent = Agent(
        "parrot", model=echo(), memory=Memory(store), output_processors=[at("process_output_result", lambda ctx: ctx.abort("no"))]
    )  # fmt: skip
    seen = await ask(agent, way, **IDS)
    assert (seen.result.status, seen.result.unsaved, len(outbox_of(store))) == ("blocked", None, 0)


@both_ways
async def test_a_step_that_was_not_saved_waits(way: str) -> None:
    """With ``save_per_step`` a step that the store did not take waits, and comes before the rest of the turn."""
    store = FlakyStore(saves=False)

    def back(ctx: Any) -> None:
        store.saves = True

    tool, _ = counted_tool()
    agent = Agent(
        "parrot", model=FakeModel([call_tool("lookup"), "done"]), tools=[tool], memory=Memory(store, save_per_step=True),
        output_processors=[at("process_output_result", back)],
    )  # fmt: skip
    seen = await ask(agent, way, **IDS)
    assert seen.result.unsaved is None
    assert len(outbox_of(store)) == 0
    assert await stored(store) == ["Hi", "done"]
