"""How much of a thread is recalled: so many messages, so many tokens, and always something that a model takes."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.kit import WAYS, ask

from procession.agents.agent import Agent
from procession.errors import InputError, ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.parts import StepStartPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.processors.memory.history_limit import HistoryLimit
from procession.processors.memory.memory import Memory
from procession.processors.memory.memory_token_limiter import MemoryTokenLimiter
from procession.processors.memory_trim import MemoryTrim
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


def words(text: str) -> float:
    """Count words: what stands around a message has 3.8 tokens, and its role has one."""
    return len(text.split())


async def thread_of(*texts: str) -> InMemoryStore:
    """Return a store whose thread has these texts, by turns a user's and an assistant's."""
    store = InMemoryStore()
    makers = (Message.user, Message.assistant)
    await store.save("t", "ada", [makers[at % 2](text) for at, text in enumerate(texts)])
    return store


def sent(model: FakeModel) -> list[str]:
    """Return the texts of what the model was sent."""
    return [message.text for message in model.requests[0].messages]


@both_ways
@pytest.mark.parametrize("limit", [HistoryLimit(max_tokens=18), {"max_tokens": 18, "at_max_remove_tokens": 0}])
async def test_so_many_tokens_are_recalled(way: str, limit: Any) -> None:
    """Messages of more than the limit are left out, the oldest first; further ones with it, a quarter unless told otherwise."""
    store, model = await thread_of("one", "two", "three", "four"), FakeModel("x")  # 5.8 tokens each
    memory = Memory(store, last_messages=limit, token_counter=words)
    await ask(Agent("parrot", model=model, memory=memory), way, "a question that is longer than all of that", **IDS)
    kept = ["three", "four"] if isinstance(limit, HistoryLimit) else [".", "two", "three", "four"]
    assert sent(model) == [*kept, "a question that is longer than all of that"]
    assert len(await store.messages("t")) == 6


@both_ways
async def test_a_call_may_say_it_differently(way: str) -> None:
    """``memory_options`` may have another number of tokens, or none, where the memory counts them."""
    store, model = await thread_of("one", "two"), FakeModel("x")
    memory = Memory(store, last_messages={"max_tokens": 100}, token_counter=words)
    options = {"last_messages": {"max_tokens": 6}}
    await ask(Agent("parrot", model=model, memory=memory), way, "new", memory_options=options, **IDS)
    assert sent(model) == ["new"]
    with pytest.raises(InputError, match="counts no tokens"):
        Memory(store).use("t", "ada", options)


class Counted(InMemoryStore):
    """A store that counts the messages that are read."""

    read = 0

    async def messages(self, *args: Any, **more: Any) -> list[Message]:
        """Read, and count."""
        found = await super().messages(*args, **more)
        self.read += len(found)
        return found


async def test_a_long_thread_is_not_read_whole() -> None:
    """With a limit of tokens alone the newest pages are read until there is more than enough."""
    store = Counted()
    await store.save("t", "ada", [Message.user(f"message number {number}") for number in range(2000)])
    model = FakeModel("x")
    memory = Memory(store, last_messages={"max_tokens": 200, "at_max_remove_tokens": 0}, token_counter=words)
    await ask(Agent("parrot", model=model, memory=memory), messages="new", **IDS)
    assert sent(model) == [f"message number {number}" for number in range(1975, 2000)] + ["new"]  # 7.8 tokens each
    assert store.read < 300


async def test_a_long_thread_without_a_word_is_not_read_whole() -> None:
    """Messages that have no text, but calls of tools, are not read one and all to find the tokens of some."""
    store = Counted()
    call = ToolCallPart("c", "look", {}, "result", result="there")
    await store.save("t", "ada", [Message("assistant", (call,), id=f"m{number}") for number in range(2000)])
    memory = Memory(store, last_messages={"max_tokens": 200, "at_max_remove_tokens": 0}, token_counter=words)
    await ask(Agent("parrot", model=FakeModel("x"), memory=memory), messages="new", **IDS)
    assert store.read < 300


async def test_who_wants_to_know_is_told_what_was_left_out() -> None:
    """``on_memory_trim`` is told of the messages, and changes nothing, also by failing."""
    told: list[MemoryTrim] = []

    def tell(trim: MemoryTrim) -> None:
        told.append(trim)
        raise ValueError("never mind")

    store, model = await thread_of("one", "two", "three"), FakeModel("x")
    limiter = MemoryTokenLimiter(14, at_max_remove_tokens=2, counter=words, on_memory_trim=tell)
    agent = Agent("parrot", model=model, memory=Memory(store), input_processors=[limiter])
    await ask(agent, messages="new", **IDS)
    [trim] = told
    assert [message.text for message in trim.removed] == ["one"]
    assert (trim.tokens_before, trim.tokens_after, trim.limit) == pytest.approx((17.4, 11.6, 14))


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        ({"max_token": 3}, "max_token"), ({"max_messages": 0}, "max_messages"), ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"), ({"at_max_remove_tokens": 3}, "max_tokens"),
        ({"max_tokens": 3, "at_max_remove_tokens": 4}, "at_max_remove_tokens"), (HistoryLimit(max_messages=-1), "max_messages"),
    ],
)  # fmt: skip
def test_limits_that_are_none(limit: Any, named: str) -> None:
    """What limits nothing is refused where it is given, naming it; so it is by the limiter."""
    with pytest.raises(InputError, match=named):
        Memory(last_messages=limit)
    with pytest.raises(ProcessorDefinitionError, match="max_tokens"):
        MemoryTokenLimiter(0)


_TURNS = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "halves", "calls", "open", "tool"]),
        st.integers(1, 12),
    ),
    max_size=12,
)


def _messages(turns: list[tuple[str, int]]) -> list[Message]:
    """Return messages as runs, clients and interruptions leave them."""
    made: list[Message] = []
    for number, (kind, length) in enumerate(turns):
        text, call = TextPart("w " * length), ToolCallPart(f"c{number}", "look", {}, "result", result="r " * length)
        if kind == "user":
            made.append(Message("user", [text]))
        elif kind == "tool":
            made.append(Message("tool", [call]))
        elif kind == "open":
            made.append(Message("assistant", [text, ToolCallPart(f"c{number}", "look", {})]))
        elif kind == "calls":
            made.append(Message("assistant", [text, call, StepStartPart(), text]))
        else:
            made.append(Message("assistant", [text, call]))
            made.extend([Message("assistant", [text])] if kind == "halves" else [])
    return made


def _check(prompt: list[PromptMessage]) -> None:
    """Assert what every provider asks of a prompt: it begins with a user, and calls and results stand in pairs."""
    assert prompt[0].role == "user"
    assert (prompt[-1].role, prompt[-1].text) == ("user", "the newest question")
    waiting: list[str] = []
    for entry in prompt:
        results = [part.tool_call_id for part in entry.content if isinstance(part, PromptToolResult)]
        assert results == waiting
        waiting = [part.tool_call_id for part in entry.content if isinstance(part, PromptToolCall)]
    assert waiting == []


@given(turns=_TURNS, count=st.one_of(st.none(), st.integers(1, 8)), tokens=st.one_of(st.none(), st.integers(1, 120)))
@settings(max_examples=150, deadline=None)
def test_history_is_valid_for_a_model_however_it_is_cut(
    turns: list[tuple[str, int]], count: int | None, tokens: int | None
) -> None:
    """D34: no limit parts a tool's call from its result, nor drops what the user said last, nor exceeds itself."""

    async def main() -> None:
        store, model = InMemoryStore(), FakeModel("x")
        stored = _messages(turns)
        await store.save("t", "ada", stored)
        limit = HistoryLimit(max_messages=count, max_tokens=tokens)
        memory = Memory(store, last_messages=limit, token_counter=words if tokens is not None else None)
        await Agent("parrot", model=model, memory=memory).generate("the newest question", **IDS)
        _check(list(model.requests[0].messages))
        told = sum(words(entry.text) for entry in model.requests[0].messages[:-1] if entry.text != ".")
        assert tokens is None or told <= tokens
        assert len(await store.messages("t")) == len(stored) + 2

    anyio.run(main)
