"""Events: what is told of a run, and how it is numbered."""

from __future__ import annotations

from tests.runtime.kit import Doc, Function, blocks, events_of, fails, make, plus, recorded

from procession.runtime.events import WorkflowEvent
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import create_workflow


async def test_a_run_is_told_from_start_to_end() -> None:
    """A run's events begin with its start, end with its end, and are numbered without gaps in between."""
    inner = create_workflow("inner").then(plus("b", 1)).commit()
    made = Runtime().create_run(create_workflow("w").then(plus("a", 1)).then(inner).commit(), run_id="r")
    await made.start(0)
    events = await events_of(made)
    assert [(event.seq, event.type, event.path, event.step_id) for event in events] == [
        (0, "run.started", "", None),
        (1, "node.started", "a", "a"),
        (2, "node.completed", "a", "a"),
        (3, "node.started", "inner", "inner"),
        (4, "node.started", "inner/b", "b"),
        (5, "node.completed", "inner/b", "b"),
        (6, "node.completed", "inner", "inner"),
        (7, "run.finished", "", None),
    ]
    assert {event.run_id for event in events} == {"r"}
    assert [event.ts for event in events] == sorted(event.ts for event in events)
    assert events[0].payload == {"workflow": "w", "input": 0}
    assert events[1].payload == {"kind": "step", "input": 0}
    assert events[2].payload == {"output": 1}
    assert events[-1].payload == {"status": "success", "output": 2}


async def test_how_steps_end_is_told() -> None:
    """Failures, blocks, bails and suspensions have events of their own, with what belongs to them."""
    error = ValueError("no")
    ends: list[tuple[Function, str, str, str]] = [
        (fails(error), "node.failed", "run.finished", "error"),
        (blocks("guard"), "node.blocked", "run.finished", "tripwire"),
        (lambda ctx: ctx.bail(5), "node.completed", "run.finished", "output"),
        (lambda ctx: ctx.suspend("why", label="l"), "node.suspended", "run.suspended", "payload"),
        (lambda ctx: ctx.cancel_run(), "node.cancelled", "run.finished", "reason"),
    ]
    for function, type, last, key in ends:
        made = Runtime().create_run(create_workflow("w").then(make("s", function)).commit())
        await made.start(0)
        events = await events_of(made)
        assert [event.type for event in events] == ["run.started", "node.started", type, last]
        assert key in events[2].payload


async def test_a_merge_is_told() -> None:
    """Where branches are merged, the policy and the branches are told."""
    made = Runtime().create_run(create_workflow("w").parallel([make("a", lambda c: c.input)], id="both").commit())
    await made.start(Doc(("x",)))
    (event,) = [event for event in await events_of(made) if event.type == "merge.applied"]
    assert (event.path, event.payload) == ("both", {"policy": "strictest", "branches": ("a",), "conflicts": ()})


async def test_branches_that_never_began_are_told() -> None:
    """A branch that was cancelled before it began has one event, which says so."""
    arms = [make("a", blocks("guard")), plus("b", 1)]
    assert await recorded(create_workflow("w").parallel(arms).commit()) == [
        "run.started",
        "node.started a",
        "node.blocked a",
        "node.cancelled b",
        "run.finished",
    ]


async def test_the_same_run_tells_the_same() -> None:
    """Two runs of one definition differ in their times alone."""
    workflow = (
        create_workflow("w")
        .parallel([plus("a", 1), plus("b", 1)])
        .map(lambda both: list(both.values()))
        .foreach(plus("each", 1), concurrency=2)
        .commit()
    )
    told: list[list[WorkflowEvent]] = []
    for _ in range(2):
        made = Runtime().create_run(workflow, run_id="r")
        await made.start(0)
        told.append([event.replace(ts=0.0) for event in await events_of(made)])
    assert told[0] == told[1]
