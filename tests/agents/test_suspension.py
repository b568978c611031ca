"""Tools that ask somebody outside: the run ends, and goes on with a checked answer."""

from __future__ import annotations

from datetime import date
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.agents.kit import WAYS, ask, at
from tests.agents.suspending import CALL, asker, asking, doing, go_on, told

from procession.agents.agent import Agent
from procession.errors import InputError, RunError, RunSuspended
from procession.messages.chunks import ToolCallSuspended
from procession.runtime.runtime import Runtime, run
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import say
from procession.tools.context import ToolContext
from procession.tools.tool import Tool, tool
from procession.workflows.workflow import Workflow, create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


class Verdict(BaseModel):
    """What a person says."""

    approved: bool
    on: date | None = None


@both_ways
async def test_a_tool_asks_and_gets_its_answer(way: str) -> None:
    """The tool runs again from the top and ``suspend`` returns the answer, as the schema asks for it."""
    seen: list[Any] = []

    def act(args: Any, ctx: ToolContext) -> str:
        seen.append(ctx.resumed)
        answer = ctx.suspend({"question": "Go on?"}, resume_schema=Verdict, label="boss")
        seen.append(answer)
        return "acted"

    agent, model = asker(act)
    asked = await ask(agent, way)
    (call,) = asked.result.suspended
    assert (call.kind, call.payload, call.label) == ("suspended", {"question": "Go on?"}, "boss")
    assert call.resume_schema is not None and call.resume_schema["required"] == ["approved"]
    (chunk,) = asked.chunks.of(ToolCallSuspended)
    assert (chunk.suspend_payload, chunk.resume_schema) == (call.payload, call.resume_schema)
    answered = await go_on(agent, way, asked.result.run_id, {"c1": {"approved": True, "on": "2026-03-01"}})
    assert answered.result.status == "completed"
    assert seen == [False, True, Verdict(approved=True, on=date(2026, 3, 1))]
    assert told(model.requests[1]) == ["acted"]


@pytest.mark.parametrize(
    "schema", [Verdict, {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}]
)
@both_ways
async def test_an_answer_that_does_not_fit(way: str, schema: Any) -> None:
    """It is refused before anything runs, strictly, and the run waits on with its claim free (SUS-012)."""
    acted: list[Any] = []

    def act(args: Any, ctx: ToolContext) -> str:
        answer = ctx.suspend(resume_schema=schema)
        if answer.approved if isinstance(answer, Verdict) else answer["approved"]:
            acted.append(answer)
        return "seen"

    agent, _ = asker(act)
    first = await agent.generate("Hi")
    for wrong in ({"approved": "no"}, {"approved": "true"}, {"approved": 1}, {}, None):
        seen = await go_on(agent, way, first.run_id, {"c1": wrong})
        assert isinstance(seen.error, InputError)
        assert len(await agent.suspended(first.run_id)) == 1
    assert (await agent.resume(first.run_id, {"c1": {"approved": False}})).status == "completed"
    assert acted == []


@both_ways
async def test_an_answer_that_only_the_type_refuses(way: str) -> None:
    """What a JSON schema cannot tell, the type does: the answer is refused, and the question stands."""

    def act(args: Any, ctx: ToolContext) -> str:
        return str(ctx.suspend(resume_schema=date))

    agent, _ = asker(act)
    first = await agent.generate("Hi")
    seen = await go_on(agent, way, first.run_id, {"c1": "not a date"})
    assert isinstance(seen.error, InputError)
    assert await agent.suspended(first.run_id) == first.suspended
    result = await agent.resume(first.run_id, {"c1": "2026-03-01"})
    assert result.tool_results[0].result == "2026-03-01"  # type: ignore[union-attr]


@pytest.mark.parametrize("swallow", ["all", "raise", "group"])
async def test_a_question_cannot_be_swallowed(swallow: str) -> None:
    """A tool that catches the signal, raises another error or wraps it is suspended all the same (D12)."""

    async def act(args: Any, ctx: ToolContext) -> str:
        if swallow == "group":

            async def inside() -> None:
                ctx.suspend("?")

            async with anyio.create_task_group() as group:
                group.start_soon(inside)
        try:
            ctx.suspend("?")
        except BaseException:
            if swallow == "raise":
                raise ValueError("gone") from None
        return "swallowed"

    agent, _ = asker(act)
    result = await agent.generate("Hi")
    assert result.status == "suspended"
    assert result.suspended[0].payload == "?"


async def test_several_questions_of_one_call() -> None:
    """Each question gets its own answer, in order, also where the tool is tried again in between."""
    heard: list[Any] = []

    def act(args: Any, ctx: ToolContext) -> str:
        heard.append((ctx.suspend("first?"), ctx.attempt))
        heard.append(ctx.suspend("second?"))
        if ctx.attempt == 1:
            raise ValueError("once more")
        return "both"

    flaky = doing("act", [], act).replace(retry=RetryPolicy(max_attempts=2))
    agent = Agent("asker", model=FakeModel([CALL, "Done."]), tools=[flaky])
    first = await agent.generate("Hi")
    second = await agent.resume(first.run_id, {"c1": "one"})
    assert (second.status, second.suspended[0].payload) == ("suspended", "second?")
    assert second.suspended[0].question_id == "c1#2"
    third = await agent.resume(first.run_id, {"c1#2": "two"})
    assert third.status == "completed"
    assert heard == [("one", 1), ("one", 1), "two", ("one", 2), "two"]


async def test_a_call_that_was_approved_may_ask() -> None:
    """A call that waits for a second reason is not put to approval again."""
    act = doing("act", [], asking("How much?"), requires_approval=True)
    agent = Agent("asker", model=FakeModel([CALL, "Done."]), tools=[act])
    first = await agent.generate("Hi")
    second = await agent.approve(first.run_id)
    assert second.suspended[0].kind == "suspended"
    with pytest.raises(InputError):
        await agent.decline(first.run_id, "c2")
    third = await agent.resume(first.run_id, {"c1#2": 7})
    assert third.tool_results[0].result == 7  # type: ignore[union-attr]


async def test_a_question_that_is_declined() -> None:
    """Declining a suspended tool ends its call: the tool does not run again."""
    calls: list[Any] = []
    agent, model = asker(asking("?"), calls=calls)
    first = await agent.generate("Hi")
    assert (await agent.decline(first.run_id, reason="nobody knows")).status == "completed"
    assert (len(calls), told(model.requests[1])) == (1, ["nobody knows"])


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_plain_tool_may_ask(blocking: bool) -> None:
    """A tool that is no coroutine, in a thread or not, asks just so."""

    @tool(blocking=blocking)
    def act(x: int, ctx: ToolContext) -> str:
        """Act."""
        return f"{x} {ctx.suspend('?')}"

    agent = Agent("asker", model=FakeModel([CALL, "Done."]), tools=[act])
    first = await agent.generate("Hi")
    assert first.status == "suspended"
    result = await agent.resume(first.run_id, {"c1": "yes"})
    assert result.tool_results[0].result == "1 yes"  # type: ignore[union-attr]


async def test_a_definition_inside_a_tool_cannot_ask() -> None:
    """What a tool runs has nobody to answer it: the model is told, and the run goes on."""

    @step
    async def asks(ctx: StepContext[Any]) -> None:
        await ctx.suspend("?")

    async def act(args: Any, ctx: ToolContext) -> Any:
        return await ctx.call(create_workflow("inner").then(asks).commit(), 1)

    agent, model = asker(act)
    assert (await agent.generate("Hi")).status == "completed"
    assert "where none can be given" in told(model.requests[1])[0]


async def test_a_processor_cannot_ask() -> None:
    """A run that is suspended in a hook cannot be resumed: it fails, and says so."""

    @step
    async def asks(ctx: StepContext[Any]) -> Any:
        await ctx.suspend("?")

    agent, _ = asker(
        None,
        input_processors=[
            create_workflow("asking", kind="processor").then(asks).then(at("process_input", lambda ctx: None)).commit()
        ],
    )
    with pytest.raises(RunError, match="outside of a tool"):
        await agent.generate("Hi")


async def test_an_agent_in_a_workflow_does_not_pass_for_done() -> None:
    """An agent that waits suspends its workflow; in a run that nobody could resume it fails it, and whoever asks is told."""

    def outer() -> Workflow[str, str]:
        agent, _ = asker(asking("?"))
        return create_workflow("outer", str).then(agent).commit()

    waits = await Runtime().run(outer(), "Hi")
    assert waits.status == "suspended"
    with pytest.raises(RunError, match="waits for an answer to asker"):
        waits.raise_for_status()
    fails = await run(outer(), "Hi")
    assert fails.status == "failed"
    with pytest.raises(RunSuspended, match="waits for an answer to call 'c1'"):
        fails.raise_for_status()


async def test_raise_for_status_of_a_run_that_waits() -> None:
    """A caller who asks for the run's status is told that it waits."""
    agent, _ = asker(asking("?"))
    result = await agent.generate("Hi")
    with pytest.raises(RunError, match="waits for an answer"):
        result.raise_for_status()


async def test_a_payload_is_what_json_can_say() -> None:
    """A question may hold any value: it is shown as JSON says it, the same in every store."""
    agent, _ = asker(asking({"at": date(2026, 3, 1), 1: (1, 2)}))
    result = await agent.generate("Hi")
    assert result.suspended[0].payload == {"at": "2026-03-01", "1": [1, 2]}
    assert await agent.suspended(result.run_id) == result.suspended


async def test_a_schema_that_says_nothing() -> None:
    """A resume_schema that is neither a type nor a schema is the tool's error."""
    agent, model = asker(asking(resume_schema=object()))
    assert (await agent.generate("Hi")).status == "completed"
    assert "says nothing of an answer" in told(model.requests[1])[0]


async def test_by_hand_a_tool_is_given_answers() -> None:
    """A tool that asks can be tried without an agent."""
    act: Tool[Any] = doing("act", [], asking("?"))
    assert await act.run({}, ToolContext(answers=["yes"])) == "yes"


@both_ways
async def test_the_counts_go_on(way: str) -> None:
    """Steps, usage and ``max_steps`` go on counting where they stood."""
    model = FakeModel([say("a ") + CALL, say("b ") + CALL, "never"], repeat_last=True)
    agent = Agent("asker", model=model, tools=[doing("act", [], asking("?"))], max_steps=2)
    first = await agent.generate("Hi")
    second = await go_on(agent, way, first.run_id, {"c1": 1})
    assert second.result.status == "suspended"
    third = await go_on(agent, way, first.run_id, {"c1#2": 2})
    assert (third.result.status, third.result.text) == ("completed", "a b ")
    assert [step.step_number for step in third.result.steps] == [0, 1]
    assert len(model.requests) == 2
    assert third.result.usage == first.usage + first.usage
