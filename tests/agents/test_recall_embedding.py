"""When what was said is embedded, and for which index: before the call returns or behind it, and nothing is lost."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import at
from tests.agents.suspending import doing
from tests.processors.recall_kit import (
    IDS,
    INDEX,
    LONG_AGO,
    Failing,
    Words,
    friend,
    remembering,
    said,
    sent,
)

from procession.errors import ModelError
from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.processors.memory.recalled.turn import turn_of
from procession.processors.memory.semantic_recall import SemanticRecall
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.testing.hash_embedder import HashEmbedder
from procession.testing.script import call_tool

# -- when it is embedded


async def test_without_a_runtime_it_is_embedded_before_the_call_returns() -> None:
    """Who has no open runtime finds what was said as soon as the call is over."""
    store = InMemoryStore()
    agent = friend(Memory(store, semantic_recall=True, embedder=Words()))
    await agent.generate("my cat", **IDS)
    assert await store.waiting(INDEX) == 0
    hits = await store.search(INDEX, (1, 0, 0, 0, 0), top_k=1, resource_id="ada")
    assert len(hits) == 1


class Held(Words):
    """An embedder that embeds what is kept only once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = anyio.Event()
        self.at_work = anyio.Event()
        self.asked = 0

    async def embed(self, texts: Any) -> Any:
        """Return the vectors; all but the first call wait."""
        self.asked += 1
        if self.asked > 1:
            self.at_work.set()
            await self.may.wait()
        return await super().embed(texts)


async def test_in_an_open_runtime_it_holds_up_no_answer() -> None:
    """In an open runtime the call returns before its turn is embedded, and closing waits for that."""
    store, held = InMemoryStore(), Held()
    async with Runtime() as runtime:
        agent = friend(Memory(store, semantic_recall=True, embedder=held), runtime=runtime)
        await agent.generate("my cat", **IDS)
        assert await store.waiting(INDEX) == 2
        await held.at_work.wait()
        held.may.set()
    assert await store.waiting(INDEX) == 0


async def test_in_an_open_runtime_a_failing_embedder_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be embedded is, once the embedder works again, without another turn."""
    monkeypatch.setattr("procession.processors.memory.recalled.turn._FIRST_PAUSE", 0.001)
    worked, store = anyio.Event(), InMemoryStore()

    class Recovering(Failing):
        async def embed(self, texts: Any) -> Any:
            if self.calls == 5:
                self.error = None
                worked.set()
            return await super().embed(texts)

    async with Runtime() as runtime:
        agent = friend(Memory(store, semantic_recall=True, embedder=Recovering()), runtime=runtime)
        await agent.generate("my cat", **IDS)
        await worked.wait()
    assert await store.waiting(INDEX) == 0


async def test_a_runtime_closes_though_an_embedder_fails() -> None:
    """Nobody waits for the end of the pause of an embedder that is down, and what waits stays in the store."""
    store = InMemoryStore()
    with capture_logs() as logs:
        async with Runtime() as runtime:
            agent = friend(Memory(store, semantic_recall=True, embedder=Failing()), runtime=runtime)
            for number in range(3):
                await agent.generate("my cat", thread=f"t{number}", resource="ada")
            turn_of(store, INDEX).rests_until += 3600
            await anyio.wait_all_tasks_blocked()
    assert await store.waiting(INDEX) == 6
    assert "runtime closed before its background was done" not in [entry["event"] for entry in logs]


async def test_whoever_saves_too_fast_waits() -> None:
    """Where too much waits the turn waits for the embedder; where that takes too long it goes on, and nothing is lost."""
    store, failing = InMemoryStore(), Failing()
    recall = SemanticRecall(store, embedder=failing, max_waiting=4, max_wait=5)
    async with Runtime() as runtime:
        agent = friend(
            Memory(store), input_processors=[recall], output_processors=[recall], runtime=runtime
        )  # fmt: skip
        for number in range(4):
            await agent.generate(f"cat {number}", thread=f"t{number}", resource="ada")
    assert await store.waiting(INDEX) == 8
    failing.error = None
    recall._indexer.behind = 5  # pyright: ignore[reportPrivateUsage]
    turn_of(store, INDEX).rests_until = 0
    waited: list[int] = []

    async def look(ctx: Any) -> None:
        waited.append(await store.waiting(INDEX))

    own = [recall, at("process_output_result", look)]
    agent = friend(Memory(store), input_processors=[recall], output_processors=own)
    await agent.generate("cat", **IDS)
    assert waited == [0]


# -- other embedders


async def test_another_embedder_is_another_index() -> None:
    """With another embedder all that is kept is embedded anew, in an index of its own, and the old one can be dropped."""
    store = InMemoryStore()
    await friend(Memory(store, semantic_recall=True, embedder=Words())).generate("my cat is Tom", **IDS)
    memory = Memory(store, last_messages=False, semantic_recall={"top_k": 1, "threshold": 0.1}, embedder=HashEmbedder())
    agent = friend(memory)
    await agent.generate("hello", **IDS)
    await agent.generate("my cat is?", **IDS)
    assert sent(agent)[0] == "my cat is Tom"
    assert await store.indexes() == (INDEX, "hash/64:64")
    assert await memory.drop_index(INDEX) == 2
    assert await store.search(INDEX, (1, 0, 0, 0, 0), top_k=9, resource_id="ada") == []
    assert len(await memory.search("cat", resource="ada", top_k=9)) == 6


async def test_what_was_saved_before_recall_was_on_is_found() -> None:
    """An index that the store does not know begins with all that is kept; ``reindex`` does it again."""
    store, words = InMemoryStore(), Words()
    await store.save("t", "ada", said(*LONG_AGO))
    memory = Memory(store, last_messages=False, semantic_recall={"top_k": 1}, embedder=words)
    await friend(memory).generate("hello", **IDS)
    assert set(LONG_AGO) < set(words.texts)
    words.texts.clear()
    assert await memory.reindex() == 10
    await memory.drain()
    assert len(words.texts) == 10


class Unsure(Failing):
    """An embedder that knows how long its vectors are with the first answer."""

    dimensions: Any = None

    async def embed(self, texts: Any) -> Any:
        """Return the vectors, and know it from then on."""
        made = await super().embed(texts)
        self.dimensions = 5
        return made


async def test_an_embedder_that_does_not_know_its_length_yet() -> None:
    """A turn is noted although the embedder has not told its vectors' length: for each index that can be meant."""
    store = InMemoryStore()
    first = Unsure()
    first.error = None
    await friend(Memory(store, semantic_recall=True, embedder=first)).generate("my cat", **IDS)
    second = Unsure()  # another process, whose embedder is down
    memory = Memory(store, semantic_recall=True, embedder=second)
    await friend(memory).generate("my dog", thread="u", resource="ada")
    assert await store.waiting(INDEX) == 2
    second.error = None
    await memory.drain()
    assert [hit.message.text for hit in await memory.search("dog", resource="ada", top_k=1)] == ["my dog"]


async def test_an_index_that_somebody_else_begins_meanwhile() -> None:
    """A turn for which no index was known yet is found, though another process began that index before it was saved."""
    first, second = Unsure(), Unsure()
    second.error = None

    class Meanwhile(InMemoryStore):
        async def save(self, *given: Any, **options: Any) -> None:
            await Memory(self, semantic_recall=True, embedder=second).drain()
            await super().save(*given, **options)

    store = Meanwhile()
    memory = Memory(store, semantic_recall=True, embedder=first)
    await friend(memory).generate("my dog", **IDS)
    assert list(await store.indexes()) == [INDEX]
    assert await store.waiting(INDEX) == 0
    first.error = None
    await memory.drain()
    assert [hit.message.text for hit in await memory.search("dog", resource="ada", top_k=1)] == ["my dog"]


async def test_an_embedder_that_never_tells_its_length() -> None:
    """An embedder that does not say how long its vectors are is told so, and names no index."""

    class Silent(Words):
        dimensions: Any = None

    memory = Memory(InMemoryStore(), semantic_recall=True, embedder=Silent())
    with pytest.raises(ModelError, match="does not say how long"):
        await memory.drain()


async def test_a_vector_of_unknown_length_goes_into_its_own_index() -> None:
    """Of several indexes of one embedder only that of its vectors' length is filled."""
    store = InMemoryStore()
    await store.save("t", "ada", said("my cat"), indexes=["test/words:7"])
    await store.note_all(INDEX)
    failing = Unsure()
    agent = friend(Memory(store, semantic_recall=True, embedder=failing))
    await agent.generate("hello", **IDS)
    failing.error = None
    await agent.generate("cat?", **IDS)
    assert await store.waiting(INDEX) == 0
    assert await store.waiting("test/words:7") == 3


@pytest.mark.parametrize("policy", ["none", "input"])
async def test_what_is_kept_of_a_stopped_turn_is_embedded(policy: Any) -> None:
    """What the policy keeps of a turn that a guard stopped is found later, and nothing else of it."""
    words = Words()
    memory = Memory(InMemoryStore(), semantic_recall=True, embedder=words, persist_on_tripwire=policy)

    def stop(ctx: Any) -> None:
        ctx.abort("no")

    agent = friend(memory, "the secret dog", output_processors=[at("process_output_result", stop)])
    await agent.generate("my cat", **IDS)
    assert words.texts == (["my cat"] if policy == "none" else ["my cat", "my cat"])


async def test_what_is_kept_of_a_stopped_turn_is_embedded_once_that_works() -> None:
    """A turn of which the input is kept is noted also where nothing could be recalled, as the embedder is down."""
    failing = Failing()
    store = InMemoryStore()
    memory = Memory(store, semantic_recall=True, embedder=failing, persist_on_tripwire="input")

    def stop(ctx: Any) -> None:
        ctx.abort("no")

    await friend(memory, input_processors=[at("process_input", stop)]).generate("my cat", **IDS)
    failing.error = None
    await memory.drain()
    assert [hit.message.text for hit in await memory.search("cat", resource="ada")] == ["my cat"]


async def test_a_turn_that_waits_for_an_answer_is_embedded() -> None:
    """What was said before a run was suspended is found by others, and what it says when it goes on as well."""
    words = Words()
    store = InMemoryStore()

    async def door(args: Any, ctx: Any) -> str:
        return str(await ctx.suspend({"open": True}))

    tools = [doing("door", [], door)]
    agent = friend(
        Memory(store, semantic_recall=True, embedder=words), call_tool("door", id="d1"), "The sun.", tools=tools
    )
    result = await agent.generate("my cat", **IDS)
    assert result.status == "suspended"
    assert words.texts == ["my cat", "my cat"]
    await agent.resume(result.run_id, {"d1": "yes"}, **IDS)
    assert words.texts[-1] == "The sun."
    assert await store.waiting(INDEX) == 0


async def test_a_read_only_memory_writes_nothing() -> None:
    """A memory that keeps nothing notes nothing to be embedded, either: it finds what others have embedded."""
    store = InMemoryStore()
    await store.save("t", "ada", said("my cat"))
    memory = Memory(store, read_only=True, semantic_recall=True, embedder=Words())
    await friend(memory).generate("cat?", **IDS)
    assert await store.indexes() == ()


async def test_what_is_forgotten_is_not_embedded() -> None:
    """A resource that is forgotten while its turn is embedded in the background has no vector afterwards."""
    store, held = InMemoryStore(), Held()
    async with Runtime() as runtime:
        agent = friend(Memory(store, semantic_recall=True, embedder=held), runtime=runtime)
        await agent.generate("my cat", **IDS)
        await held.at_work.wait()
        await agent.forget(resource="ada")
        held.may.set()
    assert await store.search(INDEX, (1, 1, 1, 1, 1), top_k=9, resource_id=None) == []
    assert await store.waiting(INDEX) == 0


async def test_a_search_for_applications() -> None:
    """An application finds messages of a resource, or of a thread, with how much they are alike."""
    store = InMemoryStore()
    memory = await remembering(store, *LONG_AGO)
    await store.save("t2", "ada", [Message.user("a second dog")])
    await store.save("t3", "eve", [Message.user("dog of eve")])
    await memory.reindex()
    await memory.drain()
    found = await memory.search("dog", resource="ada", top_k=3)
    assert {hit.message.text for hit in found[:2]} == {"a dog", "a second dog"}
    assert [hit.score for hit in found[:2]] == pytest.approx([1, 1])
    assert found[2].message.text == "A dog in a car."
    assert 0.5 < found[2].score < 0.9
    assert [hit.thread.id for hit in await memory.search("dog", resource="ada", thread="t2")] == ["t2"]
    assert "dog of eve" in {hit.message.text for hit in await memory.search("dog", resource=None, top_k=4)}
    with pytest.raises(ModelError):
        await Memory(store, semantic_recall=True, embedder=Failing()).search("dog", resource="ada")


async def test_what_an_embedder_costs_is_the_requests() -> None:
    """The tokens of the question are counted with what processors ask."""
    agent = friend(Memory(InMemoryStore(), semantic_recall=True, embedder=HashEmbedder()))
    result = await agent.generate("one two three", **IDS)
    assert result.guard_usage.input_tokens == 3
