"""The door of the server: what every request passes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.server.live import live

from procession.agents.agent import Agent
from procession.errors import DefinitionError
from procession.server.app import App
from procession.server.limits import Limits
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow


def app(**options: Any) -> App:
    """Return an app with one agent."""
    return App(agents=[Agent("parrot", model=FakeModel("Hello!"))], **options)


async def test_health_and_info() -> None:
    """A server says that it is alive, that it takes calls, and what kind of server it is."""
    async with live(app()) as server:
        assert await server.get("/healthz") == {"status": "ok"}
        assert await server.get("/readyz") == {"status": "ok"}
        info = await server.get("/api/info")
    assert info["token_needed"] is False and info["read_only"] is False and info["redacted"] is True


async def test_errors_are_json_with_a_request_id() -> None:
    """Whatever is refused is JSON with a code and the id of the request, given or made, which the header says too."""
    async with live(app()) as server:
        given = await server.client.get("/nowhere", headers={"X-Request-ID": "ticket-7"})
        made = await server.client.get("/nowhere", headers={"X-Request-ID": "no good\tid"})
        wrong = await server.client.delete("/healthz", headers={"X-Procession": "1"})
    assert given.status_code == 404
    assert given.json()["error"]["request_id"] == given.headers["x-request-id"] == "ticket-7"
    assert given.json()["error"]["code"] == "not-found"
    assert made.json()["error"]["request_id"] == made.headers["x-request-id"] != "no good\tid"
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method-not-allowed")


async def test_the_token_is_needed_where_there_is_one() -> None:
    """With a token nothing but health, readiness and the kind of server is told to who does not have it."""
    async with live(app(token="correct-horse")) as server:
        for path in ("/healthz", "/readyz", "/api/info"):
            assert (await server.client.get(path)).status_code == 200
        for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "correct-horse"}):
            refused = await server.client.get("/openapi.json", headers=sent)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        right = {"Authorization": "Bearer correct-horse"}
        assert (await server.client.get("/openapi.json", headers=right)).status_code == 200


def test_options_that_cannot_be() -> None:
    """An empty token and limits that cannot be are refused when the app is made."""
    with pytest.raises(DefinitionError, match="token is empty"):
        app(token=" ")
    with pytest.raises(DefinitionError, match="calls=0"):
        app(limits=Limits(calls=0))


async def test_a_long_body_is_refused() -> None:
    """A body over the limit is refused with 413, whether it says its length or not."""
    async with live(app(limits=Limits(body=1000))) as server:
        said = await server.client.post("/api/agents/parrot/generate", json={"messages": "x" * 2000})

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(30):
                yield b" " * 100

        told = {"Content-Type": "application/json"}
        unsaid = await server.client.post("/api/agents/parrot/generate", content=pieces(), headers=told)
    assert said.status_code == unsaid.status_code == 413
    assert said.json()["error"]["code"] == unsaid.json()["error"]["code"] == "body-too-long"


async def test_ids_that_no_path_can_hold_are_refused() -> None:
    """What could not be asked for by its id is refused: when it is served, or when a run is to be called so."""
    parts = create_workflow("a/b", int).map(lambda n: n, id="same").commit()
    with pytest.raises(DefinitionError, match="path"):
        _ = App(workflows=[parts]).asgi
    double = create_workflow("double", int).map(lambda n: 2 * n, id="twice").commit()
    served = App(agents=[Agent("parrot", model=FakeModel("Hello!"))], workflows=[double])
    async with live(served) as server:
        for run_id in ("../x", "a/b", "..", "", "x" * 200, "a\nb"):
            body = {"messages": "Hi", "run_id": run_id}
            answer = await server.client.post("/api/agents/parrot/generate", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input"), run_id
        begun = await server.client.post("/api/workflows/double/runs", json={"input": 1, "run_id": "a/b"})
        assert begun.status_code == 400
