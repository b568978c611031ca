"""Agents that are asked over HTTP."""

import json
from typing import Any

import anyio
from structlog.testing import capture_logs
from tests.server.gated import Gated
from tests.server.live import Live, live
from tests.server.reading import events_of

from procession.agents.agent import Agent
from procession.ids import new_id
from procession.processors.processor import processor
from procession.server.app import App
from procession.testing.fake_model import FakeModel


async def events(server: Live, path: str, body: Any) -> list[tuple[str, Any]]:
    """Ask for a stream, and return its events by name."""
    return [(each.type, each.data) for each in await events_of(server, path, body)]


async def test_generate_and_stream() -> None:
    """An agent is asked and answers whole, or chunk by chunk with the result as the last event."""
    app = App(agents=[Agent("parrot", model=FakeModel(["Hello!", "Hello!"]))])
    async with live(app) as server:
        assert [each["id"] for each in await server.get("/api/agents")] == ["parrot"]
        result = await server.post("/api/agents/parrot/generate", {"messages": "Hi"})
        assert (result["status"], result["text"], result["tripwire"]) == ("completed", "Hello!", None)
        told = await events(server, "/api/agents/parrot/stream", {"messages": "Hi"})
    assert told[0][0] == "start" and told[-1][0] == "result"
    assert "".join(data["text"] for kind, data in told if kind == "text-delta") == "Hello!" == told[-1][1]["text"]


async def test_what_cannot_be_asked() -> None:
    """An unknown agent, a body that does not fit and an option that there is not each have an error that says so."""
    app = App(agents=[Agent("parrot", model=FakeModel("Hello!"), max_steps=3)])
    asked: list[tuple[str, Any, int, str]] = [
        ("owl", {"messages": "Hi"}, 404, "not-found"),
        ("parrot", {}, 422, "schema"),
        ("parrot", {"messages": "Hi", "modle": "x"}, 422, "schema"),
        ("parrot", {"messages": 5}, 422, "schema"),
        ("parrot", {"messages": "Hi", "max_steps": 4}, 400, "input"),
        ("parrot", {"messages": [{"role": "king", "content": "Hi"}]}, 400, "message"),
    ]
    async with live(app) as server:
        for agent, body, status, code in asked:
            for way in ("generate", "stream"):
                answer = await server.client.post(f"/api/agents/{agent}/{way}", json=body)
                assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), body
        broken = await server.client.post(
            "/api/agents/parrot/generate", content=b"{", headers={"Content-Type": "application/json"}
        )
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, "not-json")


async def test_a_failed_processor_is_told_without_its_words() -> None:
    """What a processor raised is in no answer: neither as JSON nor in a stream, which still ends with a result."""

    @processor(hook="process_output_result")
    def broken(ctx: Any) -> None:
        raise ValueError("the password is swordfish")

    app = App(agents=[Agent("parrot", model=FakeModel(["Hello!", "Hello!"]), output_processors=[broken])])
    async with live(app) as server:
        answer = await server.client.post("/api/agents/parrot/generate", json={"messages": "Hi"})
        told = await events(server, "/api/agents/parrot/stream", {"messages": "Hi"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "processor")
    assert told[-1][0] == "result" and told[-1][1]["error"]["code"] == "processor"
    assert "swordfish" not in answer.text and "swordfish" not in str(told)


async def test_a_client_that_leaves_cancels_its_run() -> None:
    """Where the client of a stream, or of a call, leaves before the end, the model is not asked on."""
    for way in ("stream", "generate"):
        model = Gated()
        async with live(App(agents=[Agent("slow", model=model)])) as server:
            with anyio.CancelScope() as client:
                async with anyio.create_task_group() as group:

                    async def leave(model: Gated = model, client: anyio.CancelScope = client) -> None:
                        await model.speaking.wait()
                        client.cancel()

                    group.start_soon(leave)
                    await server.client.post(f"/api/agents/slow/{way}", json={"messages": "Hi"})
            with anyio.fail_after(20):
                await model.left.wait()


async def test_a_call_that_is_cancelled_by_its_run_says_so() -> None:
    """Whoever waits for a call whose run somebody cancels is told that, and not that the client has left."""
    model = Gated()
    async with live(App(agents=[Agent("slow", model=model)])) as server, anyio.create_task_group() as group:

        async def cancel() -> None:
            await model.speaking.wait()
            assert await server.post("/api/runs/order-1/cancel") == {"cancelled": True}

        group.start_soon(cancel)
        result = await server.post("/api/agents/slow/generate", {"messages": "Hi", "run_id": "order-1"})
        assert (result["status"], result["abort_reason"]) == ("aborted", "the run was cancelled")


async def test_the_same_run_id_is_one_run() -> None:
    """Who sends the same body with the same run_id joins the call, before and after its end; another body is refused."""
    model = Gated()
    async with live(App(agents=[Agent("slow", model=model)])) as server:
        path, body = "/api/agents/slow/generate", {"messages": "Hi", "run_id": "order-1"}
        results: list[Any] = []

        async def ask() -> None:
            results.append(await server.post(path, body))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
            await model.speaking.wait()
            other = await server.client.post(path, json={**body, "messages": "Bye"})
            assert (other.status_code, other.json()["error"]["code"]) == (409, "run-id-taken")
            model.gate.set()
        results.append(await server.post(path, body))
        told = await events(server, "/api/agents/slow/stream", body)
    assert [each["text"] for each in results] == ["One two."] * 6
    assert told[-1][1]["run_id"] == "order-1" and "".join(d["text"] for k, d in told if k == "text-delta") == "One two."
    assert model.asked == 1


async def test_a_schema_of_a_clients_is_not_evaluated() -> None:
    """The model is told of it; a pattern or a reference that takes for ever to be looked at holds up nobody."""
    answers = ['{"word": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}', '{"word": "x"}', '["x"]', '"x"']
    model = FakeModel([*answers])
    slow = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(a+)+$"}}}
    around = {"type": "object", "properties": {"word": {"$ref": "#/properties/word"}}}
    list_of = {"type": "array", "items": {"type": "string"}}
    async with live(App(agents=[Agent("parrot", model=model)])) as server:
        for schema, value in ((slow, {"word": "a" * 40 + "!"}), (around, {"word": "x"}), (list_of, ["x"])):
            result = await server.post("/api/agents/parrot/generate", {"messages": "Hi", "structured_output": schema})
            assert result["object"] == value
        for none in ({"city": "Paris"}, {"type": "object", "properties": 5}):
            answer = await server.client.post(
                "/api/agents/parrot/generate", json={"messages": "Hi", "structured_output": none}
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input"), none


async def test_what_a_caller_names_is_in_no_log() -> None:
    """SEC-004: names of tools that there are none of are a caller's text: no log has them, and nothing heaps up of them."""
    agent = Agent(f"parrot-{new_id()}", model=FakeModel(["x"] * 3))
    async with live(App(agents=[agent])) as server:
        with capture_logs() as logs:
            for name in ("swordfish-1", "swordfish-2\n[error] forged", "\ud800"):
                body = json.dumps({"messages": "Hi", "active_tools": [name]})
                answer = await server.client.post(
                    f"/api/agents/{agent.id}/generate", content=body, headers={"Content-Type": "application/json"}
                )
                assert answer.status_code == 200
    assert len([log for log in logs if "active_tools" in log["event"]]) == 1
    assert "swordfish" not in str(logs) and "forged" not in str(logs)
