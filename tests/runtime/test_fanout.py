"""Fan-out: parallel, branch, foreach and the explicit graph."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from procession.errors import ConditionError, MergeConflict, NoArmMatched, SchemaError, StepError
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.nodes import arm, pick
from procession.workflows.workflow import create_workflow

from tests.runtime.kit import Doc, blocks, fails, make, plus, recorded, run


def waits(ctx: Any) -> Any:
    """Wait until cancelled."""
    return anyio.sleep_forever()


async def pause(ctx: Any) -> Any:
    """Let others have their turn, then pass the value on."""
    await anyio.lowlevel.checkpoint()
    return ctx.input


# --- parallel -------------------------------------------------------------------------------------------------------


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
    result = await run(create_workflow("w").parallel([inner, plus("b", 2)]).map(lambda both: sum(both.values())).commit())
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
    workflow = create_workflow("w").parallel([plus("a", 1), plus("b", 2)], merge=lambda base, out: [base, *out.values()])
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
    """The run goes on after the grace period, and comes to its end once the straggler has."""
    released = anyio.Event()
    order: list[str] = []

    async def stubborn(ctx: Any) -> str:
        with anyio.CancelScope(shield=True):
            await released.wait()
            order.append("straggler")
        return "late"

    def after(outputs: Any) -> None:
        order.append("after")
        released.set()

    guards = create_workflow("guards").parallel([make("stubborn", stubborn), make("out", lambda c: c.bail(1))]).commit()
    workflow = create_workflow("w").then(guards).map(after).commit()
    result = await Runtime(grace=0.01).run(workflow, 0)
    assert result.status == "success"
    assert order == ["after", "straggler"]
    assert result.steps["guards/stubborn"].status == "cancelled"


# --- branch ---------------------------------------------------------------------------------------------------------


async def test_all_true_arms_run() -> None:
    """Every arm whose condition holds runs; the keys of the others are absent."""
    workflow = create_workflow("w").branch(
        [(lambda n: n > 0, plus("a", 1)), (lambda n: n > 1, plus("b", 2)), (lambda n: n > 2, plus("c", 3))]
    )
    workflow.commit()
    assert (await run(workflow, 2)).output == {"a": 3, "b": 4}
    assert (await run(workflow, 1)).output == {"a": 2}


async def test_first_runs_one_arm() -> None:
    """``mode="first"`` asks no further once a condition holds."""
    asked: list[str] = []

    def ask(name: str) -> Any:
        async def condition(value: int) -> bool:
            asked.append(name)
            return name != "a"

        return condition

    arms = [(ask("a"), plus("x", 1)), (ask("b"), plus("y", 2)), (ask("c"), plus("z", 3))]
    result = await run(create_workflow("w").branch(arms, mode="first").commit())
    assert result.output == {"y": 2}
    assert asked == ["a", "b"]


async def test_a_condition_that_raises_is_an_error() -> None:
    """A condition that raises fails the run with the arm's name; no arm runs."""
    arms = [(lambda n: True, plus("a", 1)), (lambda n: n.nothing, plus("b", 1))]
    result = await run(create_workflow("w").branch(arms).commit())
    assert isinstance(result.error, ConditionError)
    assert "'b'" in str(result.error)
    assert "a" not in result.steps


@pytest.mark.parametrize(("answer", "holds"), [(None, False), (0, False), ("", False), (1, True), ("no", True)])
async def test_a_condition_may_answer_anything(answer: Any, holds: bool) -> None:
    """What a condition answers counts as it does in an ``if``."""
    workflow = create_workflow("w").branch([(lambda n: answer, plus("a", 1))], default=plus("b", 2)).commit()
    assert list((await run(workflow)).output) == ["a" if holds else "b"]


async def test_no_true_arm_is_an_error_unless_said_otherwise() -> None:
    """Without a true arm the run fails; a default runs instead, and ``skip`` lets the value pass."""
    arms = [(lambda n: False, plus("a", 1))]
    assert isinstance((await run(create_workflow("w").branch(arms).commit())).error, NoArmMatched)
    assert (await run(create_workflow("w").branch(arms, default=plus("d", 5)).commit())).output == {"d": 5}
    skipped = create_workflow("w").branch(arms, on_no_match="skip").commit()
    assert (await run(skipped, 3)).output == 3
    mapped = create_workflow("w").branch(arms, on_no_match="skip").map(lambda value: [value]).commit()
    assert (await run(mapped, 3)).output == [3]


async def test_arms_that_all_run_are_merged() -> None:
    """Arms over a value that can be forked are isolated and merged like parallel branches."""
    arms = [
        (lambda doc: "a" in doc.words, make("a", lambda ctx: ctx.input.strike("a"))),
        (lambda doc: "b" in doc.words, make("b", lambda ctx: ctx.input.strike("b"))),
        (lambda doc: "z" in doc.words, make("z", lambda ctx: ctx.input.strike("c"))),
    ]
    doc = Doc(("a", "b", "c"))
    workflow = create_workflow("w").branch(arms).commit()
    assert (await run(workflow, doc)).output.text == "c"
    assert (await run(workflow, Doc(("a", "c")))).output.text == "c"
    assert doc.text == "a b c"


async def test_picking_an_arm_that_did_not_run_is_an_error() -> None:
    """A pick of an arm without an output fails with a hint instead of handing on nothing."""
    arms = [(lambda n: n > 0, plus("a", 1)), (lambda n: n <= 0, plus("b", 1))]
    workflow = create_workflow("w").branch(arms).map(pick("a")).commit()
    assert (await run(workflow, 1)).output == 2
    assert "default" in str((await run(workflow, 0)).error)


async def test_arm_names_a_condition() -> None:
    """``arm(step, when=...)`` is a pair with a name for each of its halves."""
    workflow = create_workflow("w").branch([arm(plus("a", 1), when=lambda n: True)]).commit()
    assert (await run(workflow)).output == {"a": 1}


async def test_the_decision_is_an_event() -> None:
    """A branch tells which arms it chose, and each of the others that it was skipped."""
    arms = [(lambda n: n > 0, plus("a", 1)), (lambda n: n <= 0, plus("b", 1))]
    events = await recorded(create_workflow("w").branch(arms, id="sign").commit())
    assert events == [
        "run.started",
        "branch.decided sign",
        "node.skipped a",
        "node.started b",
        "node.completed b",
        "run.finished",
    ]


# --- foreach --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 3, lambda items: len(items)])
async def test_foreach_keeps_the_order_of_the_items(concurrency: Any) -> None:
    """The outputs stand in the order of the items, ``None`` among them, however many run at once."""

    async def odd(ctx: Any) -> int | None:
        for _ in range(ctx.input % 3):
            await anyio.lowlevel.checkpoint()
        return ctx.input if ctx.input % 2 else None

    workflow = create_workflow("w").foreach(make("odd", odd), concurrency=concurrency).commit()
    result = await run(workflow, list(range(7)))
    assert result.output == [None, 1, None, 3, None, 5, None]
    assert result.steps["odd"].output == result.output
    assert result.steps["odd[3]"].output == 3


async def test_foreach_is_a_sliding_window() -> None:
    """A free place is taken at once by the next item: one slow item does not hold up the others."""
    last = anyio.Event()

    async def work(ctx: Any) -> int:
        if ctx.input == 0:
            await last.wait()
        elif ctx.input == 9:
            last.set()
        else:
            await anyio.lowlevel.checkpoint()
        return ctx.input

    workflow = create_workflow("w").foreach(make("work", work), concurrency=2).commit()
    assert (await run(workflow, list(range(10)))).output == list(range(10))


@pytest.mark.parametrize("value", ["abc", {"a": 1}, 3, None])
async def test_foreach_refuses_what_is_no_list(value: Any) -> None:
    """A string, a mapping or a number is no list of items."""
    result = await run(create_workflow("w").foreach(plus("a", 1)).commit(), value)
    assert isinstance(result.error, SchemaError)
    assert result.steps["a"].status == "failed"


async def test_foreach_over_nothing() -> None:
    """An empty list gives an empty list."""
    assert (await run(create_workflow("w").foreach(plus("a", 1), concurrency=4).commit(), [])).output == []


async def test_an_item_that_fails_ends_the_foreach() -> None:
    """The first failure cancels what is under way, and no further item begins."""

    async def work(ctx: Any) -> int:
        if ctx.input == 2:
            raise ValueError("two")
        await anyio.sleep_forever()
        return 0

    result = await run(create_workflow("w").foreach(make("x", work), concurrency=3).commit(), list(range(9)))
    assert isinstance(result.error, StepError)
    assert [(path, record.status) for path, record in result.steps.items()] == [
        ("x", "failed"),
        ("x[0]", "cancelled"),
        ("x[1]", "cancelled"),
        ("x[2]", "failed"),
    ]


async def test_bail_in_an_item() -> None:
    """A bail in an item ends the workflow around the foreach; in a workflow as its body, only that item."""
    out = make("out", lambda ctx: ctx.bail("early") if ctx.input == 1 else ctx.input)
    result = await run(create_workflow("w").foreach(out, concurrency=2).then(plus("never", 1)).commit(), [0, 1, 2])
    assert result.output == "early"
    body = create_workflow("body").then(out).then(make("never", lambda ctx: "rest")).commit()
    result = await run(create_workflow("w").foreach(body, concurrency=2).commit(), [0, 1, 2])
    assert result.output == ["rest", "early", "rest"]


async def test_progress_is_told() -> None:
    """Each item that completes is followed by a progress event of the foreach."""
    events = await recorded(create_workflow("w").foreach(plus("a", 1)).commit(), [1, 2])
    assert events[1:-1] == [
        "node.started a",
        "node.started a[0]",
        "node.completed a[0]",
        "foreach.progress a",
        "node.started a[1]",
        "node.completed a[1]",
        "foreach.progress a",
        "node.completed a",
    ]


# --- the explicit form ----------------------------------------------------------------------------------------------


async def test_a_join_is_given_what_it_waits_for() -> None:
    """A step with several dependencies gets the mapping by id, with one its output, with none the input."""
    workflow = create_workflow("w")
    workflow.add(plus("a", 1))
    workflow.add(make("b", pause), after=["a"])
    workflow.add(plus("c", 10), after=["a"])
    workflow.add(make("join", lambda ctx: dict(ctx.input)), after=["c", "b", "a"])
    workflow.commit()
    result = await run(workflow)
    assert result.output == {"c": 11, "b": 1, "a": 1}
    assert list(result.output) == ["c", "b", "a"]


async def test_several_sinks_are_a_mapping() -> None:
    """Where nothing depends on several steps, the output is the mapping of them."""
    workflow = create_workflow("w")
    workflow.add(plus("a", 1)).add(plus("b", 2)).add(plus("c", 3), after=["a"])
    assert (await run(workflow.commit())).output == {"b": 2, "c": 4}


async def test_steps_may_be_added_in_any_order() -> None:
    """A dependency may be named before it is added."""
    workflow = create_workflow("w")
    workflow.add(plus("last", 100), after=["first"]).add(plus("first", 1))
    assert (await run(workflow.commit())).output == 101


async def test_a_step_starts_as_soon_as_what_it_needs_is_there() -> None:
    """A step does not wait for others that it does not depend on."""
    opened = anyio.Event()

    async def slow(ctx: Any) -> str:
        await opened.wait()
        return "slow"

    def open(ctx: Any) -> str:
        opened.set()
        return "open"

    workflow = create_workflow("w")
    workflow.add(make("slow", slow)).add(plus("a", 1)).add(make("open", open), after=["a"])
    assert (await run(workflow.commit())).output == {"slow": "slow", "open": "open"}


async def test_a_failure_in_a_graph_cancels_the_rest() -> None:
    """A step that fails cancels what runs; what depends on it never begins."""
    workflow = create_workflow("w")
    workflow.add(make("waits", waits)).add(make("bad", fails(ValueError()))).add(plus("after", 1), after=["bad"])
    result = await run(workflow.commit())
    assert result.status == "failed"
    assert [(path, record.status) for path, record in result.steps.items()] == [
        ("waits", "cancelled"),
        ("bad", "failed"),
    ]


async def test_forks_of_a_graph_are_merged_where_they_meet() -> None:
    """A value that can be forked is forked for each path through the graph and merged at the join."""
    doc = Doc(("a", "b", "c"))
    workflow = create_workflow("w")
    workflow.add(make("a", lambda ctx: ctx.input.strike("a")))
    workflow.add(make("b", lambda ctx: ctx.input.strike("b")))
    workflow.add(make("see", lambda ctx: ctx.input.text), after=["a", "b"])
    assert (await run(workflow.commit(), doc)).output == "c"
    assert doc.text == "a b c"
