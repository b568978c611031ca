"""``TokenLimiter(trim_mode="memory-only")``: remembered messages make room, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask
from tests.processors.utility.test_token_limiter import Words, said, words

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.processors.memory.memory import Memory
from procession.processors.memory_trim import MemoryCosts, MemoryTrim, trim_memory
from procession.processors.utility.token_limiter import TokenLimiter
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


async def remembered() -> InMemoryStore:
    """Return a store with a thread of two turns of ten words each."""
    store = InMemoryStore()
    for word in ("one", "two"):
        clerk = Agent("clerk", model=FakeModel(words(5, word)), memory=Memory(store))
        await clerk.generate(words(5, word), **IDS)
    return store


@both_ways
async def test_the_oldest_memories_go(way: str) -> None:
    """Over the limit, remembered messages are left out, the oldest first, until a quarter of it is free; the store keeps
    them, and the callback is told."""
    store = await remembered()
    told: list[MemoryTrim] = []
    limiter = TokenLimiter(20, counter=Words(), trim_mode="memory-only", on_memory_trim=told.append)
    model = FakeModel("ok")
    clerk = Agent("clerk", model=model, memory=Memory(store), input_processors=[limiter])
    seen = await ask(clerk, way, words(3, "now"), **IDS)
    assert seen.result.text == "ok"
    assert said(model.requests[0]) == [f"user: {words(5, 'two')}", f"assistant: {words(5, 'two')}", "user: now now now"]
    [trim] = told
    assert [message.text for message in trim.removed] == [words(5, "one")] * 2
    assert (trim.tokens_before, trim.tokens_after, trim.limit) == (23, 13, 20)
    assert len(await store.messages("t", resource_id="ada")) == 6


@both_ways
async def test_what_fits_is_left_alone(way: str) -> None:
    """Within the limit nothing is left out, however near it is."""
    store = await remembered()
    model = FakeModel("ok")
    limiter = TokenLimiter(23, counter=Words(), trim_mode="memory-only")
    await ask(
        Agent("clerk", model=model, memory=Memory(store), input_processors=[limiter]), way, words(3, "now"), **IDS
    )
    assert len(model.requests[0].messages) == 5


@both_ways
async def test_what_was_not_remembered_is_not_left_out(way: str) -> None:
    """Messages that come with the call stay, so that a request which is too large without memories stops the run."""
    store = await remembered()
    model = FakeModel("never")
    limiter = TokenLimiter(20, counter=Words(), trim_mode="memory-only", at_max_remove_tokens=0)
    clerk = Agent("clerk", model=model, memory=Memory(store), input_processors=[limiter])
    given = [
        {"role": "user", "content": words(15, "old")},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": words(15, "new")},
    ]
    seen = await ask(clerk, way, given, **IDS)
    assert seen.tripwire.processor_id == "token-limiter"
    assert model.requests == []


@both_ways
async def test_a_callback_that_fails_changes_nothing(way: str) -> None:
    """What ``on_memory_trim`` raises is logged, without its words, and the run goes on."""

    def broken(trim: MemoryTrim) -> None:
        raise ValueError("private")

    model = FakeModel("ok")
    limiter = TokenLimiter(20, counter=Words(), trim_mode="memory-only", on_memory_trim=broken)
    clerk = Agent("clerk", model=model, memory=Memory(await remembered()), input_processors=[limiter])
    assert (await ask(clerk, way, words(3), **IDS)).result.text == "ok"


def test_a_remembered_call_goes_with_its_result() -> None:
    """A message has both the call and its result, so both are kept or left out; the last words of a user stay, with what
    came of them."""
    call = ToolCallPart("c1", "look", {"q": words(5)}, "result", words(5))
    messages = MessageList(
        [
            Message.user(words(5)),
            Message("assistant", (call, TextPart("so"))),
            Message.user("last"),
            Message("assistant", (TextPart(words(9)),)),
        ],
        source="memory",
    )
    counter = Words()
    costs = MemoryCosts().of(messages, counter)
    assert list(costs.values()) == [5, 12, 1, 9]
    trim = trim_memory(messages, costs, 2, 15, 8)
    assert trim is not None
    assert [message.text for message in messages.view()] == ["last", words(9)]
    assert trim.tokens_after == 12
    assert trim_memory(messages, costs, 90, 15, 0) is None
