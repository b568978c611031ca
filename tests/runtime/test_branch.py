"""Branch: arms that run where their condition holds."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel
import pytest
from tests.runtime.kit import Arms, Doc, make, plus, recorded, run

from procession.errors import ConditionError, NoArmMatched
from procession.workflows.nodes import arm, pick
from procession.workflows.workflow import create_workflow


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

    arms: Arms = [(ask("a"), plus("x", 1)), (ask("b"), plus("y", 2)), (ask("c"), plus("z", 3))]
    result = await run(create_workflow("w").branch(arms, mode="first").commit())
    assert result.output == {"y": 2}
    assert asked == ["a", "b"]


async def test_a_condition_that_raises_is_an_error() -> None:
    """A condition that raises fails the run with the arm's name; no arm runs."""
    arms: Arms = [(lambda n: True, plus("a", 1)), (lambda n: n.nothing, plus("b", 1))]
    result = await run(create_workflow("w").branch(arms).commit())
    assert isinstance(result.error, ConditionError)
    assert "'b'" in str(result.error)
    assert "a" not in result.steps


@pytest.mark.parametrize("answer", [None, 0, "", 1, "no", float("nan"), []])
@pytest.mark.parametrize("waits", [False, True])
async def test_a_condition_answers_true_or_false(answer: Any, waits: bool) -> None:
    """What is no bool is an error that names the arm, also where it is awaited: no guard is skipped for a ``None``."""

    def at_once(value: Any) -> Any:
        return answer

    async def slowly(value: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return answer

    condition: Any = slowly if waits else at_once
    workflow = create_workflow("w").branch([(condition, plus("a", 1))], default=plus("b", 2)).commit()
    result = await run(workflow)
    assert isinstance(result.error, ConditionError)
    assert "arm 'a'" in str(result.error)
    assert type(answer).__name__ in str(result.error)
    assert set(result.steps) == {"branch-1"}
    looping = await run(create_workflow("w").do_while(plus("up", 1), condition).commit())
    assert isinstance(looping.error, ConditionError)
    assert "loop 'up'" in str(looping.error)


async def test_no_true_arm_is_an_error_unless_said_otherwise() -> None:
    """Without a true arm the run fails; a default runs instead, and ``skip`` lets the value pass."""
    arms: Arms = [(lambda n: False, plus("a", 1))]
    assert isinstance((await run(create_workflow("w").branch(arms).commit())).error, NoArmMatched)
    assert (await run(create_workflow("w").branch(arms, default=plus("d", 5)).commit())).output == {"d": 5}
    skipped = create_workflow("w").branch(arms, on_no_match="skip").commit()
    assert (await run(skipped, 3)).output == 3
    mapped = create_workflow("w").branch(arms, on_no_match="skip").map(lambda value: [value]).commit()
    assert (await run(mapped, 3)).output == [3]


async def test_arms_that_all_run_are_merged() -> None:
    """Arms over a value that can be forked are isolated and merged like parallel branches."""
    arms: Arms = [
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
    arms: Arms = [(lambda n: n > 0, plus("a", 1)), (lambda n: n <= 0, plus("b", 1))]
    workflow = create_workflow("w").branch(arms).map(pick("a")).commit()
    assert (await run(workflow, 1)).output == 2
    assert "default" in str((await run(workflow, 0)).error)


async def test_arm_names_a_condition() -> None:
    """``arm(step, when=...)`` is a pair with a name for each of its halves."""
    workflow = create_workflow("w").branch([arm(plus("a", 1), when=lambda n: True)]).commit()
    assert (await run(workflow)).output == {"a": 1}


async def test_the_decision_is_an_event() -> None:
    """A branch tells which arms it chose, and each of the others that it was skipped."""
    arms: Arms = [(lambda n: n > 0, plus("a", 1)), (lambda n: n <= 0, plus("b", 1))]
    events = await recorded(create_workflow("w").branch(arms, id="sign").commit())
    assert events == [
        "run.started",
        "branch.decided sign",
        "node.skipped a",
        "node.started b",
        "node.completed b",
        "run.finished",
    ]


async def test_a_chain_of_arms_runs_one_after_the_other() -> None:
    """With ``merge="chain"`` each arm that was chosen is given what the one before made: what it struck out stays so."""

    def holds(value: Any) -> bool:
        return True

    def strikes(ctx: Any) -> Any:
        return ctx.input.strike(ctx.path)

    arms = [(holds, make("a", strikes)), (holds, make("b", strikes))]
    workflow = create_workflow("w").branch(arms, merge="chain").commit()
    assert (await run(workflow, Doc(("a", "b", "c")))).output.text == "c"
