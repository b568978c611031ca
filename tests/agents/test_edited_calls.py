"""What hooks that look at an answer do to its tool calls is what runs: one truth for messages, tools and the result."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.chunks import ToolResult
from procession.messages.parts import ToolCallPart
from procession.messages.text.patterns import Rule
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.processor import Processor
from procession.processors.text_guard import TextGuard
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool, tool

both_ways = pytest.mark.parametrize("way", WAYS)
before_tools = pytest.mark.parametrize("hook", ["process_llm_response", "process_output_step"])


def calls_in(messages: Any) -> list[tuple[str, Any, str]]:
    """Return id, arguments and state of every tool call in *messages*."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    return [(part.tool_call_id, part.args, part.state) for part in parts]


def two_calls(model_says: str = "Let me see.") -> FakeModel:
    """Return a model that asks for two tools at once, then answers."""
    asked = say(model_says) + call_tool("lookup", {"q": 1}, id="c1") + call_tool("lookup", {"q": 2}, id="c2")
    return FakeModel([asked, "Done."])


def agent_of(model: FakeModel, tools: list[Tool[Any]], *processors: Processor) -> Agent:
    """Return an agent with these processors, in whichever list serves their hooks."""
    both = list(processors)
    return Agent("bot", model=model, tools=tools, input_processors=both, output_processors=both)


@before_tools
@both_ways
async def test_edited_arguments_are_run(way: str, hook: str) -> None:
    """A tool runs with the arguments that a hook put in place; messages, prompt and result say the same."""
    found, ran = counted_tool()

    def edit(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.content.parts:
                if part.type == "tool-invocation" and part.args == {"q": 1}:
                    part.args = {"q": 99}

    model = two_calls()
    result = (await ask(agent_of(model, [found], at(hook, edit)), way)).result
    assert sorted(args["q"] for args in ran) == [2, 99]
    assert [call.args for call in result.tool_calls] == [{"q": 99}, {"q": 2}]
    assert [one.args for one in result.tool_results] == [{"q": 99}, {"q": 2}]
    assert calls_in(result.messages) == [("c1", {"q": 99}, "result"), ("c2", {"q": 2}, "result")]
    assert "{'q': 1}" not in str(model.requests[1].messages)


@both_ways
async def test_edited_arguments_are_checked(way: str) -> None:
    """Arguments that a hook put in place and that the tool cannot take are told the model; the tool does not run."""
    ran: list[int] = []

    @tool
    def double(x: int) -> int:
        """Double a number."""
        ran.append(x)
        return 2 * x

    def edit(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.content.parts:
                if part.type == "tool-invocation" and part.state == "call":
                    part.args = {"x": "many"}

    model = FakeModel([call_tool("double", {"x": 1}), "Done."])
    result = (await ask(agent_of(model, [double], at("process_output_step", edit)), way)).result
    assert ran == []
    assert result.tool_results[0].args == {"x": "many"}
    assert "'error': True" in str(result.tool_results)


@before_tools
@both_ways
async def test_removed_calls_are_not_run(way: str, hook: str) -> None:
    """A call that a hook takes out does not run, and nothing is left of it; the other one runs."""
    found, ran = counted_tool()

    def take_out(ctx: Any) -> None:
        for message in ctx.messages:
            message.content.parts = [part for part in message.content.parts if getattr(part, "args", 0) != {"q": 1}]

    model = two_calls()
    result = (await ask(agent_of(model, [found], at(hook, take_out)), way)).result
    assert ran == [{"q": 2}]
    assert [call.tool_call_id for call in result.tool_calls] == ["c2"]
    assert [one.tool_call_id for one in result.tool_results] == ["c2"]
    assert calls_in(result.messages) == [("c2", {"q": 2}, "result")]
    assert (result.text, result.status) == ("Let me see.Done.", "completed")


@both_ways
async def test_a_removed_answer_runs_no_tool(way: str) -> None:
    """Where a hook takes the answer's whole message out, none of its tools runs, and no result is looked at."""
    found, ran = counted_tool()
    seen: list[Any] = []

    def take_out(ctx: Any) -> Any:
        return [message for message in ctx.messages if message.role != "assistant"] if ctx.step_number == 0 else None

    looks = at("process_tool_result", lambda ctx: seen.append(ctx.result), id="looks")
    result = (await ask(agent_of(two_calls(), [found], at("process_output_step", take_out), looks), way)).result
    assert (ran, seen, result.tool_calls, result.tool_results) == ([], [], (), ())
    assert (result.text, calls_in(result.messages)) == ("Done.", [])


@both_ways
async def test_the_next_hook_is_told_the_edited_calls(way: str) -> None:
    """``ctx.tool_calls`` of the processors behind shows the calls as they stand, in the steps' results, too."""
    found, _ = counted_tool()
    seen: list[Any] = []

    def edit(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.content.parts:
                if part.type == "tool-invocation" and part.tool_call_id == "c1":
                    part.args = {"q": 7}

    look = at("process_output_step", lambda ctx: seen.append([call.args for call in ctx.tool_calls]), id="look")
    await ask(agent_of(two_calls(), [found], at("process_output_step", edit), look), way)
    assert seen == [[{"q": 7}, {"q": 2}], []]


@both_ways
async def test_a_call_that_a_hook_answers_is_not_run(way: str) -> None:
    """A call that a hook gives a result is answered: its tool does not run, and the result goes the way of all."""
    found, ran = counted_tool()
    seen: list[Any] = []

    def answer(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.content.parts:
                if part.type == "tool-invocation" and part.tool_call_id == "c1":
                    part.state, part.result = "result", "cached"

    looks = at("process_tool_result", lambda ctx: seen.append(ctx.result), id="looks")
    result = (await ask(agent_of(two_calls(), [found], at("process_output_step", answer), looks), way)).result
    assert (ran, seen) == ([{"q": 2}], ["cached", "found"])
    assert [getattr(one, "result", None) for one in result.tool_results] == ["cached", "found"]


@both_ways
async def test_a_call_that_a_hook_adds_is_run(way: str) -> None:
    """An open call that a hook puts into the answer runs as if the model had asked for it."""
    found, ran = counted_tool()

    def add(ctx: Any) -> None:
        if ctx.step_number == 0:
            ctx.messages[-1].content.parts.append(ToolCallPart("c3", "lookup", {"q": 3}))

    result = (await ask(agent_of(two_calls(), [found], at("process_output_step", add)), way)).result
    assert sorted(args["q"] for args in ran) == [1, 2, 3]
    assert calls_in(result.messages)[-1] == ("c3", {"q": 3}, "result")


@both_ways
async def test_ids_that_come_again(way: str) -> None:
    """A call is told from one of an earlier step that had the same id."""
    found, ran = counted_tool()

    def take_out(ctx: Any) -> None:
        if ctx.step_number == 1:
            parts = ctx.messages[-1].content.parts
            ctx.messages[-1].content.parts = [part for part in parts if getattr(part, "args", 0) != {"q": 2}]

    model = FakeModel([call_tool("lookup", {"q": 1}, id="c"), call_tool("lookup", {"q": 2}, id="c"), "Done."])
    result = (await ask(agent_of(model, [found], at("process_output_step", take_out)), way)).result
    assert (ran, [call.args for call in result.tool_calls]) == ([{"q": 1}], [{"q": 1}])


def by_the_documents(ctx: Any) -> None:
    """Replace the result as the documents write it."""
    call = {"state": "result", "toolCallId": ctx.tool_call_id, "toolName": ctx.tool_name, "args": ctx.args}
    part = {"type": "tool-invocation", "toolInvocation": {**call, "result": "[REDACTED]"}}
    ctx.message_list.update_tool_invocation(part)


def by_a_draft(ctx: Any) -> None:
    """Replace the result in the messages that the hook is given."""
    for message in ctx.messages:
        for part in message.content.parts:
            if part.type == "tool-invocation" and part.tool_call_id == ctx.tool_call_id:
                part.result = "[REDACTED]"


@both_ways
@pytest.mark.parametrize("redact", [by_the_documents, by_a_draft])
async def test_a_result_that_is_replaced_in_the_messages(way: str, redact: Any) -> None:
    """A result that ``process_tool_result`` replaces in the messages is the one that everybody sees."""
    found, _ = counted_tool()
    model = two_calls()
    seen = await ask(agent_of(model, [found], at("process_tool_result", redact)), way)
    assert [getattr(one, "result", None) for one in seen.result.tool_results] == ["[REDACTED]"] * 2
    assert [chunk.result for chunk in seen.chunks if isinstance(chunk, ToolResult)] == ["[REDACTED]"] * 2
    assert "found" not in str(model.requests[1].messages)


@before_tools
@both_ways
@pytest.mark.parametrize("strategy", ["block", "redact", "filter"])
async def test_guards_of_arguments_look_at_edited_calls(way: str, hook: str, strategy: Any) -> None:
    """Arguments that a hook put in place, or a call that it added, run as guards with ``scan_tool_args`` leave them."""
    found, ran = counted_tool()

    def edit(ctx: Any) -> None:
        if len(ctx.steps) > 1:
            return
        parts = ctx.messages[-1].content.parts
        for part in parts:
            if part.type == "tool-invocation" and part.tool_call_id == "c1":
                part.args = {"q": "ask about Heron"}
        parts.append(ToolCallPart("c3", "lookup", {"q": ["Heron", 3]}))

    guard = RegexFilter(rules=[{"name": "bird", "pattern": "Heron"}], strategy=strategy, scan_tool_args=True)
    agent = agent_of(two_calls(), [found], at(hook, edit, id="editor"), guard)
    result = (await ask(agent, way)).result
    assert "Heron" not in str((ran, result.messages, result.tool_calls))
    if strategy == "block":
        assert (result.status, ran) == ("blocked", [])
        return
    hidden = "ask about [REDACTED]" if strategy == "redact" else "[removed]"
    assert [call.args for call in result.tool_calls][:2] == [{"q": hidden}, {"q": 2}]
    assert (len(ran), [one.type for one in result.tool_results]) == (3, ["tool-result"] * 3)
    assert [args for _, args, _ in calls_in(result.messages)] == [call.args for call in result.tool_calls]


@both_ways
async def test_guards_of_arguments_may_send_an_edited_call_back(way: str) -> None:
    """A guard that wants another attempt because of edited arguments gets it, and the call does not run."""
    found, ran = counted_tool()

    class Again(TextGuard):
        id = "again"
        rules = (Rule("bird", "Heron"),)

        def settle(self, ctx: Any, pieces: Any, where: Any) -> bool:
            return bool(ctx.abort("no birds", retry=True))

    def edit(ctx: Any) -> None:
        for part in ctx.messages[-1].content.parts:
            if part.type == "tool-invocation" and part.args == {"q": 1}:
                part.args = {"q": "Heron"}

    model = FakeModel([call_tool("lookup", {"q": 1}), "Done."])
    processors = [at("process_output_step", edit, id="editor"), Again(scan_tool_args=True)]
    agent = Agent("bot", model=model, tools=[found], output_processors=processors, max_processor_retries=1)
    result = (await ask(agent, way)).result
    assert (result.text, ran, len(result.rejected)) == ("Done.", [], 1)
