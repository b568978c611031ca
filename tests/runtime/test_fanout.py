"""Fan-out: parallel branches."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs
from tests.runtime.kit import Doc, blocks, events_of, fails, make, plus, run

from procession.errors import MergeConflict
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.nodes import pick
from procession.workflows.workflow import create_workflow


def waits(ctx: Any) -> Any:
    """Wait until cancelled."""
    return anyio.sleep_forever()


async def pause(ctx: Any) -> Any:
    """Let others have their turn, then pass the value on."""
    await anyio.lowlevel.checkpoint()
    return ctx.input


async def test_the_output_is_a_mapping_by_step_id() -> None:
    """Every branch is given the same value, and the outputs stand under the steps' ids in declaration order."""
    workflow = create_workflow("w").parallel([plus("c", 3), plus("a", 1), make("b", pause)]).commit()
    result = await run(workflow, 10)
    assert result.output == {"c": 13, "a": 11, "b": 10}
    assert list(result.output) == ["c", "a", "b"]


async def test_branches_overlap() -> None:
    """A branch may wait for one that was declared after it."""
    opened = anyio.Event()

    async def wait(ctx: Any) -> str:
        await opened.wait()
        return "waited"

    def open(ctx: Any) -> str:
        opened.set()
        return "opened"

    result = await run(create_workflow("w").parallel([make("wait", wait), make("open", open)]).commit())
    assert result.output == {"wait": "waited", "open": "opened"}


async def test_nested_workflows_are_branches() -> None:
    """A workflow as a branch runs through and stands under its id."""
    inner = create_workflow("inner").then(plus("a", 1)).then(make("p", pause)).commit()
    result = await run(
        create_workflow("w").parallel([inner, plus("b", 2)]).map(lambda both: sum(both.values())).commit()
    )
    assert result.output == 3
    assert "inner/a" in result.steps


async def test_fan_outs_nest() -> None:
    """A parallel inside a parallel, and a foreach inside that, keep their paths apart."""
    square = make("square", lambda ctx: ctx.input**2)
    items = create_workflow("items").map(lambda n: list(range(n))).foreach(square, concurrency=2).commit()
    both = create_workflow("both").parallel([items, plus("x", 1)]).commit()
    result = await run(create_workflow("w").parallel([both, items.as_step().renamed("again")]).commit(), 3)
    assert result.output == {"both": {"items": [0, 1, 4], "x": 4}, "again": [0, 1, 4]}
    assert "both/items/square[2]" in result.steps


async def test_branches_are_isolated() -> None:
    """Each branch changes its own fork; merged, all changes are there, and the value before is as it was."""

    def strike(word: str) -> Step[Any, Any]:
        return make(f"strike-{word}", lambda ctx: ctx.input.strike(word))

    seen: list[str] = []

    async def look(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        seen.append(ctx.input.text)
        return ctx.input

    doc = Doc(("a", "b", "c"))
    workflow = create_workflow("w").parallel([strike("a"), make("look", look), strike("b")]).commit()
    result = await run(workflow, doc)
    assert result.output.text == "c"
    assert seen == ["a b c"]
    assert doc.text == "a b c"


async def test_a_map_after_branches_chooses() -> None:
    """What the map picks is what goes on; what it drops of a redaction is an error unless it says so."""
    arms = [make("strike", lambda ctx: ctx.input.strike("a")), make("other", lambda ctx: ctx.input.rewrite("b", "x"))]
    doc = Doc(("a", "b"))
    assert (await run(create_workflow("w").parallel(arms).map(pick("strike")).commit(), doc)).output.text == "b"
    dropped = await run(create_workflow("w").parallel(arms).map(lambda both: both["other"]).commit(), doc)
    assert isinstance(dropped.error, MergeConflict)
    allowed = create_workflow("w").parallel(arms).map(lambda both: both["other"], allow_drop=True).commit()
    assert (await run(allowed, doc)).output.text == "a x"


async def test_a_conflict_of_the_merge_fails_the_run() -> None:
    """Two rewrites that the merge cannot reconcile are an error that names the branches."""
    arms = [make("x", lambda ctx: ctx.input.rewrite("a", "x")), make("y", lambda ctx: ctx.input.rewrite("a", "y"))]
    result = await run(create_workflow("w").parallel(arms).commit(), Doc(("a",)))
    assert isinstance(result.error, MergeConflict)
    assert result.error.branches == ("x", "y")


async def test_a_function_merges_any_value() -> None:
    """A function as the policy is given the value before the branches and their outputs."""
    workflow = create_workflow("w").parallel(
        [plus("a", 1), plus("b", 2)], merge=lambda base, out: [base, *out.values()]
    )
    assert (await run(workflow.commit(), 1)).output == [1, 2, 3]


async def test_chain_runs_branches_one_after_the_other() -> None:
    """With ``merge="chain"`` each branch is given what the one before it made."""
    workflow = create_workflow("w").parallel([plus("a", 1), plus("b", 10)], merge="chain").commit()
    assert (await run(workflow, 0)).output == {"a": 1, "b": 11}
    rewrites = [make("x", lambda ctx: ctx.input.rewrite("a", "x")), make("y", lambda ctx: ctx.input.rewrite("x", "y"))]
    chained = create_workflow("w").parallel(rewrites, merge="chain").commit()
    assert (await run(chained, Doc(("a",)))).output.text == "y"


@pytest.mark.parametrize("ends", [blocks("guard"), blocks("again", retry=True), fails(ValueError("no"))])
async def test_the_first_block_or_failure_cancels_the_others(ends: Any) -> None:
    """A branch that blocks or fails ends the branches beside it, which are recorded as cancelled."""
    workflow = create_workflow("w").parallel([make("a", waits), make("b", ends), make("c", waits)]).commit()
    result = await run(workflow)
    assert result.status == ("blocked" if result.tripwire else "failed")
    assert [result.steps[id].status for id in "ac"] == ["cancelled", "cancelled"]


async def test_branches_that_wait_are_waited_for() -> None:
    """With ``"wait"`` the branches beside a block or a failure run to their end."""
    opened = anyio.Event()

    async def late(ctx: Any) -> str:
        await opened.wait()
        return "done"

    def block(ctx: Any) -> Any:
        opened.set()
        return blocks("guard")(ctx)

    arms = [make("late", late), make("guard", block)]
    result = await run(create_workflow("w").parallel(arms, on_block="wait").commit())
    assert result.status == "blocked"
    assert result.steps["late"].output == "done"

    opened = anyio.Event()

    def fail(ctx: Any) -> Any:
        opened.set()
        raise ValueError

    arms = [make("late", late), make("fails", fail)]
    result = await run(create_workflow("w").parallel(arms, on_failure="wait").commit())
    assert result.status == "failed"
    assert result.steps["late"].output == "done"


async def test_a_hard_block_beats_a_retry_and_a_failure() -> None:
    """Of several ends a block decides over a failure, and a failure over a retry, in declaration order."""
    hard, again, error = blocks("hard"), blocks("again", retry=True), fails(ValueError())
    for ends, expected in (
        ([again, hard], "hard"),
        ([error, hard], "hard"),
        ([again, error], None),
        ([hard, blocks("other")], "hard"),
    ):
        arms = [make(f"s{number}", end) for number, end in enumerate(ends)]
        workflow = create_workflow("w").parallel(arms, on_block="wait", on_failure="wait").commit()
        result = await run(workflow)
        assert (result.tripwire.processor_id if result.tripwire else None) == expected


async def test_verdicts_that_arrive_before_cancellation_are_collected() -> None:
    """A branch that blocks while it is being cancelled, before it is told so, is heard."""
    both = anyio.Event()

    async def soft(ctx: Any) -> Any:
        await both.wait()
        return blocks("soft", retry=True)(ctx)

    async def hard(ctx: Any) -> Any:
        await both.wait()
        return blocks("hard")(ctx)

    def open(ctx: Any) -> None:
        both.set()

    workflow = create_workflow("w").parallel([make("s", soft), make("h", hard), make("o", open)]).commit()
    result = await run(workflow)
    assert result.tripwire is not None
    assert result.tripwire.processor_id == "hard"


async def test_a_suspended_branch_lets_the_others_finish() -> None:
    """Branches beside one that waits for an answer run to their end, and the run is suspended."""
    workflow = create_workflow("w").parallel([make("ask", lambda ctx: ctx.suspend("?")), make("p", pause)]).commit()
    result = await run(workflow)
    assert result.status == "suspended"
    assert result.steps["p"].status == "success"


async def test_bail_in_a_branch_ends_the_workflow_around_it() -> None:
    """A bail cancels the branches beside it and ends their workflow; ``scope="branch"`` only gives the arm its output."""
    out = make("out", lambda ctx: ctx.bail("early"))
    workflow = create_workflow("w").parallel([make("a", waits), out]).then(plus("never", 1)).commit()
    result = await run(workflow)
    assert (result.status, result.output) == ("success", "early")
    assert result.steps["a"].status == "cancelled"
    arm_only = make("out", lambda ctx: ctx.bail("arm", scope="branch"))
    result = await run(create_workflow("w").parallel([plus("a", 1), arm_only]).commit())
    assert result.output == {"a": 1, "out": "arm"}


async def test_cancel_run_in_a_branch_cancels_the_run() -> None:
    """``cancel_run`` ends everything, and the run is cancelled."""
    workflow = create_workflow("w").parallel([make("a", waits), make("b", lambda ctx: ctx.cancel_run())]).commit()
    result = await run(workflow)
    assert result.status == "cancelled"
    assert {record.status for record in result.steps.values()} == {"cancelled"}


async def test_what_ignores_cancellation_is_left_behind() -> None:
    """The run goes on after the grace period and ends without the straggler, which is reported."""
    released = anyio.Event()
    order: list[str] = []

    async def stubborn(ctx: Any) -> str:
        with anyio.CancelScope(shield=True):
            await released.wait()
            await ctx.emit("too late")
            order.append("straggler")
        return "late"

    def after(outputs: Any) -> None:
        order.append("after")
        released.set()

    inner = create_workflow("inner").then(make("stubborn", stubborn)).then(plus("never", 1)).commit()
    guards = create_workflow("guards").parallel([inner, make("out", lambda ctx: ctx.bail(1))]).commit()
    made = Runtime(grace=0.01).create_run(create_workflow("w").then(guards).map(after).commit())
    with capture_logs() as logs:
        result = await made.start(0)
    assert result.status == "success"
    assert order == ["after"]
    assert made.scope.left_behind == ("guards/inner",)
    assert [log["name"] for log in logs if "left behind" in log["event"]] == ["guards/inner"]
    while len(order) < 2:
        await anyio.lowlevel.checkpoint()
    for path in ("guards/inner", "guards/inner/stubborn"):
        assert result.steps[path].status == "cancelled"
        told = [event.type for event in await events_of(made) if event.path == path]
        assert told == ["node.started", "node.cancelled"]
    assert "never" not in result.steps
    assert [event.terminal for event in await events_of(made)].index(True) == len(await events_of(made)) - 1


async def test_what_was_left_behind_is_told_once() -> None:
    """A straggler that ends while the run goes on has been told as cancelled, and nothing more is told of it."""
    released, ended = anyio.Event(), anyio.Event()

    async def stubborn(ctx: Any) -> str:
        with anyio.CancelScope(shield=True):
            await released.wait()
        return "late"

    async def after(ctx: Any) -> Any:
        released.set()
        while not ended.is_set():
            await anyio.lowlevel.checkpoint()
        return ctx.input

    async def work(ctx: Any) -> Any:
        try:
            return await stubborn(ctx)
        finally:
            ended.set()

    guards = create_workflow("guards").parallel([make("s", work), make("out", lambda ctx: ctx.bail(1))]).commit()
    made = Runtime(grace=0.01).create_run(create_workflow("w").then(guards).then(make("after", after)).commit())
    result = await made.start(0)
    assert (result.status, result.steps["guards/s"].status) == ("success", "cancelled")
    assert [event.type for event in await events_of(made) if event.path == "guards/s"] == [
        "node.started",
        "node.cancelled",
    ]
