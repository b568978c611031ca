"""Reported failures of retries and of what guards may do, each as the smallest run that shows it (RET-)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool, text_only

from procession.agents.agent import Agent
from procession.errors import ProcessorError, TripwireError
from procession.messages.parts import ReasoningPart, StepStartPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptToolCall, PromptToolResult
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.workflow import create_workflow

IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}

both_ways = pytest.mark.parametrize("way", WAYS)


def no_bad(**options: Any) -> Processor:
    """Return a guard that sends an answer with the word *bad* back."""

    def act(ctx: Any) -> None:
        if "bad" in ctx.text:
            ctx.abort("be polite", retry=True, **options)

    return at("process_output_step", act)


# -- RET-001


@both_ways
async def test_the_model_is_not_shown_what_was_rejected(way: str) -> None:
    """RET-001: the second request has system, user and feedback, and only the good answer is kept anywhere."""
    store = InMemoryStore()
    model = FakeModel(["bad answer", "good answer"])
    agent = Agent(
        "parrot", model=model, instructions="Be brief.", memory=Memory(store),
        max_processor_retries=1, output_processors=[no_bad()],
    )  # fmt: skip
    result = (await ask(agent, way, **IDS)).result
    again = model.requests[1].messages
    assert sorted(message.role for message in again) == ["system", "system", "user"]
    assert (again[0].text, [m.text for m in again if m.role == "user"]) == ("Be brief.", ["Hi"])
    assert "be polite" in [m.text for m in again if m.role == "system"][-1]
    assert "bad answer" not in str(again)
    assert result.text == "good answer"
    assert [message.text for message in await store.messages("t")] == ["Hi", "good answer"]
    assert [step.text for step in result.steps] == ["good answer"]
    assert [step.finish_reason for step in result.rejected] == ["retry"]


# -- RET-002


@both_ways
async def test_accepted_steps_outlive_the_rejection_of_a_later_one(way: str) -> None:
    """RET-002: the tool of step 1 runs once, and its call, result and reasoning are in the prompt of the retry."""
    tool, booked = counted_tool("book_flight", "booked")
    model = FakeModel([say(reasoning="Paris, then.") + call_tool("book_flight"), "bad", "good"])
    agent = Agent("parrot", model=model, tools=[tool], max_processor_retries=1, output_processors=[no_bad()])
    result = (await ask(agent, way)).result
    assert len(booked) == 1
    before, again = model.requests[1].messages, model.requests[2].messages
    assert [m for m in again if m.role != "system"] == list(before)
    assert [type(p) for m in before for p in m.content][1:] == [ReasoningPart, PromptToolCall, PromptToolResult]
    assert "booked" in str(before[-1])
    kept = [part for message in result.messages for part in message.parts]
    assert [type(part) for part in kept] == [ReasoningPart, ToolCallPart, StepStartPart, TextPart]
    assert (result.text, len(result.steps), len(result.rejected)) == ("good", 2, 1)


# -- RET-004


class Insisting:
    """An agent whose every answer is sent back, and what its guard and its store saw."""

    def __init__(self, **options: Any) -> None:
        self.counts: list[int] = []
        self.store = InMemoryStore()
        self.model = FakeModel(["bad"] * 10)

        def act(ctx: Any) -> None:
            self.counts.append(ctx.retry_count)
            ctx.abort("too rude", retry=True, metadata={"score": 0.1})

        self.agent = Agent(
            "parrot", model=self.model, memory=Memory(self.store),
            output_processors=[at("process_output_step", act)], **options,
        )  # fmt: skip


@both_ways
@pytest.mark.parametrize(("options", "calls"), [({"max_processor_retries": 2}, 3), ({}, 1)])
async def test_a_guard_that_always_rejects_ends_in_a_stop(way: str, options: dict[str, Any], calls: int) -> None:
    """RET-004: the budget is kept to the call, the verdict is whole, nothing of the answer stays, all calls cost."""
    run = Insisting(**options)
    seen = await ask(run.agent, way, **IDS)
    assert (len(run.model.requests), run.counts) == (calls, list(range(calls)))
    assert (seen.result.status, seen.result.finish_reason, seen.result.text) == ("blocked", "other", "")
    assert (seen.tripwire.reason, seen.tripwire.processor_id) == ("too rude", "guard")
    assert seen.tripwire.metadata == {"score": 0.1}
    assert (seen.result.error, seen.result.messages) == (None, ())
    assert seen.result.usage.total_tokens == calls * COST
    assert await run.store.messages("t") == []
    assert seen.chunks.types[-1] == "tripwire"


# -- RET-010


def fall(ctx: Any) -> None:
    """Fail."""
    raise LookupError("rude")


ACTS: dict[str, Callable[[Any], Any]] = {
    "allow": lambda ctx: None,
    "replace": lambda ctx: ctx.replace_response("safe text"),
    "retry": lambda ctx: ctx.abort("be polite", retry=True) if ctx.retry_count == 0 else None,
    "note": lambda ctx: ctx.warn("tone was rude", metadata={"tone": 1}),
    "block": lambda ctx: ctx.abort("rude", message="I cannot help"),
    "raise": fall,
}
OUTCOMES: dict[str, tuple[str, str | None, int, list[tuple[str, str]]]] = {
    "allow": ("success", "rude", 1, []),
    "replace": ("success", "safe text", 1, [("gave an answer in place of the model's", "modified")]),
    "retry": ("success", "polite", 2, [("be polite", "modified")]),
    "note": ("success", "rude", 1, [("tone was rude", "warned")]),
    "block": ("blocked", None, 1, [("rude", "blocked")]),
    "raise": ("failed", None, 1, [("guard failed: LookupError", "error")]),
}


def tempered(outcome: str, hook: str = "process_output_step", **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent whose guard does *outcome* to each answer, and its model."""
    model = FakeModel(["rude", "polite"])
    guard = at(hook, text_only(ACTS[outcome]))
    return Agent("parrot", model=model, output_processors=[guard], max_processor_retries=1, **options), model


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_each_outcome_in_a_workflow(outcome: str) -> None:
    """RET-010: each outcome is one call, means the same where the agent is a step of a workflow, and is listed."""
    status, text, calls, listed = OUTCOMES[outcome]
    agent, model = tempered(outcome)
    run = Runtime().create_run(create_workflow("desk", str).then(agent).commit())
    result = await run.start("Hi")
    assert (result.status, result.output, len(model.requests)) == (status, text, calls)
    assert [(one.message, one.outcome) for one in run.scope.violations] == listed
    if outcome == "block":
        assert result.tripwire is not None
        assert (result.tripwire.reason, result.tripwire.message) == ("rude", "I cannot help")
    if outcome == "raise":
        assert isinstance(result.error, ProcessorError)
        assert isinstance(result.error.__cause__, LookupError)


@both_ways
@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_each_outcome_is_listed_in_the_result(outcome: str, way: str) -> None:
    """RET-010: the result of a call lists what was noted, sent back and blocked; what was raised is raised."""
    _, text, calls, listed = OUTCOMES[outcome]
    agent, model = tempered(outcome)
    seen = await ask(agent, way)
    assert len(model.requests) == calls
    if outcome == "raise":
        assert isinstance(seen.error, ProcessorError)
        return
    assert seen.result.text == (text or "")
    assert [(one.message, one.outcome) for one in seen.result.violations] == listed
    if outcome == "block":
        assert seen.tripwire.message == "I cannot help"


@both_ways
async def test_a_note_runs_no_tool_again(way: str) -> None:
    """RET-010: ``ctx.warn`` in the step of a tool call costs no second model call and no second run of the tool."""
    tool, calls = counted_tool()
    model = FakeModel([say("rude") + call_tool("lookup"), "done"])
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[at("process_output_step", ACTS["note"])])
    result = (await ask(agent, way)).result
    assert (len(calls), len(model.requests), result.text) == (1, 2, "rudedone")
    assert [(one.step_number, one.detail) for one in result.violations] == [(0, {"tone": 1}), (1, {"tone": 1})]


@both_ways
async def test_a_block_may_be_raised(way: str) -> None:
    """RET-010: ``raise_on_tripwire=True`` makes an exception of a block, with what the user is to be shown."""
    agent, _ = tempered("block", raise_on_tripwire=True)
    seen = await ask(agent, way)
    assert isinstance(seen.error, TripwireError)
    assert (str(seen.error), seen.error.tripwire.reason) == ("I cannot help", "rude")


@pytest.mark.parametrize(
    ("outcome", "went", "said"), [("allow", "answer", "rude"), ("block", "refuse", "I cannot help")]
)
async def test_a_parent_branches_on_a_blocked_workflow(outcome: str, went: str, said: str) -> None:
    """RET-010: a step that runs the workflow of the agent is given how it ended, and the parent branches on that."""
    inner = create_workflow("inner", str).then(tempered(outcome)[0]).commit()

    @step
    async def talk(ctx: StepContext[str]) -> RunResult[Any]:
        return await Runtime().run(inner, ctx.input)

    @step
    def refuse(ctx: StepContext[RunResult[Any]]) -> str:
        assert ctx.input.tripwire is not None
        return ctx.input.tripwire.message or ""

    @step
    def answer(ctx: StepContext[RunResult[Any]]) -> str:
        return str(ctx.input.unwrap())

    def blocked(ended: RunResult[Any]) -> bool:
        return ended.status == "blocked"

    parent = create_workflow("parent", str).then(talk).branch([(blocked, refuse)], default=answer).commit()
    assert (await Runtime().run(parent, "Hi")).unwrap() == {went: said}
