"""A cached answer goes to those it was given to, and to nobody else unless that is said in so many words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS
from tests.processors.cache.kit import Store, parrot, said

from procession.agents.agent import Agent
from procession.processors.cache.key import ANONYMOUS, scope_prefix
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryCacheStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
async def test_tenants_do_not_share(way: str) -> None:
    """
    By default an answer is its resource's: the call's, that of the thread, or that of the request context.

    CACHE-001: two provider calls for two tenants; the memory's resource comes first, then the request context's.
    """
    balance = "What is my balance?"
    calls: list[dict[str, Any]] = [
        {"thread": "1", "resource": "t-a"}, {"thread": "2", "resource": "t-b"},
        {"request_context": {"resource_id": "t-c"}}, {"request_context": {"resource_id": "t-d"}}, {},
        {"resource": "t-e", "request_context": {"resource_id": "t-a"}},
    ]  # fmt: skip
    agent, model = parrot([f"{number}" for number in range(6)], ResponseCache(), memory=Memory(last_messages=False))
    plain = [call for call in calls if "thread" in call or "resource" not in call]
    assert [await said(agent, way, balance, **call) for call in plain] == ["0", "1", "2", "3", "4"]
    assert [await said(agent, way, balance, **call) for call in plain] == ["0", "1", "2", "3", "4"]
    assert len(model.requests) == 5
    without, model = parrot(["0", "1", "2"], ResponseCache())
    assert [await said(without, way, balance, **call) for call in (calls[5], {"resource": "t-a"}, {})] == [
        "0",
        "1",
        "2",
    ]


async def test_the_request_context_names_the_tenant_of_the_memory_s_resource() -> None:
    """CACHE-001: the same tenant, named by the thread or by the request context, is one tenant."""
    agent, model = parrot(["one"], ResponseCache())
    assert await said(agent, resource="t-a") == "one"
    assert await said(agent, request_context={"resource_id": "t-a"}) == "one"
    assert len(model.requests) == 1


async def test_an_anonymous_answer_is_nobodys() -> None:
    """
    Requests without a resource share a scope that no request with one reads or writes, which ``explain`` says.

    CACHE-001: without any resource entries live in an anonymous scope.
    """
    store = Store()
    agent, _ = parrot(["anonymous", "mine"], ResponseCache(store))
    assert [await said(agent), await said(agent), await said(agent, resource="u")] == ["anonymous", "anonymous", "mine"]
    prefixes = [scope_prefix(ANONYMOUS), scope_prefix("u")]
    assert [key.startswith(prefix) for key, prefix in zip(store.kept, prefixes, strict=True)] == [True, True]
    assert "anonymous scope" in str(agent.explain())
    empty, _ = parrot(["again"], ResponseCache(store), instructions="Else.")
    assert await said(empty, request_context={"resource_id": ""}) == "again"
    assert list(store.kept)[-1].startswith(prefixes[0])


@both_ways
async def test_sharing_is_spelled_out(way: str) -> None:
    """CACHE-001: only ``scope=None`` shares across resources, and ``explain`` says so; a text is a scope by its name."""
    agent, model = parrot(["once"], ResponseCache(scope=None))
    assert [await said(agent, way, resource=tenant) for tenant in ("t-a", "t-b")] == ["once", "once"]
    assert len(model.requests) == 1
    assert "scope=None" in str(agent.explain())
    store = InMemoryCacheStore()
    named, _ = parrot(["a", "b"], ResponseCache(store, scope="team"))
    assert [await said(named, way, resource=tenant) for tenant in ("t-a", "t-b")] == ["a", "a"]
    assert "scope" not in str(named.explain())


async def test_an_agent_inside_another_has_its_resource() -> None:
    """What an agent that is a tool answers belongs to the resource of the run around it."""
    store = Store()
    inner = Agent("inner", model=FakeModel(["a's", "b's", "c's"]), input_processors=[ResponseCache(store)])
    outer = FakeModel([call_tool("agent-inner", {"prompt": "Hi"}), "ok"] * 2)
    agent = Agent("outer", model=outer, tools=[inner])
    results = [(await agent.generate("Hi", resource=tenant)).tool_results[0] for tenant in ("t-a", "t-b")]
    assert ["a's" in str(results[0]), "b's" in str(results[1])] == [True, True]
    workflow = create_workflow("desk", str).then(inner).commit()
    for _ in range(2):
        done = await Runtime().create_run(workflow, resource_id="t-c").start("Hi")
        assert done.output == "c's"
    prefixes = [scope_prefix(tenant) for tenant in ("t-a", "t-b", "t-c")]
    assert [key.startswith(prefix) for key, prefix in zip(store.kept, prefixes, strict=True)] == [True] * 3


async def test_a_scope_is_forgotten() -> None:
    """``forget`` removes what one resource was told, by all agents that share the store, and nothing else."""
    store = InMemoryCacheStore()
    cache = ResponseCache(store)
    agent, model = parrot(["a", "b", "anonymous", "a again"], cache)
    for call in ({"resource": "t-a"}, {"resource": "t-b"}, {}):
        await said(agent, **call)
    assert await cache.forget("t-a") == 1
    assert [await said(agent, **call) for call in ({"resource": "t-b"}, {}, {"resource": "t-a"})] == ["b", "anonymous", "a again"]  # fmt: skip
    assert (await cache.forget(ANONYMOUS), len(model.requests)) == (1, 4)
