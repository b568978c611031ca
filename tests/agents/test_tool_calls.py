"""Tools of a step: run together, taken in the order of the calls, and told to the model whatever becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.chunks import DataChunk, ToolError, ToolResult
from procession.messages.parts import ToolCallPart
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import Tool, client_tool, tool

both_ways = pytest.mark.parametrize("way", WAYS)


def answers(request: ModelRequest) -> list[Any]:
    """Return what the tools answered, as the model is told it."""
    return [part.output for message in request.messages if message.role == "tool" for part in message.content]  # type: ignore[union-attr]


async def turn(way: str, tools: list[Any], first: Any, **options: Any) -> tuple[Any, FakeModel]:
    """Run a turn whose first answer calls tools; returns what was seen and the model."""
    model = FakeModel([first, "done"])
    return await ask(Agent("parrot", model=model, tools=tools, **options), way), model


@both_ways
async def test_a_result_goes_to_the_model(way: str) -> None:
    """What a tool returns is in the next prompt, in the result and in the messages."""
    lookup, calls = counted_tool(answer={"temp": 21})
    seen, model = await turn(way, [lookup], call_tool("lookup", {"q": 1}))
    assert calls == [{"q": 1}]
    assert answers(model.requests[1]) == [{"type": "json", "value": {"temp": 21}}]
    assert [result.result for result in seen.result.tool_results] == [{"temp": 21}]
    parts = [part for part in seen.result.messages[0].parts if isinstance(part, ToolCallPart)]
    assert [(part.state, part.result) for part in parts] == [("result", {"temp": 21})]


@both_ways
async def test_tools_run_together_and_results_come_in_call_order(way: str) -> None:
    """Tools of one step run at the same time; results are taken in the order of the calls."""
    second_ran = anyio.Event()

    @tool
    async def slow() -> str:
        """Wait for the other one."""
        await second_ran.wait()
        return "slow"

    @tool
    async def fast() -> str:
        """Let the other one go on."""
        second_ran.set()
        return "fast"

    order: list[str] = []
    note = at("process_tool_result", lambda ctx: order.append(ctx.tool_name))
    seen, model = await turn(way, [slow, fast], call_tool("slow") + call_tool("fast"), output_processors=[note])
    assert order == ["slow", "fast"]
    assert [chunk.result for chunk in seen.chunks.of(ToolResult)] == ["slow", "fast"]
    assert [answer["value"] for answer in answers(model.requests[1])] == ["slow", "fast"]


@both_ways
@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 2), (10, 4)])
async def test_how_many_tools_run_at_once(way: str, limit: int, most: int) -> None:
    """No more than ``tool_concurrency`` tools run at the same time."""
    running, peak = [0], [0]

    @tool
    async def work() -> str:
        """Be counted."""
        running[0] += 1
        peak[0] = max(peak[0], running[0])
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        running[0] -= 1
        return "ok"

    calls = call_tool("work") + call_tool("work") + call_tool("work") + call_tool("work")
    await turn(way, [work], calls, tool_concurrency=limit)
    assert peak[0] == most


@tool
async def broken() -> str:
    """Fail."""
    raise LookupError("no such city")


@both_ways
@pytest.mark.parametrize(
    ("call", "told"),
    [
        (call_tool("broken"), "no such city"),
        (call_tool("unknown"), 'Tool "unknown" not found. Available tools: broken.'),
    ],
)
async def test_what_goes_wrong_is_told_to_the_model(way: str, call: Any, told: str) -> None:
    """A tool that raises and a tool that does not exist are a ``tool-error``, and the run goes on."""
    seen, model = await turn(way, [broken], call)
    assert seen.result.text == "done"
    assert [chunk.error for chunk in seen.chunks.of(ToolError)] == [told]
    assert answers(model.requests[1]) == [{"type": "error-text", "value": told}]


@both_ways
async def test_bad_arguments_are_told_to_the_model(way: str) -> None:
    """Arguments that do not fit are answered with what is wrong, and the tool does not run."""
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """Say the weather."""
        ran.append(city)
        return "sun"

    seen, model = await turn(way, [weather], call_tool("weather", {"town": "Paris"}))
    assert ran == []
    result = seen.result.tool_results[0]
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert "city: is missing" in result.result["message"]
    assert "city: is missing" in str(answers(model.requests[1]))


@both_ways
async def test_arguments_that_are_no_json(way: str) -> None:
    """Arguments that cannot be read are answered like others that do not fit."""
    lookup, calls = counted_tool()
    seen, _ = await turn(way, [lookup], call_tool("lookup", raw='{"a": tr'))
    assert calls == []
    assert seen.result.tool_results[0].is_error


@both_ways
async def test_good_results_stand_beside_bad_ones(way: str) -> None:
    """A tool that raises takes nothing from those beside it."""
    lookup, _ = counted_tool()
    seen, _ = await turn(way, [broken, lookup], call_tool("broken") + call_tool("lookup"))
    assert [type(chunk) for chunk in seen.result.tool_results] == [ToolError, ToolResult]


@both_ways
async def test_an_inactive_tool_does_not_run(way: str) -> None:
    """A tool that is not active for the step is as good as not there."""
    one, calls = counted_tool("one")
    two, _ = counted_tool("two")
    off = at("process_input_step", lambda ctx: {"active_tools": ["two"]})
    seen, _ = await turn(way, [one, two], call_tool("one"), input_processors=[off])
    assert calls == []
    assert seen.chunks.of(ToolError)[0].error == 'Tool "one" not found. Available tools: two.'


@both_ways
async def test_a_tool_of_the_client_ends_the_run(way: str) -> None:
    """A tool that the caller runs leaves its call open: no result, and no further model call."""
    door = client_tool("open_door", "Open the caller's door.")
    lookup, calls = counted_tool()
    seen, model = await turn(way, [door, lookup], say("Wait.") + call_tool("open_door") + call_tool("lookup"))
    result = seen.result
    assert (result.status, result.finish_reason, len(model.requests)) == ("completed", "tool-calls", 1)
    states = {part.tool_name: part.state for part in result.messages[0].parts if isinstance(part, ToolCallPart)}
    assert states == {"open_door": "call", "lookup": "result"}
    assert len(calls) == 1


@both_ways
@pytest.mark.parametrize(("finish", "ran", "model_calls"), [("stop", 1, 2), ("length", 1, 1), ("content-filter", 1, 1)])
async def test_whether_the_run_goes_on_after_tools(way: str, finish: Any, ran: int, model_calls: int) -> None:
    """Tools that were called run; an answer that was cut off or filtered is the last one all the same."""
    lookup, calls = counted_tool()
    _, model = await turn(way, [lookup], call_tool("lookup", finish=finish))
    assert (len(calls), len(model.requests)) == (ran, model_calls)


# -- process_tool_result


def redact(ctx: Any) -> Any:
    """Hide a secret in a tool's result."""
    return {"result": str(ctx.result).replace("secret", "***")}


def in_the_list(ctx: Any) -> None:
    """Hide it the documents' way: in the message list."""
    part = ctx.message_list.tool_call(ctx.tool_call_id)
    ctx.message_list.update_tool_call(part.replace(state="result", result=str(ctx.result).replace("secret", "***")))


@pytest.mark.parametrize("act", [redact, in_the_list])
@both_ways
async def test_a_redacted_result_is_nowhere(way: str, act: Callable[[Any], Any]) -> None:
    """What the hook hides is hidden from the model, its view by ``to_model_output``, the reader and the result."""
    shown: list[str] = []

    def view(value: Any) -> str:
        shown.append(value)
        return f"it says: {value}"

    lookup: Tool[Any] = Tool(
        name="lookup", parameters={"type": "object"}, execute=lambda args, ctx: "a secret", to_model_output=view
    )
    later: list[Any] = []
    seen, model = await turn(
        way, [lookup], call_tool("lookup"),
        output_processors=[
            at("process_tool_result", act, id="a"),
            at("process_tool_result", lambda ctx: later.append(ctx.result), id="b"),
        ],
    )  # fmt: skip
    assert (shown, later) == (["a ***"], ["a ***"])
    assert "secret" not in str(
        [seen.chunks, seen.result.messages, seen.result.tool_results, model.requests[1].messages]
    )


@both_ways
async def test_errors_are_shown_to_those_who_ask(way: str) -> None:
    """The hook is not called for a tool that raised, except for processors with ``process_tool_errors``."""
    quiet: list[Any] = []
    curious: list[Any] = []
    await turn(
        way, [broken], call_tool("broken"),
        output_processors=[
            at("process_tool_result", lambda ctx: quiet.append(ctx.result), id="a"),
            at("process_tool_result", lambda ctx: curious.append((ctx.result, ctx.is_error)), id="b",
               process_tool_errors=True),
        ],
    )  # fmt: skip
    assert (quiet, curious) == ([], [("no such city", True)])


@both_ways
async def test_an_error_text_may_be_redacted(way: str) -> None:
    """What a tool's error says is hidden like a result."""
    hide = at("process_tool_result", lambda ctx: {"result": "went wrong"}, process_tool_errors=True)
    seen, model = await turn(way, [broken], call_tool("broken"), output_processors=[hide])
    assert [chunk.error for chunk in seen.chunks.of(ToolError)] == ["went wrong"]
    assert "no such city" not in str([seen.result.messages, model.requests[1].messages])


@both_ways
async def test_a_stop_at_the_first_result_ends_it(way: str) -> None:
    """Where the first of two results stops the run, the second is not looked at."""
    calls: list[str] = []

    def stop(ctx: Any) -> None:
        calls.append(ctx.tool_call_id)
        ctx.abort("no")

    lookup, _ = counted_tool()
    seen, _ = await turn(
        way, [lookup], call_tool("lookup") + call_tool("lookup"), output_processors=[at("process_tool_result", stop)]
    )
    assert (seen.result.status, calls) == ("blocked", ["call-1"])
    assert seen.chunks.of(ToolResult) == []


@both_ways
async def test_steps_have_the_results_so_far(way: str) -> None:
    """``ctx.steps`` ends with the present step and the results that were taken so far."""
    counts: list[int] = []
    lookup, _ = counted_tool()
    note = at("process_tool_result", lambda ctx: counts.append(len(ctx.steps[-1].tool_results)))
    await turn(way, [lookup], call_tool("lookup") + call_tool("lookup"), output_processors=[note])
    assert counts == [0, 1]


@both_ways
async def test_what_a_tool_writes(way: str) -> None:
    """A tool's data reaches the reader before its result, and is kept in the answer unless it is transient."""

    @tool
    async def export(ctx: ToolContext) -> str:
        """Export."""
        await ctx.writer.custom({"type": "data-progress", "data": 50})
        await ctx.writer.custom({"type": "data-spinner", "data": 1, "transient": True})
        return "done"

    seen, _ = await turn(way, [export], call_tool("export"))
    types = seen.chunks.types
    assert types.index("data-progress") < types.index("data-spinner") < types.index("tool-result")
    assert [part.type for part in seen.result.messages[0].parts if part.type.startswith("data-")] == ["data-progress"]
    assert all(isinstance(chunk, DataChunk) for chunk in seen.chunks if chunk.type.startswith("data-"))


@both_ways
async def test_a_tool_is_told_of_its_call(way: str) -> None:
    """A tool's context has the call's id, the request's values and the conversation so far."""
    seen: list[Any] = []

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look."""
        seen.append((ctx.tool_call_id, ctx.run_id, ctx.request_context.get("tenant"), ctx.messages[0].text))
        return ""

    model = FakeModel([call_tool("look"), "done"])
    agent = Agent("parrot", model=model, tools=[look])
    await ask(agent, way, run_id="run-1", request_context={"tenant": "acme"})
    assert seen == [("call-1", "run-1", "acme", "Hi")]


async def test_a_result_that_cannot_be_put_into_words_is_a_tool_error() -> None:
    """Where ``to_model_output`` raises, the model is told of an error, and not what the error says."""

    def fail(result: object) -> object:
        raise ValueError(f"cannot show {result}")

    secret: Tool[Any] = Tool(name="secret", execute=lambda args, ctx: "hunter2", to_model_output=fail)
    model = FakeModel([call_tool("secret"), "Sorry."])
    result = await Agent("a", model=model, tools=[secret]).generate("Go")
    assert result.text == "Sorry."
    told = str(model.requests[1].messages)
    assert "could not be put into words" in told
    assert "hunter2" not in told
