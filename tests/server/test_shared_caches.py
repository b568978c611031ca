"""What would share answers between those who ask is not served."""

from typing import Any

import pytest
from tests.server.live import live

from procession.agents.agent import Agent
from procession.errors import DefinitionError
from procession.processors.cache.response_cache import ResponseCache
from procession.server.app import App
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow


def cached(cache: ResponseCache, *, dynamic: bool = False) -> Agent:
    """Return an agent with a cache and two answers."""

    def of_request(context: Any) -> list[Any]:
        return [cache]

    lists: Any = of_request if dynamic else [cache]
    return Agent("cached", model=FakeModel(["One.", "Two."]), input_processors=lists)


def test_a_cache_without_a_scope_is_not_served() -> None:
    """A cache that shares its answers with everybody is refused before the server listens, also inside of a workflow."""
    inside = create_workflow("inside", kind="processor").then(ResponseCache(scope=None)).commit()
    for agent in (
        cached(ResponseCache(scope=None)),
        Agent("cached", model=FakeModel("One."), input_processors=[inside]),
    ):
        with pytest.raises(DefinitionError, match="shares answers"):
            _ = App(agents=[agent]).asgi
    assert App(agents=[cached(ResponseCache())]).asgi is not None
    assert App(agents=[cached(ResponseCache(scope="shop"))]).asgi is not None


async def test_a_shared_cache_of_a_request_answers_nothing() -> None:
    """A cache that is known only with the request keeps and answers nothing where it would share, and only when served."""
    agent = cached(ResponseCache(scope=None), dynamic=True)
    async with live(App(agents=[agent])) as server:
        texts = [(await server.post("/api/agents/cached/generate", {"messages": "Hi"}))["text"] for _ in range(2)]
    assert texts == ["One.", "Two."]
    alone = cached(ResponseCache(scope=None), dynamic=True)
    assert [(await alone.generate("Hi")).text for _ in range(2)] == ["One.", "One."]


async def test_resources_do_not_share_a_served_cache() -> None:
    """Two resources that ask the same are not given each other's answers; one that asks again is given its own."""
    async with live(App(agents=[cached(ResponseCache())])) as server:

        async def ask(resource: str) -> str:
            body = {"messages": "Hi", "resource": resource, "thread": resource}
            text: str = (await server.post("/api/agents/cached/generate", body))["text"]
            return text

        assert [await ask("eva"), await ask("adam"), await ask("eva")] == ["One.", "Two.", "One."]
