"""The reported cases of recall: whose messages it finds, what of a blocked turn stays, and that each message stands once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.processors.recall_kit import INDEX, Watched, Words, friend, said, sent, told

from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.storage.vectors import VectorHit
from procession.testing.hash_embedder import HashEmbedder

both_ways = pytest.mark.parametrize("way", WAYS)
HERS: dict[str, Any] = {"thread": "t2", "resource": "u2"}


async def two_users(**settings: Any) -> tuple[Watched, Memory]:
    """Return a store with a thread of each of two users, all embedded, and a memory of it."""
    store = Watched()
    memory = Memory(store, last_messages=False, semantic_recall=settings or True, embedder=HashEmbedder())
    await store.save("t1", "u1", [Message.user("my pin idea is tulip")])
    await store.save("t2", "u2", [Message.user("hello")])
    await memory.drain()
    return store, memory


@both_ways
@pytest.mark.parametrize("settings", [{}, {"scope": "resource"}])
async def test_nothing_of_another_user_is_found(way: str, settings: dict[str, Any]) -> None:
    """Of another user nothing is found, whatever is asked: by default, and with all threads of a resource (MEM-001)."""
    _, memory = await two_users(**settings)
    agent = friend(memory)
    await ask(agent, way, "pin idea", **HERS)
    assert "tulip" not in f"{sent(agent)} {told(agent)}"
    assert sent(agent) == ["hello", "pin idea"]
    assert await memory.search("pin idea", resource="u2", thread="t1") == []


async def test_the_scope_is_the_thread_unless_more_is_asked_for() -> None:
    """Another thread of the same user is sought only where somebody asks for that (MEM-001)."""
    for settings, is_found in (({}, False), ({"scope": "resource"}, True)):
        store, memory = await two_users(**settings)
        await store.save("t3", "u2", [Message.user("my own pin idea is rose")])
        await memory.reindex()
        await memory.drain()
        agent = friend(memory)
        await agent.generate("pin idea", **HERS)
        assert ("rose" in told(agent)) == is_found


async def test_the_store_is_asked_for_one_resource() -> None:
    """The search itself is of the resource: what is more alike of others takes no place (MEM-001)."""
    store, memory = await two_users(scope="resource", top_k=2, message_range=0)
    await store.save("t1", "u1", [Message.user(f"pin idea {number}") for number in range(20)])
    await store.save("t3", "u2", [Message.user("an idea of mine")])
    await memory.reindex()
    await memory.drain()
    agent = friend(memory)
    await agent.generate("pin idea", **HERS)
    assert (store.searches[-1]["resource_id"], store.searches[-1]["thread_id"]) == ("u2", None)
    assert "an idea of mine" in told(agent)
    assert sent(agent) == ["hello", "pin idea"]
    _, other = await two_users()
    await friend(other).generate("pin idea", **HERS)
    where = other.storage.searches[-1]  # type: ignore[attr-defined]  # pyright: ignore
    assert (where["resource_id"], where["thread_id"]) == ("u2", "t2")


async def test_every_resource_is_a_word_of_its_own() -> None:
    """Only ``scope=None``, said in so many words, finds what others have said (MEM-001)."""
    _, memory = await two_users(scope=None)
    agent = friend(memory)
    await agent.generate("pin idea", **HERS)
    assert "tulip" in told(agent)
    assert "semantic-recall looks in the threads of every resource (scope=None)" in agent.explain().notes


async def test_without_a_resource_nobody_shares_anything() -> None:
    """Calls without thread and resource neither read nor write what calls with them do, and explain() says so (MEM-001)."""
    store, memory = await two_users(scope="resource")
    agent = friend(memory)
    await agent.generate("pin idea of nobody")
    await agent.generate("pin idea?")
    assert sent(agent) == ["pin idea?"]
    assert told(agent) == ""
    assert len(store.searches) == 0
    await agent.generate("pin idea", **HERS)
    assert "nobody" not in f"{sent(agent)} {told(agent)}"
    notes = agent.explain().notes
    assert "semantic-recall looks in all threads of the call's resource, and in no other's" in notes
    assert (
        "semantic-recall finds nothing for a call without thread= and resource=, and keeps nothing of it" in notes
    )  # fmt: skip


def stop(ctx: Any) -> None:
    """Stop the run where the cat is spoken of."""
    if any("cat" in message.text for message in ctx.view):
        ctx.abort("no")


@both_ways
@pytest.mark.parametrize("hook", ["process_input", "process_output_result", "process_output_step"])
async def test_nothing_of_a_blocked_turn_is_embedded(way: str, hook: str) -> None:
    """Neither a blocked text, nor the answer to it, is stored or has a vector; the next prompt has neither (MEM-003)."""
    store, words = Watched(), Words()
    memory = Memory(store, semantic_recall={"scope": "resource"}, embedder=words)
    lists: dict[str, Any] = {"input_processors" if hook == "process_input" else "output_processors": [at(hook, stop)]}
    agent = friend(memory, "the cat answers", "hello", **lists)
    blocked = await ask(agent, way, "my cat" if hook == "process_input" else "tell me", thread="t", resource="u")
    assert blocked.result.status == "blocked"
    assert words.texts == ["my cat" if hook == "process_input" else "tell me"]  # it was sought
    assert await store.messages("t") == []
    assert await store.waiting(INDEX) == 0
    assert await store.search(INDEX, (1, 1, 1, 1, 1), top_k=9, resource_id=None) == []
    await ask(agent, way, "hi", thread="t", resource="u")
    assert sent(agent) == ["hi"]
    assert told(agent) == ""


class Sure(Watched):
    """A store that finds the same messages whatever is asked, also those it is told to leave out."""

    found: Sequence[str] = ()

    async def search(self, index: str, vector: Sequence[float], **options: Any) -> Any:
        """Find them."""
        return [VectorHit(thread_id="t", message_id=id, score=1.0) for id in self.found]


@both_ways
@pytest.mark.parametrize("last", [10, False])
async def test_each_message_stands_there_once(way: str, last: Any) -> None:
    """What the client sends again, the history and recall all bring stands in the prompt, and in the store, once (MEM-008)."""
    store = Sure()
    store.found = ("u1", "u2")
    u1, a1, u2 = said("first", "answer", "second")
    await store.save("t", "ada", [u1, a1])
    agent = friend(Memory(store, last_messages=last, semantic_recall=True, embedder=Words()), "done")
    await ask(agent, way, [u1, a1, u2], thread="t", resource="ada")
    assert sent(agent) == ["first", "answer", "second"]
    assert [message.text for message in await store.messages("t")] == ["first", "answer", "second", "done"]
