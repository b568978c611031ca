"""The end of a server: calls are given their time, runs are handed back."""

from typing import Any

import anyio
from tests.server.gated import Gated
from tests.server.live import live
from tests.server.reading import read_events

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.server.limits import Limits
from procession.steps.step import StepContext, step
from procession.storage.memory_journal import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow


async def test_a_draining_server_takes_no_calls_and_ends_those_that_go_on() -> None:
    """While it drains a server is not ready and refuses calls, but what goes on comes to its end in its time."""
    model = Gated()
    app = App(agents=[Agent("slow", model=model)])
    path, body = "/api/agents/slow/generate", {"messages": "Hi"}
    answers: list[Any] = []
    async with live(app) as server, anyio.create_task_group() as group:

        async def ask() -> None:
            answers.append(await server.post(path, body))

        group.start_soon(ask)
        await model.speaking.wait()
        drained = anyio.Event()

        async def drain() -> None:
            await app.service.drain()
            drained.set()

        group.start_soon(drain)
        while not app.service.draining:
            await anyio.lowlevel.checkpoint()
        for method, where in (("GET", "/readyz"), ("POST", path)):
            refused = await server.client.request(method, where, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
            assert refused.headers["retry-after"]
        assert (await server.client.get("/healthz")).status_code == 200
        assert not drained.is_set()
        model.gate.set()
        await drained.wait()
    assert answers[0]["text"] == "One two."


async def test_what_has_not_ended_when_the_time_is_over_is_aborted() -> None:
    """A call that goes on when the drain is over is told to end, and its client is given what there is by then."""
    model = Gated()
    app = App(agents=[Agent("slow", model=model)], limits=Limits(drain=0))
    async with live(app) as server:
        body = {"messages": "Hi"}
        async with server.client.stream("POST", "/api/agents/slow/stream", json=body) as answer:
            told: list[Any] = []
            async for each in read_events(answer):
                told.append(each)
                if each.type == "text-delta":
                    await app.service.drain()
    assert told[-1].type == "result" and told[-1].data["status"] == "aborted"
    assert model.left.is_set()


async def test_readers_of_events_are_let_go_at_once() -> None:
    """Whoever watches a run is let go when the server drains, to take it up elsewhere; the run is not harmed."""
    model = Gated()
    app = App(agents=[Agent("slow", model=model)])
    async with live(app) as server, anyio.create_task_group() as group:
        body = {"messages": "Hi", "run_id": "watched"}
        group.start_soon(server.post, "/api/agents/slow/generate", body)
        await model.speaking.wait()
        headers = {"Accept": "text/event-stream"}
        async with server.client.stream("GET", "/api/runs/watched/events", headers=headers) as answer:
            lines = answer.aiter_lines()
            await anext(lines)
            group.start_soon(app.service.drain)
            rest = [each async for each in lines]
        assert "event: run.finished" not in rest and not model.left.is_set()
        model.gate.set()


async def test_a_kept_run_is_handed_back_and_taken_up() -> None:
    """A kept run that goes on when the server ends is no failure: the next process takes it up where it was."""
    done: list[str] = []
    begun, gate = anyio.Event(), anyio.Event()

    @step
    async def first(ctx: StepContext[int]) -> int:
        done.append("first")
        return ctx.input + 1

    @step
    async def second(ctx: StepContext[int]) -> int:
        begun.set()
        await gate.wait()
        done.append("second")
        return ctx.input * 2

    workflow: Workflow[Any, Any] = create_workflow("two", int).then(first).then(second).commit()
    store = InMemoryJournal()
    async with live(App(workflows=[workflow], runtime=Runtime(store), limits=Limits(drain=0))) as server:
        await server.post("/api/workflows/two/runs", {"input": 1, "run_id": "two-1"})
        await begun.wait()
    row = await store.row("two-1")
    assert row is not None and row.status == "running" and not row.claimed
    gate.set()
    async with Runtime(store) as runtime:
        assert (await runtime.restart("two-1", workflow=workflow)).output == 4
    assert done == ["first", "second"]


async def test_an_app_is_served_again() -> None:
    """An app that was served and ended can be served again, as tests of applications do."""
    app = App(agents=[Agent("slow", model=Gated())])
    for _ in range(2):
        async with live(app) as server:
            assert await server.get("/readyz") == {"status": "ok"}
