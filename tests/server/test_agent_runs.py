"""Runs of agents over HTTP: suspended and resumed, cancelled, replayed."""

from typing import Any

import anyio
from tests.server.gated import Gated
from tests.server.live import Live, live
from tests.server.reading import events_of

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.storage.memory_journal import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import tool


def payer(paid: list[int], *, times: int = 1, runtime: Runtime | None = None) -> Agent:
    """Return an agent with a tool that needs a person's yes."""

    @tool(requires_approval=True)
    async def pay(amount: int) -> str:
        """Pay somebody."""
        paid.append(amount)
        return "paid"

    replies: list[Any] = [call_tool("pay", {"amount": 5}), say("Done.")]
    return Agent("payer", model=FakeModel(replies * times), tools=[pay], runtime=runtime)


async def ended(server: Live, run_id: str) -> Any:
    """Wait until a run has ended or waits, and return how it stands."""
    await events_of(server, f"/api/runs/{run_id}/events")
    return await server.get(f"/api/runs/{run_id}")


async def test_an_approval_is_given_once() -> None:
    """A suspended call is shown with its question; of two answers at once one is taken, and the tool runs once."""
    paid: list[int] = []
    async with live(App(agents=[payer(paid)])) as server:
        asked = await server.post("/api/agents/payer/generate", {"messages": "Pay 5", "resource": "eva"})
        assert asked["status"] == "suspended"
        run_id, question = asked["run_id"], asked["suspended"][0]["question_id"]
        assert (await server.get(f"/api/runs/{run_id}"))["suspended"][0]["question_id"] == question
        answers = {question: {"approved": True}}
        unknown = await server.client.post(f"/api/runs/{run_id}/resume", json={"answers": answers, "resource": "adam"})
        unnamed = await server.client.post(f"/api/runs/{run_id}/resume", json={"answers": answers})
        assert (unknown.status_code, unnamed.status_code) == (400, 400) and paid == []
        statuses: list[int] = []

        async def answer() -> None:
            body = {"answers": answers, "resource": "eva"}
            statuses.append((await server.client.post(f"/api/runs/{run_id}/resume", json=body)).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(answer)
        assert sorted(statuses) == [202, 409]
        run = await ended(server, run_id)
        assert (run["status"], run["text"]) == ("success", "Done.")
    assert paid == [5]


async def test_an_approval_that_is_waited_for() -> None:
    """With `wait` the answer is the run as it ended; it is not cut off between its beginning and its end."""
    paid: list[int] = []
    async with live(App(agents=[payer(paid)])) as server:
        asked = await server.post("/api/agents/payer/generate", {"messages": "Pay 5", "run_id": "mine"})
        path, question = "/api/runs/mine/resume", asked["suspended"][0]["question_id"]
        strange = await server.client.post(path, json={"answers": {"other": {"approved": True}}, "wait": True})
        assert strange.status_code == 400 and question in strange.json()["error"]["hint"]
        run = await server.post(path, {"answers": {question: {"approved": True}}, "wait": True})
        assert (run["status"], run["text"], paid) == ("success", "Done.", [5])


async def test_the_id_of_a_kept_run_is_taken() -> None:
    """A run that waits in a store is not begun again by its id where the server was started anew: 409 says so."""
    store = InMemoryJournal()
    statuses: list[int] = []
    for _ in range(2):
        agent = payer([], runtime=Runtime(store))
        async with live(App(agents=[agent])) as server:
            body = {"messages": "Pay 5", "run_id": "mine"}
            statuses.append((await server.client.post("/api/agents/payer/generate", json=body)).status_code)
            streamed = await server.client.post("/api/agents/payer/stream", json=body)
            statuses.append(streamed.status_code)
    assert statuses == [200, 200, 409, 409]


async def test_a_suspended_call_is_cancelled() -> None:
    """A run that waits for a person is ended for good; an answer comes too late then."""
    async with live(App(agents=[payer([])])) as server:
        asked = await server.post("/api/agents/payer/generate", {"messages": "Pay 5"})
        run_id, question = asked["run_id"], asked["suspended"][0]["question_id"]
        assert await server.post(f"/api/runs/{run_id}/cancel") == {"cancelled": True}
        run = await ended(server, run_id)
        assert (run["status"], run["suspended"]) == ("cancelled", [])
        (last,) = (await server.get(f"/api/runs/{run_id}/events", params={"after": run["last_seq"] - 1}))["events"]
        assert (last["type"], last["payload"]["status"]) == ("run.finished", "cancelled")
        assert (await server.get("/api/runs?status=suspended"))["runs"] == []
        late = await server.client.post(f"/api/runs/{run_id}/resume", json={"answers": {question: {"approved": True}}})
        assert late.status_code == 409


async def test_a_suspended_call_that_others_cancelled() -> None:
    """What was cancelled by the agent itself, and not over HTTP, is not shown as waiting."""
    agent = payer([])
    async with live(App(agents=[agent])) as server:
        await server.post("/api/agents/payer/generate", {"messages": "Pay 5", "run_id": "mine"})
        await agent.cancel("mine")
        run = await server.get("/api/runs/mine")
        assert (run["status"], run["suspended"]) == ("cancelled", [])


async def test_a_call_that_goes_on_is_cancelled_by_its_id() -> None:
    """A call of an agent that goes on is aborted by the id of its run, and its client is told so; no other request by that
    id takes it away.
    """
    model = Gated()
    results: list[Any] = []
    async with live(App(agents=[Agent("slow", model=model)])) as server, anyio.create_task_group() as group:

        async def ask() -> None:
            results.append(await server.post("/api/agents/slow/generate", {"messages": "Hi"}))

        group.start_soon(ask)
        await model.speaking.wait()
        (run,) = (await server.get("/api/runs?status=running"))["runs"]
        stray = {"run_id": run["run_id"], "answers": {"none": True}}  # asks for what the call does not wait for
        assert (await server.client.post("/api/agents/slow/resume", json=stray)).status_code == 400
        assert (
            await server.client.delete(f"/api/runs/{run['run_id']}", headers={"X-Procession": "1"})
        ).status_code == 409
        assert await server.post(f"/api/runs/{run['run_id']}/cancel") == {"cancelled": True}
    assert results[0]["status"] == "aborted"


async def test_a_run_of_an_agent_is_replayed() -> None:
    """A replay asks the present agent what the run was asked, as a new run."""
    app = App(agents=[Agent("parrot", model=FakeModel(["One.", "Two."]))])
    async with live(app) as server:
        first = await server.post("/api/agents/parrot/generate", {"messages": "Hi"})
        again = await server.post(f"/api/runs/{first['run_id']}/replay")
        run = await ended(server, again["run_id"])
        assert run["text"] == "Two." and run["input"][0]["text"] == "Hi"
        assert (await server.get(f"/api/runs/{first['run_id']}"))["text"] == "One."
        forked = await server.client.post(f"/api/runs/{first['run_id']}/fork", json={"step": "step"})
        assert (forked.status_code, forked.json()["error"]["code"]) == (409, "not-kept")


async def test_a_run_id_that_was_used_is_not_used_again() -> None:
    """Once a call is forgotten, or of another agent, its id begins no second run that would be shown as the first."""
    app = App(agents=[Agent("a", model=FakeModel(["One."])), Agent("b", model=FakeModel(["Two."]))])
    async with live(app) as server:
        body = {"messages": "Hi", "run_id": "mine"}
        await server.post("/api/agents/a/generate", body)
        other = await server.client.post("/api/agents/b/generate", json=body)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "run-id-taken")


async def test_a_caller_goes_on_with_its_own_call() -> None:
    """Whoever asked an agent answers its question and is given the rest: whole, or chunk by chunk."""
    paid: list[int] = []
    async with live(App(agents=[payer(paid, times=2)])) as server:
        for _ in range(2):
            asked = await server.post("/api/agents/payer/generate", {"messages": "Pay 5"})
            body = {"run_id": asked["run_id"], "answers": {asked["suspended"][0]["question_id"]: {"approved": True}}}
            if not paid:
                assert (await server.post("/api/agents/payer/resume", body))["text"] == "Done."
            else:
                told = await events_of(server, "/api/agents/payer/resume/stream", body)
                assert told[-1].data["text"] == "Done."
            late = await server.client.post("/api/agents/payer/resume/stream", json=body)
            assert late.status_code == 409
    assert paid == [5, 5]
