"""Bundles, comparisons and statistics over HTTP."""

from __future__ import annotations

from typing import Any

from tests.server.live import live

from procession import Agent, App, StepContext, create_workflow, step
from procession.processors.guardrails.pii import PIIDetector
from procession.runtime.runtime import Runtime
from procession.storage.memory_journal import InMemoryJournal
from procession.testing.fake_model import FakeModel


@step
def double(ctx: StepContext[int]) -> int:
    return ctx.input * 2


def served() -> App:
    model = FakeModel("Write to eva@example.com.", repeat_last=True)
    agent = Agent("clerk", model=model, output_processors=[PIIDetector(redaction="placeholder")])
    workflow: Any = create_workflow("twice", int).then(double).commit()
    more: Any = create_workflow("thrice", int).then(double).map(str, id="text").commit()
    return App(agents=[agent], workflows=[workflow, more], runtime=Runtime(InMemoryJournal()))


async def test_a_bundle_has_all_of_a_run_and_nothing_that_is_masked_elsewhere() -> None:
    """Run, graph and events are in it, redacted as everywhere."""
    async with live(served()) as server:
        made = await server.post("/api/agents/clerk/generate", {"messages": "Who is joe@example.net?"})
        bundle = await server.get(f"/api/runs/{made['run_id']}/bundle")
    assert bundle["run"]["run_id"] == made["run_id"] and bundle["graph"]["nodes"]
    assert [event["seq"] for event in bundle["events"]] == list(range(len(bundle["events"])))
    assert bundle["events"][-1]["type"] == "run.finished"
    assert "joe@example.net" not in str(bundle) and "eva@example.com" not in str(bundle)


async def test_runs_and_graphs_are_compared_and_counted_up() -> None:
    """Two runs of other inputs differ at each node; two graphs in their steps; statistics are over both runs."""
    async with live(served()) as server:
        a = await server.post("/api/workflows/twice/runs", {"input": 2, "wait": True})
        b = await server.post("/api/workflows/twice/runs", {"input": 3, "wait": True})
        runs = await server.get("/api/compare/runs", params={"a": a["run_id"], "b": b["run_id"]})
        graphs = await server.get("/api/compare/graphs", params={"a": "twice", "b": "thrice"})
        same = await server.get("/api/compare/graphs", params={"a": a["run_id"], "b": "twice"})
        stats = await server.get("/api/workflows/twice/stats")
        lost = await server.client.get("/api/compare/runs", params={"a": a["run_id"], "b": "nobody"})
        one = await server.client.get("/api/compare/runs", params={"a": a["run_id"]})
    assert runs["nodes"][0]["change"] == "changed" and runs["nodes"][0]["values"]["output"] == [4, 6]
    assert graphs["breaking"] and any("'text'" in each["text"] for each in graphs["differences"])
    assert same["same"]
    assert stats["runs"] == 2 and stats["nodes"][0]["count"] == 2 and stats["nodes"][0]["p50"] is not None
    assert lost.status_code == 404 and one.status_code == 422


async def test_what_does_not_fit_is_told_by_field() -> None:
    """An error of a schema has its faults one by one, each with the path of the field."""
    async with live(served()) as server:
        answer = await server.client.post("/api/workflows/twice/runs", json={"input": "many"})
        guards = await server.client.post(
            "/api/workflows/clerk-output-processor/runs",
            json={"hook": "process_tool_result", "tool_result": {"tool": "x"}},
        )
    assert answer.status_code == 422 and answer.json()["error"]["faults"][0].startswith("value: ")
    assert guards.json()["error"]["faults"][0].startswith("tool_result.tool: ")


async def test_a_hook_that_is_run_by_itself_is_seen_chunk_by_chunk() -> None:
    """A run of the stream's hook tells what each processor made of each chunk, also where runs are kept in a store."""
    passed: list[Any] = []
    async with live(served()) as server:
        samples = await server.get("/api/workflows/clerk-output-processor/samples")
        for sample in samples:
            run = await server.post("/api/workflows/clerk-output-processor/runs", {**sample["body"], "wait": True})
            assert run["status"] == "success", sample["title"]
            if sample["title"] == "Text in pieces":
                page = await server.get(f"/api/runs/{run['run_id']}/events", params={"types": "stream.passed"})
                passed = [event["payload"] for event in page["events"]]
    assert passed and [one["number"] for one in passed] == list(range(len(passed)))
    left = "".join(chunk.get("text", "") for one in passed for chunk in one["left"])
    assert "[EMAIL]" in left and any(stage["processor"] == "pii-detector" for one in passed for stage in one["stages"])
