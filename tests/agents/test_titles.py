"""Threads are given titles: once, after a turn was saved, and nothing of it is a fault of the run."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError, ProcessorDefinitionError, StoreError
from procession.messages.chunks import DataChunk, Finish
from procession.messages.message import Message
from procession.models.model import ModelRequest
from procession.processors.guardrails.cost_guard import CostGuard
from procession.processors.memory.memory import Memory
from procession.processors.memory.title import ThreadTitle
from procession.processors.memory.titles.settings import TitleSettings
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.storage.memory_costs import InMemoryCosts
from procession.storage.threads import Thread
from procession.testing.fake_model import FakeModel
from procession.testing.script import fail

both_ways = pytest.mark.parametrize("way", WAYS)
PRICES: Any = {"fake": {"input": "1", "output": "1"}, "titles": {"input": "1", "output": "1"}}
ADA: dict[str, Any] = {"thread": "t", "resource": "ada"}


async def title(store: InMemoryStore, thread: str = "t") -> str | None:
    """Return the title of a thread."""
    found = await store.thread(thread)
    return found.title if found is not None else None


@both_ways
async def test_a_thread_is_given_a_title_once(way: str) -> None:
    """The title model is asked about what was said in the first turn, and not again; its tokens are the guards'."""
    store = InMemoryStore()
    titles = FakeModel(['"Lost parcel"'])
    memory = Memory(store, generate_title={"model": titles})
    agent = Agent("a", model=FakeModel(["In Paris.", "You are welcome."]), memory=memory)
    first = await ask(agent, way, "Where is my parcel?", **ADA)
    await ask(agent, way, "Thanks", **ADA)
    assert await title(store) == "Lost parcel"
    (request,) = titles.requests
    assert request.messages[1].text == (
        "<conversation>\nUser: Where is my parcel?\nAssistant: In Paris.\n</conversation>"
    )
    assert "80 characters" in request.messages[0].text
    assert first.result.guard_usage.total_tokens == 15
    assert first.result.usage.total_tokens == 15


async def test_the_model_of_the_run_unless_another_is_named() -> None:
    """Without a model of its own the one that the call has is asked."""
    store = InMemoryStore()
    model = FakeModel(["In Paris.", "Lost parcel"])
    await Agent("a", model=FakeModel([]), memory=Memory(store, generate_title=True)).generate("Hi", **ADA, model=model)
    assert await title(store) == "Lost parcel"


async def test_in_the_background_of_an_open_runtime() -> None:
    """The answer is there before the title model has answered; the runtime waits for it when it closes."""
    store = InMemoryStore()
    answered = anyio.Event()

    async def slow(request: ModelRequest) -> str:
        await answered.wait()
        return "Lost parcel"

    async with Runtime() as runtime:
        memory = Memory(store, generate_title={"model": FakeModel([slow])})
        agent = Agent("a", model=FakeModel(["x"]), memory=memory, runtime=runtime)
        result = await agent.generate("Hi", **ADA)
        assert result.text == "x"
        assert await title(store) is None
        answered.set()
    assert await title(store) == "Lost parcel"


@pytest.mark.parametrize(
    "options", [{"memory_options": {"read_only": True}}, {"memory_options": {"generate_title": False}}, {}]
)
async def test_when_there_is_none(options: dict[str, Any]) -> None:
    """Where nothing may be saved, titles are off, or the call names no thread, nobody is asked."""
    titles = FakeModel("x")
    agent = Agent("a", model=FakeModel("x"), memory=Memory(InMemoryStore(), generate_title={"model": titles}))
    await agent.generate("Hi", **(ADA if options else {}), **options)
    assert not titles.requests


async def test_titles_that_are_there_stay() -> None:
    """Neither the title that a call gives its thread nor one that somebody gives meanwhile is written over."""
    store = InMemoryStore()
    titles = FakeModel([])
    memory = Memory(store, generate_title={"model": titles})
    agent = Agent("a", model=FakeModel("x", repeat_last=True), memory=memory)
    await agent.generate("Hi", thread={"id": "t", "title": "Mine"}, resource="ada")
    assert (await title(store), titles.requests) == ("Mine", [])

    async def meanwhile(request: ModelRequest) -> str:
        await store.update_thread("u", "ada", title="Renamed")
        return "From the model"

    memory = Memory(store, generate_title={"model": FakeModel([meanwhile])})
    await Agent("a", model=FakeModel("x"), memory=memory).generate("Hi", thread="u", resource="ada")
    assert await title(store, "u") == "Renamed"


async def test_what_is_forgotten_meanwhile_names_no_thread() -> None:
    """A title of messages that were deleted while a model was asked for it is given to none that begins under their id."""
    store = InMemoryStore()
    agent: Agent

    async def slow(request: ModelRequest) -> str:
        await agent.forget(resource="ada", thread="t")
        await store.save("t", "ada", [Message.user("Something else")])
        return "My secret"

    memory = Memory(store, generate_title={"model": FakeModel([slow])})
    agent = Agent("a", model=FakeModel(["x"]), memory=memory)
    await agent.generate("My secret", **ADA)
    assert [message.text for message in await store.messages("t")] == ["Something else"]
    assert await title(store) is None


async def test_a_title_that_is_given_in_the_last_moment_stays() -> None:
    """Nor is one written over that somebody gives just before ours is written; nobody is told of ours."""
    told: list[Any] = []

    class Renamed(InMemoryStore):
        async def update_thread(self, thread_id: str, resource_id: str, **changes: Any) -> Thread | None:
            await super().update_thread(thread_id, resource_id, title="Renamed")
            return await super().update_thread(thread_id, resource_id, **changes)

    store = Renamed()
    settings = TitleSettings(model=FakeModel(["From the model"]), on_title_generated=told.append)
    await Agent("a", model=FakeModel("x"), memory=Memory(store, generate_title=settings)).generate("Hi", **ADA)
    assert await title(store) == "Renamed"
    assert told == []


@pytest.mark.parametrize("in_runtime", [True, False])
async def test_a_cost_guard_knows_what_titles_cost(in_runtime: bool) -> None:
    """Its tokens are booked for the resource, once, also where it is asked after the answer's account was closed."""
    costs = InMemoryCosts()
    guard = CostGuard(max_cost=100, store=costs, prices=PRICES)
    memory = Memory(InMemoryStore(), generate_title={"model": FakeModel(["Hello"], id="titles")})
    options: dict[str, Any] = {"model": FakeModel("x"), "memory": memory, "input_processors": [guard]}
    if in_runtime:
        async with Runtime() as runtime:
            await Agent("a", runtime=runtime, **options).generate("Hi", **ADA)
    else:
        await Agent("a", **options).generate("Hi", **ADA)
    booked = await costs.by_model(json.dumps(["resource", None, "ada"]))
    assert booked == {"fake": 15_000_000, "titles": 15_000_000}


@both_ways
async def test_a_blocked_turn_asks_nobody(way: str) -> None:
    """What a guard stops is not sent to the title model either, nor does its thread come into being."""
    store = InMemoryStore()
    titles = FakeModel("x")
    agent = Agent(
        "a",
        model=FakeModel("secret"),
        memory=Memory(store, generate_title={"model": titles, "emit_event": True}),
        output_processors=[at("process_output_result", lambda ctx: ctx.abort("no"))],
    )
    assert (await ask(agent, way, "Hi", **ADA)).result.status == "blocked"
    assert not titles.requests
    assert await store.thread("t") is None


async def test_only_from_so_many_messages_on() -> None:
    """With ``min_messages`` the title waits for them."""
    store = InMemoryStore()
    memory = Memory(store, generate_title={"model": FakeModel(["Late"]), "min_messages": 3})
    agent = Agent("a", model=FakeModel("x", repeat_last=True), memory=memory)
    await agent.generate("Hi", **ADA)
    assert await title(store) is None
    await agent.generate("Hi", **ADA)
    assert await title(store) == "Late"


async def test_what_a_call_says_differently() -> None:
    """A mapping changes the settings of the memory for one call; what cannot be written down is refused there."""
    store = InMemoryStore()
    model = FakeModel(["x", "A title of many words", "y"])
    agent = Agent("a", model=model, memory=Memory(store, generate_title=True))
    await agent.generate("Hi", **ADA, memory_options={"generate_title": {"max_length": 10, "instructions": "Name it."}})
    assert await title(store) == "A title…"
    assert model.requests[1].messages[0].text == "Name it."
    for wrong in ("yes", {"model": model}, {"on_title_generated": print}, {"max_length": 1}, {"tone": "x"}):
        with pytest.raises(InputError):
            await agent.generate("Hi", **ADA, memory_options={"generate_title": wrong})
    with pytest.raises(DefinitionError, match="no titles"):
        await Agent("b", model=model, memory=Memory(store)).generate(
            "Hi", **ADA, memory_options={"generate_title": True}
        )


async def test_who_is_told() -> None:
    """The memory's callback and the call's are told the thread, once; one that fails changes nothing."""
    store = InMemoryStore()
    told: list[Any] = []

    def note(thread: Thread) -> None:
        told.append((thread.id, thread.title))
        raise RuntimeError("private")

    async def note_too(thread: Thread) -> None:
        told.append((thread.resource_id, thread.title))

    settings = TitleSettings(model=FakeModel(["Hello"]), on_title_generated=note)
    agent = Agent("a", model=FakeModel("x", repeat_last=True), memory=Memory(store, generate_title=settings))
    with capture_logs() as logs:
        await agent.generate("Hi", **ADA, on_title_generated=note_too)
        await agent.generate("Hi", **ADA, on_title_generated=note_too)
    assert told == [("t", "Hello"), ("ada", "Hello")]
    assert "private" not in str(logs)


@both_ways
@pytest.mark.parametrize("emit", [False, True])
async def test_a_title_model_that_fails(way: str, emit: bool) -> None:
    """The answer and the turn stand; the log says so without any words of the conversation or the error."""
    store = InMemoryStore()
    titles = FakeModel([fail("private words", status=500), "Second try"])
    memory = Memory(store, generate_title={"model": titles, "emit_event": emit})
    agent = Agent("a", model=FakeModel("x", repeat_last=True), memory=memory)
    with capture_logs() as logs:
        seen = await ask(agent, way, "Hi", **ADA)
    assert (seen.result.status, seen.result.text) == ("completed", "x")
    assert await title(store) is None
    assert [entry["error"] for entry in logs if entry["event"] == "a thread's title was not written"] == ["ModelError"]
    assert "private words" not in str(logs)
    await ask(agent, way, "Hi", **ADA)
    assert await title(store) == "Second try"


async def test_a_store_that_fails() -> None:
    """A title that cannot be written is a line in the log."""

    class Failing(InMemoryStore):
        async def update_thread(self, thread_id: str, resource_id: str, **changes: Any) -> Thread | None:
            raise StoreError("private")

    model = FakeModel(["x", "A title"])
    with capture_logs() as logs:
        result = await Agent("a", model=model, memory=Memory(Failing(), generate_title=True)).generate("Hi", **ADA)
    assert (result.status, result.unsaved) == ("completed", None)
    assert any(entry["event"] == "a thread's title was not written" for entry in logs)


async def test_the_reader_of_a_stream_is_told() -> None:
    """With ``emit_event`` a transient ``data-thread-title`` comes before ``finish``; the thread gets that title, and nothing
    of it is stored in a message."""
    store = InMemoryStore()
    model = FakeModel(["In Paris.", "Lost parcel", "Bye."])
    agent = Agent("a", model=model, memory=Memory(store, generate_title={"emit_event": True}))
    seen = await ask(agent, "stream", "Where is my parcel?", **ADA)
    (chunk,) = seen.chunks.of(DataChunk)
    assert (chunk.type, chunk.data, chunk.transient) == (
        "data-thread-title", {"threadId": "t", "title": "Lost parcel"}, True,
    )  # fmt: skip
    kinds = [type(each) for each in seen.chunks]
    assert kinds.index(DataChunk) < kinds.index(Finish)
    assert await title(store) == "Lost parcel"
    assert [message.text for message in await store.messages("t")] == ["Where is my parcel?", "In Paris."]
    assert not (await ask(agent, "stream", "Bye", **ADA)).chunks.of(DataChunk)
    assert len(model.requests) == 3


async def test_nobody_is_told_where_nobody_listens() -> None:
    """With ``emit_event`` a call that is no stream has its title in the background, as ever."""
    store = InMemoryStore()
    model = FakeModel(["x", "A title"])
    agent = Agent("a", model=model, memory=Memory(store, generate_title={"emit_event": True}))
    seen = await ask(agent, "generate", "Hi", **ADA)
    assert not seen.chunks.of(DataChunk)
    assert await title(store) == "A title"


@pytest.mark.parametrize(
    "given",
    [
        "yes", {"tone": "x"}, {"max_length": 5}, {"min_messages": 0}, {"emit_event": 1}, {"instructions": ""}, {"model": 5},
        {"on_title_generated": 5},
    ],
)  # fmt: skip
def test_settings_that_cannot_be(given: Any) -> None:
    """They are refused where they are given."""
    with pytest.raises(ProcessorDefinitionError):
        Memory(InMemoryStore(), generate_title=given)


async def test_listed_by_hand() -> None:
    """One that the user lists takes the place of the memory's."""
    store = InMemoryStore()
    own = FakeModel(["Mine"])
    agent = Agent(
        "a",
        model=FakeModel("x"),
        memory=Memory(store, generate_title={"model": FakeModel([])}),
        output_processors=[ThreadTitle(store, model=own)],
    )
    await agent.generate("Hi", **ADA)
    assert await title(store) == "Mine"
