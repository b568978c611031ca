"""What the tests of observational memory share: small settings, an observer that says what it was shown, long threads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from procession import Agent
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import Part, TextPart, ToolCallPart
from procession.models.model import ModelRequest
from procession.models.tokens.heuristic import HeuristicCounter
from procession.processors.memory.memory import Memory
from procession.processors.memory.observational import CONTINUATION_ID
from procession.processors.memory.observed.observations import Observations
from procession.processors.memory.observed.observing import Observing
from procession.processors.memory.observed.settings import ObservationSettings, observation_settings
from procession.processors.memory.observed.unobserved import Costs
from procession.storage.memory_store import InMemoryStore
from procession.storage.threads import ThreadStore
from procession.testing.fake_model import FakeModel

THREAD, RESOURCE = "t", "ada"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
COUNTER = HeuristicCounter()


class Clock:
    """A clock of the wall that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def answer(*texts: str, priority: str = "medium", when: str | None = None) -> str:
    """Return what an observer answers."""
    return json.dumps({"observations": [{"text": text, "priority": priority, "when": when} for text in texts]})


def shown_to(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the messages that an observer was shown."""
    told = request.messages[1].text.rpartition("to you:\n\n")[2]
    return [json.loads(line) for line in told.splitlines()]


def by_number(request: ModelRequest) -> str:
    """Observe which messages these were: of ``m7 ...`` that is ``7``."""
    return answer("saw " + " ".join(one["text"].split()[0] for one in shown_to(request)))


def counted(request: ModelRequest) -> str:
    """Observe how many messages these were, and nothing more."""
    return answer(f"saw {len(shown_to(request))} messages")


def reflecting(observations: Any, reflections: Any) -> Any:
    """Return an observer's script that answers a reflector's question differently."""

    def decide(request: ModelRequest) -> Any:
        return reflections if "Notes to rewrite" in request.messages[1].text else observations

    return decide


def observer(script: Any = by_number) -> FakeModel:
    """Return a model that observes, by default which messages it was shown."""
    return FakeModel(script, id="observer", repeat_last=True)


def settings(**given: Any) -> ObservationSettings:
    """Return settings of 1000 tokens, checked."""
    return observation_settings({"observe_at": 1000, "counter": "estimate", **given})


def said(number: int, words: int = 35, *, parts: Sequence[Part] = ()) -> Message:
    """Return a message of 50 tokens, a turn of 100: even ones are a user's."""
    text = f"m{number} " + "word " * words
    role: Any = "assistant" if number % 2 else "user"
    time = EPOCH + timedelta(minutes=number)
    return Message(role, [TextPart(text), *parts], id=f"m{number}", created_at=time)


def long_thread(count: int, words: int = 35, start: int = 0) -> list[Message]:
    """Return so many messages."""
    return [said(number, words) for number in range(start, start + count)]


def call(id: str = "c", result: Any = None) -> ToolCallPart:
    """Return a tool call, with its result if it has one."""
    return ToolCallPart(id, "look", {}, "result" if result is not None else "call", result)


async def stored(count: int, words: int = 35, store: InMemoryStore | None = None) -> InMemoryStore:
    """Return a store that has a thread of so many messages."""
    store = store if store is not None else InMemoryStore()
    await store.save(THREAD, RESOURCE, long_thread(count, words))
    return store


NOW = Clock()


def observing(store: Any, now: Callable[[], float] = NOW, **given: Any) -> Observing:
    """Return what observes the thread of the tests."""
    return Observing(store, settings(**given), thread_id=THREAD, resource_id=RESOURCE, costs=Costs(COUNTER), now=now)


def observed_numbers(noted: Observations, *, shown: bool = False) -> list[int]:
    """Return the numbers of the messages that ``by_number`` has observed."""
    batches = noted.shown if shown else noted.batches
    words = [word for batch in batches for one in batch.observations for word in one.text.split()]
    return [int(word[1:]) for word in words if word[0] == "m" and word[1:].isdigit()]


def numbers(messages: Sequence[Message] | MessageList) -> list[int]:
    """Return the numbers of messages, the reminder left out."""
    return [int(message.id[1:]) for message in messages if message.id[0] == "m" and message.id != CONTINUATION_ID]


HERE: Any = {"thread": THREAD, "resource": RESOURCE}


def memory_of(store: ThreadStore, model: Any, **given: Any) -> Memory:
    """Return a memory that observes at 1000 tokens."""
    own = {name: given.pop(name) for name in ("last_messages", "read_only", "persist_on_tripwire") if name in given}
    return Memory(store, observational={"observe_at": 1000, "counter": "estimate", "model": model, **given}, **own)


def agent_of(memory: Memory, model: FakeModel | None = None, **options: Any) -> Agent:
    """Return an agent that answers and remembers."""
    return Agent("a", model=model or FakeModel("Yes.", repeat_last=True), memory=memory, **options)


def sent(model: FakeModel) -> list[str]:
    """Return the first word of each entry of the last prompt."""
    return [entry.text.split()[0] for entry in model.requests[-1].messages]


def tokens(model: FakeModel) -> float:
    """Return the tokens of the last prompt."""
    return COUNTER.count_prompt(model.requests[-1].messages)
