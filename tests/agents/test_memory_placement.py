"""Where memory's processors stand, what takes their place, and what processors see of the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.processors.memory.message_history import MessageHistory
from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


@pytest.fixture
async def store() -> InMemoryStore:
    """Return a store whose thread has a question and its answer."""
    store = InMemoryStore()
    await store.save("t", "ada", [Message.user("one"), Message.assistant("first")])
    return store


async def stored(store: InMemoryStore) -> list[str]:
    """Return the texts of what is in the thread."""
    return [message.text for message in await store.messages("t")]


def sent(model: FakeModel) -> list[str]:
    """Return the texts of what the model was sent, without instructions."""
    return [message.text for message in model.requests[0].messages if message.role != "system"]


def ids(agent: Agent, hook: str) -> list[tuple[str, str]]:
    """Return who runs at *hook*, and out of which list."""
    return [(place.processor_id, place.source) for place in agent.explain().at(hook)]


def watch() -> Any:
    """Return a processor of the user that looks on at both ends."""
    return at("process_input", lambda ctx: None, id="own")


def test_the_order() -> None:
    """Memory's come first on the way in, in their order, and last on the way out."""
    memory = Memory(InMemoryStore(), last_messages={"max_tokens": 1000}, working_memory=True)
    agent = Agent(
        "bot", model=FakeModel("x"), memory=memory, input_processors=[watch()],
        output_processors=[at("process_output_result", lambda ctx: None, id="own-out")],
    )  # fmt: skip
    assert ids(agent, "process_input") == [
        ("memory-input-filter", "memory"), ("working-memory", "memory"), ("message-history", "memory"),
        ("memory-token-limiter", "memory"), ("own", "input_processors"),
    ]  # fmt: skip
    assert ids(agent, "process_output_result") == [("own-out", "output_processors"), ("message-history", "memory")]


def test_where_turns_are_kept_is_told() -> None:
    """``explain()`` says of which kind the store is and where, and what becomes of calls that name nobody (D35)."""
    for storage, told in (
        (InMemoryStore(), "turns are kept in InMemoryStore, which lasts as long as the process"),
        (SQLiteStore("chats.db"), "turns are kept in SQLiteStore at chats.db"),
    ):
        notes = Agent("bot", model=FakeModel("x"), memory=Memory(storage)).explain().notes
        assert told in notes
        assert any("without thread= and resource= remembers nothing" in note and "D35" in note for note in notes)


@both_ways
@pytest.mark.parametrize("inside", [False, True])
async def test_a_history_in_one_list_takes_the_place_of_that_lists(
    way: str, inside: bool, store: InMemoryStore
) -> None:
    """
    A history among the input processors recalls in place of memory's, in a workflow of theirs too; what is kept is still
    for memory to keep (D34).
    """
    history: Any = MessageHistory(store, last_messages=1)
    listed = create_workflow("tidy", kind="processor").then(history).then(watch()).commit() if inside else history
    model = FakeModel("second")
    agent = Agent("bot", model=model, memory=Memory(store), input_processors=[listed])
    await ask(agent, way, "two", **IDS)
    assert sent(model) == [".", "first", "two"]
    assert await stored(store) == ["one", "first", "two", "second"]
    assert [id for id, _ in ids(agent, "process_input")].count("message-history") == 1
    assert ids(agent, "process_output_result") == [("message-history", "memory")]


@both_ways
async def test_the_lists_of_a_call_take_part(way: str, store: InMemoryStore) -> None:
    """A history in a list of the call takes the place of memory's for that call."""
    model = FakeModel("second")
    agent = Agent("bot", model=model, memory=Memory(store))
    await ask(agent, way, "two", input_processors=[MessageHistory(store, last_messages=1)], **IDS)
    assert sent(model) == [".", "first", "two"]
    assert await stored(store) == ["one", "first", "two", "second"]


@both_ways
async def test_a_history_by_hand_runs_where_it_stands(way: str, store: InMemoryStore) -> None:
    """Processors before it see no conversation, those behind it do."""
    seen: dict[str, int] = {}

    def look(id: str) -> Any:
        return at("process_input", lambda ctx: seen.update({id: len(ctx.messages)}), id=id)

    agent = Agent(
        "bot", model=FakeModel("x"), memory=Memory(store), input_processors=[look("before"), MessageHistory(store), look("behind")]
    )  # fmt: skip
    await ask(agent, way, "two", **IDS)
    assert seen == {"before": 1, "behind": 3}


@both_ways
async def test_what_processors_see(way: str, store: InMemoryStore) -> None:
    """``ctx.messages`` is the conversation and the input; the list tells them apart."""
    seen: list[list[str]] = []

    def look(ctx: Any) -> None:
        seen.append([message.text for message in ctx.messages])
        seen.extend([message.text for message in ctx.message_list.view(source)] for source in ("memory", "input"))

    agent = Agent("bot", model=FakeModel("x"), memory=Memory(store), input_processors=[at("process_input", look)])
    await ask(agent, way, "two", **IDS)
    assert seen == [["one", "first", "two"], ["one", "first"], ["two"]]


@both_ways
async def test_what_processors_change_of_the_past_is_for_the_prompt(way: str, store: InMemoryStore) -> None:
    """Removing or changing what was recalled changes the prompt, and not the store; what is taken out of the input is not kept."""

    def tidy(ctx: Any) -> None:
        one, first, _, secret = ctx.message_list.view()
        ctx.message_list.remove([one.id, secret.id])
        ctx.message_list.replace(first.with_text("[hidden]"))

    model = FakeModel("second")
    agent = Agent("bot", model=model, memory=Memory(store), input_processors=[at("process_input", tidy)])
    await ask(agent, way, [Message.user("two"), Message.user("my secret")], **IDS)
    assert sent(model) == [".", "[hidden]", "two"]
    assert await stored(store) == ["one", "first", "two", "second"]
