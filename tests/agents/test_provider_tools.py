"""Tools that the provider runs itself: what they answered comes with the model's answer, and is guarded like any result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.chunks import Chunk, Finish, TextDelta, ToolCall, ToolError, ToolResult
from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.messages.prompt import PromptToolCall, PromptToolResult
from procession.models.model import ModelRequest
from procession.processors.guardrails.pii import PIIDetector
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
ADDRESS = "eva@example.net"
CALL = ToolCall("w1", "web", {"q": "x"}, provider_executed=True, provider_metadata={"p": {"call": 1}})
RESULT = ToolResult(
    "w1", "web", {"q": "x"}, f"mail {ADDRESS}", provider_executed=True, provider_metadata={"p": {"answer": 2}}
)
SEARCH = (CALL, RESULT, TextDelta("Found."), Finish("stop"))


class Provider:
    """A model that runs tools of its own."""

    id = "provider"
    provider = "test"

    def __init__(self, *answers: tuple[Chunk, ...]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Play the next answer."""
        self.requests.append(request)
        for chunk in self.answers.pop(0):
            yield chunk


def calls_of(messages: Any) -> list[ToolCallPart]:
    """Return the tool calls in *messages*."""
    return [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]


@both_ways
async def test_a_provider_s_result_joins_its_call(way: str) -> None:
    """The result stands in the part of its call, in the step and the result, and goes to the reader once."""
    seen = await ask(Agent("a", model=Provider(SEARCH)), way)
    (part,) = calls_of(seen.result.messages)
    assert (part.state, part.result, part.provider_executed) == ("result", RESULT.result, True)
    assert part.provider_metadata == {"p": {"call": 1, "answer": 2}}
    assert list(seen.result.steps[0].tool_results) == list(seen.result.tool_results) == [RESULT]
    assert [chunk for chunk in seen.chunks if isinstance(chunk, ToolResult)] == [RESULT]
    assert seen.result.text == "Found."


@both_ways
async def test_a_provider_s_result_goes_back_where_it_was_said(way: str) -> None:
    """A step of nothing but such calls goes on, and the next request has the call and its result in place."""
    model = Provider((TextDelta("Wait."), CALL, RESULT, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    seen = await ask(Agent("a", model=model), way)
    assert seen.result.text == "Wait.So."
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant"]
    _, call, result = model.requests[1].messages[1].content
    assert isinstance(call, PromptToolCall)
    assert call.provider_executed
    assert isinstance(result, PromptToolResult)
    assert result.output == {"type": "text", "value": RESULT.result}


@both_ways
async def test_process_tool_result_looks_before_the_reader_does(way: str) -> None:
    """The hook is told who ran the tool, sees the current step, and nobody is shown what it replaced (D20)."""
    shown: list[Any] = []

    def act(ctx: Any) -> Any:
        step = ctx.steps[-1]
        shown.append((ctx.tool_call_id, ctx.args, ctx.result, ctx.provider_executed, ctx.origin, ctx.is_error))
        shown.append((ctx.step_number, step.tool_calls, [part.state for part in calls_of(ctx.view)]))
        return {"result": "hidden"}

    model = Provider((CALL, RESULT, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    seen = await ask(Agent("a", model=model, output_processors=[at("process_tool_result", act)]), way)
    assert shown == [
        ("w1", {"q": "x"}, RESULT.result, True, "provider", False),
        (0, (CALL,), ["call"]),
    ]
    assert [result.result for result in seen.result.tool_results if isinstance(result, ToolResult)] == ["hidden"]
    assert ADDRESS not in repr([*seen.chunks, *model.requests, seen.result.messages, seen.result.steps])


@both_ways
async def test_a_guard_blocks_what_a_provider_s_tool_found(way: str) -> None:
    """A result with an address trips, and no reader gets it."""
    seen = await ask(Agent("a", model=Provider(SEARCH), output_processors=[PIIDetector(strategy="block")]), way)
    assert seen.result.status == "blocked"
    assert ADDRESS not in repr([*seen.chunks, seen.result.messages, seen.result.steps])


@both_ways
async def test_a_redactor_hides_what_a_provider_s_tool_found(way: str) -> None:
    """The model is told of the result as the guard left it, whatever the result is made of."""
    result = RESULT.replace(result={"pages": [f"write to {ADDRESS}"]})
    model = Provider((CALL, result, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    seen = await ask(Agent("a", model=model, output_processors=[PIIDetector(strategy="redact")]), way)
    assert ADDRESS not in repr([*seen.chunks, *model.requests, seen.result.messages, seen.result.steps])
    (part,) = calls_of(seen.result.messages)
    assert part.result["pages"][0].startswith("write to ")


@both_ways
async def test_a_provider_s_failed_tool_is_told_as_such(way: str) -> None:
    """An error joins the call as well; guards that look at errors see it, others do not."""
    heard: list[str] = []
    deaf = at("process_tool_result", lambda ctx: heard.append("deaf"), id="deaf")
    keen = at("process_tool_result", lambda ctx: heard.append(ctx.result), id="keen", process_tool_errors=True)
    model = Provider(
        (CALL, ToolError("w1", "web", {"q": "x"}, "no network"), Finish("tool-calls")),
        (TextDelta("So."), Finish("stop")),
    )
    seen = await ask(Agent("a", model=model, output_processors=[deaf, keen]), way)
    assert heard == ["no network"]
    (part,) = calls_of(seen.result.messages)
    assert (part.state, part.error_text, part.provider_executed) == ("output-error", "no network", True)
    assert isinstance(seen.result.tool_results[0], ToolError)
    answer = model.requests[1].messages[1].content[1]
    assert isinstance(answer, PromptToolResult)
    assert answer.output == {"type": "error-text", "value": "no network"}


@both_ways
async def test_a_result_that_is_marked_as_an_error_stays_so(way: str) -> None:
    """``is_error`` of a provider's result reaches messages, reader and prompt."""
    model = Provider((CALL, RESULT.replace(is_error=True), Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    seen = await ask(Agent("a", model=model), way)
    (part,) = calls_of(seen.result.messages)
    assert part.is_error
    answer = model.requests[1].messages[1].content[1]
    assert isinstance(answer, PromptToolResult)
    assert answer.output["type"] == "error-text"
    assert seen.result.tool_results[0] == RESULT.replace(is_error=True)


@both_ways
async def test_provider_s_and_own_tools_answer_in_the_order_of_the_calls(way: str) -> None:
    """Both kinds of result stand in one step; only our own tool is run here."""
    lookup, ran = counted_tool()
    own = ToolCall("c1", "lookup", {"n": 1})
    again, two = CALL.replace(tool_call_id="w2"), RESULT.replace(tool_call_id="w2", result="two")
    hooked: list[str] = []
    for guards in ([], [at("process_tool_result", lambda ctx: hooked.append(ctx.tool_call_id))]):
        model = Provider((CALL, own, again, two, RESULT, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
        seen = await ask(Agent("a", model=model, tools=[lookup], output_processors=guards), way)
        assert [result.tool_call_id for result in seen.result.tool_results] == ["w1", "c1", "w2"]
        assert [part.result for part in calls_of(seen.result.messages)] == [RESULT.result, "found", "two"]
    assert ran == [{"n": 1}] * 2
    assert hooked == ["w1", "c1", "w2"]


@both_ways
async def test_a_result_whose_call_was_dropped_is_dropped_too(way: str) -> None:
    """A processor that drops the call lets nothing of it through, its result included (D18)."""

    def act(ctx: Any) -> Any:
        return None if isinstance(ctx.chunk, ToolCall) else ctx.chunk

    seen = await ask(Agent("a", model=Provider(SEARCH), output_processors=[at("process_output_stream", act)]), way)
    assert seen.result.tool_results == ()
    assert ADDRESS not in repr([*seen.chunks, seen.result.messages])
    assert seen.result.text == "Found."


@both_ways
async def test_a_result_without_a_call_brings_its_call(way: str) -> None:
    """A provider that tells of a tool only once it has answered is taken to have called it."""
    seen = await ask(Agent("a", model=Provider((RESULT, TextDelta("Found."), Finish("stop")))), way)
    (part,) = calls_of(seen.result.messages)
    assert (part.tool_call_id, part.args, part.result, part.provider_executed) == (
        "w1",
        {"q": "x"},
        RESULT.result,
        True,
    )
    assert [chunk.type for chunk in seen.chunks if isinstance(chunk, (ToolCall, ToolResult))] == [
        "tool-call", "tool-result",
    ]  # fmt: skip


@both_ways
async def test_a_result_may_come_a_step_later(way: str) -> None:
    """A provider that answers an earlier call in its next answer is matched to that call."""
    model = Provider(
        (CALL, Finish("tool-calls")), (RESULT, Finish("tool-calls")), (TextDelta("Found."), Finish("stop"))
    )
    seen = await ask(Agent("a", model=model), way)
    (part,) = calls_of(seen.result.messages)
    assert (part.state, part.result) == ("result", RESULT.result)
    assert [[result.tool_call_id for result in step.tool_results] for step in seen.result.steps] == [[], ["w1"], []]
    assert isinstance(model.requests[2].messages[1].content[0], PromptToolCall)


@both_ways
@pytest.mark.parametrize("looked_at", [False, True])
async def test_a_late_result_comes_beside_one_call_of_our_own(way: str, looked_at: bool) -> None:
    """Whether or not processors look at results, one that answers an earlier call is taken next to a tool that ran."""
    lookup, ran = counted_tool()
    own = ToolCall("c1", "lookup", {"n": 1})
    model = Provider(
        (CALL, own, Finish("tool-calls")),
        (RESULT, own.replace(tool_call_id="c2"), Finish("tool-calls")),
        (TextDelta("Found."), Finish("stop")),
    )
    guards = [at("process_tool_result", lambda ctx: None)] if looked_at else []
    seen = await ask(Agent("a", model=model, tools=[lookup], output_processors=guards), way)
    assert len(ran) == 2
    assert [[one.tool_call_id for one in step.tool_results] for step in seen.result.steps] == [["c1"], ["c2", "w1"], []]
    states = {part.tool_call_id: (part.state, part.result) for part in calls_of(seen.result.messages)}
    assert states["w1"] == ("result", RESULT.result)


@both_ways
async def test_a_result_under_another_id_goes_to_the_call_of_its_tool(way: str) -> None:
    """A provider that answers under another id than it called with is matched by the tool's name."""
    model = Provider((CALL, RESULT.replace(tool_call_id="other"), TextDelta("Found."), Finish("stop")))
    seen = await ask(Agent("a", model=model), way)
    (part,) = calls_of(seen.result.messages)
    assert (part.tool_call_id, part.result) == ("w1", RESULT.result)


@both_ways
async def test_a_step_that_is_sent_back_takes_its_results_with_it(way: str) -> None:
    """Nothing of a rejected attempt's results stays, and the retry's own are taken."""
    told: list[str] = []

    def act(ctx: Any) -> None:
        told.append(ctx.result)
        if len(told) == 1:
            ctx.abort("again", retry=True)

    second = (CALL, RESULT.replace(result="fine"), TextDelta("Found."), Finish("stop"))
    guard = at("process_tool_result", act)
    agent = Agent("a", model=Provider(SEARCH, second), output_processors=[guard], max_processor_retries=1)
    seen = await ask(agent, way)
    assert told == [RESULT.result, "fine"]
    assert [part.result for part in calls_of(seen.result.messages)] == ["fine"]
    assert ADDRESS not in repr([seen.result.messages, *seen.result.steps])


@both_ways
async def test_no_tool_runs_whose_result_is_among_the_chunks(way: str) -> None:
    """A response that a processor gives may have the results of our own tools: those are not run again (D33)."""
    lookup, ran = counted_tool()
    given = {"chunks": [ToolCall("c1", "lookup", {}), ToolResult("c1", "lookup", {}, "kept"), Finish("tool-calls")]}
    cache = at("process_llm_request", lambda ctx: {"response": given} if ctx.step_number == 0 else None, id="cache")
    origins: list[Any] = []
    spy = at("process_tool_result", lambda ctx: origins.append((ctx.origin, ctx.provider_executed, ctx.result)))
    model = Provider((TextDelta("So."), Finish("stop")))
    agent = Agent("a", model=model, tools=[lookup], input_processors=[cache], output_processors=[spy])
    seen = await ask(agent, way)
    assert ran == []
    assert origins == [("agent", False, "kept")]
    assert [message.role for message in model.requests[0].messages] == ["user", "assistant", "tool"]
    assert seen.result.text == "So."


@both_ways
async def test_what_json_cannot_say_is_an_error_of_the_provider_s_tool(way: str) -> None:
    """Guards look into what JSON says of a provider's result too, and bytes that are no text reach nobody."""
    model = Provider(
        (CALL, RESULT.replace(result={"at": (1, 2)}), CALL.replace(tool_call_id="w2"),
         RESULT.replace(tool_call_id="w2", result=b"\xff\xfe"), Finish("stop")),
    )  # fmt: skip
    seen = await ask(Agent("a", model=model), way)
    first, second = calls_of(seen.result.messages)
    assert first.result == {"at": [1, 2]}
    assert second.state == "output-error"


@both_ways
async def test_a_provider_s_result_outlasts_a_suspension(way: str) -> None:
    """Where another call of the step waits for a person, the provider's result is kept, and no hook sees it twice."""
    ran: list[Any] = []
    pay: Tool[Any] = Tool(
        name="pay", parameters={"type": "object"}, execute=lambda args, ctx: ran.append(args), requires_approval=True
    )
    hooked: list[str] = []
    model = Provider(
        (ToolCall("c1", "pay", {}), CALL, RESULT, Finish("tool-calls")), (TextDelta("Paid."), Finish("stop"))
    )
    spy = at("process_tool_result", lambda ctx: hooked.append(ctx.tool_call_id))
    agent = Agent("a", model=model, tools=[pay], output_processors=[spy])
    seen = await ask(agent, way)
    assert seen.result.status == "suspended"
    result = await agent.resume(seen.result.run_id, {"c1": {"approved": True}})
    assert hooked == ["w1", "c1"]
    assert [one.tool_call_id for one in result.tool_results] == ["c1", "w1"]
    assert [type(part).__name__ for part in model.requests[1].messages[1].content] == [
        "PromptToolCall", "PromptToolCall", "PromptToolResult",
    ]  # fmt: skip


async def test_history_with_a_provider_s_result_is_sent_back_in_place() -> None:
    """What a turn leaves of such a tool can open the next one."""
    first = await Agent("a", model=Provider(SEARCH)).generate("Hi")
    model = Provider((TextDelta("Yes."), Finish("stop")))
    await Agent("a", model=model).generate([Message.user("Hi"), *first.messages, Message.user("Sure?")])
    kinds = [type(part).__name__ for part in model.requests[0].messages[1].content]
    assert kinds == ["PromptToolCall", "PromptToolResult", "TextPart"]
