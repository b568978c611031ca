"""The reference's events: names, shapes and order.  The recorded traces are held against them in tests/conformance."""

from __future__ import annotations

import json
from typing import Any

import anyio
from tests.runtime.kit import Arms, blocks, events_of, fails, make, plus

from procession.messages.chunks import DataChunk, Finish, StepOutput, TextDelta
from procession.messages.usage import Usage
from procession.runtime.reference_events import as_reference_events
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow, create_workflow

NO_USAGE = {
    "inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "cachedInputTokens": 0, "cacheCreationInputTokens": 0,
    "reasoningTokens": 0,
}  # fmt: skip


async def told(workflow: Workflow[Any, Any], value: Any = 0, **options: Any) -> list[dict[str, Any]]:
    """Run *workflow* and return the reference's events; each is JSON, and its times are taken out."""
    made = Runtime().create_run(workflow, run_id="r")
    await made.start(value)
    found = [event async for event in as_reference_events(made.events(), **options)]
    for event in found:
        json.dumps(event, allow_nan=False)
        for key in ("startedAt", "endedAt", "suspendedAt"):
            at = event.get("payload", {}).pop(key, None)
            assert at is None or (isinstance(at, int) and at > 1_600_000_000_000)
    return found


def names(events: list[dict[str, Any]]) -> list[str]:
    """Return type and step of each event."""
    return [f"{event['type']} {event.get('payload', {}).get('id', '')}".strip() for event in events]


async def test_a_linear_run_is_told_in_the_observed_order() -> None:
    """Start, then each step's start, outputs and data, result; a sleep waits; a suspended run finishes as such."""

    async def write(ctx: Any) -> int:
        await ctx.emit(StepOutput("a", {"progress": 1}))
        await ctx.emit(DataChunk("data-note", {"n": 1}, id="d"))
        return 1

    workflow = (
        create_workflow("w")
        .then(make("a", write))
        .sleep(0.0, id="rest")
        .then(make("ask", lambda ctx: ctx.suspend({"q": 1})))
        .commit()
    )
    envelope = {"runId": "r", "from": "WORKFLOW"}
    a = {"id": "a", "stepName": "a", "stepCallId": "r:a", "payload": 0}
    rest = {"id": "rest", "stepName": "rest", "stepCallId": "r:rest", "payload": 1}
    ask = {"id": "ask", "stepName": "ask", "stepCallId": "r:ask", "payload": 1}
    assert await told(workflow) == [
        {"type": "workflow-start", **envelope, "payload": {"workflowId": "w"}},
        {"type": "workflow-step-start", **envelope, "payload": a | {"status": "running"}},
        {
            "type": "workflow-step-output", "runId": "r", "from": "USER",
            "payload": {"output": {"progress": 1}, "runId": "r", "stepName": "a"},
        },
        {"type": "data-note", "data": {"n": 1}, "id": "d"},
        {"type": "workflow-step-result", **envelope, "payload": a | {"status": "success", "output": 1}},
        {"type": "workflow-step-waiting", **envelope, "payload": rest | {"status": "waiting"}},
        {"type": "workflow-step-result", **envelope, "payload": rest | {"status": "success", "output": 1}},
        {"type": "workflow-step-start", **envelope, "payload": ask | {"status": "running"}},
        {
            "type": "workflow-step-suspended", **envelope,
            "payload": ask | {"status": "suspended", "suspendPayload": {"q": 1}},
        },
        {
            "type": "workflow-finish", **envelope,
            "payload": {"workflowStatus": "suspended", "output": {"usage": NO_USAGE}, "metadata": {}},
        },
    ]  # fmt: skip


async def test_nested_workflows_are_told_with_dots() -> None:
    """A step of a nested workflow is named after both, and stands inside of its workflow's start and result."""
    inner = create_workflow("inner").then(plus("a", 1)).commit()
    events = await told(create_workflow("w").then(inner).commit())
    assert names(events) == [
        "workflow-start", "workflow-step-start inner", "workflow-step-start inner.a", "workflow-step-result inner.a",
        "workflow-step-result inner", "workflow-finish",
    ]  # fmt: skip


async def test_containers_and_decisions_are_left_out() -> None:
    """Branches, parallels, loops, what they decided and what they skipped have no events; rounds are counted."""
    arms: Arms = [(lambda v: True, plus("yes", 1)), (lambda v: False, plus("no", 1))]
    workflow = (
        create_workflow("w")
        .parallel([plus("a", 1)])
        .map(lambda outputs: outputs["a"])
        .branch(arms)
        .map(lambda outputs: outputs["yes"])
        .do_while(plus("more", 1), lambda v: v < 4)
        .commit()
    )
    events = await told(workflow)
    assert [name for name in names(events) if "map" not in name] == [
        "workflow-start", "workflow-step-start a", "workflow-step-result a", "workflow-step-start yes",
        "workflow-step-result yes", "workflow-step-start more", "workflow-step-result more",
        "workflow-step-start more", "workflow-step-result more", "workflow-finish",
    ]  # fmt: skip
    rounds = [event["payload"] for event in events if event.get("payload", {}).get("id") == "more"]
    assert [payload["metadata"]["iterationCount"] for payload in rounds] == [1, 1, 2, 2]
    assert len({payload["stepCallId"] for payload in rounds}) == 2


async def test_a_foreach_is_told_by_its_progress() -> None:
    """A foreach starts once with the whole list and no call id; each item is a progress with its output."""

    def body(ctx: Any) -> int:
        if ctx.input == 3:
            raise ValueError("no")
        return int(ctx.input) * 10

    events = await told(create_workflow("w").foreach(make("each", body)).commit(), [1, 3])
    shared = {"id": "each", "stepName": "each"}
    counts = {"totalCount": 2, "completedCount": 1}
    assert [event["payload"] for event in events[1:4]] == [
        shared | {"payload": [1, 3], "status": "running"},
        shared | counts | {"currentIndex": 0, "iterationStatus": "success", "iterationOutput": 10},
        shared | counts | {"currentIndex": 1, "iterationStatus": "failed"},
    ]
    assert names(events[4:]) == ["workflow-step-result each", "workflow-finish"]


async def test_how_a_run_ended_is_told_in_the_reference_s_words() -> None:
    """Failed runs carry the step's own error, blocked ones are called tripwire, cancelled ones canceled."""
    failed = await told(create_workflow("w").then(make("s", fails(ValueError("no")))).commit())
    error = {"name": "ValueError", "message": "no"}
    assert failed[-2]["payload"]["error"] == error
    assert failed[-1]["payload"]["metadata"] == {"error": error}
    blocked = await told(create_workflow("w").then(make("s", blocks("guard"))).commit())
    tripwire = {"reason": "guard", "processorId": "guard"}
    assert (blocked[-2]["payload"]["status"], blocked[-2]["payload"]["tripwire"]) == ("failed", tripwire)
    assert (blocked[-1]["payload"]["workflowStatus"], blocked[-1]["payload"]["tripwire"]) == ("tripwire", tripwire)
    cancelled = await told(create_workflow("w").then(make("s", lambda ctx: ctx.cancel_run())).commit())
    assert names(cancelled)[-2:] == ["workflow-canceled", "workflow-finish"]
    assert cancelled[-1]["payload"]["workflowStatus"] == "canceled"
    done = await told(create_workflow("w").then(plus("a", 1)).commit())
    assert done[-1]["payload"]["finalWorkflowResult"] == 1


async def test_usage_of_models_is_summed() -> None:
    """The finish event adds up the tokens of the ``finish`` chunks that steps have sent."""

    async def think(ctx: Any) -> int:
        await ctx.emit(TextDelta("hi"))
        await ctx.emit(Finish("stop", usage=Usage(3, 2)))
        await ctx.emit(StepOutput("s", Finish("stop", usage=Usage(1, 1))))
        return 1

    events = await told(create_workflow("w").then(make("s", think)).commit())
    usage = events[-1]["payload"]["output"]["usage"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["totalTokens"]) == (4, 3, 7)
    assert events[2]["payload"]["output"]["type"] == "text-delta"


async def test_watching_sees_finishes() -> None:
    """With ``finishes=True`` a result is followed by its finish, as the reference's ``watch`` has it."""
    events = await told(create_workflow("w").then(plus("a", 1)).commit(), finishes=True)
    assert names(events) == [
        "workflow-start", "workflow-step-start a", "workflow-step-result a", "workflow-step-finish a",
        "workflow-finish",
    ]  # fmt: skip
    assert events[3]["payload"]["metadata"] == {}


async def test_a_late_reader_gets_the_terminal_event() -> None:
    """Whoever comes after the end sees the finish as well, which the reference does not keep."""
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).commit())
    early: list[Any] = []

    async def read() -> None:
        async for event in as_reference_events(made.events()):
            early.append(event)

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await made.start(0)
    late = [event async for event in as_reference_events(made.events())]
    assert late == early
    assert late[-1]["type"] == "workflow-finish"
    assert len(await events_of(made)) == len(late)


async def test_leaving_lets_the_run_go_on() -> None:
    """A loop over the adapter that is left holds up nothing."""

    async def chatter(ctx: Any) -> None:
        for number in range(500):
            await ctx.emit(DataChunk("data-n", number))

    made = Runtime().create_run(create_workflow("w").then(make("s", chatter)).commit())

    async def read() -> None:
        async for event in as_reference_events(made.events()):
            if event["type"] == "data-n":
                break

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await made.start(0)
    assert made.state.broadcast.quiet


async def test_an_error_may_be_its_own_cause() -> None:
    """``raise error from error`` is told of like any other."""

    def circular(ctx: Any) -> Any:
        error = ValueError("round")
        raise error from error

    found = await told(create_workflow("w").then(make("s", circular)).commit())
    assert found[-2]["payload"]["error"]["message"] == "round"
