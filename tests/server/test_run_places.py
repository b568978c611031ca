"""Each event of an agent's run is about a node that the graph of the agent has."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.watch_kit import events_of, idle, look, unplaced, watched

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.processor import Processor
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.workflows.workflow import create_workflow


class Guard(Processor):
    check_only = True

    def process_input(self, ctx: Any) -> None:
        return None


class Handler(Processor):
    id = "handler"

    def process_api_error(self, ctx: Any) -> None:
        return None


def calling() -> FakeModel:
    return FakeModel(
        [Reply(tool_calls=[ScriptedCall("look", {"what": "a"}), ScriptedCall("look", {"what": "b"})]), "Done."]
    )


def side_by_side(id: str) -> Any:
    return create_workflow(id, kind="processor").parallel([idle(f"{id}-1"), idle(f"{id}-2")]).commit()


def guards_together() -> Any:
    guards = [PIIDetector(id=f"pii-{number}", strategy="redact") for number in (1, 2)]
    return create_workflow("guards", kind="processor").parallel(guards).commit()


CASES: dict[str, dict[str, Any]] = {
    "no processors": {"script": ["Hello."]},
    "all hooks": {"input_processors": [idle("in")], "output_processors": [idle("out")], "error_processors": [Handler()]},
    "concurrent guards": {
        "input_processors": [idle("in"), Guard(id="g1"), Guard(id="g2")], "output_processors": [idle("out")],
        "guard_mode": "concurrent",
    },
    "parallel lists": {"input_processors": [side_by_side("ahead")], "output_processors": [side_by_side("behind")]},
    "text guards side by side": {"script": ["Ask eva@example.com."], "output_processors": [guards_together()]},
    "a failing model": {"script": [ModelError("no"), "Hello."]},
    "a failing model and a handler": {"script": [ModelError("no")], "error_processors": [Handler()]},
}  # fmt: skip


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """What is seen needs no server, and is the same on both."""
    backend: str = request.param
    return backend


@pytest.mark.parametrize("case", CASES)
async def test_every_event_is_of_a_node_of_the_agents_graph(case: str) -> None:
    """With rounds in brackets left out, a path of an event is one of a node, whatever the agent is made of."""
    options = dict(CASES[case])
    script = options.pop("script", None)
    agent, runs = watched(model=FakeModel(script) if script else calling(), tools=[look], **options)
    try:
        await agent.generate("Hello")
    except ModelError:
        assert "failing" in case
    (run,) = runs
    events = await events_of(runs, run.run_id)
    assert unplaced(agent.workflow, events) == []
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] == "run.finished"


async def test_a_step_that_is_sent_back_is_a_round_of_its_own() -> None:
    """Both attempts are shown, each in its round, and the verdict where it was given."""

    class Picky(Processor):
        id = "picky"

        def process_output_step(self, ctx: Any) -> None:
            if ctx.retry_count == 0:
                ctx.abort("too short", retry=True)

    agent, runs = watched(
        model=FakeModel(["No.", "A whole answer."]), output_processors=[Picky()], max_processor_retries=1
    )
    result = await agent.generate("Hello")
    events = await events_of(runs, result.run_id)
    assert unplaced(agent.workflow, events) == []
    changed = [event for event in events if event["type"] == "hook.changed"]
    assert [(event["node_path"], event["payload"]["outcome"]) for event in changed] == [
        ("step[0]/process_output_step/processor:picky", "blocked"),
        ("step[1]/process_output_step/processor:picky", "passed"),
    ]
    (rejected,) = events[-1]["payload"]["rejected"]
    assert rejected["text"] == "No." and events[-1]["payload"]["text"] == "A whole answer."


async def test_a_concurrent_guard_that_blocks_is_shown_at_its_place() -> None:
    """The model call beside it is cancelled, and the run is blocked by the guard."""

    class Blocks(Guard):
        def process_input(self, ctx: Any) -> None:
            ctx.abort("not this")

    agent, runs = watched(model=FakeModel("Hello."), input_processors=[Blocks(id="no")], guard_mode="concurrent")
    result = await agent.generate("Hello")
    assert result.status == "blocked"
    events = await events_of(runs, result.run_id)
    assert unplaced(agent.workflow, events) == []
    (changed,) = [event for event in events if event["type"] == "hook.changed"]
    assert changed["payload"]["outcome"] == "blocked"
    assert [one["message"] for one in changed["payload"]["violations"]] == ["not this"]
    assert (await runs.summary(result.run_id))["status"] == "blocked"
    assert events[-1]["payload"]["tripwire"]["reason"] == "not this"


async def test_an_agent_as_a_tool_is_a_run_inside_the_run() -> None:
    """The inner run is seen although only the outer agent's runtime is observed, and names the outer one."""
    inner = Agent("inner", model=FakeModel("From inside."), description="Knows.")
    call = Reply(tool_calls=[ScriptedCall("agent-inner", {"prompt": "Who?"})])
    agent, runs = watched(model=FakeModel([call, "Done."]), tools=[inner])
    result = await agent.generate("Hello")
    found = {run.owner: run for run in runs}
    assert set(found) == {"seen", "inner"}
    assert found["inner"].outer_run_id == result.run_id
    shown = await runs.summary(result.run_id)
    assert shown["inner_runs"] == [found["inner"].run_id]
    assert unplaced(inner.workflow, await events_of(runs, found["inner"].run_id)) == []
    assert (await runs.summary(found["inner"].run_id))["text"] == "From inside."


async def test_an_agent_as_a_step_is_a_run_inside_the_workflows() -> None:
    """The workflow's run and the agent's are both seen."""
    from procession.runtime.runtime import Runtime
    from procession.server.runs import Runs

    runs = Runs(redact=None)
    inner = Agent("inner", model=FakeModel("From inside."))
    workflow = create_workflow("outer", str).then(inner).commit()
    result = await Runtime(observers=[runs]).run(workflow, "Hello")
    assert result.output == "From inside."
    found = {run.owner: run for run in runs}
    assert found["inner"].outer_run_id == found["outer"].run_id and found["outer"].kind == "workflow"
    assert [node["status"] for node in (await runs.summary(found["outer"].run_id))["nodes"]] == ["success"]


async def test_a_resumed_run_goes_on_in_its_log() -> None:
    """Its numbers go on, its rounds are counted on, and the calls that were answered are at the step's own node."""
    call = Reply(tool_calls=[ScriptedCall("look", {"what": "a"})])
    agent, runs = watched(
        model=FakeModel([call, "Done."]), tools=[look], require_tool_approval=True, output_processors=[idle("out")]
    )
    waiting = await agent.generate("Hello")
    assert waiting.status == "suspended"
    first = await events_of(runs, waiting.run_id)
    assert first[-1]["type"] == "run.suspended"
    shown = await runs.summary(waiting.run_id)
    assert shown["status"] == "suspended"
    assert [one["question_id"] for one in shown["suspended"]] == [waiting.suspended[0].question_id]
    result = await agent.approve(waiting.run_id)
    assert result.text == "Done."
    events = await events_of(runs, waiting.run_id)
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert events[: len(first)] == first
    assert unplaced(agent.workflow, events) == []
    again = events[len(first)]
    assert again["type"] == "run.started" and again["payload"]["resumed"]
    later = [event["node_path"] for event in events[len(first) :]]
    assert "step[0]/tool-calls" in later and "step[1]/model-call" in later
    assert (await runs.summary(waiting.run_id))["status"] == "success"


async def test_a_workflow_as_a_tool_and_a_step_that_is_retried() -> None:
    """The workflow's run is inside the agent's; its step is one node that was begun twice, its nested one has its path."""
    failed: list[int] = []

    @step(retry=RetryPolicy(2))
    def flaky(ctx: StepContext[str]) -> str:
        if not failed:
            failed.append(1)
            raise ValueError("once")
        return ctx.input.upper()

    inner = create_workflow("inner", str).then(flaky).commit()
    lookup = create_workflow("lookup", str, description="Looks.").then(inner).commit()
    call = Reply(tool_calls=[ScriptedCall("workflow-lookup", {"input": "a"})])
    agent, runs = watched(model=FakeModel([call, "Done."]), tools=[lookup])
    result = await agent.generate("Hello")
    found = {run.owner: run for run in runs}
    assert found["lookup"].outer_run_id == result.run_id and found["lookup"].kind == "workflow"
    shown = await runs.summary(found["lookup"].run_id)
    assert [(node["path"], node["status"], node["attempts"]) for node in shown["nodes"]] == [
        ("inner", "success", 1),
        ("inner/flaky", "success", 2),
    ]
    assert unplaced(lookup, await events_of(runs, found["lookup"].run_id)) == []
