"""What agents and guards ask models counts for the budgets around them, each call once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.agents.kit import COST, at, counted_tool
from tests.agents.suspending import doing

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.parts import TextPart
from procession.messages.usage import Usage
from procession.models.ask import ask
from procession.processors.processor import Processor
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.budget import Budget
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.nodes import arm
from procession.workflows.workflow import create_workflow


@dataclass
class Verdict:
    """What the judge says."""

    spam: bool


def guard(id: str = "judge", hook: str = "process_input", times: int = 1) -> Processor:
    """Return a processor that asks a model *times* times."""
    judge = FakeModel('{"spam": false}', repeat_last=True)

    async def look(ctx: Any) -> Any:
        for _ in range(times):
            await ask(judge, instructions="Is it spam?", content="x", schema=Verdict, scope=ctx.scope)

    return at(hook, look, id=id)


def priced(calls: list[tuple[Usage, str]], limit: float = 1e6) -> Budget:
    """Return a budget that notes each call that counts for it."""

    def price(usage: Usage, model: str) -> float:
        calls.append((usage, model))
        return float(usage.total_tokens)

    return Budget(money=limit, price=price)


async def talked(thing: Any, budget: Budget) -> RunResult[Any]:
    other = Agent("other", model=FakeModel("No."))
    workflow = create_workflow("talk", str).parallel([arm(thing, budget=budget), other]).commit()
    return await Runtime().create_run(workflow).start("Hi")


async def test_an_agent_as_an_arm_counts_each_call_once() -> None:
    """Its own calls, those of its guards and those of an agent inside count, with the ids of their models; a sibling's do not."""
    inner = Agent("inner", model=FakeModel("It was in 1905."), input_processors=[guard()])
    model = FakeModel([call_tool("agent-inner", {"prompt": "When?"}), "In 1905."])
    calls: list[tuple[Usage, str]] = []
    result = await talked(Agent("outer", model=model, tools=[inner]), priced(calls))
    assert result.output == {"outer": "In 1905.", "other": "No."}
    assert [usage.total_tokens for usage, _ in calls] == [COST] * 4
    assert {id for _, id in calls} == {model.id}


async def test_a_workflow_that_is_a_tool_counts_each_call_once() -> None:
    """Its agents, and their guards, are told to the agent that calls it without being counted again."""
    inner = Agent("inner", model=FakeModel("It was in 1905."), input_processors=[guard()])
    history = create_workflow("history", str).then(inner).commit()
    model = FakeModel([call_tool("workflow-history", {"input": "When?"}), "In 1905."])
    calls: list[tuple[Usage, str]] = []
    result = await talked(Agent("outer", model=model, tools=[history]), priced(calls))
    assert result.output == {"outer": "In 1905.", "other": "No."}
    assert [(usage.total_tokens, id) for usage, id in calls] == [(COST, model.id)] * 4


async def test_an_agent_that_a_step_calls_counts() -> None:
    """``ctx.call`` runs inside of the step's budget."""
    parrot = Agent("parrot", model=FakeModel("Hello."), input_processors=[guard(times=2)])

    @step
    async def asks(ctx: StepContext[str]) -> Any:
        return await ctx.call(parrot, ctx.input)

    calls: list[tuple[Usage, str]] = []
    result = await talked(asks, priced(calls))
    assert result.status == "success" and len(calls) == 3


async def test_an_agent_is_stopped_by_the_call_that_goes_beyond() -> None:
    """The model is not asked again, and the run is blocked."""
    model = FakeModel([call_tool("lookup"), call_tool("lookup"), call_tool("lookup"), "done"])
    lookup, _ = counted_tool()
    agent = Agent("clock", model=model, tools=[lookup])
    result = await talked(agent, Budget(tokens=2 * COST - 1))
    assert result.status == "blocked" and len(model.requests) == 2
    assert result.tripwire is not None
    assert result.tripwire.metadata["budget"]["used"] == 2 * COST


@pytest.mark.parametrize("on_exceed", ["block", "skip", "fallback"])
async def test_an_agent_that_uses_too_much_after_an_answer_ends_with_the_run(on_exceed: Any) -> None:
    """Its run waits for nobody, whatever stands in its place."""
    pays = doing("pay", [], requires_approval=True)
    script: list[Any] = [
        call_tool("pay", id="c1"),
        call_tool("pay", id="c2") + say("Wait.", usage=Usage(input_tokens=500)),
        "Paid.",
    ]
    agent = Agent("clerk", model=FakeModel(script), tools=[pays])
    more: dict[str, Any] = {"fallback": "Later."} if on_exceed == "fallback" else {}
    workflow = create_workflow("desk", str).then(agent, budget=Budget(tokens=100, on_exceed=on_exceed, **more)).commit()
    runtime = Runtime(InMemoryJournal())
    assert (await runtime.run(workflow, "Pay.", run_id="r")).status == "suspended"
    result = await runtime.resume("r", {"c1": {"approved": True}}, step="clerk")
    assert (result.status, result.output) == {
        "block": ("blocked", None), "skip": ("success", "Pay."), "fallback": ("success", "Later."),
    }[on_exceed]  # fmt: skip
    row = await runtime.store.row("r:clerk")
    assert row is not None and (row.status, row.data) == ("cancelled", None)


@pytest.mark.parametrize("way", ["generate", "stream"])
async def test_a_guard_whose_budget_is_used_up_blocks(way: str) -> None:
    """It could not check: D17.  The agent's model is not asked, and the verdict names the guard."""
    model = FakeModel("Hello.")
    guards = (
        create_workflow("guards", kind="processor")
        .parallel([arm(guard(times=3), budget=Budget(tokens=COST)), guard("other")])
        .commit()
    )
    agent = Agent("parrot", model=model, input_processors=[guards])
    if way == "generate":
        result = await agent.generate("Hi")
    else:
        async with agent.stream("Hi") as stream:
            result = await stream.result()
    assert result.status == "blocked" and not model.requests
    assert result.tripwire is not None
    assert (result.tripwire.processor_id, result.tripwire.metadata["kind"]) == ("judge", "guard_failed")
    assert result.guard_usage.total_tokens >= 2 * COST


async def test_a_redactor_that_is_stopped_half_way_changes_nothing() -> None:
    """Where a budget skips it, and where it falls back on another, the messages are as they were before it."""

    async def spoils(ctx: Any) -> Any:
        for message in ctx.messages:
            ctx.message_list.replace(message.replace(parts=[TextPart("spoilt")]))
        await ask(FakeModel('{"spam": false}'), instructions="?", content="x", schema=Verdict, scope=ctx.scope)

    for how in ("then", "parallel"):
        model = FakeModel("Hello.")
        spoiling = at("process_input", spoils, id="spoiler")
        budget = Budget(tokens=1, on_exceed="skip")
        guards: Any = create_workflow("guards", kind="processor")
        guards = (
            guards.then(spoiling, budget=budget) if how == "then" else guards.parallel([arm(spoiling, budget=budget)])
        )
        agent = Agent("parrot", model=model, input_processors=[guards.commit()])
        result = await agent.generate("Hi there")
        assert result.text == "Hello."
        assert "Hi there" in str(model.requests[0].messages) and "spoilt" not in str(model.requests[0].messages)


async def test_a_budget_within_its_limit_keeps_what_a_redactor_changed() -> None:
    """What runs under a budget changes the messages as if it had none."""

    async def hides(ctx: Any) -> Any:
        for message in ctx.messages:
            ctx.message_list.replace(message.replace(parts=[TextPart("hidden")]))

    for on_exceed in ("block", "skip"):
        model = FakeModel("Hello.")
        hiding = at("process_input", hides, id="hider")
        budget = Budget(tokens=100, on_exceed=on_exceed)
        guards = create_workflow("guards", kind="processor").then(hiding, budget=budget).commit()
        await Agent("parrot", model=model, input_processors=[guards]).generate("Hi there")
        assert "hidden" in str(model.requests[0].messages)


async def test_chunks_of_a_stream_have_no_budget() -> None:
    """Refused where it is built in, and not left unlimited."""
    guards = (
        create_workflow("guards", kind="processor")
        .then(guard(hook="process_output_stream"), budget=Budget(tokens=1))
        .commit()
    )
    with pytest.raises(ProcessorDefinitionError, match="budget"):
        await Agent("parrot", model=FakeModel("Hello."), output_processors=[guards]).generate("Hi")
