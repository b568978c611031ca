"""A step that a processor sends back: budget, feedback, what is rolled back and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool, list_of, spy, text_only

from procession.agents.agent import Agent
from procession.messages.chunks import StepFinish, TextDelta, ToolResult
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.workflow import create_workflow

BEFORE_THE_CALL = ("process_input_step", "process_llm_request")
AFTER_THE_CALL = ("process_output_stream", "process_llm_response", "process_output_step", "process_tool_result")
RETRYABLE = BEFORE_THE_CALL + AFTER_THE_CALL
FINAL = ("process_input", "process_output_result")
FEEDBACK = (
    "[Processor Feedback] Your previous response was not accepted: {}. Please try again with the feedback in mind."
)

both_ways = pytest.mark.parametrize("way", WAYS)
each_retryable = pytest.mark.parametrize("hook", RETRYABLE)


def feedback_in(request: ModelRequest) -> list[str]:
    """Return the feedback messages of a request."""
    texts = [message.text for message in request.messages if message.role == "system"]
    return [text for text in texts if text.startswith("[Processor Feedback]")]


def send_back(times: int, seen: list[tuple[int, int]] | None = None) -> Callable[[Any], Any]:
    """Return an act that sends the first *times* attempts of a run back, noting step number and retry count."""
    left = [times]
    last: list[Any] = [None]

    def act(ctx: Any) -> None:
        if ctx.hook.value == "process_output_stream" and last[0] == (ctx.step_number, ctx.retry_count):
            return
        last[0] = (ctx.step_number, ctx.retry_count)
        if seen is not None:
            seen.append(last[0])
        if left[0]:
            left[0] -= 1
            ctx.abort("too short", retry=True, metadata={"score": 1})

    return text_only(act)


class Turn:
    """A turn of two steps whose first attempts are sent back at one hook."""

    def __init__(self, hook: str, times: int = 1, **options: Any) -> None:
        rejected = times if hook in AFTER_THE_CALL else 0
        attempts = [say(f"wrong {number}") + call_tool("lookup") for number in range(rejected)]
        self.model = FakeModel([*attempts, say("good") + call_tool("lookup"), "done"])
        self.seen: list[tuple[int, int]] = []
        self.calls: list[str] = []
        tool, self.tool_calls = counted_tool()
        guard = at(hook, send_back(times, self.seen))
        lists: dict[str, Any] = {list_of(hook): [guard], "error_processors": [spy(self.calls)]}
        self.agent = Agent("parrot", model=self.model, tools=[tool], **{"max_processor_retries": 3, **options}, **lists)


@both_ways
@each_retryable
async def test_a_retry_is_another_attempt_of_the_same_step(hook: str, way: str) -> None:
    """The step is made again under its number, ``retry_count`` counts the attempts, and the run comes to its end."""
    turn = Turn(hook)
    result = (await ask(turn.agent, way)).result
    assert result.status == "completed"
    assert turn.seen[:2] == [(0, 0), (0, 1)]
    assert [step.step_number for step in result.steps] == [0, 1]
    assert result.text == "gooddone"


@both_ways
@each_retryable
async def test_retries_do_not_use_up_steps(hook: str, way: str) -> None:
    """``max_steps`` counts accepted steps, so that two of them fit whatever was sent back before."""
    result = (await ask(Turn(hook, 3, max_steps=2).agent, way)).result
    assert (result.status, len(result.steps)) == ("completed", 2)


@both_ways
@each_retryable
async def test_the_feedback_is_there_once_and_goes(hook: str, way: str) -> None:
    """After a rejection the model is told the reason in one system message; once the step is accepted it is gone."""
    turn = Turn(hook, 2)
    await ask(turn.agent, way)
    feedback = [feedback_in(request) for request in turn.model.requests]
    expected = [FEEDBACK.format("too short")]
    assert feedback[-2:] == [expected, []]
    if hook in AFTER_THE_CALL:
        assert feedback == [[], expected, expected, []]


@both_ways
@each_retryable
async def test_the_attempt_is_rolled_back(hook: str, way: str) -> None:
    """Text and tool calls of a rejected attempt are in no later prompt, no result and no message."""
    turn = Turn(hook)
    seen = await ask(turn.agent, way)
    assert all("wrong" not in str(request.messages) for request in turn.model.requests)
    assert "wrong" not in str(seen.result.messages)
    assert len(seen.result.tool_calls) == len(seen.result.tool_results) == 1


@both_ways
@each_retryable
async def test_the_reader_is_told_to_drop_what_it_showed(hook: str, way: str) -> None:
    """A rejected attempt ends with exactly one ``step-finish`` of reason ``retry`` that says who and why."""
    turn = Turn(hook)
    chunks = (await ask(turn.agent, way)).chunks
    retried = [chunk for chunk in chunks.of(StepFinish) if chunk.reason == "retry"]
    assert len(retried) == 1
    assert (retried[0].retry_reason, retried[0].retry_processor_id) == ("too short", "guard")
    assert retried[0].retry_metadata == {"score": 1}
    assert retried[0].is_continued
    after = chunks[chunks.index(retried[0]) + 1 :]
    assert "".join(chunk.text for chunk in after if isinstance(chunk, TextDelta)) == "gooddone"


@both_ways
@each_retryable
async def test_rejected_attempts_are_listed_and_their_usage_counts(hook: str, way: str) -> None:
    """``result.rejected`` has the attempts that were sent back, and usage every model call that answered."""
    turn = Turn(hook, 2)
    result = (await ask(turn.agent, way)).result
    assert [(step.step_number, step.finish_reason) for step in result.rejected] == [(0, "retry"), (0, "retry")]
    assert [step.tripwire.reason for step in result.rejected if step.tripwire] == ["too short", "too short"]
    answered = len(turn.model.requests)
    if hook == "process_output_stream" and way == "stream":
        answered -= 2  # cut off before they said what they cost
    assert result.usage.total_tokens == answered * COST


@both_ways
@each_retryable
async def test_without_a_budget_a_retry_is_a_stop(hook: str, way: str) -> None:
    """Where ``max_processor_retries`` is unset, a request for a retry stops the run at once."""
    turn = Turn(hook, max_processor_retries=None)
    seen = await ask(turn.agent, way)
    assert (seen.result.status, len(turn.seen)) == ("blocked", 1)
    assert (seen.tripwire.reason, seen.tripwire.retry, seen.tripwire.processor_id) == ("too short", True, "guard")
    assert seen.chunks.types.count("tripwire") == 1
    assert "retry" not in [chunk.reason for chunk in seen.chunks.of(StepFinish)]


@both_ways
@each_retryable
@pytest.mark.parametrize("budget", [0, 1, 3])
async def test_the_budget_ends_in_a_stop(hook: str, way: str, budget: int) -> None:
    """After as many retries as the budget allows, the next rejection stops the run."""
    turn = Turn(hook, 9, max_processor_retries=budget)
    seen = await ask(turn.agent, way)
    assert seen.result.status == "blocked"
    assert turn.seen == [(0, count) for count in range(budget + 1)]
    assert len(seen.result.rejected) == budget
    assert (seen.result.text, seen.chunks.types[-1]) == ("", "tripwire")


@both_ways
@each_retryable
async def test_no_other_handler_is_asked_about_a_retry(hook: str, way: str) -> None:
    """A processor's rejection is no model error: ``process_api_error`` is not called."""
    turn = Turn(hook)
    await ask(turn.agent, way)
    assert "spy.process_api_error" not in turn.calls


@both_ways
@pytest.mark.parametrize("hook", FINAL)
async def test_where_there_is_no_step_a_retry_is_a_stop(hook: str, way: str) -> None:
    """``process_input`` and ``process_output_result`` have no step to repeat, whatever the budget."""
    seen = await ask(Turn(hook).agent, way)
    assert (seen.result.status, seen.tripwire.retry) == ("blocked", True)
    assert seen.result.rejected == ()


@both_ways
async def test_tools_run_only_for_accepted_attempts(way: str) -> None:
    """The tools of an attempt that is rejected before they run do not run."""
    turn = Turn("process_output_step", 2)
    await ask(turn.agent, way)
    assert len(turn.tool_calls) == 1


@both_ways
async def test_results_of_a_rejected_attempt_are_not_in_the_result(way: str) -> None:
    """A tool that ran for an attempt which ``process_tool_result`` sends back has run, and its result is nowhere."""
    turn = Turn("process_tool_result")
    seen = await ask(turn.agent, way)
    assert len(turn.tool_calls) == 2
    assert len(seen.chunks.of(ToolResult)) == len(seen.result.tool_results) == 1


@both_ways
async def test_each_step_has_a_full_budget(way: str) -> None:
    """Once a step is accepted, the next one may be sent back as often."""
    counts: list[tuple[int, int]] = []

    def twice_each(ctx: Any) -> None:
        counts.append((ctx.step_number, ctx.retry_count))
        if ctx.retry_count < 2:
            ctx.abort("again", retry=True)

    tool, _ = counted_tool()
    script: list[Any] = [*[say("x") + call_tool("lookup")] * 3, "y", "y", "done"]
    agent = Agent(
        "parrot", model=FakeModel(script), tools=[tool], max_processor_retries=2,
        output_processors=[at("process_output_step", twice_each)],
    )  # fmt: skip
    result = (await ask(agent, way)).result
    assert counts == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert (result.text, len(result.rejected)) == ("xdone", 4)


@both_ways
async def test_a_new_reason_replaces_the_old_feedback(way: str) -> None:
    """There is one feedback message at a time: the newest."""
    model = FakeModel(["one", "two", "three"])

    def picky(ctx: Any) -> None:
        if ctx.text != "three":
            ctx.abort(f"not {ctx.text}", retry=True)

    agent = Agent("parrot", model=model, max_processor_retries=5, output_processors=[at("process_output_step", picky)])
    await ask(agent, way)
    expected = [[], [FEEDBACK.format("not one")], [FEEDBACK.format("not two")]]
    assert [feedback_in(request) for request in model.requests] == expected


@both_ways
async def test_the_call_may_set_the_budget(way: str) -> None:
    """``max_processor_retries`` of a call takes the place of the agent's, also to forbid retries."""
    seen = await ask(Turn("process_output_step", max_processor_retries=None).agent, way, max_processor_retries=1)
    assert seen.result.status == "completed"
    seen = await ask(Turn("process_output_step").agent, way, max_processor_retries=None)
    assert seen.result.status == "blocked"


@both_ways
async def test_input_step_runs_again_for_each_attempt(way: str) -> None:
    """Another attempt begins at ``process_input_step``, with the same steps before it."""
    calls: list[tuple[int, int, int]] = []

    def note(ctx: Any) -> None:
        calls.append((ctx.step_number, ctx.retry_count, len(ctx.steps)))

    turn = Turn("process_output_step")
    turn.agent = Agent(
        "parrot", model=turn.model, tools=turn.agent.tools, max_processor_retries=1,
        input_processors=[at("process_input_step", note, id="note")], output_processors=turn.agent.output_processors,
    )  # fmt: skip
    await ask(turn.agent, way)
    assert calls == [(0, 0, 0), (0, 1, 0), (1, 0, 1)]


@both_ways
async def test_edits_of_a_rejected_attempt_do_not_stay(way: str) -> None:
    """What ``process_output_step`` wrote into the answer goes with the attempt that it belongs to."""

    def mark_and_reject(ctx: Any) -> None:
        ctx.messages[-1].text += "!"
        if ctx.retry_count == 0:
            ctx.message_list.replace(ctx.view[-1].with_text("marked"))
            ctx.abort("again", retry=True)

    agent = Agent(
        "parrot", model=FakeModel(["one", "two"]), max_processor_retries=1,
        output_processors=[at("process_output_step", mark_and_reject)],
    )  # fmt: skip
    assert (await ask(agent, way)).result.text == "two!"


@both_ways
async def test_a_hard_stop_outranks_a_retry_in_parallel(way: str) -> None:
    """Where one branch stops the run and another one asks for a retry, the run stops."""
    again = at("process_output_step", lambda ctx: ctx.abort("again", retry=True), id="again")
    never = at("process_output_step", lambda ctx: ctx.abort("never"), id="never")
    both = create_workflow("both", kind="processor").parallel([again, never], on_block="wait").commit()
    agent = Agent("parrot", model=FakeModel("x"), max_processor_retries=3, output_processors=[both])
    assert (await ask(agent, way)).tripwire.processor_id == "never"


@both_ways
@pytest.mark.parametrize("kind", ["step-start", "text-delta", "tool-call", "tool-result", "step-finish"])
async def test_any_chunk_of_a_step_may_send_it_back(way: str, kind: str) -> None:
    """A verdict at whichever chunk of a step, its end included, is honoured as often as the budget allows."""
    left = [2]

    def act(ctx: Any) -> Any:
        if ctx.chunk.type == kind and left[0]:
            left[0] -= 1
            ctx.abort("too short", retry=True)
        return ctx.chunk

    tool, _ = counted_tool()
    attempts = [say(f"wrong {number}") + call_tool("lookup") for number in range(2)]
    model = FakeModel([*attempts, say("good") + call_tool("lookup"), "done"])
    guard = at("process_output_stream", act)
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[guard], max_processor_retries=2)
    seen = await ask(agent, way)
    assert (seen.result.status, seen.result.text, len(seen.result.rejected)) == ("completed", "gooddone", 2)
    assert [chunk.reason for chunk in seen.chunks.of(StepFinish)] == ["retry", "retry", "tool-calls", "stop"]
    assert all("wrong" not in str(request.messages) for request in model.requests)
