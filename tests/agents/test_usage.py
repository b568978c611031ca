"""What a run cost: the tokens of every model call, those of inner agents included, and beside them what guards asked (D13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.agents.kit import COST, HOOKS, WAYS, ask, at, counted_tool, list_of, turn

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, StepFinish
from procession.messages.usage import NO_USAGE
from procession.models.ask import ask as ask_model
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.hooks import Hook
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


@dataclass
class Verdict:
    """What the judge says."""

    spam: bool


def judging(hook: str, **options: Any) -> Processor:
    """Return a processor that asks a model once, at *hook*."""
    judge = FakeModel('{"spam": false}', repeat_last=True)
    done: list[bool] = []

    async def look(ctx: Any) -> Any:
        if not done:
            done.append(True)
            await ask_model(judge, instructions="Is it spam?", content="x", schema=Verdict, scope=ctx.scope)
        if ctx.hook is Hook.API_ERROR:
            return {"retry": True}
        return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None

    return at(hook, look, **options)


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_what_guards_ask_counts(way: str, hook: str) -> None:
    """What a processor asks a model in any hook is in the result, beside what the agent asked."""
    lookup, _ = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [judging(hook)]}
    seen = await ask(Agent("parrot", model=FakeModel(turn(hook)), tools=[lookup], **lists), way)
    own = sum(step.usage.total_tokens for step in seen.result.steps)
    assert (seen.result.usage.total_tokens, seen.result.guard_usage.total_tokens) == (own, COST)
    assert [chunk.usage.total_tokens for chunk in seen.chunks.of(Finish)] == [own]


@both_ways
async def test_what_a_guard_of_ours_asks_counts(way: str) -> None:
    """The tokens of a built-in guard with a model are in the result, also of one that only watches."""
    for mode in ("enforce", "monitor"):
        judge = FakeModel('{"categories": null, "detections": null}')
        guard = PIIDetector(model=judge, mode=mode)
        seen = await ask(Agent("parrot", model=FakeModel("Hello."), input_processors=[guard]), way)
        assert (len(judge.requests), seen.result.guard_usage.total_tokens) == (1, COST)


@both_ways
async def test_what_guards_of_inner_agents_ask_counts(way: str) -> None:
    """What the guards of an agent inside ask is in the result of the agent that calls it, once."""
    inner = Agent("inner", model=FakeModel("It was in 1905."), input_processors=[judging("process_input")])
    model = FakeModel([call_tool("agent-inner", {"prompt": "When?"}), "In 1905."])
    seen = await ask(Agent("outer", model=model, tools=[inner]), way)
    assert (seen.result.usage.total_tokens, seen.result.guard_usage.total_tokens) == (3 * COST, COST)


async def test_in_a_workflow_the_request_is_charged() -> None:
    """In a workflow what an agent and its guards cost is the request's, once."""
    agent = Agent("parrot", model=FakeModel("Hello."), input_processors=[judging("process_input")])
    run = Runtime().create_run(create_workflow("talk", str).then(agent).commit())
    assert (await run.start("Hi")).unwrap() == "Hello."
    assert run.scope.usage.total_tokens == COST


@both_ways
async def test_a_resumed_run_goes_on_counting(way: str) -> None:
    """What guards asked before a run was suspended counts in its end."""
    lookup, _ = counted_tool()
    model = FakeModel([call_tool("lookup"), "done"])
    agent = Agent(
        "parrot", model=model, tools=[lookup.replace(requires_approval=True)],
        input_processors=[judging("process_input")],
    )  # fmt: skip
    waiting = (await ask(agent, way)).result
    assert (waiting.usage.total_tokens, waiting.guard_usage.total_tokens) == (COST, COST)
    result = await agent.approve(waiting.run_id)
    assert (result.usage.total_tokens, result.guard_usage.total_tokens) == (2 * COST, COST)


@pytest.mark.parametrize("verdict", ["abort", "replace"])
async def test_an_attempt_that_is_cut_off_says_what_it_cost(verdict: str) -> None:
    """Under ``generate`` an answer that the stream's processors reject is complete: its tokens are the attempt's."""
    judged: list[bool] = []

    def once(ctx: Any) -> Any:
        if ctx.chunk.type == "text-delta" and not judged:
            judged.append(True)
            if verdict == "replace":
                ctx.replace_response("fine")
            ctx.abort("rude", retry=True)
        return ctx.chunk

    agent = Agent(
        "parrot", model=FakeModel([say("rude"), "fine"]), output_processors=[at("process_output_stream", once)]
    )
    seen = await ask(agent, max_processor_retries=1)
    (attempt,) = seen.result.rejected
    first = seen.chunks.of(StepFinish)[0]
    assert (first.reason, first.usage, attempt.usage.total_tokens) == ("retry", attempt.usage, COST)
    steps = sum((step.usage for step in seen.result.steps), NO_USAGE)
    assert seen.result.usage == steps + attempt.usage
