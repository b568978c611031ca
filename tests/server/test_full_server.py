"""A server that has no room refuses, and has changed nothing by then."""

from typing import Any

import anyio
from tests.server.gated import Gated
from tests.server.live import Live, live
from tests.server.test_workflow_runs import asking, ended

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.server.limits import Limits
from procession.steps.step import StepContext, step
from procession.storage.memory_journal import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow


def held(gate: anyio.Event) -> Workflow[Any, Any]:
    """Return a workflow that waits for *gate*."""

    @step
    async def wait(ctx: StepContext[int]) -> int:
        await gate.wait()
        return ctx.input

    return create_workflow("held", int).then(wait).commit()


async def refused(server: Live, path: str, body: Any) -> None:
    """Ask for what there is no room for."""
    answer = await server.client.post(path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too-many-calls")
    assert answer.headers["retry-after"] == "1"


async def test_what_there_is_no_room_for_can_be_asked_again() -> None:
    """A run and an answer that are refused while the server is full are taken once it is not: nothing was half done."""
    gate, answers = anyio.Event(), list[Any]()
    app = App(
        workflows=[held(gate), asking(answers)], runtime=Runtime(InMemoryJournal()), limits=Limits(calls=1)
    )  # fmt: skip
    answer = {"label": "boss", "answer": True, "wait": True}
    async with live(app) as server:
        await server.post("/api/workflows/refund/runs", {"input": 4, "run_id": "waits", "wait": True})
        await server.post("/api/workflows/held/runs", {"input": 1, "run_id": "first"})
        await refused(server, "/api/workflows/held/runs", {"input": 1, "run_id": "second"})
        await refused(server, "/api/runs/waits/resume", answer)
        await refused(server, "/api/runs/waits/fork", {"step": "approve"})
        assert (await server.get("/api/runs/waits"))["status"] == "suspended" and answers == []
        gate.set()
        await ended(server, "first")
        second = await server.post("/api/workflows/held/runs", {"input": 1, "run_id": "second", "wait": True})
        assert (second["status"], second["output"]) == ("success", 1)
        resumed = await server.post("/api/runs/waits/resume", answer)
        assert (resumed["status"], resumed["output"]) == ("success", 4)
        assert (await server.get("/api/runs/waits"))["forks"] == []


async def test_a_run_that_goes_on_is_not_deleted() -> None:
    """The run of an agent that somebody else than the server began cannot be forgotten while it goes on."""
    model = Gated()
    agent = Agent("slow", model=model)
    async with live(App(agents=[agent])) as server, anyio.create_task_group() as group:
        group.start_soon(lambda: agent.generate("Hi", run_id="own"))
        await model.speaking.wait()
        answer = await server.client.delete("/api/runs/own", headers={"X-Procession": "1"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "goes-on")
        model.gate.set()
        assert (await ended(server, "own"))["text"] == "One two."
