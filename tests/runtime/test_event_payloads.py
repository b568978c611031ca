"""Payloads: what each type of event says, as the table of docs/runtime.md promises."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from tests.runtime.kit import Arms, Doc, blocks, events_of, fails, make, plus

from procession.errors import ConditionError, MergeConflict, NoArmMatched
from procession.messages.chunks import DataChunk
from procession.runtime.events import EventType, WorkflowEvent
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow

DOCS = Path(__file__).parents[2] / "docs" / "runtime.md"
ERROR = ValueError("no")
Told = list[tuple[str, dict[str, Any]]]


async def told(workflow: Workflow[Any, Any], value: Any = 0, *types: str) -> Told:
    """Run *workflow* and return path and payload of its events of *types*."""
    made = Runtime().create_run(workflow)
    await made.start(value)
    return [(event.node_path, dict(event.payload)) for event in await events_of(made) if event.type in types]


def decided(conditions: dict[str, Any], chosen: list[str], skipped: list[str]) -> dict[str, Any]:
    """Return the payload of a branch's decision."""
    return {"conditions": conditions, "chosen": chosen, "skipped": skipped}


async def test_a_branch_tells_each_condition() -> None:
    """What each condition answered is told, the arms that are skipped one by one."""
    arms: Arms = [(lambda v: v > 0, plus("a", 1)), (lambda v: v > 1, plus("b", 1)), (lambda v: v > 2, plus("c", 1))]
    workflow = create_workflow("w").branch(arms, id="which").commit()
    assert await told(workflow, 2, "branch.decided", "node.skipped") == [
        ("which", decided({"a": True, "b": True, "c": False}, ["a", "b"], ["c"])),
        ("c", {"reason": "condition"}),
    ]


async def test_a_branch_tells_what_it_has_not_asked() -> None:
    """With ``mode="first"`` the arms after the first are not asked, a default is not asked ever."""
    arms: Arms = [(lambda v: v > 5, plus("a", 1)), (lambda v: True, plus("b", 1)), (lambda v: True, plus("c", 1))]
    first = create_workflow("w").branch(arms, mode="first", default=plus("d", 1), id="which").commit()
    assert await told(first, 2, "branch.decided", "node.skipped") == [
        ("which", decided({"a": False, "b": True}, ["b"], ["a", "c", "d"])),
        ("a", {"reason": "condition"}),
        ("c", {"reason": "other-arm"}),
        ("d", {"reason": "other-arm"}),
    ]
    fallen = create_workflow("w").branch(arms[:1], default=plus("d", 1), id="which").commit()
    assert await told(fallen, 2, "branch.decided", "node.skipped") == [
        ("which", decided({"a": False}, ["d"], ["a"])),
        ("a", {"reason": "condition"}),
    ]


async def test_a_branch_tells_the_condition_that_raised() -> None:
    """A condition that raises is told as ``"error"`` beside the answers before it, and the branch as failed."""
    arms: Arms = [(lambda v: v > 0, plus("a", 1)), (fails(ERROR), plus("b", 1)), (lambda v: True, plus("c", 1))]
    workflow = create_workflow("w").branch(arms, id="which").commit()
    (_, decision), (path, failure) = await told(workflow, 1, "branch.decided", "node.failed")
    assert decision == decided({"a": True, "b": "error"}, [], [])
    assert path == "which"
    assert isinstance(failure["error"], ConditionError)


async def test_a_branch_without_a_true_arm_tells_so() -> None:
    """Where no condition was true and there is no default, the answers are told before the failure."""
    workflow = create_workflow("w").branch([(lambda v: False, plus("a", 1))], id="which").commit()
    (_, decision), (_, failure) = await told(workflow, 1, "branch.decided", "node.failed")
    assert decision == decided({"a": False}, [], [])
    assert isinstance(failure["error"], NoArmMatched)


@pytest.mark.parametrize("until", [True, False])
async def test_a_loop_tells_each_decision(until: bool) -> None:
    """After each round a loop tells what its condition said, and whether it goes on."""
    w = create_workflow("w")
    body = plus("more", 1)
    loop = w.do_until(body, lambda v: v >= 2) if until else w.do_while(body, lambda v: v < 2)
    assert await told(loop.commit(), 0, "branch.decided") == [
        ("more", {"round": 0, "condition": not until, "again": True}),
        ("more", {"round": 1, "condition": until, "again": False}),
    ]


async def test_a_loop_tells_of_its_limit_and_of_its_condition() -> None:
    """A loop that may not go on tells that it would, one whose condition raises tells ``"error"``."""
    capped = create_workflow("w").do_while(plus("more", 1), lambda v: True, max_iterations=2).commit()
    assert await told(capped, 0, "branch.decided") == [
        ("more", {"round": 0, "condition": True, "again": True}),
        ("more", {"round": 1, "condition": True, "again": False}),
    ]
    raising = create_workflow("w").do_while(plus("more", 1), fails(ERROR)).commit()
    assert await told(raising, 0, "branch.decided") == [
        ("more", {"round": 0, "condition": "error", "again": False}),
    ]


async def test_a_loop_whose_body_fails_decides_nothing() -> None:
    """Where the body has not come to its end, no condition was asked and none is told."""
    workflow = create_workflow("w").do_while(make("s", fails(ERROR)), lambda v: True).commit()
    assert await told(workflow, 0, "branch.decided") == []


async def test_a_merge_tells_its_conflicts() -> None:
    """Branches that do not go together are named before the failure that they are."""
    arms = [make("a", lambda ctx: ctx.input.rewrite("x", "y")), make("b", lambda ctx: ctx.input.rewrite("x", "z"))]
    workflow = create_workflow("w").parallel(arms, id="both").commit()
    (_, merge), (_, failure) = await told(workflow, Doc(("x",)), "merge.applied", "node.failed")
    assert merge == {"policy": "strictest", "branches": ("a", "b"), "conflicts": ("a", "b")}
    assert isinstance(failure["error"], MergeConflict)


async def test_a_sleep_tells_when_it_ends() -> None:
    """A sleep says when it wakes, and what it was given."""
    ((_, payload),) = await told(create_workflow("w").sleep(0.25, id="rest").commit(), 7, "node.started")
    wakes_at = payload.pop("wakes_at")
    assert payload == {"kind": "sleep", "input": 7}
    made = Runtime().create_run(create_workflow("w").sleep(0.25, id="rest").commit())
    await made.start(0)
    (started,) = [event for event in await events_of(made) if event.type == "node.started"]
    assert started.payload["wakes_at"] == started.ts + 0.25
    assert wakes_at > 0


async def test_a_retry_tells_the_error_and_the_delay() -> None:
    """Each retry tells what failed and how long it waits, under the number of the attempt to come."""
    tries: list[int] = []

    def flaky(ctx: Any) -> int:
        tries.append(ctx.attempt)
        if len(tries) < 3:
            raise ERROR
        return 1

    workflow = create_workflow("w").then(make("s", flaky, retry=RetryPolicy(5, initial=0.0))).commit()
    made = Runtime().create_run(workflow)
    await made.start(0)
    events = [event for event in await events_of(made) if event.node_path == "s"]
    assert [(event.type, event.attempt) for event in events] == [
        ("node.started", 1), ("node.retrying", 2), ("node.retrying", 3), ("node.completed", 3),
    ]  # fmt: skip
    assert events[1].payload == {"error": ERROR, "delay": 0.0}


async def test_a_foreach_tells_of_each_item() -> None:
    """Each item that ends tells how many have, out of how many; one that fails says so."""

    def body(ctx: Any) -> int:
        if ctx.input == 3:
            raise ERROR
        return int(ctx.input)

    workflow = create_workflow("w").foreach(make("each", body)).commit()
    assert await told(workflow, [1, 2, 3, 4], "foreach.progress") == [
        ("each", {"index": 0, "completed": 1, "total": 4, "status": "success"}),
        ("each", {"index": 1, "completed": 2, "total": 4, "status": "success"}),
        ("each", {"index": 2, "completed": 2, "total": 4, "status": "failed"}),
    ]


async def test_a_cancelled_branch_tells_why_and_how_long() -> None:
    """A branch that was running when one beside it failed tells why it ended and how long it had run."""

    async def forever(ctx: Any) -> None:
        await anyio.sleep_forever()

    async def fail_later(ctx: Any) -> None:
        await anyio.wait_all_tasks_blocked()
        raise ERROR

    workflow = create_workflow("w").parallel([make("a", forever), make("b", fail_later)]).commit()
    made = Runtime().create_run(workflow)
    result = await made.start(0)
    (event,) = [event for event in await events_of(made) if event.type == "node.cancelled"]
    assert event.node_path == "a"
    assert event.payload == {"reason": "a branch beside it ended the run", "elapsed": result.steps["a"].seconds}
    assert event.payload["elapsed"] > 0


async def test_a_cancelled_run_tells_who_cancelled_it() -> None:
    """Whether the run or the task around it was cancelled is told, also where a limit of time has not been reached."""
    for inside in (True, False):
        reached = anyio.Event()

        async def wait(ctx: Any, reached: anyio.Event = reached) -> None:
            reached.set()
            await anyio.sleep_forever()

        made = Runtime().create_run(create_workflow("w", timeout=60).then(make("s", wait)).commit())
        async with anyio.create_task_group() as group:
            group.start_soon(made.start, 0)
            await reached.wait()
            if inside:
                made.cancel()
            else:
                group.cancel_scope.cancel()
        events = await events_of(made)
        reasons = [event.payload["reason"] for event in events if "reason" in event.payload]
        wanted = "the run was cancelled" if inside else "the task of the run was cancelled"
        assert reasons == [wanted, wanted]


async def test_what_took_too_long_tells_so() -> None:
    """A step that is cancelled because the workflow or the step around it took too long says so."""

    async def forever(ctx: Any) -> None:
        await anyio.sleep_forever()

    inner = create_workflow("inner", timeout=0.001).then(make("s", forever)).commit()
    called = create_workflow("called").then(make("s", forever)).commit()
    for workflow in (
        inner,
        create_workflow("w").then(inner).commit(),
        create_workflow("w").then(make("outer", lambda ctx: ctx.call(called, 0), timeout=0.001)).commit(),
    ):
        ((_, payload),) = await told(workflow, 0, "node.cancelled")
        assert payload["reason"] == "what it belongs to took longer than it may"


# -- runs that are kept


async def test_a_run_that_is_kept_tells_the_same() -> None:
    """Whether a run is written down changes nothing of what is told of it."""
    arms: Arms = [(lambda v: v > 0, plus("yes", 1)), (lambda v: v < 0, plus("no", 1))]
    inner = create_workflow("inner").then(plus("a", 1)).commit()
    workflow = (
        create_workflow("w")
        .then(plus("first", 1))
        .branch(arms)
        .map(lambda outputs: outputs["yes"])
        .do_while(plus("more", 1), lambda v: v < 5)
        .then(inner)
        .map(lambda v: [v, v])
        .foreach(plus("each", 1))
        .sleep(0.0)
        .commit()
    )
    seen: list[list[Any]] = []
    for runtime in (Runtime(), Runtime(InMemoryJournal())):
        made = runtime.create_run(workflow, run_id="r")
        await made.start(0)
        seen.append([event.as_dict(with_values=True, with_times=False) for event in await events_of(made)])
    assert seen[0] == seen[1]


async def ask_at_two(ctx: Any) -> int:
    """Return the input, or an answer where it is 2."""
    return int(await ctx.suspend("how many?")) if ctx.input == 2 else int(ctx.input)


async def resumed(workflow: Workflow[Any, Any], value: Any) -> list[WorkflowEvent]:
    """Run *workflow* until it waits, answer, and return what is told from there on."""
    runtime = Runtime()
    assert (await runtime.run(workflow, value, run_id="r")).status == "suspended"
    async with runtime.resume_stream("r", 10) as made:
        events = [event async for event in made.events()]
    assert (events[-1].type, events[-1].payload["status"]) == ("run.finished", "success")
    return events


async def test_a_resumed_loop_counts_on() -> None:
    """The rounds that a resumed run tells of have the numbers that they have in the whole run."""

    async def ask(ctx: Any) -> int:
        return int(await ctx.suspend("how many?")) if ctx.input == 2 else int(ctx.input) + 1

    workflow = create_workflow("w").do_while(make("s", ask), lambda v: v < 11).commit()
    events = await resumed(workflow, 0)
    assert [event.node_path for event in events if event.type == "node.started"] == ["s", "s[2]", "s[3]"]
    assert [event.payload for event in events if event.type == "branch.decided"] == [
        {"round": 2, "condition": True, "again": True},
        {"round": 3, "condition": False, "again": False},
    ]


async def test_a_resumed_foreach_counts_on() -> None:
    """A foreach that goes on says how many items were done before, and counts from there."""
    events = await resumed(create_workflow("w").foreach(make("s", ask_at_two)).commit(), [0, 1, 2, 3])
    first = next(event for event in events if event.node_path == "s")
    assert (first.type, first.payload["total"]) == ("node.started", 4)
    before = first.payload["completed"]
    assert before >= 2
    progress = [event.payload["completed"] for event in events if event.type == "foreach.progress"]
    assert progress == list(range(before + 1, 5))


# -- the table


def scenarios() -> list[tuple[Workflow[Any, Any], Any]]:
    """Return workflows in whose runs every type of event occurs."""

    async def chatty(ctx: Any) -> Any:
        await ctx.emit(DataChunk(type="data-n", data=1))
        return ctx.input

    tried: list[int] = []

    def flaky(ctx: Any) -> Any:
        tried.append(1)
        if len(tried) < 2:
            raise ERROR
        return ctx.input

    def one(function: Callable[[Any], Any], **options: Any) -> Workflow[Any, Any]:
        return create_workflow("w").then(make("s", function, **options)).commit()

    return [
        (one(chatty), 0),
        (one(flaky, retry=RetryPolicy(2, initial=0.0)), 0),
        (one(fails(ERROR)), 0),
        (one(blocks("guard")), 0),
        (one(lambda ctx: ctx.bail(1)), 0),
        (one(lambda ctx: ctx.suspend("why", label="l")), 0),
        (one(lambda ctx: ctx.cancel_run()), 0),
        (create_workflow("w").sleep(0.0).commit(), 0),
        (create_workflow("w").branch([(lambda v: False, plus("a", 1))], default=plus("b", 1)).commit(), 0),
        (create_workflow("w").do_while(plus("a", 1), lambda v: v < 2).commit(), 0),
        (create_workflow("w").foreach(plus("a", 1)).commit(), [1]),
        (create_workflow("w").parallel([make("a", lambda ctx: ctx.input)]).commit(), Doc(("x",))),
    ]


async def test_the_table_in_the_docs_is_true() -> None:
    """For every type the table of docs/runtime.md names exactly the payload fields that events of it have."""
    rows = re.findall(r"^\| `([a-z]+\.[a-z]+)` \| (.+?) \| .+ \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    promised: dict[str, set[str]] = {}
    for type, fields in rows:
        said = re.sub(r"reason`: .*", "reason`", fields)
        promised.setdefault(type, set()).update(re.findall(r"`(\w+)`", said))
    seen: dict[str, set[str]] = {}
    runs = [await resumed(create_workflow("w").foreach(make("s", ask_at_two)).commit(), [1, 2])]
    for workflow, value in scenarios():
        made = Runtime().create_run(workflow)
        await made.start(value)
        runs.append(await events_of(made))
    for events in runs:
        for event in events:
            seen.setdefault(event.type, set()).update(event.payload)
    assert set(seen) == set(get_args(EventType))
    assert seen == promised
