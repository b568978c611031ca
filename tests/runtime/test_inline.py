"""Inline steps and what they call: the hot paths of this library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.kit import blocks, events_of, fails, make, plus

from procession.errors import StepError
from procession.messages.chunks import TripwireInfo
from procession.runtime.runtime import Runtime
from procession.steps.signals import Suspend, Tripwire
from procession.steps.step import InlineRun, Step
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow


def inline(id: str, function: Callable[[Any, InlineRun, str], Any], **options: Any) -> Step[Any, Any]:
    """Return a plain inline step."""
    return Step(id=id, inline=function, inline_async=False, **options)


def guard(id: str, *hooks: str) -> Step[Any, Any]:
    """Return a processor's step that adds its id to a list."""
    return inline(f"processor:{id}", lambda value, run, path: [*value, path], kind="processor", hooks=frozenset(hooks))


def caller(definition: Any, only: frozenset[str] | None = None) -> Workflow[Any, Any]:
    """Return a workflow whose only step calls *definition* at its own path."""

    async def call(value: Any, run: InlineRun, path: str) -> Any:
        return await run.call(definition, value, path, only)

    hook: Step[Any, Any] = Step(id="hook", inline=call)
    return create_workflow("w").then(hook).commit()


async def test_inline_steps_are_given_value_run_and_path() -> None:
    """An inline step needs no context: it is given the value, the run and its path."""
    seen: list[Any] = []

    async def wait(value: int, run: InlineRun, path: str) -> int:
        seen.append((run.run_id, run.scope.run_id, path, len(run.request_context)))
        return value + 1

    waiting: Step[Any, Any] = Step(id="wait", inline=wait)
    inner = create_workflow("inner").then(waiting).commit()
    workflow = create_workflow("w").then(inline("plain", lambda value, run, path: value * 2)).then(inner).commit()
    result = await Runtime().create_run(workflow, run_id="r").start(2)
    assert result.output == 5
    assert seen == [("r", "r", "inner/wait", 0)]


@pytest.mark.parametrize("detail", [True, False])
async def test_what_is_called_runs_under_the_path(detail: bool) -> None:
    """A called workflow runs at the path it was given, and is recorded step by step only with ``detail``."""
    inner = (
        create_workflow("inner")
        .then(inline("a", lambda value, run, path: value + 1))
        .then(plus("b", 1))
        .parallel([plus("c", 1), plus("d", 2)])
        .map(lambda both: list(both.values()))
        .foreach(plus("e", 1), concurrency=2)
        .map(sum)
        .do_while(plus("g", 1), lambda value: value < 12)
        .branch([(lambda value: True, plus("h", 0))])
        .map(lambda one: one["h"])
        .sleep(0)
        .then(create_workflow("deep").then(plus("i", 1)).commit())
        .commit()
    )
    made = Runtime().create_run(caller(inner), detail=detail)
    result = await made.start(0)
    assert result.output == 13
    inside = [path for path in result.steps if path != "hook"]
    assert ("hook/a" in inside, "hook/c" in inside, "hook/deep/i" in inside) == (detail, detail, detail)
    if not detail:
        assert inside == []
        assert [event.type for event in await events_of(made)] == [
            "run.started",
            "node.started",
            "node.completed",
            "run.finished",
        ]


@pytest.mark.parametrize("detail", [True, False])
async def test_what_goes_wrong_inside_is_always_recorded(detail: bool) -> None:
    """A block or failure in what was called is recorded where it happened, and ends the step that called."""

    def raising(value: Any, run: InlineRun, path: str) -> Any:
        raise Tripwire(TripwireInfo("inline"))

    async def bailing(ctx: Any) -> None:
        ctx.bail("early")

    ends: list[tuple[Step[Any, Any], str]] = [
        (make("s", blocks("guard")), "blocked"),
        (inline("s", raising), "blocked"),
        (make("s", fails(ValueError("no"))), "failed"),
        (make("s", lambda ctx: ctx.suspend("?")), "suspended"),
    ]
    for step, status in ends:
        inner = create_workflow("inner").parallel([step, plus("other", 1)]).commit()
        made = Runtime().create_run(caller(inner), detail=detail)
        result = await made.start(0)
        assert result.status == status
        assert result.steps["hook/s"].status == status
        assert result.steps["hook"].status == status
        types: list[str] = [event.type for event in await events_of(made)]
        assert types.count(f"node.{status}") == 2
    early = create_workflow("inner").then(make("s", bailing)).then(plus("never", 1)).commit()
    assert (await Runtime().create_run(caller(early), detail=detail).start(0)).output == "early"


async def test_a_caller_may_handle_what_was_raised() -> None:
    """``call`` raises the signal or the error that ended what was called."""
    caught: list[BaseException] = []

    async def call(value: Any, run: InlineRun, path: str) -> str:
        for step in (make("a", blocks("guard")), make("b", fails(ValueError())), make("c", lambda c: c.suspend(1))):
            try:
                await run.call(step, value, f"{path}/{step.id}")
            except (Tripwire, StepError, Suspend) as error:
                caught.append(error)
        return "handled"

    hook: Step[Any, Any] = Step(id="hook", inline=call)
    workflow = create_workflow("w").then(hook).commit()
    result = await Runtime().create_run(workflow, detail=False).start(0)
    assert result.output == "handled"
    assert [type(error) for error in caught] == [Tripwire, StepError, Suspend]
    assert result.steps["hook/b"].status == "failed"


async def test_only_those_that_take_part_run() -> None:
    """With ``only`` processors without the hook, arms for other hooks and workflows without a processor are left out."""
    nothing: list[str] = []
    a, b, both = (
        guard("a", "process_input"),
        guard("b", "process_output_result"),
        guard("both", "process_input", "process_output_result"),
    )
    outside = create_workflow("outside").then(guard("c", "process_output_result")).commit()
    workflow = (
        create_workflow("guards", kind="processor")
        .then(a)
        .then(b)
        .then(outside)
        .then(guard("never", "process_input"), on={"process_output_result"})
        .then(both)
        .parallel(
            [guard("x", "process_input"), guard("y", "process_output_result"), make("z", lambda ctx: [*ctx.input, "z"])]
        )
        .map(lambda outputs: outputs)
        .commit()
    )
    result = await Runtime().run(caller(workflow, frozenset({"process_input"})), nothing)
    base = ["hook/processor:a", "hook/processor:both"]
    assert result.output == {
        "processor:x": [*base, "hook/processor:x"],
        "processor:y": base,
        "z": [*base, "z"],
    }
    everything = await Runtime().run(caller(workflow), nothing)
    assert "hook/outside/processor:c" in everything.output["processor:y"]


async def test_a_fork_in_which_nobody_takes_part_is_left_out() -> None:
    """A parallel or branch without anyone who takes part passes the value on, unless a map follows."""
    arms = [guard("x", "process_input"), guard("y", "process_input")]
    plain = create_workflow("p").parallel(arms).commit()
    assert (await Runtime().run(caller(plain, frozenset({"process_output_result"})), 1)).output == 1
    branch: Workflow[Any, Any] = create_workflow("b").branch([(lambda value: False, arms[0])]).commit()
    assert (await Runtime().run(caller(branch, frozenset({"process_output_result"})), 1)).output == 1
    mapped = create_workflow("m").parallel(arms).map(pick("processor:x")).commit()
    assert (await Runtime().run(caller(mapped, frozenset({"process_output_result"})), 1)).output == 1


async def test_a_pick_of_an_earlier_step_needs_records() -> None:
    """A map that picks an earlier step's output finds it also where little is recorded."""
    inner = create_workflow("inner").then(plus("a", 1)).then(plus("b", 10)).map(pick("a")).commit()
    assert (await Runtime().create_run(caller(inner), detail=False).start(0)).output == 1
