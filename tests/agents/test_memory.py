"""What of a turn is kept: only what was accepted, once the outcome is known, in the thread of its owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool, list_of, text_only, turn
from tests.agents.suspending import doing, go_on

from procession.agents.agent import Agent
from procession.errors import InputError, MessageError, ProcessorError
from procession.messages.message import Message
from procession.processors.memory.history_limit import HistoryLimit
from procession.processors.memory.memory import Memory
from procession.processors.memory.message_history import MessageHistory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.hash_embedder import HashEmbedder
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import client_tool

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


async def stored(store: InMemoryStore) -> list[tuple[str, str]]:
    """Return role and text of what is in the thread."""
    return [(message.role, message.text) for message in await store.messages("t")]


def stop(ctx: Any) -> None:
    """Stop the run."""
    ctx.abort("no")


@pytest.fixture
def store() -> InMemoryStore:
    """Return an empty store."""
    return InMemoryStore()


@both_ways
async def test_a_conversation(way: str, store: InMemoryStore) -> None:
    """The second turn is told what was said in the first; both are kept, in order."""
    model = FakeModel(["Hello, Ada.", "You are Ada."])
    agent = Agent("parrot", model=model, memory=Memory(store))
    await ask(agent, way, "I am Ada.", **IDS)
    await ask(agent, way, "Who am I?", **IDS)
    assert [message.text for message in model.requests[1].messages] == ["I am Ada.", "Hello, Ada.", "Who am I?"]
    assert await stored(store) == [
        ("user", "I am Ada."), ("assistant", "Hello, Ada."), ("user", "Who am I?"), ("assistant", "You are Ada."),
    ]  # fmt: skip


@both_ways
async def test_a_clients_answer_reaches_the_model(way: str, store: InMemoryStore) -> None:
    """The result of a client's tool, given in the next turn, stands behind its call, in the prompt and in the store."""
    model = FakeModel([call_tool("door", id="d1"), "It is open."])
    agent = Agent("parrot", model=model, tools=[client_tool("door", "Open the door.")], memory=Memory(store))
    await ask(agent, way, "Open it.", **IDS)
    output = {"type": "text", "value": "opened"}
    answer = {"type": "tool-result", "toolCallId": "d1", "toolName": "door", "output": output}
    await ask(agent, way, [{"role": "tool", "content": [answer]}], **IDS)
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool"]
    assert await stored(store) == [("user", "Open it."), ("assistant", ""), ("assistant", "It is open.")]


@both_ways
async def test_a_conversation_goes_on_without_memory(way: str) -> None:
    """What a turn answered, put behind what was asked, is the conversation that the next turn goes on with."""
    model = FakeModel(["one", "two"])
    agent = Agent("parrot", model=model)
    first = await ask(agent, way, ["hi"])
    await ask(agent, way, ["hi", *first.result.messages, "next"])
    assert [message.text for message in model.requests[1].messages] == ["hi", "one", "next"]


@both_ways
async def test_without_a_thread_nothing_is_kept(way: str, store: InMemoryStore) -> None:
    """A call that names no thread is stateless."""
    await ask(Agent("parrot", model=FakeModel("x"), memory=Memory(store)), way)
    assert await stored(store) == []


@both_ways
async def test_a_thread_may_be_given_a_title_and_metadata(way: str, store: InMemoryStore) -> None:
    """
    ``thread=`` may be a mapping: what it says is written with the first save, the title to a thread that has none (D34).
    """
    agent = Agent("parrot", model=FakeModel("x", repeat_last=True), memory=Memory(store))
    thread = {"id": "t", "title": "Parcels", "metadata": {"shop": "north"}}
    await ask(agent, way, thread=thread, resource="ada")
    await ask(agent, way, thread={"id": "t", "title": "Other", "metadata": {"till": 4}}, resource="ada")
    found = await agent.memory.thread("t", "ada")  # type: ignore[union-attr]
    assert found is not None
    assert (found.title, found.metadata) == ("Parcels", {"shop": "north", "till": 4})
    assert len(await store.messages("t", resource_id="ada")) == 4


@both_ways
@pytest.mark.parametrize("last", [HistoryLimit(max_messages=2), {"max_messages": 2}, 2, None, False])
async def test_a_run_that_waits_keeps_its_memory_options(way: str, last: Any, store: InMemoryStore) -> None:
    """What a call says of memory, and of its thread, holds for the run when it goes on, in whichever form it was said."""
    model = FakeModel([call_tool("act", id="c1"), "Done."])
    agent = Agent("parrot", model=model, tools=[doing("act", [], requires_approval=True)], memory=Memory(store))
    thread = {"id": "t", "title": "Parcels"}
    options = {"last_messages": last, "save_per_step": True}
    seen = await ask(agent, way, thread=thread, resource="ada", memory_options=options)
    run_id = seen.result.run_id
    seen = await go_on(agent, way, run_id, {"c1": {"approved": True}}, thread={"id": "t"}, resource="ada")
    assert seen.result.status == "completed"
    assert len(await stored(store)) == (
        3 if last is not False else 0
    )  # what is said after a resume is a message of its own


@both_ways
async def test_nothing_of_a_thread_is_written_for_a_turn_that_was_stopped(way: str, store: InMemoryStore) -> None:
    """D34: the thread's row, its title with it, comes with the first save, and not before."""
    agent = Agent("parrot", model=FakeModel("x"), memory=Memory(store), input_processors=[at("process_input", stop)])
    await ask(agent, way, thread={"id": "t", "title": "Parcels"}, resource="ada")
    assert await store.thread("t") is None


@pytest.mark.parametrize(
    "thread",
    [{"title": "no id"}, {"id": ""}, {"id": "t", "titel": "x"}, {"id": "t", "title": 3}, {"id": "t", "metadata": []}],
)
async def test_a_thread_that_is_none(thread: Any) -> None:
    """A mapping that names no thread, or says what threads do not have, is refused."""
    seen = await ask(Agent("parrot", model=FakeModel("x"), memory=Memory()), thread=thread, resource="ada")
    assert isinstance(seen.error, InputError)
    assert "thread" in str(seen.error)


@both_ways
async def test_redacted_input_is_kept_redacted(way: str, store: InMemoryStore) -> None:
    """What processors changed is what is kept."""

    def hide(ctx: Any) -> None:
        ctx.messages[-1].text = "call [PHONE]"

    agent = Agent("parrot", model=FakeModel("x"), memory=Memory(store), input_processors=[at("process_input", hide)])
    await ask(agent, way, "call 555", **IDS)
    assert await stored(store) == [("user", "call [PHONE]"), ("assistant", "x")]


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_nothing_is_kept_after_a_tripwire(way: str, hook: str, store: InMemoryStore) -> None:
    """Whatever hook stops a run, neither the input nor the answer nor the thread is stored."""
    tool, _ = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [at(hook, text_only(stop))]}
    agent = Agent("parrot", model=FakeModel(turn(hook)), tools=[tool], memory=Memory(store), **lists)
    assert (await ask(agent, way, **IDS)).result.status == "blocked"
    assert await store.thread("t") is None
    assert await stored(store) == []


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_the_input_may_be_kept_after_a_tripwire(way: str, hook: str, store: InMemoryStore) -> None:
    """``persist_on_tripwire="input"`` keeps what the user said, and nothing else."""
    tool, _ = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [at(hook, text_only(stop))]}
    memory = Memory(store, persist_on_tripwire="input")
    agent = Agent("parrot", model=FakeModel(turn(hook)), tools=[tool], memory=memory, **lists)
    await ask(agent, way, **IDS)
    assert await stored(store) == [("user", "Hi")]


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_no_rejected_text_is_kept(way: str, hook: str, store: InMemoryStore) -> None:
    """``persist_on_tripwire="accepted_steps"`` keeps no text of a step, or of a turn, that was rejected."""
    tool, _ = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [at(hook, text_only(stop))]}
    memory = Memory(store, persist_on_tripwire="accepted_steps")
    agent = Agent("parrot", model=FakeModel(turn(hook)), tools=[tool], memory=memory, **lists)
    await ask(agent, way, **IDS)
    assert [text for role, text in await stored(store) if role == "user"] == ["Hi"]
    assert "secret" not in str(await store.messages("t"))
    assert "done" not in str(await store.messages("t"))


@both_ways
async def test_accepted_steps_may_be_kept_after_a_tripwire(way: str, store: InMemoryStore) -> None:
    """``persist_on_tripwire="accepted_steps"`` keeps the steps before the one that was rejected."""

    def second(ctx: Any) -> None:
        if ctx.step_number:
            ctx.abort("no")

    tool, _ = counted_tool()
    agent = Agent(
        "parrot",
        model=FakeModel([say("Let me see.") + call_tool("lookup"), "secret"]),
        tools=[tool],
        memory=Memory(store, persist_on_tripwire="accepted_steps"),
        output_processors=[at("process_output_step", second)],
    )
    await ask(agent, way, **IDS)
    assert await stored(store) == [("user", "Hi"), ("assistant", "Let me see.")]


@both_ways
async def test_a_guard_behind_memory_counts(way: str, store: InMemoryStore) -> None:
    """A history that stands before a guard keeps nothing of a turn that the guard stops."""
    history = MessageHistory(store, id="by-hand")
    agent = Agent(
        "parrot", model=FakeModel("x"), memory=Memory(store),
        output_processors=[history, at("process_output_result", stop)],
    )  # fmt: skip
    await ask(agent, way, **IDS)
    assert await stored(store) == []


@both_ways
async def test_a_rejected_attempt_is_not_kept(way: str, store: InMemoryStore) -> None:
    """Of a step that was sent back only the accepted attempt is kept, and no feedback."""

    def picky(ctx: Any) -> None:
        if ctx.text == "bad":
            ctx.abort("again", retry=True)

    agent = Agent(
        "parrot", model=FakeModel(["bad", "good"]), memory=Memory(store), max_processor_retries=1,
        output_processors=[at("process_output_step", picky)],
    )  # fmt: skip
    await ask(agent, way, **IDS)
    assert await stored(store) == [("user", "Hi"), ("assistant", "good")]


@both_ways
async def test_a_failed_processor_keeps_nothing(way: str, store: InMemoryStore) -> None:
    """A run that a processor's exception stopped is not stored."""

    def broken(ctx: Any) -> None:
        raise ValueError

    agent = Agent(
        "parrot", model=FakeModel("x"), memory=Memory(store), output_processors=[at("process_output_step", broken)]
    )  # fmt: skip
    await ask(agent, way, **IDS)
    assert await stored(store) == []


@both_ways
async def test_a_models_error_is_kept_with_the_turn(way: str, store: InMemoryStore) -> None:
    """A turn that ended with a model's error came to its end: the input is kept."""
    agent = Agent("parrot", model=FakeModel(fail("overloaded", status=503)), memory=Memory(store))
    assert (await ask(agent, way, **IDS)).error is not None
    assert (await stored(store))[0] == ("user", "Hi")


@both_ways
async def test_an_answer_in_place_of_the_models_is_kept(way: str, store: InMemoryStore) -> None:
    """What a processor answered is part of the conversation."""
    guard = at("process_input", lambda ctx: ctx.replace_response("Ask a doctor."))
    agent = Agent("parrot", model=FakeModel("x"), memory=Memory(store), input_processors=[guard])
    await ask(agent, way, **IDS)
    assert await stored(store) == [("user", "Hi"), ("assistant", "Ask a doctor.")]


@both_ways
@pytest.mark.parametrize("of", ["memory", "call"])
async def test_a_read_only_memory_saves_nothing(way: str, of: str, store: InMemoryStore) -> None:
    """``read_only`` recalls and does not save, for the agent or for one call."""
    model = FakeModel(["one", "two"])
    await ask(Agent("parrot", model=model, memory=Memory(store)), way, "first", **IDS)
    options: dict[str, Any] = {"memory_options": {"read_only": True}} if of == "call" else {}
    agent = Agent("parrot", model=model, memory=Memory(store, read_only=of == "memory"))
    await ask(agent, way, "second", **options, **IDS)
    assert [message.text for message in model.requests[1].messages] == ["first", "one", "second"]
    assert len(await stored(store)) == 2


@both_ways
@pytest.mark.parametrize(
    ("options", "recalled"),
    [({}, 3), ({"last_messages": 1}, 1), ({"last_messages": None}, 4), ({"last_messages": False}, 0)],
)
async def test_how_much_is_recalled(way: str, options: dict[str, Any], recalled: int, store: InMemoryStore) -> None:
    """``last_messages`` says how many are recalled; a call may say it differently."""
    model = FakeModel("x", repeat_last=True)
    agent = Agent("parrot", model=model, memory=Memory(store, last_messages=3))
    await ask(agent, way, "a", **IDS)
    await ask(agent, way, "b", **IDS)
    await ask(agent, way, "c", memory_options=options, **IDS)
    texts = [message.text for message in model.requests[2].messages]
    assert texts[-1] == "c"
    assert len([text for text in texts if text in ("a", "b", "x")]) == recalled


@both_ways
async def test_a_thread_of_somebody_else(way: str, store: InMemoryStore) -> None:
    """In a thread that belongs to another resource nothing is recalled and nothing is changed: the call fails."""
    model = FakeModel(["mine", "yours"])
    agent = Agent("parrot", model=model, memory=Memory(store))
    await ask(agent, way, "secret", **IDS)
    seen = await ask(agent, way, "Tell me.", thread="t", resource="bob")
    assert isinstance(seen.error, ProcessorError)
    assert isinstance(seen.error.__cause__, MessageError)
    assert len(model.requests) == 1  # it is refused before it costs anything
    assert [text for _, text in await stored(store)] == ["secret", "mine"]


@both_ways
async def test_a_thread_of_somebody_else_that_is_not_read(way: str, store: InMemoryStore) -> None:
    """Where memory only keeps the turn, it is the store that refuses it: the call fails, and nothing is changed."""
    model = FakeModel(["mine", "yours"])
    memory = Memory(store, last_messages=False, semantic_recall=True, embedder=HashEmbedder())
    await ask(Agent("parrot", model=model, memory=memory), way, "secret", **IDS)
    seen = await ask(Agent("parrot", model=model, memory=memory), way, "Tell me.", thread="t", resource="bob")
    assert isinstance(seen.error, ProcessorError)
    assert isinstance(seen.error.__cause__, MessageError)
    assert "secret" not in str(model.requests[1].messages)
    assert [text for _, text in await stored(store)] == ["secret", "mine"]


class BrokenStore(InMemoryStore):
    """A store that cannot save."""

    async def save(self, thread_id: str, resource_id: str, messages: Sequence[Message], **_: Any) -> None:
        """Fail."""
        raise ConnectionError("the disk is full")


@both_ways
async def test_a_store_that_fails_to_save_fails_the_call(way: str) -> None:
    """With ``on_save_error="raise"`` a turn that could not be kept is an error of the processor that keeps it, told last."""
    memory = Memory(BrokenStore(), on_save_error="raise")
    seen = await ask(Agent("parrot", model=FakeModel("x"), memory=memory), way, **IDS)
    assert isinstance(seen.error, ProcessorError)
    assert seen.error.processor_id == "message-history"
    assert isinstance(seen.error.__cause__, ConnectionError)
    assert seen.chunks.types[-1] == "error"


@both_ways
async def test_a_store_that_fails_changes_no_verdict(way: str) -> None:
    """A run that was blocked stays blocked where its input could not be kept."""
    memory = Memory(BrokenStore(), persist_on_tripwire="input")
    agent = Agent("parrot", model=FakeModel("x"), memory=memory, output_processors=[at("process_output_step", stop)])
    seen = await ask(agent, way, **IDS)
    assert (seen.tripwire.reason, seen.chunks.types[-1]) == ("no", "tripwire")


@both_ways
async def test_memory_and_a_history_by_hand_are_one(way: str, store: InMemoryStore) -> None:
    """A history that the user lists takes the place of the memory's own: nothing is recalled twice."""
    model = FakeModel(["one", "two"])
    history = MessageHistory(store)
    agent = Agent(
        "parrot", model=model, memory=Memory(store), input_processors=[history], output_processors=[history]
    )  # fmt: skip
    await ask(agent, way, "a", **IDS)
    await ask(agent, way, "b", **IDS)
    assert [message.text for message in model.requests[1].messages] == ["a", "one", "b"]
    assert len(await stored(store)) == 4


@both_ways
async def test_a_history_by_hand_needs_no_memory(way: str, store: InMemoryStore) -> None:
    """A history in both lists of an agent without a memory does the same."""
    model = FakeModel(["one", "two"])
    history = MessageHistory(store)
    agent = Agent("parrot", model=model, input_processors=[history], output_processors=[history])
    await ask(agent, way, "a", **IDS)
    await ask(agent, way, "b", **IDS)
    assert [message.text for message in model.requests[1].messages] == ["a", "one", "b"]


@both_ways
async def test_two_stores(way: str, store: InMemoryStore) -> None:
    """Two histories with stores of their own keep the turn in both."""
    other = InMemoryStore()
    agent = Agent(
        "parrot", model=FakeModel("x"), memory=Memory(store), output_processors=[MessageHistory(other, id="archive")]
    )  # fmt: skip
    await ask(agent, way, **IDS)
    assert await stored(store) == await stored(other) == [("user", "Hi"), ("assistant", "x")]


@pytest.mark.parametrize("count", [0, -1, "3", True])
def test_a_count_that_is_none(count: Any) -> None:
    """``last_messages`` is a count, ``None`` or ``False``."""
    with pytest.raises(InputError, match="last_messages"):
        Memory(last_messages=count)


async def test_an_unknown_memory_option() -> None:
    """A memory option that does not exist is refused, naming those that do."""
    agent = Agent("parrot", model=FakeModel("x"), memory=Memory())
    seen = await ask(agent, memory_options={"read": True}, **IDS)
    assert "unknown memory option 'read'" in str(seen.error)
