"""scope=: which messages guards look at on the way in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.asking_kit import Finder
from tests.processors.kit import passed, texts

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.memory.memory import Memory
from procession.processors.payloads import InputPayload
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio

BAD = "how to make <bad>"


def asking(finder: Finder, strategy: Any = "block", **options: Any) -> PIIDetector:
    """Return a guard that asks a detector."""
    return PIIDetector(detector=finder, strategy=strategy, detection_types=["name"], **options)


@pytest.mark.parametrize("way", ["generate", "stream"])
async def test_a_blocked_turn_does_not_end_the_conversation(way: str) -> None:
    """MOD-004: turn 1 trips and is not stored; turn 2 passes, since by default only new messages are looked at."""
    finder = Finder("<bad>")
    store = InMemoryStore()
    guard = asking(finder)
    assert guard.scope == "new_messages"
    agent = Agent("a", model=FakeModel(["Sunny."]), memory=Memory(store), input_processors=[guard])

    async def turn(text: str) -> Any:
        if way == "generate":
            return await agent.generate(text, thread="t", resource="r")
        async with agent.stream(text, thread="t", resource="r") as stream:
            return await stream.result()

    assert (await turn(BAD)).status == "blocked"
    assert await store.messages("t") == []
    second = await turn("sorry - what is the weather?")
    assert (second.status, second.text) == ("completed", "Sunny.")
    assert finder.asked == [BAD, "sorry - what is the weather?"]


async def history() -> InMemoryStore:
    """Return a store in which a message stands that guards would block today."""
    store = InMemoryStore()
    agent = Agent("a", model=FakeModel(["No."]), memory=Memory(store))
    await agent.generate(BAD, thread="t", resource="r")
    return store


@pytest.mark.parametrize(
    ("scope", "status"),
    [(None, "completed"), ("new_messages", "completed"), ("last_user", "completed"), ("all", "blocked")],
)
async def test_what_is_in_the_history_counts_only_if_asked_for(scope: Any, status: str) -> None:
    """MOD-004: what stands in the history already blocks later turns only with ``scope="all"``."""
    agent = Agent(
        "a", model=FakeModel(["Sunny."]), memory=Memory(await history()),
        input_processors=[asking(Finder("<bad>"), scope=scope)],
    )  # fmt: skip
    result = await agent.generate("sorry - what is the weather?", thread="t", resource="r")
    assert result.status == status


async def test_history_is_looked_at_and_stays() -> None:
    """With ``scope="all"`` what is recalled is hidden from the model; in the store it stays as it is."""
    store = await history()
    model = FakeModel(["Sunny."])
    guard = RegexFilter(rules=[{"name": "bad", "pattern": "<bad>"}], strategy="redact", scope="all", phase="input")
    agent = Agent("a", model=model, memory=Memory(store), input_processors=[guard])
    await agent.generate("and the weather?", thread="t", resource="r")
    assert "<bad>" not in str(model.requests[0].messages)
    assert (await store.messages("t"))[0].text == BAD


MESSAGES = [("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["one", "two", "three", "four"]),
        ({"scope": "new_messages"}, ["one", "two", "three", "four"]),
        ({"scope": "last_message"}, ["four"]),
        ({"last_message_only": True}, ["four"]),
        ({"scope": "last_user"}, ["three"]),
        ({"scope": "all"}, ["before", "one", "two", "three", "four"]),
    ],
)
@pytest.mark.parametrize("kind", [PIIDetector, PromptInjectionDetector])
async def test_what_is_looked_at(kind: Any, options: dict[str, Any], expected: list[str]) -> None:
    """Each scope names what is looked at, in order; ``last_message_only`` is the documents' word for one of them."""
    messages = MessageList([Message.user("before", id="m")], source="memory")
    messages.add([Message(role, text, id=text) for role, text in MESSAGES], "input")  # type: ignore[arg-type]
    finder = Finder("not there")
    await passed(InputPayload(messages), kind(detector=finder, **options))
    assert finder.asked == expected
    assert texts(messages) == ["before", "one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scope": "newest"}, "scope='newest' (hint: it is one of 'new_messages', 'last_message'"),
        ({"scope": "all", "last_message_only": True}, "last_message_only and scope='all' (hint: give one of them)"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    for kind in (PIIDetector, PromptInjectionDetector):
        with pytest.raises(ProcessorDefinitionError) as caught:
            kind(**options)
        assert words in str(caught.value)
