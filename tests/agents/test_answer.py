"""A processor's own answer in place of the model's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import COST, HOOKS, WAYS, ask, at, counted_tool, list_of, text_only, turn

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, StepFinish, TextDelta, TextEnd, TextStart
from procession.processors.guardrails.pii import PIIDetector
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

both_ways = pytest.mark.parametrize("way", WAYS)
CALLS = {"process_input": 0, "process_input_step": 0, "process_llm_request": 0}
"""How many model calls are made before the hook fires; one where nothing is said."""
IN_A_STEP = [hook for hook in HOOKS if hook != "process_output_result"]


def answer(ctx: Any) -> None:
    """Answer for the model, in code that catches everything."""
    try:
        ctx.replace_response("Ask a doctor.")
    except BaseException:
        pass


@both_ways
@pytest.mark.parametrize("hook", IN_A_STEP)
async def test_the_answer_is_the_last_one(way: str, hook: str) -> None:
    """The text is delivered like a model's answer, ends the run as a success, and no model call follows."""
    tool, tool_calls = counted_tool()
    model = FakeModel(turn(hook))
    lists: dict[str, Any] = {list_of(hook): [at(hook, text_only(answer))]}
    seen = await ask(Agent("parrot", model=model, tools=[tool], **lists), way)
    result = seen.result
    assert (result.status, result.finish_reason, result.text) == ("completed", "stop", "Ask a doctor.")
    assert result.final_text == "Ask a doctor."
    assert [message.text for message in result.messages] == ["Ask a doctor."]
    assert len(model.requests) == CALLS.get(hook, 1)
    assert len(tool_calls) == (1 if hook == "process_tool_result" else 0)
    assert seen.chunks.types[-1] == "finish"


@both_ways
async def test_the_answer_comes_as_chunks(way: str) -> None:
    """The reader gets a text block, a step's end and the run's end."""
    agent = Agent("parrot", model=FakeModel("x"), input_processors=[at("process_input", answer)])
    chunks = (await ask(agent, way)).chunks
    kinds = [type(chunk) for chunk in chunks]
    assert kinds[-5:] == [TextStart, TextDelta, TextEnd, StepFinish, Finish]
    assert chunks.text == "Ask a doctor."


@both_ways
async def test_what_the_model_had_said_is_gone(way: str) -> None:
    """The model's text of the replaced step is in no result and no message; its usage counts."""
    agent = Agent("parrot", model=FakeModel("secret"), output_processors=[at("process_output_step", answer)])
    result = (await ask(agent, way)).result
    assert "secret" not in str(result.messages) + result.text
    assert result.usage.total_tokens == COST


@both_ways
async def test_accepted_steps_stay_before_the_answer(way: str) -> None:
    """An answer in the second step stands behind the first one's text."""

    def second(ctx: Any) -> None:
        if ctx.step_number == 1:
            answer(ctx)

    tool, _ = counted_tool()
    model = FakeModel([say("Let me see. ") + call_tool("lookup"), "secret"])
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[at("process_output_step", second)])
    result = (await ask(agent, way)).result
    assert result.text == "Let me see. Ask a doctor."
    assert [step.step_number for step in result.steps] == [0, 1]


@both_ways
async def test_the_answer_passes_the_output_processors(way: str) -> None:
    """A processor's own answer passes the stream's processors and ``process_output_result`` like a model's."""

    def shout(ctx: Any) -> Any:
        return TextDelta(ctx.chunk.text.upper())

    results: list[str] = []
    agent = Agent(
        "parrot", model=FakeModel("x"), input_processors=[at("process_input", answer)],
        output_processors=[
            at("process_output_stream", text_only(shout), id="a"),
            at("process_output_result", lambda ctx: results.append(ctx.result.text), id="b"),
        ],
    )  # fmt: skip
    assert (await ask(agent, way)).result.text == "ASK A DOCTOR."
    assert results == ["ASK A DOCTOR."]


@both_ways
async def test_the_first_answer_wins(way: str) -> None:
    """Where two processors of one phase answer, it is the first one's text."""
    agent = Agent(
        "parrot", model=FakeModel("x"),
        input_processors=[
            at("process_input", lambda ctx: ctx.replace_response("one"), id="a"),
            at("process_input", lambda ctx: ctx.replace_response("two"), id="b"),
        ],
    )  # fmt: skip
    assert (await ask(agent, way)).result.text == "one"


@both_ways
async def test_a_stop_outranks_an_answer(way: str) -> None:
    """A later processor of the phase may still stop the run."""
    agent = Agent(
        "parrot", model=FakeModel("x"),
        input_processors=[
            at("process_input", answer, id="a"), at("process_input", lambda ctx: ctx.abort("no"), id="b"),
        ],
    )  # fmt: skip
    assert (await ask(agent, way)).tripwire.reason == "no"


@both_ways
async def test_an_answer_to_the_whole_turn(way: str) -> None:
    """In ``process_output_result`` the text takes the place of all that the turn said."""
    tool, _ = counted_tool()
    agent = Agent(
        "parrot", model=FakeModel([say("secret ") + call_tool("lookup"), "more secret"]), tools=[tool],
        output_processors=[at("process_output_result", answer)],
    )  # fmt: skip
    result = (await ask(agent, way)).result
    assert (result.status, result.text, result.final_text) == ("completed", "Ask a doctor.", "Ask a doctor.")
    assert "secret" not in str(result.messages)


@both_ways
async def test_a_guard_lets_go_of_an_answer_that_is_given(way: str) -> None:
    """What a text guard holds back of an answer in the model's place is part of it: in the result, and to a reader."""
    give = at("process_output_step", lambda ctx: ctx.replace_response("mail eva@example.net or eva"))
    guard = PIIDetector(redaction="placeholder", phase="output")
    seen = await ask(Agent("bot", model=FakeModel("x"), output_processors=[guard, give]), way)
    assert seen.result.final_text == "mail [EMAIL] or eva"
    assert seen.chunks.text.endswith("mail [EMAIL] or eva")
