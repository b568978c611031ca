"""Agents as tools of another agent: they join its run."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import COST, WAYS, ask, at

from procession.agents.agent import Agent
from procession.messages.chunks import StepFinish, ToolError, ToolOutput, ToolResult
from procession.processors.guardrails.pii import PIIDetector
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail
from procession.tools.context import ToolContext
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PROMPT = {"prompt": "Find it."}


def parent(*script: Any, tools: Any, **options: Any) -> Agent:
    """Return an agent that calls others."""
    return Agent("parent", model=FakeModel(script), tools=tools, **options)


@both_ways
async def test_an_agent_answers_as_a_tool_and_its_tokens_count_once(way: str) -> None:
    """A sub-agent's answer is the result of the call, and its tokens are in the parent's usage once."""
    child = Agent("child", model=FakeModel(["Found."]))
    seen = await ask(parent(call_tool("agent-child", PROMPT), "Done.", tools=[child]), way)
    assert seen.result.tool_results[0].result == "Found."  # type: ignore[union-attr]
    assert seen.result.text == "Done."
    assert seen.result.usage.total_tokens == 3 * COST


@both_ways
async def test_a_tripwire_of_a_sub_agent_is_a_marked_error(way: str) -> None:
    """What stopped the sub-agent is told, the model gets none of its text, and the parent goes on (pitfall 14)."""
    guard = at("process_output_result", lambda ctx: ctx.abort("not that"))
    child = Agent("child", model=FakeModel(["secret words"]), output_processors=[guard])
    model = FakeModel([call_tool("agent-child", PROMPT), "Done."])
    seen = await ask(Agent("parent", model=model, tools=[child]), way)
    (result,) = seen.result.tool_results
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert result.result == {
        "tripwire": {"reason": "not that", "retry": False, "metadata": None, "processor_id": "guard"}
    }
    assert "secret words" not in repr(model.requests)
    assert seen.result.status == "completed"
    assert seen.result.tripwire is None
    assert seen.result.usage.total_tokens == 3 * COST
    assert [one.processor_id for one in seen.result.violations] == ["guard"]


@both_ways
async def test_a_sub_agent_that_fails_is_a_tool_error_without_its_words(way: str) -> None:
    """The parent's model is told which agent failed and how, not what the provider said."""
    child = Agent("child", model=FakeModel([fail("key sk-123 is wrong")]))
    seen = await ask(parent(call_tool("agent-child", PROMPT), "Done.", tools=[child]), way)
    (error,) = seen.result.tool_results
    assert isinstance(error, ToolError)
    assert error.error == "agent 'child' failed: ModelError"


@both_ways
async def test_the_request_reaches_the_sub_agent(way: str) -> None:
    """The sub-agent's tools see the request's own values, and its run's id says whose it is."""
    seen_there: list[Any] = []

    @tool
    def look(ctx: ToolContext) -> str:
        """Look at the request."""
        seen_there.append((ctx.request_context, ctx.run_id))
        return "seen"

    @tool
    def above(ctx: ToolContext) -> str:
        """Look at the request of the parent."""
        seen_there.append((ctx.request_context, ctx.run_id))
        return "seen"

    child = Agent("child", model=FakeModel([call_tool("look"), "ok"]), tools=[look])
    agent = parent(call_tool("above"), call_tool("agent-child", PROMPT, id="c1"), "Done.", tools=[child, above])
    await ask(agent, way, run_id="r1")
    (outer, outer_id), (inner, inner_id) = seen_there
    assert inner is outer
    assert (outer_id, inner_id) == ("r1", "r1:c1")


async def test_aborting_the_parent_aborts_the_sub_agent() -> None:
    """A sub-agent in the middle of its work is told that the answer is no longer wanted, and its tokens count once."""
    signal = AbortSignal()
    told: list[AbortSignal] = []

    @tool
    async def hang(ctx: ToolContext) -> str:
        """Work on and on."""
        told.append(ctx.abort_signal)
        signal.abort("enough")
        await anyio.sleep_forever()
        return "never"

    child = Agent("child", model=FakeModel([call_tool("hang"), "ok"]), tools=[hang])
    result = await parent(call_tool("agent-child", PROMPT), "Done.", tools=[child]).generate("Hi", abort_signal=signal)
    assert result.status == "aborted"
    assert told[0].aborted
    assert result.usage.total_tokens == 2 * COST


async def test_a_tool_that_runs_out_of_time_ends_its_sub_agent_alone() -> None:
    """A sub-agent that is cancelled by the tool's timeout does not abort the run of the parent."""

    @tool
    async def hang(ctx: ToolContext) -> str:
        """Work on and on."""
        await anyio.sleep_forever()
        return "never"

    child = Agent("child", model=FakeModel([call_tool("hang"), "ok"]), tools=[hang])
    limited = child.as_tool(name="ask").replace(timeout=0.01)
    result = await parent(call_tool("ask", PROMPT), "Done.", tools=[limited]).generate("Hi")
    assert result.status == "completed"
    assert isinstance(result.tool_results[0], ToolError)
    assert result.usage.total_tokens == 3 * COST


async def test_an_agent_that_calls_itself_comes_to_an_end() -> None:
    """Agents stand inside each other eight deep; deeper, the call is a tool error and the loops go on."""
    script: list[Any] = [call_tool("agent-loop", PROMPT)] * 9 + ["up"] * 9
    tools: list[Any] = []
    agent = Agent("loop", model=FakeModel(script), tools=lambda context: tools)
    tools.append(agent)
    result = await agent.generate("Hi")
    assert result.text == "up"
    assert result.usage.total_tokens == 18 * COST


async def test_sub_agents_side_by_side_mix_nothing() -> None:
    """Two calls of one step run at the same time, each with its own answer, in the order of the calls."""
    one = Agent("one", model=FakeModel(["first"]))
    two = Agent("two", model=FakeModel(["second"]))
    both = call_tool("agent-one", PROMPT, id="a") + call_tool("agent-two", PROMPT, id="b")
    result = await parent(both, "Done.", tools=[one, two]).generate("Hi")
    assert [each.result for each in result.tool_results] == ["first", "second"]  # type: ignore[union-attr]
    assert result.usage.total_tokens == 4 * COST


@both_ways
async def test_the_parents_guards_see_the_answer_before_its_model(way: str) -> None:
    """A sub-agent's answer is looked at like every tool's result, and nothing of it gets round the guards."""
    child = Agent("child", model=FakeModel(["Write to ann@acme.org."]))
    model = FakeModel([call_tool("agent-child", PROMPT), "Done."])
    agent = Agent("parent", model=model, tools=[child], output_processors=[PIIDetector(strategy="redact")])
    seen = await ask(agent, way)
    assert "ann@acme.org" not in repr([*seen.chunks])
    assert "ann@acme.org" not in repr(model.requests)
    assert "Write to" in seen.result.tool_results[0].result  # type: ignore[union-attr]


@both_ways
async def test_a_rejected_attempt_of_a_sub_agent_ends_with_a_step_that_says_so(way: str) -> None:
    """The parent's reader is told of it as the sub-agent's own would be, and drops what it showed; no model sees it."""
    guard = at("process_output_step", lambda ctx: None if ctx.retry_count else ctx.abort("again", retry=True))
    child = Agent("child", model=FakeModel(["bad words", "good"]), output_processors=[guard], max_processor_retries=1)
    seen = await ask(parent(call_tool("agent-child", PROMPT), "Done.", tools=[child]), way)
    inner = [chunk.output for chunk in seen.chunks if isinstance(chunk, ToolOutput)]
    told = [each.reason if isinstance(each, StepFinish) else each.text for each in inner if hasattr(each, "text")]
    assert told == ["bad words", "retry", "good", "stop", "good"]
    assert seen.result.tool_results[0].result == "good"  # type: ignore[union-attr]
    assert seen.result.usage.total_tokens == 4 * COST


async def test_a_question_of_a_sub_agent_suspends_the_parent() -> None:
    """An approval two levels down is asked of the caller, and the answer goes down again; tokens count once."""

    @tool(requires_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    child = Agent("child", model=FakeModel([call_tool("pay", id="p1"), "It is paid."]), tools=[pay])
    agent = parent(call_tool("agent-child", PROMPT, id="c1"), "Done.", tools=[child])
    asked = await agent.generate("Hi")
    assert asked.status == "suspended"
    (call,) = asked.suspended
    assert call.payload["agent"] == "child"
    assert call.payload["run_id"] == f"{asked.run_id}:c1"
    assert call.payload["calls"][0]["tool_name"] == "pay"
    result = await agent.resume(asked.run_id, {"c1": {"p1": {"approved": True}}})
    assert result.tool_results[0].result == "It is paid."  # type: ignore[union-attr]
    assert result.text == "Done."
    assert result.usage.total_tokens == 4 * COST
