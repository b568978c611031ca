"""What is kept of a resource or of a thread goes: everywhere, whatever fails, and nobody else's."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.suspending import asker, asking
from tests.processors.recall_kit import INDEX, Words
from tests.storage.test_sqlite_store_records import Sink

from procession.agents.agent import Agent
from procession.agents.forget import Forgotten
from procession.agents.workflow_tool import workflow_tool
from procession.errors import InputError, NotForgotten, StoreError
from procession.messages.message import Message
from procession.models.embedder import Embeddings
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.deleting import Deleted
from procession.processors.memory.memory import Memory
from procession.processors.memory.outbox import TurnToSave, outbox_of
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import RunKind, RunRow
from procession.storage.memory import InMemoryCacheStore, InMemoryJournal
from procession.storage.memory_store import InMemoryStore
from procession.storage.notes import NoteKey
from procession.storage.records import Records
from procession.storage.sealed_journal import SealedJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.threads import MessageRef
from procession.storage.vectors import VectorItem
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

OWNERS = [("t1", "ada"), ("t2", "ada"), ("t3", "bob")]


async def filled() -> InMemoryStore:
    """Return a store with three threads of two resources, with notes, vectors, and messages that wait."""
    store = InMemoryStore()
    for thread, resource in OWNERS:
        message = Message.user(f"Secret of {resource}")
        await store.save(thread, resource, [message], title="Title", metadata={"a": 1}, indexes=["i"])
        await store.put_note(NoteKey(kind="working-memory", resource_id=resource, thread_id=thread), "note", version=0)
        vector = array("f", [1.0, 0.0])
        item = VectorItem(thread_id=thread, resource_id=resource, message_id=message.id, vector=vector)
        await store.put_vectors("i", [item])
    for resource in ("ada", "bob"):
        await store.put_note(NoteKey(kind="working-memory", resource_id=resource), "note", version=0)
    return store


async def kept(store: InMemoryStore) -> dict[str, Any]:
    """Return whose the things in *store* are."""
    hits = await store.search("i", [1.0, 0.0], top_k=9, resource_id=None)
    keys = [NoteKey(kind="working-memory", resource_id=resource, thread_id=thread) for thread, resource in OWNERS]
    keys += [NoteKey(kind="working-memory", resource_id=resource) for resource in ("ada", "bob")]
    return {
        "threads": {thread for thread, _ in OWNERS if await store.thread(thread) is not None},
        "vectors": {hit.thread_id for hit in hits},
        "notes": {key.thread_id or key.resource_id for key in keys if await store.note(key) is not None},
        "waiting": {item.thread_id for item in await store.take("i", limit=9, seconds=0)},
    }


async def test_a_thread_goes_with_all_that_is_kept_of_it() -> None:
    """Messages, notes, vectors and what waits go with the thread; what is the resource's, and all of others, stays."""
    store = await filled()
    agent = Agent("a", model=FakeModel(["Hi"]), memory=Memory(store))
    for expected in (Forgotten(threads=1, vectors=1), Forgotten()):
        assert await agent.forget(resource="ada", thread="t1") == expected
        rest = {"t2", "t3"}
        assert await kept(store) == {"threads": rest, "vectors": rest, "notes": {*rest, "ada", "bob"}, "waiting": rest}


async def test_a_resource_goes_with_all_that_is_kept_of_it() -> None:
    """All threads of a resource go, and its own notes; to do it again finds nothing, and so does another's name."""
    store = await filled()
    agent = Agent("a", model=FakeModel(["Hi"]), memory=Memory(store))
    assert await agent.forget(resource="bob", thread="t1") == Forgotten()
    for expected in (Forgotten(threads=2, vectors=2), Forgotten()):
        assert await agent.forget(resource="ada") == expected
        assert await kept(store) == {"threads": {"t3"}, "vectors": {"t3"}, "notes": {"t3", "bob"}, "waiting": {"t3"}}


async def test_a_memory_deletes_by_itself() -> None:
    """A memory deletes a thread or a resource without an agent, and tells how much that was."""
    store = await filled()
    memory = Memory(store)
    assert await memory.delete_thread("t1", "ada") == Deleted(threads=1, vectors=1)
    assert await memory.delete_resource("ada") == Deleted(threads=1, vectors=1)
    assert (await kept(store))["threads"] == {"t3"}


async def test_what_is_embedded_meanwhile_does_not_come_back() -> None:
    """Who embeds a message while it is forgotten is told that it is gone, and its vectors with it."""
    store = await filled()
    taken = await store.take("i", limit=9, seconds=60)
    await Agent("a", model=FakeModel(["Hi"]), memory=Memory(store)).forget(resource="ada")
    gone = await store.done("i", taken)
    assert {ref.thread_id for ref in gone} == {"t1", "t2"}
    assert gone[0] == MessageRef("t1", gone[0].message_id)


class Slow(Words):
    """An embedder that waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.goes_on = anyio.Event(), anyio.Event()

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the vectors, once that is allowed."""
        self.begun.set()
        await self.goes_on.wait()
        return await super().embed(texts)


@pytest.mark.parametrize("thread", [None, "t1"])
@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_an_indexer_brings_nothing_back(tmp_path: Path, kind: str, thread: str | None) -> None:
    """What an indexer is embedding while it is forgotten has no vectors in the end; what others said has."""
    store: Any = InMemoryStore() if kind == "memory" else SQLiteStore(tmp_path / "all.db")
    embedder = Slow()
    memory = Memory(store, semantic_recall=True, embedder=embedder)
    agent = Agent("a", model=FakeModel(["Hi"]), memory=memory)
    for name, resource in OWNERS:
        await store.save(name, resource, [Message.user(f"the cat of {name}")], indexes=[INDEX])
    async with anyio.create_task_group() as group:
        group.start_soon(memory.drain)
        await embedder.begun.wait()
        assert (await agent.forget(resource="ada", thread=thread)).threads == (2 if thread is None else 1)
        embedder.goes_on.set()
    hits = await store.search(INDEX, array("f", [1, 0, 0, 0, 0]), top_k=9, resource_id=None)
    assert {hit.thread_id for hit in hits} == ({"t3"} if thread is None else {"t2", "t3"})
    assert await store.waiting(INDEX) == 0
    if kind == "file":
        await store.aclose()


class Silent:
    """A detector that finds nothing."""

    identity = "silent"

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Find nothing."""
        return Verdict()


@pytest.mark.parametrize("thread", [None, "t"])
async def test_cached_answers_and_verdicts_go(thread: str | None) -> None:
    """The resource's answers and verdicts go from caches in lists, nested workflows and agents that are tools."""
    cache, verdicts, inner_cache = InMemoryCacheStore(), InMemoryCacheStore(), InMemoryCacheStore()
    nested = create_workflow("nested", kind="processor").then(ResponseCache(cache)).commit()
    inner = Agent("inner", model=FakeModel(["No."], repeat_last=True), input_processors=[ResponseCache(inner_cache)])
    guard = PIIDetector(detector=Silent(), verdict_cache=verdicts)
    script: list[Any] = [call_tool("agent-inner", {"prompt": "?"}), "Yes."]
    agent = Agent(
        "a", model=FakeModel([*script, *script]), tools=[inner.as_tool()], input_processors=[guard, nested]
    )  # fmt: skip
    for resource in ("ada", "bob"):
        assert (await agent.generate("Hi", resource=resource, thread=thread)).text == "Yes."
    forgotten = await agent.forget(resource="ada", thread=thread)
    assert forgotten.cache_entries >= 4
    assert await agent.forget(resource="ada", thread=thread) == Forgotten()
    left = [await store.clear() for store in (cache, verdicts, inner_cache)]
    assert all(left)
    assert sum(left) == forgotten.cache_entries  # bob's


async def test_runs_go(tmp_path: Path) -> None:
    """Suspended runs of the agent, and those inside them, go by thread and by resource; others' stay."""

    @step
    async def approve(ctx: StepContext[str]) -> str:
        return str(await ctx.suspend("ok?"))

    flow = create_workflow("flow", str).then(approve).commit()
    inner, _ = asker(asking())
    inner.models = (FakeModel([call_tool("act", {"x": 1})], repeat_last=True),)
    call = call_tool("agent-asker", {"prompt": "?"}) + call_tool("workflow-flow", {"input": "x"})
    async with SQLiteJournal(tmp_path / "runs.db") as journal:
        for store in (None, journal, InMemoryJournal()):
            model = FakeModel([call], repeat_last=True)
            runtime = Runtime(store)
            agent = Agent("a", model=model, tools=[inner.as_tool(), workflow_tool(flow)], runtime=runtime)
            for thread, resource in OWNERS:
                assert (await agent.generate("Hi", resource=resource, thread=thread)).status == "suspended"
            assert (await agent.forget(resource="ada", thread="t1")) == Forgotten(runs=3)
            assert (await agent.forget(resource="ada")) == Forgotten(runs=3)
            assert (await agent.forget(resource="ada")) == Forgotten()
            rows = [*await agent.runtime.store.runs(), *await inner.runtime.store.runs()]
            assert {row.resource_id for row in rows} == {"bob"}
            assert (await agent.forget(resource="bob")).runs == 3


async def test_a_run_that_is_held_is_told_of() -> None:
    """A run that somebody holds is asked to end and stays, and all others go, over more than a page of them."""
    agent = Agent("a", model=FakeModel(["Hi"]))
    store = agent.runtime.store
    for number in range(250):
        token = "me" if number % 100 == 40 else None
        kind: RunKind = "workflow" if number < 100 else "agent"
        await store.add(RunRow(run_id=f"r{number}", owner="a", kind=kind, resource_id="ada"), token=token, seconds=30)
    forgotten = await agent.forget(resource="ada")
    assert forgotten.runs == 247
    assert forgotten.left == (
        "run r240 is held by somebody",
        "run r140 is held by somebody",
        "run r40 is held by somebody, and was asked to end",
    )
    held = await store.runs(resource_id="ada")
    assert [row.run_id for row in held] == ["r240", "r140", "r40"]
    assert all(row.cancel_requested for row in held)
    assert await store.write("r40", "me", status="cancelled")
    assert (await agent.forget(resource="ada")).runs == 1


async def test_a_sink_that_fails_keeps_no_other_run(tmp_path: Path) -> None:
    """Runs whose objects cannot be deleted are gone all the same, and so are all others; the error names the objects."""
    sink = Sink(tmp_path)
    journal = SealedJournal(InMemoryJournal(), Records(sink=sink, limit=5))
    agent = Agent("a", model=FakeModel(["Hi"]), runtime=Runtime(journal))
    for number in range(3):
        await journal.add(RunRow(run_id=f"r{number}", owner="a", kind="agent", resource_id="ada", data="a long text"))
    sink.refusals = 2
    with pytest.raises(NotForgotten, match="still in their sink") as caught:
        await agent.forget(resource="ada")
    assert [text.count("attachment:") for text in caught.value.failed] == [1, 1]
    assert caught.value.deleted == Forgotten(runs=3)
    assert await journal.runs(resource_id="ada") == []
    assert await agent.forget(resource="ada") == Forgotten()


class Failing(InMemoryStore):
    """A store that cannot delete while it is broken."""

    broken = True

    async def delete_thread(self, thread_id: str, resource_id: str) -> bool:
        """Fail while it is broken."""
        if self.broken:
            raise StoreError("the disk is full")
        return await super().delete_thread(thread_id, resource_id)

    async def delete_vectors(self, **which: Any) -> int:
        """Fail while it is broken, in words of its own."""
        if self.broken:
            raise OSError("private words")
        return await super().delete_vectors(**which)


async def test_a_store_that_fails_keeps_nothing_else() -> None:
    """What can be deleted is; the error tells what is left and what is gone, and doing it again deletes the rest."""
    store, cache = Failing(), InMemoryCacheStore()
    agent, _ = asker(asking(), memory=Memory(store), input_processors=[ResponseCache(cache)])
    assert (await agent.generate("Hi", resource="ada", thread="t")).status == "suspended"
    with pytest.raises(
        NotForgotten, match="threads in Failing: the disk is full; vectors in Failing: OSError"
    ) as caught:
        await agent.forget(resource="ada", thread="t")
    assert "private" not in str(caught.value)
    assert caught.value.deleted == Forgotten(runs=1, cache_entries=caught.value.deleted.cache_entries)
    assert await store.thread("t") is not None
    store.broken = False
    assert (await agent.forget(resource="ada", thread="t")) == Forgotten(threads=1)


async def test_turns_that_wait_for_a_store_go() -> None:
    """A turn that a store could not take is not saved once it is back, where it was forgotten meanwhile."""
    store = InMemoryStore()
    outbox = outbox_of(store)
    for thread, resource in OWNERS:
        assert outbox.hold(TurnToSave(thread_id=thread, resource_id=resource, messages=[Message.user("Hi")]))
    agent = Agent("a", model=FakeModel(["Hi"]), memory=Memory(store))
    assert await agent.forget(resource="bob", thread="t1") == Forgotten()
    assert await agent.forget(resource="ada", thread="t1") == Forgotten(unsaved_turns=1)
    assert await Memory(store).delete_resource("ada") == Deleted(unsaved_turns=1)
    assert await outbox.flush(store) == 0
    assert [thread for thread, _ in OWNERS if await store.thread(thread) is not None] == ["t3"]


async def test_what_cannot_be_known_is_told() -> None:
    """Lists that depend on the request, answers that are shared, and calls that are under way are named in what is left."""
    told: list[Forgotten] = []
    agent = Agent(
        "a", model=FakeModel(["Hi"]), input_processors=lambda context: [], output_processors=[ResponseCache(scope=None)]
    )

    async def during(chunk: Any) -> None:
        if not told:
            told.append(await agent.forget(resource="ada"))

    await agent.generate("Hi", resource="ada", thread="t", on_chunk=during)
    assert len(told) == 1
    assert [text for text in told[0].left if "thread 't'" in text] == [
        "1 calls on thread 't' are under way, and save their turns"
    ]
    assert any("input_processors of agent 'a' depend on the request" in text for text in told[0].left)
    assert any("response-cache" in text and "shared" in text for text in told[0].left)


async def test_a_call_of_another_agent_is_told_of() -> None:
    """A call that is under way in this process is told of whichever agent it is of: it may save into the same store."""
    store = InMemoryStore()
    told: list[Forgotten] = []
    one = Agent("one", model=FakeModel(["Hi"]), memory=Memory(store))
    other = Agent("other", model=FakeModel(["Hi"]), memory=Memory(store), runtime=Runtime())

    async def during(chunk: Any) -> None:
        told.append(await one.forget(resource="ada", thread="t"))

    await other.generate("Hi", resource="ada", thread="t", on_chunk=during)
    assert told[0].left == ("1 calls on thread 't' are under way, and save their turns",)


async def test_agents_that_are_tools_of_workflows_are_asked() -> None:
    """What an agent keeps goes where it is a tool that a step runs, in a workflow that is a tool itself."""
    store = await filled()
    inner = Agent("inner", model=FakeModel(["No."]), memory=Memory(store))
    flow = create_workflow("flow", dict[str, str]).then(inner.as_tool()).commit()
    agent = Agent("a", model=FakeModel(["Hi"]), tools=[workflow_tool(flow)])
    assert await agent.forget(resource="ada") == Forgotten(threads=2, vectors=2)


@pytest.mark.parametrize(
    "named", [{"resource": ""}, {"resource": None}, {"resource": "ada", "thread": ""}, {"resource": 1}]
)
async def test_who_names_nobody_deletes_nothing(named: Any) -> None:
    """A resource or a thread that is none is refused: it must not come to mean everybody's."""
    store = await filled()
    agent = Agent("a", model=FakeModel(["Hi"]), memory=Memory(store))
    with pytest.raises(InputError, match="is "):
        await agent.forget(**named)
    assert (await kept(store))["threads"] == {"t1", "t2", "t3"}
