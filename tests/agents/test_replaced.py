"""An answer in place of what the model has said already: what readers and callbacks are told, and what is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool, list_of, text_only, turn

from procession.agents.agent import Agent
from procession.agents.callbacks import Iteration
from procession.agents.output import AgentStep
from procession.errors import StepError
from procession.messages.chunks import Chunk, Finish, StepFinish, StepStart, TextDelta
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import tool

both_ways = pytest.mark.parametrize("way", WAYS)
AFTER_THE_MODEL = [
    "process_output_stream", "process_llm_response", "process_api_error", "process_output_step", "process_tool_result",
]  # fmt: skip
BEFORE_THE_MODEL = ["process_input", "process_input_step", "process_llm_request"]


def instead(ctx: Any) -> None:
    """Answer for the model."""
    ctx.replace_response("Ask a doctor.")


def agent_of(hook: str, **settings: Any) -> tuple[Agent, list[Any]]:
    """Return an agent that answers for its model at *hook*, and the calls of its tool."""
    lookup, calls = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [at(hook, text_only(instead))]}
    return Agent("parrot", model=FakeModel(turn(hook)), tools=[lookup], **lists, **settings), calls


def kept_text(chunks: Sequence[Chunk]) -> str:
    """Return what a reader shows that drops a step's text where it is told to."""
    kept = shown = ""
    for chunk in chunks:
        if isinstance(chunk, TextDelta):
            shown += chunk.text
        elif isinstance(chunk, StepFinish):
            kept, shown = kept + ("" if chunk.reason == "retry" else shown), ""
    return kept + shown


def borders(chunks: Sequence[Chunk]) -> list[str]:
    """Return where steps begin and how they end."""
    return [
        chunk.reason if isinstance(chunk, StepFinish) else "start"
        for chunk in chunks
        if isinstance(chunk, (StepStart, StepFinish))
    ]


@both_ways
@pytest.mark.parametrize("hook", AFTER_THE_MODEL)
async def test_the_stream_is_well_formed(way: str, hook: str) -> None:
    """What the model said of the step is closed by a ``step-finish`` that says to drop it; the answer is a step of its own."""
    agent, _ = agent_of(hook)
    seen = await ask(agent, way)
    assert borders(seen.chunks) == ["start", "retry", "start", "stop"]
    assert kept_text(seen.chunks) == seen.result.text == "Ask a doctor."
    assert [chunk.text for chunk in seen.chunks.of(Finish)] == ["Ask a doctor."]
    assert [chunk.retry_processor_id for chunk in seen.chunks.of(StepFinish)] == ["guard", None]


@both_ways
@pytest.mark.parametrize("hook", BEFORE_THE_MODEL)
async def test_before_the_model_nothing_is_dropped(way: str, hook: str) -> None:
    """Where the model was not asked there is one step, the answer, and nothing was rejected."""
    agent, _ = agent_of(hook)
    seen = await ask(agent, way)
    assert borders(seen.chunks) == ["start", "stop"]
    assert (seen.result.rejected, seen.result.usage.total_tokens) == ((), 0)


@both_ways
@pytest.mark.parametrize("hook", [*BEFORE_THE_MODEL, *AFTER_THE_MODEL])
async def test_callbacks_are_told_of_each_step(way: str, hook: str) -> None:
    """``on_step_finish`` hears of each ``step-finish``, ``on_iteration_complete`` of each step that stands."""
    steps: list[AgentStep] = []
    turns: list[Iteration] = []
    agent, _ = agent_of(hook, on_step_finish=steps.append, on_iteration_complete=turns.append)
    result = (await ask(agent, way)).result
    assert steps == [*result.rejected, *result.steps]
    assert [turn.step for turn in turns] == [result.steps[0]]
    assert [(turn.is_last, len(turn.steps), turn.run_id) for turn in turns] == [(True, 1, result.run_id)]


@both_ways
@pytest.mark.parametrize("hook", AFTER_THE_MODEL)
async def test_the_replaced_attempt_is_accounted_for(way: str, hook: str) -> None:
    """What was replaced is in ``rejected``, with its text, its tool calls and what it cost."""
    agent, calls = agent_of(hook)
    result = (await ask(agent, way)).result
    (attempt,) = result.rejected
    assert (attempt.finish_reason, attempt.step_number) == ("retry", 0)
    assert [step.step_number for step in result.steps] == [0]
    spent = {"process_api_error": 0, "process_output_stream": 0 if way == "stream" else COST}.get(hook, COST)
    assert (attempt.usage.total_tokens, result.usage.total_tokens) == (spent, spent)
    assert len(calls) == int(hook == "process_tool_result")
    if hook == "process_tool_result":
        assert [call.tool_name for call in attempt.tool_calls] == ["lookup"]
    if hook not in ("process_api_error", "process_output_stream"):
        assert attempt.text == "secret text"
    assert "secret" not in str(result.messages)


@both_ways
async def test_tool_results_before_the_replaced_one(way: str) -> None:
    """Of several tools whose results are looked at, those taken before the replacement are in the rejected attempt."""
    lookup, calls = counted_tool()

    def second(ctx: Any) -> None:
        if ctx.tool_call_id == "b":
            instead(ctx)

    model = FakeModel([call_tool("lookup", id="a") + call_tool("lookup", id="b")])
    agent = Agent("parrot", model=model, tools=[lookup], output_processors=[at("process_tool_result", second)])
    result = (await ask(agent, way)).result
    assert len(calls) == 2
    assert [each.tool_call_id for each in result.rejected[0].tool_calls] == ["a", "b"]
    assert [each.tool_call_id for each in result.rejected[0].tool_results] == ["a"]
    assert (result.tool_calls, result.tool_results) == ((), ())


@both_ways
async def test_after_an_attempt_that_was_sent_back(way: str) -> None:
    """An answer in place of the second attempt: both attempts are rejected, and the feedback is gone."""

    def guard(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("rude", retry=True)
        instead(ctx)

    agent = Agent("parrot", model=FakeModel(["one", "two"]), output_processors=[at("process_output_step", guard)])
    seen = await ask(agent, way, max_processor_retries=1)
    assert [attempt.text for attempt in seen.result.rejected] == ["one", "two"]
    assert borders(seen.chunks) == ["start", "retry", "start", "retry", "start", "stop"]
    assert kept_text(seen.chunks) == seen.result.text
    assert seen.result.usage.total_tokens == 2 * COST


@both_ways
async def test_a_callback_of_the_answer_that_raises(way: str) -> None:
    """What ``on_step_finish`` raises about the answer fails the call like that of any step."""
    agent, _ = agent_of("process_output_step")

    def complain(step: AgentStep) -> None:
        if step.finish_reason == "stop":
            raise ValueError("broken")

    seen = await ask(agent, way, on_step_finish=complain)
    assert isinstance(seen.error, StepError)
    assert seen.chunks.types[-2:] == ["step-finish", "error"]


@both_ways
async def test_an_answer_to_the_whole_turn(way: str) -> None:
    """In ``process_output_result`` the steps are told already: their texts stay with the reader, ``finish`` has the final one."""
    agent, _ = agent_of("process_output_result")
    seen = await ask(agent, way)
    assert borders(seen.chunks) == ["start", "tool-calls", "start", "stop"]
    assert kept_text(seen.chunks) == "secret textdone"
    assert [chunk.text for chunk in seen.chunks.of(Finish)] == ["Ask a doctor."]
    assert (seen.result.text, seen.result.rejected) == ("Ask a doctor.", ())


@both_ways
@pytest.mark.parametrize("kind", ["tool-result", "step-finish"])
@pytest.mark.parametrize("last", [False, True])
async def test_an_answer_at_a_chunk_behind_the_answer(way: str, kind: str, last: bool) -> None:
    """An answer that is given where a tool's result, or the step's end, passes the stream ends the run all the same."""

    def at_chunk(ctx: Any) -> Any:
        if ctx.chunk.type == kind:
            instead(ctx)
        return ctx.chunk

    lookup, calls = counted_tool()
    model = FakeModel([say("secret ") + call_tool("lookup"), "more"])
    agent = Agent("parrot", model=model, tools=[lookup], output_processors=[at("process_output_stream", at_chunk)])
    seen = await ask(agent, way, max_steps=1 if last else 5)
    assert (len(model.requests), len(calls)) == (1, 1)
    assert (seen.result.status, seen.result.final_text) == ("completed", "Ask a doctor.")
    assert [chunk.text for chunk in seen.chunks.of(Finish)] == ["Ask a doctor."]
    starts = [border for border in borders(seen.chunks) if border == "start"]
    assert 2 * len(starts) == len(borders(seen.chunks))


@both_ways
async def test_an_answer_of_a_guard_beside_the_model(way: str) -> None:
    """What the model said beside the guard that answered was shown to nobody, and is told to nobody."""

    @tool
    def lookup() -> str:
        """Look up."""
        return "found"

    guard = at("process_input", instead, check_only=True)
    steps: list[AgentStep] = []
    agent = Agent(
        "parrot", model=FakeModel("secret"), tools=[lookup], input_processors=[guard], guard_mode="concurrent",
        on_step_finish=steps.append,
    )  # fmt: skip
    seen = await ask(agent, way)
    assert borders(seen.chunks) == ["start", "stop"]
    assert (seen.result.text, seen.result.rejected) == ("Ask a doctor.", ())
    assert steps == list(seen.result.steps)


@both_ways
async def test_data_that_a_tool_writes(way: str) -> None:
    """An answer that is given where a tool's data passes the stream rejects the step: its text, its calls, its results."""

    @tool
    async def lookup(ctx: ToolContext) -> str:
        """Look up."""
        await ctx.writer.custom({"type": "data-note", "data": 1})
        return "found"

    def at_data(ctx: Any) -> Any:
        if ctx.chunk.type == "data-note":
            instead(ctx)
        return ctx.chunk

    guard = at("process_output_stream", at_data, process_data_parts=True)
    model = FakeModel([say("secret ") + call_tool("lookup"), "more"])
    agent = Agent("parrot", model=model, tools=[lookup], output_processors=[guard])
    seen = await ask(agent, way)
    assert (seen.result.text, len(model.requests)) == ("Ask a doctor.", 1)
    assert kept_text(seen.chunks) == "Ask a doctor."
    assert [attempt.text for attempt in seen.result.rejected] == ["secret "]


@both_ways
@pytest.mark.parametrize("strategy", ["block", "redact", "filter", "warn"])
@pytest.mark.parametrize("guard_first", [True, False])
async def test_guards_look_at_an_answer_to_the_whole_turn(way: str, strategy: Any, guard_first: bool) -> None:
    """An answer that ``process_output_result`` gives passes the text guards of the answer, wherever they stand."""
    guard = RegexFilter(rules=[{"name": "who", "pattern": "doctor"}], strategy=strategy)
    lists = [guard, at("process_output_result", instead)]
    agent = Agent(
        "parrot", model=FakeModel("Take ten."), output_processors=lists if guard_first else lists[::-1], max_processor_retries=1
    )  # fmt: skip
    result = (await ask(agent, way)).result
    if strategy == "block":
        assert (result.status, result.text, result.messages) == ("blocked", "", ())
        assert result.tripwire is not None and result.tripwire.processor_id == guard.id
        return
    text = {"redact": "Ask a [REDACTED].", "filter": "[removed]", "warn": "Ask a doctor."}[strategy]
    assert (result.status, result.text, [message.text for message in result.messages]) == ("completed", text, [text])
