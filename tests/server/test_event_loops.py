"""The routes need no event loop of their own: another ASGI server may run them on trio."""

from typing import Any

import httpx
import pytest
from tests.server.reading import read_events

from procession.agents.agent import Agent
from procession.server.app import App
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run these tests on both event loops."""
    backend: str = request.param
    return backend


async def test_routes_run_on_both_event_loops() -> None:
    """Calls, streams, runs in the background and their events are the same on asyncio and on trio."""
    double: Any = create_workflow("double", int).map(lambda n: 2 * n, id="twice").commit()
    app = App(agents=[Agent("parrot", model=FakeModel(["Hello!"] * 3))], workflows=[double])
    transport = httpx.ASGITransport(app)
    async with app.running(), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for body in ({"messages": "Hi"}, {"messages": "Hi", "run_id": "mine"}):
            answer = await client.post("/api/agents/parrot/generate", json=body)
            assert answer.json()["text"] == "Hello!"
        async with client.stream("POST", "/api/agents/parrot/stream", json={"messages": "Hi"}) as stream:
            told = [each async for each in read_events(stream)]
        assert told[-1].data["text"] == "Hello!"
        run = await client.post("/api/workflows/double/runs", json={"input": 4, "wait": True})
        assert run.json()["output"] == 8
        headers = {"Accept": "text/event-stream"}
        events = await client.get(f"/api/runs/{run.json()['run_id']}/events", headers=headers)
        assert "event: run.finished" in events.text
