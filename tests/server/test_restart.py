"""A run that lost its process, and one that waits, are taken up by a server that has only the store."""

from typing import Any

import anyio
from tests.runtime.durable.faults import left_by_a_dead_process
from tests.server.live import live
from tests.server.reading import events_of

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import Workflow, create_workflow


def counting(calls: list[str], begun: anyio.Event | None = None) -> Workflow[Any, Any]:
    """Return a workflow that notes its steps, and hangs in the second where *begun* is given."""

    @step
    async def first(ctx: StepContext[int]) -> int:
        calls.append("first")
        return ctx.input + 1

    @step
    async def second(ctx: StepContext[int]) -> int:
        calls.append("second")
        if begun is not None:
            begun.set()
            await anyio.sleep_forever()
        return ctx.input * 10

    return create_workflow("counting", int).then(first).then(second).commit()


async def test_a_run_that_lost_its_process_is_restarted() -> None:
    """It is shown as broken off, taken up once, does nothing again that was written down, and its log goes on."""
    now, calls, begun = [100.0], list[str](), anyio.Event()
    store = InMemoryJournal(clock=lambda: now[0])
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await Runtime(store).run(counting(calls, begun), 1, run_id="r")

        tasks.start_soon(run)
        await begun.wait()
        store = left_by_a_dead_process(store, lambda: now[0])
        tasks.cancel_scope.cancel()
    async with live(App(workflows=[counting(calls)], runtime=Runtime(store))) as server:
        held = await server.client.post("/api/runs/r/restart", json={})
        assert held.status_code == 409 and not (await server.get("/api/runs/r"))["broken_off"]
        now[0] += 60
        lost = await server.get("/api/runs/r")
        assert (lost["status"], lost["broken_off"]) == ("running", True)
        before = (await server.get("/api/runs/r/events"))["events"]
        ended = await server.post("/api/runs/r/restart", {"wait": True})
        assert (ended["status"], ended["output"], ended["broken_off"]) == ("success", 20, False)
        assert [node["path"] for node in ended["nodes"]] == ["first", "second"]
        after = (await server.get("/api/runs/r/events"))["events"]
        assert after[: len(before)] == before and [each["seq"] for each in after] == list(range(len(after)))
        assert after[len(before)]["payload"]["resumed"] and after[-1]["type"] == "run.finished"
        again = await server.client.post("/api/runs/r/restart", json={})
        assert again.status_code == 409
        assert (await server.client.post("/api/runs/none/restart", json={})).status_code == 404
    assert calls == ["first", "second", "second"]


async def test_a_run_that_waits_for_another_server_goes_on_behind_what_was_read() -> None:
    """Who has read the events up to the question reads the others behind them, though another server answers it."""

    @step
    async def ask(ctx: StepContext[int]) -> int:
        answer: int = await ctx.suspend("how many?")
        return ctx.input + answer

    store = InMemoryJournal()
    workflow = create_workflow("asking", int).then(ask).commit()
    await Runtime(store).run(workflow, 1, run_id="r")
    async with live(App(workflows=[workflow], runtime=Runtime(store))) as server:
        before = await events_of(server, "/api/runs/r/events")
        ended = await server.post("/api/runs/r/resume", {"step": "ask", "answer": 2, "wait": True})
        assert (ended["output"], ended["input"]) == (3, 1)
        behind = (await server.get(f"/api/runs/r/events?after={len(before) - 1}"))["events"]
        assert (behind[0]["type"], behind[-1]["type"]) == ("run.started", "run.finished")


async def test_an_agents_run_is_not_restarted() -> None:
    """It is refused with what can be done instead."""
    async with live(App(agents=[Agent("support", model=FakeModel("Hi"))])) as server:
        run = await server.post("/api/agents/support/generate", {"messages": "Hello"})
        refused = await server.client.post(f"/api/runs/{run['run_id']}/restart", json={})
        assert refused.status_code == 409 and "replay" in refused.json()["error"]["hint"]
