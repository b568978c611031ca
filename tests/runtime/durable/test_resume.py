"""Suspending and resuming: what waits, what an answer does, and what is not done again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel

from procession.errors import ResumeError, RunAlreadyClaimed, RunNotFound, SchemaError
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow


@pytest.fixture(params=["none", "memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JournalStore | None]:
    """Yield nothing, or a store."""
    if request.param == "none":
        yield None
    elif request.param == "memory":
        yield InMemoryJournal()
    else:
        async with SQLiteJournal(tmp_path / "runs.db") as made:
            yield made


class Approval(BaseModel):
    """What a person says."""

    approved: bool
    by: str = "?"


ran: list[str] = []


@step
async def draft(ctx: StepContext[str]) -> str:
    """Write something."""
    ran.append("draft")
    return f"draft of {ctx.input}"


@step(resume_type=Approval)
async def approve(ctx: StepContext[str]) -> str:
    """Ask a person."""
    ran.append("approve")
    answer: Approval = await ctx.suspend({"text": ctx.input}, label="approval")
    return f"{ctx.input}, {'approved' if answer.approved else 'refused'} by {answer.by}"


@step
async def publish(ctx: StepContext[str]) -> str:
    """Publish it."""
    ran.append("publish")
    return f"published {ctx.input}"


PIPELINE = create_workflow("pipeline", str).then(draft).then(approve).then(publish).commit()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def test_an_answer_goes_to_the_step_that_waits(store: JournalStore | None) -> None:
    """The step runs again from the top with its input, gets the answer, and nothing before it runs again."""
    runtime = Runtime(store)
    first = await runtime.run(PIPELINE, "letter", run_id="r1")
    assert first.status == "suspended"
    assert first.suspended == {"approve": {"text": "draft of letter"}}
    result = await runtime.resume("r1", {"approved": True, "by": "Eva"})
    assert result.unwrap() == "published draft of letter, approved by Eva"
    assert ran == ["draft", "approve", "approve", "publish"]
    assert [record.status for record in result.steps.values()] == ["success"] * 3


async def test_an_answer_that_does_not_fit_leaves_the_question_open(store: JournalStore | None) -> None:
    """SUS-012: an answer of the wrong type is refused, nothing is coerced, and the run waits as before."""
    runtime = Runtime(store)
    await runtime.run(PIPELINE, "letter", run_id="r1")
    for wrong in ({"approved": "no"}, {}, {"approved": 1}):
        with pytest.raises(SchemaError, match="answer to step 'approve'"):
            await runtime.resume("r1", wrong)
    assert (await runtime.get("r1")).status == "suspended"
    result = await runtime.resume("r1", Approval(approved=False))
    assert result.unwrap() == "published draft of letter, refused by ?"


async def test_what_was_refused_is_not_done(store: JournalStore | None) -> None:
    """SUS-012: a no that came after answers that were none leads where a no leads; nothing of a yes is done."""

    @step(resume_type=Approval)
    async def approval(ctx: StepContext[int]) -> bool:
        answer: Approval = await ctx.suspend("?")
        return answer.approved

    @step
    async def act(ctx: StepContext[bool]) -> str:
        ran.append("act")
        return "acted"

    workflow = create_workflow("w", int).then(approval)
    runtime = Runtime(store)
    await runtime.run(workflow.branch([(lambda yes: yes, act)], on_no_match="skip").commit(), 0, run_id="r")
    for wrong in ({"approved": "no"}, {}, "yes", 1):
        with pytest.raises(SchemaError):
            await runtime.resume("r", wrong)
        reader = await runtime.get("r")
        assert (reader.status, reader.is_held, [each.path for each in reader.waiting]) == (
            "suspended", False, ["approval"],
        )  # fmt: skip
    assert (await runtime.resume("r", {"approved": False})).output is False
    assert ran == []


async def test_a_second_answer_is_refused(store: JournalStore | None) -> None:
    """SUS-001: what was answered cannot be answered again, nor can what has ended."""
    runtime = Runtime(store)
    await runtime.run(PIPELINE, "letter", run_id="r1")
    await runtime.resume("r1", {"approved": True})
    with pytest.raises(RunAlreadyClaimed):
        await runtime.resume("r1", {"approved": True})
    with pytest.raises(RunNotFound):
        await runtime.resume("r2", {"approved": True})


async def test_each_branch_is_answered_by_itself(store: JournalStore | None) -> None:
    """SUS-002: one answer resumes one branch, the other goes on waiting, and what follows runs once both are done."""
    runs: list[str] = []

    def asking(name: str) -> Step[int, int]:
        @step(id=name)
        async def ask(ctx: StepContext[int]) -> int:
            runs.append(name)
            answer: int = await ctx.suspend(name)
            return answer

        return ask

    @step
    async def end(ctx: StepContext[Mapping[str, int]]) -> int:
        runs.append("end")
        return sum(ctx.input.values())

    both = create_workflow("both", int).parallel([asking("a"), asking("b")]).then(end).commit()
    runtime = Runtime(store)
    result = await runtime.run(both, 0, run_id="r")
    assert result.suspended == {"a": "a", "b": "b"}
    with pytest.raises(ResumeError, match="2 steps wait"):
        await runtime.resume("r", 1)
    result = await runtime.resume("r", 1, step="a")
    assert result.status == "suspended"
    assert result.suspended == {"b": "b"}
    assert runs == ["a", "b", "a"]
    result = await runtime.resume("r", 2)
    assert result.unwrap() == 3
    assert runs == ["a", "b", "a", "b", "end"]


async def test_a_step_may_ask_several_questions(store: JournalStore | None) -> None:
    """Each question of a step has its own answer, and memoized work between them is done once."""
    done: list[str] = []

    @step
    async def form(ctx: StepContext[str]) -> str:
        async def look_up() -> str:
            done.append("looked up")
            return "Acme"

        company = await ctx.memoize("company", look_up)
        name = await ctx.suspend(f"name at {company}?")
        age = await ctx.suspend("age?")
        return f"{name} {age} {company}"

    workflow = create_workflow("form", str).then(form).commit()
    runtime = Runtime(store)
    assert (await runtime.run(workflow, "x", run_id="r")).suspended == {"form": "name at Acme?"}
    assert (await runtime.resume("r", "Eva")).suspended == {"form": "age?"}
    assert (await runtime.resume("r", 40)).unwrap() == "Eva 40 Acme"
    assert done == ["looked up"]


async def test_a_resumed_run_is_watched(store: JournalStore | None) -> None:
    """The events of a run that goes on tell what is done now, and end with exactly one terminal event."""
    runtime = Runtime(store)
    await runtime.run(PIPELINE, "letter", run_id="r1")
    async with runtime.resume_stream("r1", {"approved": True}) as run:
        seen = [(event.type, event.node_path) async for event in run.events()]
        result = await run.result()
    assert result.status == "success"
    assert seen == [
        ("run.started", ""),
        ("node.started", "approve"),
        ("node.completed", "approve"),
        ("node.started", "publish"),
        ("node.completed", "publish"),
        ("run.finished", ""),
    ]
    with pytest.raises(RunNotFound):
        async with runtime.resume_stream("r9", 1):
            pass


async def test_a_run_is_observed_from_what_is_written_down(store: JournalStore | None) -> None:
    """Whoever comes later, or from another process, sees what was completed, in order, and one terminal event."""
    runtime = Runtime(store)
    await runtime.run(PIPELINE, "letter", run_id="r1")
    waits = [(event.type, event.node_path) async for event in runtime.observe("r1")]
    assert waits == [
        ("run.started", ""),
        ("node.started", "draft"),
        ("node.completed", "draft"),
        ("node.started", "approve"),
        ("node.suspended", "approve"),
        ("run.suspended", ""),
    ]
    await runtime.resume("r1", {"approved": True})
    events = [event async for event in runtime.observe("r1")]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.type for event in events if event.terminal] == ["run.finished"]
    assert events[-1].payload["output"] == "published draft of letter, approved by ?"


async def test_a_forgotten_await_lets_nothing_pass() -> None:
    """A step that does not await its question waits all the same, and an answer that is not awaited is no yes."""
    paid: list[int] = []

    @step
    async def forgets(ctx: StepContext[int]) -> int:
        if ctx.suspend("pay?"):  # type: ignore[truthy-bool]
            paid.append(ctx.input)
        return ctx.input

    workflow = create_workflow("w", int).then(forgets).commit()
    runtime = Runtime(InMemoryJournal())
    assert (await runtime.run(workflow, 5, run_id="r")).status == "suspended"
    result = await runtime.resume("r", False)
    assert result.status == "failed"
    assert "await ctx.suspend(...)" in str(result.error)
    assert paid == []
