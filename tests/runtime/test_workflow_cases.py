"""Reported failures of workflow engines, each cited by its id, and held by ours."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.runtime.kit import Arms, fails, make, plus, run

from procession.errors import ConditionError, NoArmMatched, StepError
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.storage.memory import InMemoryJournal
from procession.workflows.describe import graph_spec
from procession.workflows.workflow import Workflow, create_workflow

# -- WF-001


def is_positive(value: int) -> bool:
    """Return whether the first arm is meant."""
    return value > 0


def is_negative(value: int) -> bool:
    """Return whether the second arm is meant."""
    return value < 0


def converging(given: list[Any], mapped: bool = False, **options: Any) -> Workflow[Any, Any]:
    """Return a branch whose first arm has two steps, and a step after it that notes what it is given."""
    arm = create_workflow("b2").then(plus("b1", 10)).then(plus("last", 100)).commit()
    arms: Any = [(is_positive, arm), (is_negative, plus("c1", 1000))]
    workflow = create_workflow("w").then(plus("a", 0)).branch(arms, id="which", **options)
    if mapped:
        workflow.map(lambda outputs: next(iter(outputs.values())))

    def note(ctx: Any) -> Any:
        given.append(ctx.input)
        return ctx.input

    return workflow.then(make("d", note)).commit()


async def test_what_follows_a_branch_follows_it_once() -> None:
    """WF-001: arms of any length lead to one step, which runs once, with what the arms that ran have given."""
    for value, mapped, expected in ((1, False, {"b2": 111}), (-1, False, {"c1": 999}), (1, True, 111), (-1, True, 999)):
        given: list[Any] = []
        result = await run(converging(given, mapped), value)
        assert result.output == expected
        assert given == [expected]


async def test_a_branch_of_which_nothing_is_meant() -> None:
    """WF-001: where no condition holds what follows does not run, unless there is a default, or the value may pass."""
    given: list[Any] = []
    refused = await run(converging(given), 0)
    assert isinstance(refused.error, NoArmMatched)
    assert refused.error.path == "which"
    assert given == []
    assert (await run(converging(given, default=plus("e1", 5)), 0)).output == {"e1": 5}
    assert (await run(converging(given, on_no_match="skip"), 0)).output == 0
    assert given == [{"e1": 5}, 0]


def test_a_step_after_a_branch_is_drawn_once() -> None:
    """WF-001: the graph has one node for it, and both arms lead to it through the end of the branch."""
    spec = graph_spec(converging([]))
    assert [node.id for node in spec.nodes].count("d") == 1
    edges = [(edge.source, edge.target) for edge in spec.edges]
    assert sorted(source for source, target in edges if target == "which@join") == ["b2", "c1"]
    assert [source for source, target in edges if target == "d"] == ["which@join"]


# -- WF-002


def holds(value: Any) -> bool:
    """Answer yes."""
    return True


async def holds_later(value: Any) -> bool:
    """Answer yes after others had their turn."""
    await anyio.lowlevel.checkpoint()
    return True


def cannot_tell(value: Any) -> bool:
    """Fail."""
    raise ValueError("private")


async def test_which_arms_run_and_in_which_order() -> None:
    """WF-002: of several arms that are meant all run, in the order they were written in, or with ``first`` one."""
    arms: Arms = [(holds, plus("a", 1)), (is_negative, plus("no", 5)), (holds_later, plus("b", 2))]
    result = await run(create_workflow("w").branch(arms).commit(), 0)
    assert list(result.output.items()) == [("a", 1), ("b", 2)]
    first = await run(create_workflow("w").branch(arms, mode="first").commit(), 0)
    assert first.output == {"a": 1}
    assert set(first.steps) == {"branch-1", "a"}
    later: Arms = [(holds_later, plus("b", 2)), (holds, plus("a", 1))]
    assert list((await run(create_workflow("w").branch(later).commit(), 0)).output) == ["b", "a"]
    assert (await run(create_workflow("w").branch(later, mode="first").commit(), 0)).output == {"b": 2}


@pytest.mark.parametrize("mode", ["all", "first"])
async def test_a_guard_whose_condition_fails_is_not_skipped(mode: Any) -> None:
    """WF-002: a condition that raises fails the run, whatever the others say; the arm is named, and no arm runs."""
    ran: list[str] = []

    def arm(id: str) -> Any:
        return make(id, lambda ctx: ran.append(id))

    arms: Arms = [(cannot_tell, arm("guard")), (holds, arm("a")), (holds_later, arm("b"))]
    orders = ([arms[0], *arms[1:]], [arms[1], arms[0], arms[2]], [*arms[1:], arms[0]])
    for order in orders if mode == "all" else orders[:1]:
        workflow = create_workflow("w").branch(order, mode=mode, on_no_match="skip").then(arm("after")).commit()
        result = await run(workflow)
        assert result.status == "failed"
        assert isinstance(result.error, ConditionError)
        assert "arm 'guard'" in str(result.error)
        assert isinstance(result.error.__cause__, ValueError)
    assert ran == []


# -- WF-007


def in_a_thread(ctx: Any) -> Any:
    """Fail, on the third attempt as on those before."""
    return _deeper(ctx.input)


def _deeper(value: Any) -> Any:
    raise LookupError("nothing is there")


def nested(policy: RetryPolicy | None = None) -> Workflow[Any, Any]:
    """Return a workflow in which a plain function fails in a thread, beside one that does not, two workflows down."""
    raising = make("sync_step_raises", in_a_thread, blocking=True, retry=policy)
    inner = create_workflow("inner").parallel([make("ok", lambda ctx: "fine"), raising]).commit()
    outer = create_workflow("outer").then(inner).commit()
    return create_workflow("w").map(lambda value: value, id="first").then(outer).commit()


@pytest.mark.parametrize("kept", [False, True])
async def test_an_error_says_where_it_comes_from(kept: bool) -> None:
    """WF-007: path, attempt, the exception with its traceback, what was given without what was in it, what was done."""
    runtime = Runtime(InMemoryJournal() if kept else None)
    result = await runtime.run(nested(RetryPolicy(3, initial=0)), {"card": "4111 1111", "name": "Eva"}, run_id="r")
    assert result.status == "failed"
    error = result.error
    assert isinstance(error, StepError)
    assert (error.path, error.attempt, error.given) == ("outer/inner/sync_step_raises", 3, "dict of 2")
    assert "outer/inner/sync_step_raises" in str(error)
    for private in ("4111", "Eva", "card"):
        assert private not in str(error) + repr(error) + repr(vars(error))
    cause = error.__cause__
    assert isinstance(cause, LookupError)
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)][-2:] == ["in_a_thread", "_deeper"]
    statuses = {path: record.status for path, record in result.steps.items()}
    assert statuses == {
        "first": "success",
        "outer": "failed",
        "outer/inner": "failed",
        "outer/inner/ok": "success",
        "outer/inner/sync_step_raises": "failed",
    }
    assert result.steps["outer/inner/ok"].output == "fine"
    assert result.steps["outer/inner/sync_step_raises"].attempt == 3
    with pytest.raises(StepError) as raised:
        result.unwrap()
    assert raised.value is error


@pytest.mark.parametrize(
    ("value", "outline"),
    [("secret", "str of 6"), ([1, 2], "list of 2"), (7, "int"), (anyio.Path("secret"), "Path"), (None, None)],
)
async def test_what_was_given_is_told_without_what_was_in_it(value: Any, outline: str | None) -> None:
    """WF-007: an error has the type and the size of its step's input, and nothing else of it."""
    error = (await run(create_workflow("w").then(make("a", fails(ValueError("no")))).commit(), value)).error
    assert isinstance(error, StepError)
    assert error.given == outline


# -- PAR-003


def raising_late(released: anyio.Event, noted: list[str], name: str) -> Callable[[Any], Any]:
    """Return a step function that waits, and fails in cleaning up where it is cancelled."""

    async def work(ctx: Any) -> None:
        try:
            await released.wait()
            noted.append(f"{name} went on")
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                noted.append(f"{name} cleaned")
            raise RuntimeError(f"{name} failed in cleaning up")

    return work


@pytest.mark.parametrize("form", ["parallel", "graph", "foreach", "branch"])
async def test_nothing_goes_on_after_a_failure(form: str, caplog: pytest.LogCaptureFixture) -> None:
    """PAR-003: what runs beside a failure has ended before the caller is told, and its own failures are nobody's warning."""
    released, noted = anyio.Event(), list[str]()
    arms = [
        make("raises", after_others(noted)),
        make("sleeps", raising_late(released, noted, "sleeps")),
        make("cleans", raising_late(released, noted, "cleans")),
    ]
    workflow: Any = create_workflow("w")
    match form:
        case "parallel":
            workflow.parallel(arms)
        case "branch":
            workflow.branch([(holds, arm) for arm in arms])
        case "foreach":
            functions: list[Any] = [arm.execute for arm in arms]
            item = make("item", lambda ctx: functions[ctx.input](ctx))
            workflow.foreach(item, concurrency=3)
        case _:
            for arm in arms:
                workflow.add(arm)
    result = await run(workflow.commit(), [0, 1, 2])
    at_the_end = list(noted)
    released.set()
    for _ in range(10):
        await anyio.lowlevel.checkpoint()
    assert noted == at_the_end
    assert sorted(noted) == ["cleans cleaned", "raises", "sleeps cleaned"]
    assert result.status == "failed"
    assert isinstance(result.error, StepError)
    assert str(result.error.__cause__) == "first"
    gc.collect()  # asyncio tells of an exception that nobody asked for when its task is thrown away
    assert [record.getMessage() for record in caplog.records if record.name in ("asyncio", "trio")] == []


def after_others(noted: list[str]) -> Callable[[Any], Any]:
    """Return a step function that fails once the others have begun."""

    async def work(ctx: Any) -> None:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        noted.append("raises")
        raise RuntimeError("first")

    return work
