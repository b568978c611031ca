"""The threads of an agent's memory over HTTP: list, read, rename, export, delete, for their resource alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.processors.recall_kit import Words
from tests.server.live import Live, live

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.server.app import App
from procession.storage.memory_store import InMemoryStore
from procession.testing.fake_model import FakeModel

THREADS = "/api/agents/a/threads"
ANN = {"resource": "ann"}


@asynccontextmanager
async def serving(memory: Memory | None, **options: Any) -> AsyncGenerator[Live]:
    """Serve an agent with a memory, to whoever sends the header that a page of another site cannot."""
    agent = Agent("a", model=FakeModel("x"), memory=memory)
    async with live(App(agents=[agent], **options), headers={"X-Procession": "1"}) as server:
        yield server


async def filled(*threads: tuple[str, str, int]) -> Memory:
    """Return a memory with threads: each its id, its resource and its number of messages."""
    memory = Memory(InMemoryStore())
    for thread, resource, count in threads:
        messages = [
            Message("user" if at % 2 == 0 else "assistant", f"{thread} {at}", id=f"{thread}-{at}")
            for at in range(count)
        ]
        await memory.storage.save(thread, resource, messages)
    return memory


async def test_threads_are_listed_page_by_page() -> None:
    """A resource's threads come in pages, those that were used last first, and nobody else's are among them."""
    memory = await filled(("t1", "ann", 1), ("t2", "bob", 1), ("t3", "ann", 1), ("t4", "ann", 1))
    async with serving(memory) as server:
        first = await server.get(THREADS, params={**ANN, "limit": 2})
        second = await server.get(THREADS, params={**ANN, "limit": 2, "cursor": first["following"]})
        none = await server.get(THREADS, params={"resource": "eve"})
    assert [thread["id"] for thread in first["threads"]] == ["t4", "t3"]
    assert ([thread["id"] for thread in second["threads"]], second["following"]) == (["t1"], None)
    assert none == {"threads": [], "following": None}
    assert first["threads"][0]["resource"] == "ann" and first["threads"][0]["created_at"]


async def test_messages_are_read_from_the_end() -> None:
    """The newest messages come first, each page in order; signals are not shown."""
    memory = await filled(("t", "ann", 5))
    await memory.storage.save("t", "ann", [Message("signal", "a note to the model", id="s")])
    async with serving(memory) as server:
        pages: list[Any] = []
        cursor: dict[str, str] = {}
        for _ in range(3):
            pages.append(await server.get(f"{THREADS}/t", params={**ANN, "limit": 2, **cursor}))
            cursor = {"cursor": pages[-1]["following"]}
        export = await server.get(f"{THREADS}/t/export", params=ANN)
    assert [[message["text"] for message in page["messages"]] for page in pages] == [
        ["t 4"], ["t 2", "t 3"], ["t 0", "t 1"],
    ]  # fmt: skip
    assert pages[-1]["following"] is None
    assert [message["id"] for message in export["messages"]] == [f"t-{at}" for at in range(5)]
    assert export["messages"][0]["parts"] == [{"type": "text", "text": "t 0"}]
    assert export["thread"]["id"] == "t"


async def test_a_thread_is_renamed() -> None:
    """Title and metadata are changed one by one; null takes them away, and nothing at all is refused."""
    memory = await filled(("t", "ann", 1))
    async with serving(memory) as server:
        path = f"{THREADS}/t?resource=ann"
        changed: Any = None
        changes: list[Any] = [{"title": "Parcels", "metadata": {"n": 1}}, {"title": "Letters"}, {"metadata": None}]
        for body in changes:
            changed = (await server.client.patch(path, json=body)).json()
        for wrong, status in (({}, 400), ({"title": 5}, 422), ({"id": "x"}, 422)):
            assert (await server.client.patch(path, json=wrong)).status_code == status
    assert (changed["title"], changed["metadata"]) == ("Letters", None)
    kept = await memory.thread("t", "ann")
    assert kept is not None and kept.title == "Letters"


async def test_deleting_takes_all_that_is_kept() -> None:
    """Messages and vectors of the thread are gone, other threads stay; once more there is nothing."""
    store = InMemoryStore()
    memory = Memory(store, semantic_recall=True, embedder=Words())
    agent = Agent("a", model=FakeModel(["One.", "Two."]), memory=memory)
    for thread in ("t1", "t2"):
        await agent.generate("Where is my parcel?", thread=thread, resource="ann")
    await memory.drain()
    async with live(App(agents=[agent]), headers={"X-Procession": "1"}) as server:
        deleted = await server.client.request("DELETE", f"{THREADS}/t1?resource=ann")
        again = await server.client.request("DELETE", f"{THREADS}/t1?resource=ann")
        left = await server.get(THREADS, params=ANN)
    assert deleted.status_code == 200
    assert deleted.json()["threads"] == 1 and deleted.json()["vectors"] > 0 and deleted.json()["left"] == []
    assert again.status_code == 404
    assert [thread["id"] for thread in left["threads"]] == ["t2"]
    assert {hit.thread.id for hit in await memory.search("parcel", resource="ann")} == {"t2"}


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_another_resources_thread_is_not_there(method: str) -> None:
    """Whoever names another resource finds nothing, and changes nothing; whoever names none is told to."""
    memory = await filled(("t", "ann", 2))
    async with serving(memory) as server:
        body: Any = {"json": {"title": "Mine"}} if method == "PATCH" else {}
        paths = [f"{THREADS}/t", f"{THREADS}/t/export"] if method == "GET" else [f"{THREADS}/t"]
        for path in paths:
            other = await server.client.request(method, path, params={"resource": "bob"}, **body)
            assert (other.status_code, other.json()["error"]["code"]) == (404, "not-found")
            assert "ann" not in other.text
            assert (await server.client.request(method, path, **body)).status_code == 422
            assert (await server.client.request(method, path, params={"resource": ""}, **body)).status_code == 400
    kept = await memory.thread("t", "ann")
    assert kept is not None and kept.title is None
    assert len(await memory.recall("t", "ann")) == 2


async def test_what_is_shown_is_redacted() -> None:
    """Personal data in titles, metadata and messages are masked, unless the app shows values; ids stay as they are."""
    memory = Memory(InMemoryStore())
    said = Message("user", "I am eva@example.com", id="m1", metadata={"mail": "eva@example.com"})
    await memory.storage.save(
        "t", "eva@example.com", [said], title="Of eva@example.com", metadata={"x": "eva@example.com"}
    )
    params = {"resource": "eva@example.com"}
    async with serving(memory) as server:
        export = await server.get(f"{THREADS}/t/export", params=params)
        page = await server.get(f"{THREADS}/t", params=params)
        listed = await server.get(THREADS, params=params)
    assert export["thread"].pop("resource") == listed["threads"][0].pop("resource") == "eva@example.com"
    assert page["thread"].pop("resource") == "eva@example.com"
    assert "eva@example.com" not in str((export, page, listed))
    assert export["messages"][0]["text"] == "I am ‹email›"
    async with serving(memory, redact=None) as server:
        shown = await server.get(f"{THREADS}/t/export", params=params)
    assert shown["messages"][0]["text"] == "I am eva@example.com"


async def test_limits_and_agents_without_a_memory() -> None:
    """A page of no size is refused, so is a cursor that nobody gave, and an agent without a memory has no threads."""
    async with serving(await filled(("t", "ann", 1))) as server:
        for limit in (0, 201, "x"):
            assert (await server.client.get(THREADS, params={**ANN, "limit": limit})).status_code in (400, 422)
        assert (await server.client.get(THREADS, params={**ANN, "cursor": "no"})).status_code == 400
    async with serving(None) as server:
        for path in (THREADS, f"{THREADS}/t", f"{THREADS}/t/export"):
            assert (await server.client.get(path, params=ANN)).status_code == 404


async def test_a_read_only_server_changes_no_thread() -> None:
    """Reading goes on, everything else is refused."""
    memory = await filled(("t", "ann", 1))
    async with serving(memory, read_only=True) as server:
        await server.get(f"{THREADS}/t", params=ANN)
        changed = await server.client.patch(f"{THREADS}/t?resource=ann", json={"title": "x"})
        deleted = await server.client.delete(f"{THREADS}/t?resource=ann")
    assert (changed.status_code, deleted.status_code) == (403, 403)
    assert len(await memory.recall("t", "ann")) == 1


@pytest.mark.parametrize("way", ["generate", "stream"])
@pytest.mark.parametrize("thread", ["t", {"id": "t"}])
async def test_nobody_speaks_in_another_resources_thread(way: str, thread: Any) -> None:
    """A call that names another resource's thread is not found, and no model is asked; its own one is its own."""
    memory = await filled(("t", "ann", 2))
    model = FakeModel("x")
    async with live(App(agents=[Agent("a", model=model, memory=memory)])) as server:
        body = {"messages": "Hi", "thread": thread, "resource": "bob"}
        refused = await server.client.post(f"/api/agents/a/{way}", json=body)
        assert (refused.status_code, model.requests) == (404, [])
        taken = await server.client.post(f"/api/agents/a/{way}", json={**body, "resource": "ann"})
    assert taken.status_code == 200
    assert len(await memory.recall("t", "ann")) == 4


async def test_a_resource_that_is_named_twice_is_none() -> None:
    """SEC-004: what checks requests before the server may have read the one name, and the server the other."""
    async with serving(await filled(("t1", "ann", 2))) as server:
        for query in ("resource=ann&resource=bob", "resource=bob&resource=ann", "resource=ann&resource=ann"):
            for path in (THREADS, f"{THREADS}/t1", f"{THREADS}/t1/export"):
                answer = await server.client.get(f"{path}?{query}")
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, "query"), (path, query)
        assert (await server.get(f"{THREADS}/t1?resource=ann"))["thread"]["id"] == "t1"
