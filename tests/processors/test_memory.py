"""Memory as settings, and the processor that recalls and keeps a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.processors.kit import passed, texts

from procession.errors import DefinitionError, InputError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.processors.memory.kept_where import place_of
from procession.processors.memory.memory import Memory
from procession.processors.memory.message_history import MessageHistory
from procession.processors.memory.use import MemoryUse
from procession.processors.payloads import InputPayload, OutputResultPayload
from procession.steps.scope import Outcome, RequestScope
from procession.storage.memory import InMemoryStore


@pytest.fixture
def store() -> InMemoryStore:
    """Return an empty store."""
    return InMemoryStore()


def scope_of(**use: Any) -> RequestScope:
    """Return the scope of a request that uses a thread."""
    scope = RequestScope()
    scope.resources["memory"] = MemoryUse(thread_id="t", resource_id="ada", **use)
    return scope


async def turn(history: MessageHistory, scope: RequestScope, text: str = "Hi", answer: str = "Hello.") -> MessageList:
    """Send one turn past a history and return its messages; nothing is committed."""
    messages = MessageList(text)
    await passed(InputPayload(messages), history, scope=scope)
    messages.append_response((TextPart(answer),), message_id=f"answer-to-{text}")
    await passed(OutputResultPayload(messages), history, scope=scope)
    return messages


async def commit(scope: RequestScope, outcome: Outcome = "completed") -> None:
    """Let what was marked be saved."""
    for mark in scope.marks:
        await mark.commit(outcome)


async def test_nothing_is_saved_before_the_outcome_is_known(store: InMemoryStore) -> None:
    """The processor marks the turn; saving is for when the request has ended."""
    scope = scope_of()
    await turn(MessageHistory(store), scope)
    assert await store.messages("t") == []
    await commit(scope)
    assert texts(await store.messages("t")) == ["Hi", "Hello."]


@pytest.mark.parametrize(
    ("outcome", "policy", "expected"),
    [
        ("completed", "none", ["Hi", "Hello."]),
        ("model_failed", "none", ["Hi", "Hello."]),
        ("blocked", "none", []),
        ("blocked", "input", ["Hi"]),
        ("blocked", "accepted_steps", ["Hi", "Hello."]),
        ("failed", "accepted_steps", []),
        ("cancelled", "accepted_steps", []),
        ("suspended", "none", ["Hi", "Hello."]),
    ],
)
async def test_what_is_kept_by_outcome(
    outcome: Outcome, policy: Any, expected: list[str], store: InMemoryStore
) -> None:
    """A turn that came to its end, or waits, is kept; of a blocked one, what the policy says; of others, nothing."""
    scope = scope_of()
    await turn(MessageHistory(store, persist_on_tripwire=policy), scope)
    await commit(scope, outcome)
    assert texts(await store.messages("t")) == expected


async def test_a_turn_that_was_stopped_early_is_marked_for_its_input(store: InMemoryStore) -> None:
    """With a policy the input is marked on the way in, since the way out may not come."""
    scope = scope_of()
    await passed(InputPayload(MessageList("Hi")), MessageHistory(store, persist_on_tripwire="input"), scope=scope)
    await commit(scope, "blocked")
    assert texts(await store.messages("t")) == ["Hi"]


async def test_history_comes_before_the_input(store: InMemoryStore) -> None:
    """What is recalled stands before the new input, as memory, without system messages."""
    await store.save("t", "ada", [Message.user("before"), Message("system", "never")])
    messages = MessageList("Hi")
    await passed(InputPayload(messages), MessageHistory(store), scope=scope_of())
    assert texts(messages.view("memory")) == ["before"]
    assert texts(messages) == ["before", "Hi"]


@pytest.mark.parametrize(
    ("own", "use", "expected"), [(2, None, 2), (2, 1, 1), (1, "all", 3), (None, None, 3), (None, 2, 2)]
)
async def test_how_much_is_recalled(own: int | None, use: Any, expected: int, store: InMemoryStore) -> None:
    """The request's word goes before the processor's own."""
    await store.save("t", "ada", [Message.user(str(number)) for number in range(3)])
    messages = MessageList("Hi")
    history = MessageHistory(store, last_messages=own)
    await passed(InputPayload(messages), history, scope=scope_of(last_messages=use))
    assert len(messages.view("memory")) == expected


@pytest.mark.parametrize("use", [{"read_only": True}, {"enabled": False}])
async def test_requests_that_keep_nothing(use: dict[str, Any], store: InMemoryStore) -> None:
    """A read-only request, and one without memory, marks nothing."""
    scope = scope_of(**use)
    await turn(MessageHistory(store, persist_on_tripwire="input"), scope)
    assert scope.marks == []


async def test_a_request_without_a_thread(store: InMemoryStore) -> None:
    """Without a thread there is nothing to recall and nothing to keep."""
    scope = RequestScope()
    await turn(MessageHistory(store), scope)
    assert scope.marks == []


async def test_two_histories_of_one_store_keep_a_turn_once(store: InMemoryStore) -> None:
    """Two processors over one store mark a turn once, over two stores twice."""
    scope = scope_of()
    await turn(MessageHistory(store, id="a"), scope)
    await turn(MessageHistory(store, id="b"), scope)
    assert len(scope.marks) == 1
    await turn(MessageHistory(InMemoryStore(), id="c"), scope)
    assert len(scope.marks) == 2


def test_a_memory_is_settings() -> None:
    """A memory gives the processors for both ways; by default it remembers in the process."""
    memory = Memory()
    assert [each.id for each in memory.input_processors()] == ["memory-input-filter", "message-history"]
    assert [each.id for each in memory.output_processors()] == ["message-history"]
    assert [each.id for each in memory.output_processors()] == ["message-history"]


def test_where_turns_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store, a path or a url says where; else the environment does, else it is a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    store = InMemoryStore()
    assert Memory(store).storage is store
    assert isinstance(Memory("memory:").storage, InMemoryStore)
    monkeypatch.setenv("PROCESSION_STORE", "env.db")
    assert place_of(Memory().storage) == "SQLiteStore at env.db"
    monkeypatch.delenv("PROCESSION_STORE")
    assert place_of(Memory().storage) == "SQLiteStore at procession.db"
    assert place_of(Memory(tmp_path / "a.db").storage) == f"SQLiteStore at {tmp_path / 'a.db'}"
    assert place_of(store) == "InMemoryStore, which lasts as long as the process"
    assert list(tmp_path.iterdir()) == []  # made with the first use, and not with the memory
    with pytest.raises(DefinitionError, match="storage is int"):
        Memory(7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown kind"):
        Memory("mysql://host/database")


async def test_a_memory_closes_what_it_opened(tmp_path: Path) -> None:
    """Leaving the block saves what waits and closes a store that was named; one that was given stays open."""
    closed: list[str] = []

    class Given(InMemoryStore):
        async def aclose(self) -> None:
            closed.append("given")

    async with Memory(Given()):
        pass
    assert closed == []
    async with Memory(tmp_path / "memory.db") as memory:
        await memory.storage.save("t", "ada", [Message.user("Hi")])
    async with Memory(f"sqlite:///{tmp_path / 'memory.db'}") as memory:
        assert texts(await memory.recall("t", "ada")) == ["Hi"]
        assert [thread.id for thread in (await memory.threads("ada")).threads] == ["t"]
        assert await memory.update_thread("t", "eve", title="Mine") is None
        changed = await memory.update_thread("t", "ada", title="Greetings", metadata={"by": "hand"})
        assert changed is not None
        assert (changed.title, changed.metadata) == ("Greetings", {"by": "hand"})


@pytest.mark.parametrize("last", [1, 3, 5, None])
async def test_recall_for_people_leaves_signals_out(last: int | None, store: InMemoryStore) -> None:
    """``recall`` returns as many messages as were asked for, however many signals stand between them (D38)."""
    said = [Message("signal" if number % 3 else "user", str(number)) for number in range(12)]
    await store.save("t", "ada", said)
    wanted = ["0", "3", "6", "9"]
    assert texts(await Memory(store).recall("t", "ada", last=last)) == (wanted if last is None else wanted[-last:])
    assert len(await Memory(store).recall("t", "ada", last=last, signals=True)) == (last or 12)


@pytest.mark.parametrize(
    ("own", "options", "expected"),
    [
        (10, None, (None, True, False)),  # a history by hand has a number of its own
        (None, None, (None, True, False)),
        (False, None, (None, False, False)),
        (10, {"last_messages": 3}, (3, True, False)),
        (10, {"last_messages": None}, ("all", True, False)),
        (10, {"last_messages": False}, (None, False, False)),
        (False, {"last_messages": 2, "read_only": True}, (2, True, True)),
    ],
)
def test_a_request_may_say_it_differently(own: Any, options: Any, expected: tuple[Any, ...]) -> None:
    """Options of a call go before the memory's settings."""
    use = Memory(last_messages=own).use("t", "ada", options)
    assert (use.thread_id, use.resource_id) == ("t", "ada")
    assert (use.last_messages, use.enabled, use.read_only) == expected


def test_options_are_checked() -> None:
    """An option that does not exist, and a count that is none, are refused."""
    with pytest.raises(InputError, match="'last_mesages'"):
        Memory().use("t", "ada", {"last_mesages": 3})
    with pytest.raises(InputError, match="last_messages is 0"):
        Memory().use("t", "ada", {"last_messages": 0})
