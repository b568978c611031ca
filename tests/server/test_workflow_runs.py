"""Workflows over HTTP: shown, run, resumed, cancelled, forked and replayed."""

from typing import Any

import anyio
from pydantic import BaseModel
from tests.server.live import Live, live
from tests.server.reading import events_of

from procession.agents.agent import Agent
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.steps.step import Step, StepContext, step
from procession.storage.base import RunRow
from procession.storage.memory_journal import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import Workflow, create_workflow


class Order(BaseModel):
    """What is ordered."""

    item: str
    count: int
    gift: bool = False


def priced(calls: list[str]) -> Workflow[Any, Any]:
    """Return a workflow of two steps that notes what it did."""

    @step
    async def price(ctx: StepContext[Order]) -> int:
        calls.append("price")
        return ctx.input.count * 10

    @step
    async def bill(ctx: StepContext[int]) -> str:
        calls.append("bill")
        return f"pay {ctx.input}"

    return create_workflow("order", Order).then(price).then(bill).commit()


def asking(calls: list[Any]) -> Workflow[Any, Any]:
    """Return a workflow that waits for a person."""

    @step
    async def approve(ctx: StepContext[int]) -> int:
        answer = await ctx.suspend({"amount": ctx.input}, label="boss")
        calls.append(answer)
        return ctx.input if answer else 0

    return create_workflow("refund", int).then(approve).commit()


async def ended(server: Live, run_id: str) -> Any:
    """Wait until a run has ended or waits, by its events, and return how it stands."""
    await events_of(server, f"/api/runs/{run_id}/events")
    return await server.get(f"/api/runs/{run_id}")


async def test_workflows_are_listed_with_those_of_agents() -> None:
    """Processor lists and loops of agents appear beside the app's own workflows, with schemas, hooks and graphs."""
    guarded = Agent("guarded", model=FakeModel("Hi"), input_processors=[RegexFilter(presets=["secrets"])])
    async with live(App(agents=[guarded], workflows=[priced([])])) as server:
        listed = {each["id"]: each for each in await server.get("/api/workflows")}
        assert listed["order"]["kind"] == "workflow" and listed["order"]["step_count"] == 2
        assert listed["order"]["input_schema"]["required"] == ["item", "count"]
        assert listed["guarded"]["kind"] == "loop" and listed["guarded"]["agent"] == "guarded"
        chain = listed["guarded-input-processor"]
        assert (chain["kind"], chain["list"]) == ("processors", "input") and "process_input" in chain["hooks"]
        for id, one in listed.items():
            graph = await server.get(f"/api/workflows/{id}/graph")
            assert graph["graph_hash"] == one["graph_hash"] == (await server.get(f"/api/workflows/{id}"))["graph_hash"]
            picture = await server.client.get(f"/api/workflows/{id}/graph.svg")
            assert picture.headers["content-type"] == "image/svg+xml" and picture.text.startswith("<svg")
        assert (await server.client.get("/api/workflows/none")).status_code == 404


async def test_a_run_begins_and_is_shown() -> None:
    """A run is begun with 202, goes on by itself, and is shown with its nodes, in the list, and over its graph."""
    async with live(App(workflows=[priced([])])) as server:
        begun = await server.client.post("/api/workflows/order/runs", json={"input": {"item": "tea", "count": 3}})
        assert begun.status_code == 202
        run_id = begun.json()["run_id"]
        run = await ended(server, run_id)
        assert (run["status"], run["output"]) == ("success", "pay 30")
        assert [node["status"] for node in run["nodes"]] == ["success", "success"]
        assert [each["run_id"] for each in (await server.get("/api/runs?owner=order"))["runs"]] == [run_id]
        assert (await server.get("/api/runs?status=failed"))["runs"] == []
        assert "✓" in (await server.client.get(f"/api/workflows/order/graph.svg?run={run_id}")).text


async def test_a_run_that_is_waited_for() -> None:
    """With `wait` the answer is the run as it ended; an input that does not fit is refused before anything runs."""
    calls: list[str] = []
    async with live(App(workflows=[priced(calls)])) as server:
        path = "/api/workflows/order/runs"
        wrong = await server.client.post(path, json={"input": {"item": "tea", "count": "many"}})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "schema") and calls == []
        assert "count" in wrong.json()["error"]["message"] and "many" not in wrong.text
        run = await server.post(path, {"input": {"item": "tea", "count": 2}, "wait": True})
    assert run["output"] == "pay 20"


async def test_the_same_run_id_is_one_run_of_a_workflow() -> None:
    """Twenty requests at once with one run_id begin one run; another body by that id is refused."""
    calls: list[str] = []
    async with live(App(workflows=[priced(calls)])) as server:
        path = "/api/workflows/order/runs"
        body = {"input": {"item": "tea", "count": 2}, "run_id": "order-7", "wait": True}
        outputs: list[str] = []

        async def ask() -> None:
            outputs.append((await server.post(path, body))["output"])

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask)
        other = await server.client.post(path, json={**body, "input": {"item": "tea", "count": 3}})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "run-id-taken")
    assert outputs == ["pay 20"] * 20 and calls == ["price", "bill"]


async def test_requests_at_once_are_one_run_of_a_store_that_takes_its_time() -> None:
    """Whoever sends the same while the first request still looks into the store joins its run, and is not refused."""
    calls: list[str] = []

    class Slow(InMemoryJournal):
        """A store that answers each later than the one before, as one whose file is opened first."""

        asked = 0

        async def row(self, run_id: str) -> RunRow | None:
            self.asked += 1
            found = await super().row(run_id)
            for _ in range(self.asked * 20):
                await anyio.lowlevel.checkpoint()
            return found

    body = {"input": {"item": "tea", "count": 2}, "run_id": "order-7", "wait": True}
    statuses: list[int] = []
    async with live(App(workflows=[priced(calls)], runtime=Runtime(Slow()))) as server:

        async def ask() -> None:
            statuses.append((await server.client.post("/api/workflows/order/runs", json=body)).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
    assert statuses == [200] * 5 and calls == ["price", "bill"]


async def test_the_same_run_id_is_one_run_of_a_store() -> None:
    """A run that was kept before the server was started anew is not begun again by its id."""
    calls: list[str] = []
    store = InMemoryJournal()
    body = {"input": {"item": "tea", "count": 2}, "run_id": "order-7"}
    for _ in range(2):
        async with live(App(workflows=[priced(calls)], runtime=Runtime(store))) as server:
            assert await server.post("/api/workflows/order/runs", body) == {"run_id": "order-7"}
            other = {**body, "input": {"item": "tea", "count": 3}}
            refused = await server.client.post("/api/workflows/order/runs", json=other)
            assert refused.status_code == 409
    assert calls == ["price", "bill"]


async def test_a_suspended_run_is_resumed_once() -> None:
    """Of two answers to one question one is taken; the other gets 409, and the step goes on once."""
    calls: list[Any] = []
    async with live(App(workflows=[asking(calls)])) as server:
        run_id = (await server.post("/api/workflows/refund/runs", {"input": 40}))["run_id"]
        waiting = await ended(server, run_id)
        assert waiting["status"] == "suspended"
        assert waiting["suspended"][0]["label"] == "boss" and waiting["suspended"][0]["payload"] == {"amount": 40}
        statuses: list[int] = []

        async def answer() -> None:
            body = {"label": "boss", "answer": True}
            statuses.append((await server.client.post(f"/api/runs/{run_id}/resume", json=body)).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(answer)
        assert sorted(statuses) == [202, 409]
        assert (await ended(server, run_id))["output"] == 40
    assert calls == [True]


async def test_a_run_is_cancelled() -> None:
    """A run that goes on, and one that waits, are cancelled; one that has ended stays as it is."""
    begun = anyio.Event()

    async def wait(ctx: StepContext[Any]) -> None:
        begun.set()
        await anyio.sleep_forever()

    waits_long: Step[int, None] = Step(id="wait", execute=wait)
    slow = create_workflow("slow", int).then(waits_long).commit()
    async with live(App(workflows=[slow, asking([])])) as server:
        run_id = (await server.post("/api/workflows/slow/runs", {"input": 1}))["run_id"]
        await begun.wait()
        assert await server.post(f"/api/runs/{run_id}/cancel") == {"cancelled": True}
        assert (await ended(server, run_id))["status"] == "cancelled"
        assert await server.post(f"/api/runs/{run_id}/cancel") == {"cancelled": False}
        waits = (await server.post("/api/workflows/refund/runs", {"input": 1}))["run_id"]
        await ended(server, waits)
        assert await server.post(f"/api/runs/{waits}/cancel") == {"cancelled": True}
        assert (await server.get(f"/api/runs/{waits}"))["status"] == "cancelled"
        refused = await server.client.post(f"/api/runs/{waits}/resume", json={"label": "boss", "answer": True})
        assert refused.status_code == 409
        assert (await server.client.post("/api/runs/none/cancel", json={})).status_code == 404


async def test_a_run_is_forked() -> None:
    """A kept run begins anew from a step, with another input there, as a new run; the old one stays as it is."""
    calls: list[str] = []
    async with live(App(workflows=[priced(calls)], runtime=Runtime(InMemoryJournal()))) as server:
        body = {"input": {"item": "tea", "count": 2}, "wait": True}
        old = await server.post("/api/workflows/order/runs", body)
        fork = await server.post(f"/api/runs/{old['run_id']}/fork", {"step": "bill", "input": 99})
        new = await ended(server, fork["run_id"])
        assert new["output"] == "pay 99" and new["parent_run_id"] == old["run_id"]
        other = await server.post(f"/api/runs/{old['run_id']}/fork", {"step": "bill", "outputs": {"price": 55}})
        assert (await ended(server, other["run_id"]))["output"] == "pay 55"
        assert (await server.get(f"/api/runs/{old['run_id']}"))["output"] == "pay 20"
        first = await server.client.post(f"/api/runs/{old['run_id']}/fork", json={"step": "price", "input": {}})
        assert first.status_code == 400 and "first" in first.json()["error"]["hint"]
    assert calls == ["price", "bill", "bill", "bill"]


async def test_a_run_is_replayed_and_deleted() -> None:
    """A replay is a new run of the same input through the present code; a deleted run is gone."""
    calls: list[str] = []
    async with live(App(workflows=[priced(calls)])) as server:
        old = await server.post("/api/workflows/order/runs", {"input": {"item": "tea", "count": 2}, "wait": True})
        again = await server.post(f"/api/runs/{old['run_id']}/replay")
        assert (await ended(server, again["run_id"]))["output"] == "pay 20"
        gone = await server.client.delete(f"/api/runs/{old['run_id']}", headers={"X-Procession": "1"})
        assert gone.json() == {"deleted": True}
        assert (await server.client.get(f"/api/runs/{old['run_id']}")).status_code == 404
    assert calls == ["price", "bill"] * 2


async def test_one_hook_of_a_processor_workflow_is_run() -> None:
    """A hook of an agent's processors is run by itself, and shows what it did."""
    guarded = Agent(
        "guarded", model=FakeModel("Hi"), input_processors=[RegexFilter(presets=["pii"], strategy="redact")]
    )
    async with live(App(agents=[guarded])) as server:
        body = {"hook": "process_input", "messages": "I am eva@example.net", "wait": True}
        run = await server.post("/api/workflows/guarded-input-processor/runs", body)
        assert run["nodes"] and run["status"] in ("success", "blocked")
        wrong = await server.client.post(
            "/api/workflows/guarded-input-processor/runs", json={"hook": "process_inptu", "messages": "x"}
        )
        assert wrong.status_code == 400 and "process_input" in wrong.json()["error"]["hint"]
        loop = await server.client.post("/api/workflows/guarded/runs", json={"input": 1})
        assert (loop.status_code, loop.json()["error"]["code"]) == (400, "agent-loop")
