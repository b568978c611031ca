"""One definition of text (D37): whichever hook has changed what an answer says, all who ask are told the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

both_ways = pytest.mark.parametrize("way", WAYS)


def shout(ctx: Any) -> None:
    """Put what the answer says so far into capitals."""
    for draft in ctx.message_list.get.response.db():
        ctx.message_list.replace(draft.with_text(draft.text.upper()))


def texts_seen(seen: dict[str, list[str]]) -> list[Processor]:
    """Return processors that note the text that hooks are shown, and that of the messages in the same call."""

    def step(ctx: Any) -> None:
        seen["process_output_step"] = [ctx.text]

    def result(ctx: Any) -> None:
        seen["process_output_result"] = [ctx.result.text, "".join(message.text for message in ctx.view)]

    return [at("process_output_step", step, id="a"), at("process_output_result", result, id="b")]


@both_ways
async def test_what_is_changed_after_the_model_call(way: str) -> None:
    """Text that ``process_llm_response`` changes is the step's, the turn's and the result's."""
    seen: dict[str, list[str]] = {}
    agent = Agent(
        "parrot",
        model=FakeModel("Hello."),
        input_processors=[at("process_llm_response", shout)],
        output_processors=texts_seen(seen),
    )
    result = (await ask(agent, way)).result
    assert seen == {"process_output_step": ["HELLO."], "process_output_result": ["HELLO.", "HELLO."]}
    assert (result.text, result.steps[0].text, result.final_text) == ("HELLO.", "HELLO.", "HELLO.")


@both_ways
@pytest.mark.parametrize("hook", ["process_tool_result", "process_input_step", "process_llm_request"])
async def test_what_is_changed_of_an_earlier_step(way: str, hook: str) -> None:
    """Text of an accepted step that a later hook changes is changed everywhere."""
    seen: dict[str, list[str]] = {}
    tool, _ = counted_tool()
    model = FakeModel([say("one ") + call_tool("lookup"), "two"])
    side = {"process_tool_result": "output_processors"}.get(hook, "input_processors")
    lists: dict[str, Any] = {"output_processors": texts_seen(seen), "input_processors": []}
    lists[side] = [at(hook, shout), *lists[side]]
    result = (await ask(Agent("parrot", model=model, tools=[tool], **lists), way)).result
    assert seen == {"process_output_step": ["two"], "process_output_result": ["ONE two", "ONE two"]}
    assert (result.text, [step.text for step in result.steps]) == ("ONE two", ["ONE ", "two"])


@both_ways
async def test_a_message_put_behind_the_answer(way: str) -> None:
    """What ``process_llm_response`` adds to the answer is part of the text."""

    def add(ctx: Any) -> None:
        ctx.message_list.add(Message("assistant", " More."), source="response")

    seen: dict[str, list[str]] = {}
    agent = Agent(
        "parrot",
        model=FakeModel("Hello."),
        input_processors=[at("process_llm_response", add)],
        output_processors=texts_seen(seen),
    )
    result = (await ask(agent, way)).result
    assert seen == {"process_output_step": ["Hello. More."], "process_output_result": ["Hello. More.", "Hello. More."]}
    assert result.text == "Hello. More."


@both_ways
async def test_a_step_that_says_nothing_has_no_text(way: str) -> None:
    """An empty step is not shown the text of the step before, whatever a hook does to the messages."""
    shown: list[str] = []

    def note(ctx: Any) -> None:
        shown.append(ctx.text)
        ctx.message_list.add(Message("user", "Hm."), source="context")

    def look(ctx: Any) -> None:
        shown.append(ctx.text)

    model = FakeModel([say("one", finish="unknown"), say(finish="stop")])
    processors = [at("process_output_step", note, id="a"), at("process_output_step", look, id="b")]
    result = (await ask(Agent("parrot", model=model, output_processors=processors), way)).result
    assert shown == ["one", "one", "", ""]
    assert [step.text for step in result.steps] == ["one", ""]


def hide_by_setting(ctx: Any) -> None:
    """Set the texts of the answers as a whole."""
    for message in ctx.messages:
        if message.role == "assistant":
            message.text = message.text.replace("bad", "[HIDDEN]")


def hide_by_value(ctx: Any) -> None:
    """The same, by values."""
    for message in ctx.view:
        if message.role == "assistant":
            ctx.message_list.replace(message.with_text(message.text.replace("bad", "[HIDDEN]")))


@both_ways
@pytest.mark.parametrize("hide", [hide_by_setting, hide_by_value])
@pytest.mark.parametrize("hook", ["process_output_step", "process_output_result"])
async def test_the_text_of_an_answer_set_as_a_whole(way: str, hook: str, hide: Any) -> None:
    """A text that is set for an answer of several steps leaves each step its own, before and after its tool calls."""
    tool, _ = counted_tool()
    model = FakeModel([say("bad1. ") + call_tool("lookup"), say("bad2. ") + call_tool("lookup"), "bad3."])
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[at(hook, hide)])
    result = (await ask(agent, way)).result
    assert [step.text for step in result.steps] == ["[HIDDEN]1. ", "[HIDDEN]2. ", "[HIDDEN]3."]
    assert (result.text, result.final_text) == ("[HIDDEN]1. [HIDDEN]2. [HIDDEN]3.", "[HIDDEN]3.")
    if hook == "process_output_step":
        said = [message.text for message in model.requests[2].messages if message.role == "assistant"]
        assert said == ["[HIDDEN]1. ", "[HIDDEN]2. "]
