"""Ids of tool calls: a result finds its call by nothing else, so that no two calls of an answer have one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.agents.test_provider_tools import CALL, RESULT, Provider

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, TextDelta, ToolCall, ToolResult
from procession.messages.parts import ToolCallPart
from procession.messages.prompt import PromptToolCall, PromptToolResult
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


def doubler() -> Tool[Any]:
    """Return a tool whose answer tells its call."""
    return Tool(name="double", parameters={"type": "object"}, execute=lambda args, ctx: 2 * args["n"])


def twice(*ids: str) -> Any:
    """Return a reply with a call for each of *ids*, numbered."""
    first, *others = (call_tool("double", {"n": n}, id=id) for n, id in enumerate(ids, 1))
    for other in others:
        first = first + other
    return first


@both_ways
async def test_calls_under_one_id_are_told_apart(way: str) -> None:
    """The later call gets an id of its own; reader, hooks, messages and the next prompt agree on it, nothing is lost."""
    hooked: list[Any] = []
    spy = at("process_tool_result", lambda ctx: hooked.append((ctx.tool_call_id, ctx.args["n"], ctx.result)))
    model = FakeModel([twice("c1", "c1", "c1-2", "c1"), "Done."])
    seen = await ask(Agent("a", model=model, tools=[doubler()], output_processors=[spy]), way)
    ids = ["c1", "c1-2", "c1-2-1", "c1-3"]
    assert hooked == [(id, n, 2 * n) for n, id in enumerate(ids, 1)]
    assert [call.tool_call_id for call in seen.result.tool_calls] == ids
    assert [(one.tool_call_id, one.result) for one in seen.chunks if isinstance(one, ToolResult)] == [
        (id, 2 * n) for n, id in enumerate(ids, 1)
    ]
    assert [one.tool_call_id for one in seen.chunks if isinstance(one, ToolCall)] == ids
    parts = [part for message in seen.result.messages for part in message.parts if isinstance(part, ToolCallPart)]
    assert [(part.tool_call_id, part.args["n"], part.result) for part in parts] == [
        (id, n, 2 * n) for n, id in enumerate(ids, 1)
    ]
    calls, results = model.requests[1].messages[-2:]
    assert [part.tool_call_id for part in calls.content if isinstance(part, PromptToolCall)] == ids
    assert [part.output["value"] for part in results.content if isinstance(part, PromptToolResult)] == [2, 4, 6, 8]


@both_ways
async def test_calls_without_an_id_get_one(way: str) -> None:
    """An empty id is no id: each of the calls is answered by itself."""
    seen = await ask(Agent("a", model=FakeModel([twice("", ""), "Done."]), tools=[doubler()]), way)
    first, second = seen.result.tool_calls
    assert first.tool_call_id and second.tool_call_id
    assert first.tool_call_id != second.tool_call_id
    assert [result.tool_call_id for result in seen.result.tool_results] == [first.tool_call_id, second.tool_call_id]


@both_ways
async def test_an_id_may_come_again_in_a_later_step(way: str) -> None:
    """Models number their calls anew in each answer; each result stays with the call of its step."""
    model = FakeModel([twice("c1"), call_tool("double", {"n": 21}, id="c1"), "Done."])
    seen = await ask(Agent("a", model=model, tools=[doubler()]), way)
    outputs = [
        part.output["value"]
        for message in model.requests[2].messages
        for part in message.content
        if isinstance(part, PromptToolResult)
    ]
    assert outputs == [2, 42]
    assert [[one.result for one in step.tool_results if isinstance(one, ToolResult)] for step in seen.result.steps] == [
        [2], [42], [],
    ]  # fmt: skip


@both_ways
async def test_a_provider_s_results_under_one_id_go_to_their_calls(way: str) -> None:
    """Results come in the order of the calls that share their id."""
    model = Provider(
        (CALL, CALL, RESULT.replace(result="one"), RESULT.replace(result="two"), TextDelta("So."), Finish("stop"))
    )
    seen = await ask(Agent("a", model=model), way)
    assert [(one.tool_call_id, one.result) for one in seen.result.tool_results if isinstance(one, ToolResult)] == [
        ("w1", "one"), ("w1-2", "two"),
    ]  # fmt: skip


@both_ways
async def test_two_questions_under_one_id_are_two_questions(way: str) -> None:
    """Approvals are asked for, and given, call by call."""
    _, ran = counted_tool()
    pay: Tool[Any] = Tool(
        name="double", parameters={"type": "object"}, execute=lambda args, ctx: ran.append(args["n"]),
        requires_approval=True,
    )  # fmt: skip
    agent = Agent("a", model=FakeModel([twice("c1", "c1"), "Done."]), tools=[pay])
    seen = await ask(agent, way)
    assert [call.question_id for call in seen.result.suspended] == ["c1", "c1-2"]
    await agent.resume(seen.result.run_id, {"c1": {"approved": False}, "c1-2": {"approved": True}})
    assert ran == [2]
