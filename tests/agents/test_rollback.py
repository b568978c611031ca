"""What processors hid of an earlier step stays hidden when a later attempt is sent back, stopped or answered instead."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool, list_of, text_only

from procession.agents.agent import Agent
from procession.agents.rollback import without_attempt
from procession.messages.message import Message
from procession.messages.parts import StepStartPart, TextPart, ToolCallPart
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say

IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}
HOOKS = (
    "process_input_step", "process_llm_request", "process_output_stream", "process_llm_response", "process_output_step",
    "process_tool_result",
)  # fmt: skip

both_ways = pytest.mark.parametrize("way", WAYS)
each_hook = pytest.mark.parametrize("hook", HOOKS)


def _answers(ctx: Any) -> list[Message]:
    return [message for message in ctx.message_list.view("response") if "SECRET" in message.text]


def redact_spans(ctx: Any) -> None:
    """Hide the secret as a guard does, saying where it was."""
    for message in _answers(ctx):
        parts, hidden = message.parts, {}
        for index, part in enumerate(message.parts):
            if isinstance(part, TextPart) and "SECRET" in part.text:
                start = part.text.index("SECRET")
                hidden[index] = [(start, start + 6, "[X]")]
                parts = parts.replaced(index, part.replace(text=part.text.replace("SECRET", "[X]")))
        ctx.message_list.replace(message.with_parts(parts), redacted=hidden)


def redact_all(ctx: Any) -> None:
    """Hide it in the text as a whole, which puts the attempt's text into the part of the step before it."""
    for message in _answers(ctx):
        ctx.message_list.replace(message.with_text(message.text.replace("SECRET", "[X]")), redacted=True)


def edit_undeclared(ctx: Any) -> None:
    """Change the text without a word about why."""
    for message in _answers(ctx):
        parts = [
            part.replace(text=part.text.replace("SECRET", "[X]")) if isinstance(part, TextPart) else part
            for part in message.parts
        ]
        ctx.message_list.replace(message.with_parts(parts))


def drop_texts(ctx: Any) -> None:
    """Take all texts out of the answer."""
    for message in _answers(ctx):
        rest = [part for part in message.parts if not isinstance(part, TextPart)]
        ctx.message_list.replace(message.with_parts(rest), redacted=True)


def remove_answer(ctx: Any) -> None:
    """Take the whole answer out."""
    ctx.message_list.remove([message.id for message in _answers(ctx)])


ACTS = (redact_spans, redact_all, edit_undeclared, drop_texts, remove_answer)
each_act = pytest.mark.parametrize("act", ACTS)


def in_second_step(act: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return *act*, done once in the second step."""
    done: list[bool] = []

    def once(ctx: Any) -> Any:
        if ctx.step_number == 1 and not done:
            done.append(True)
            return act(ctx)
        return None

    return text_only(once)


class Turn:
    """A first step that lets a secret out; in the second one a guard hides it, and then *decide* ends the attempt."""

    def __init__(self, hook: str, act: Callable[[Any], Any], decide: Callable[[Any], Any], **options: Any) -> None:
        tool, _ = counted_tool()
        second = say("rejected words") + call_tool("lookup")
        script = [say("the SECRET is out ") + call_tool("lookup"), second]
        if hook in ("process_input_step", "process_llm_request"):
            script = script[:1]
        self.model = FakeModel([*script, "two"])
        guards: list[Processor] = [
            at(hook, in_second_step(act), id="redactor"), at(hook, in_second_step(decide), id="judge"),
        ]  # fmt: skip
        lists: dict[str, Any] = {list_of(hook): guards}
        self.agent = Agent("parrot", model=self.model, tools=[tool], **lists, **options)


def send_back(ctx: Any) -> None:
    """Ask for another attempt."""
    ctx.abort("no", retry=True)


def stop(ctx: Any) -> None:
    """Stop the run."""
    ctx.abort("no")


def answer_instead(ctx: Any) -> None:
    """Give the answer."""
    ctx.replace_response("Something else.")


@both_ways
@each_act
@each_hook
async def test_a_retry_does_not_bring_back_what_was_hidden(hook: str, act: Callable[[Any], Any], way: str) -> None:
    """A text that a processor hid in an earlier step is in no prompt and no result after the attempt was sent back."""
    turn = Turn(hook, act, send_back, max_processor_retries=1)
    result = (await ask(turn.agent, way)).result
    assert (result.status, result.final_text) == ("completed", "two")
    assert "SECRET" not in str(list(turn.model.requests[-1].messages))
    assert "SECRET" not in result.text + str(result.messages)
    assert "rejected words" not in result.text + str(result.messages) + str(list(turn.model.requests[-1].messages))
    if act in (redact_spans, edit_undeclared):
        assert result.text == "the [X] is out two"
    assert len(result.steps) == 2


@both_ways
@each_act
@each_hook
async def test_a_stop_does_not_bring_back_what_was_hidden(hook: str, act: Callable[[Any], Any], way: str) -> None:
    """A text hidden before the run was stopped is neither in the result nor among the accepted steps that are kept."""
    memory = Memory(persist_on_tripwire="accepted_steps")
    turn = Turn(hook, act, stop, memory=memory)
    result = (await ask(turn.agent, way, **IDS)).result
    kept = await memory.recall("t", "ada")
    assert result.status == "blocked"
    assert "SECRET" not in result.text + str(kept)
    assert "rejected words" not in result.text + str(kept)
    if act in (redact_spans, edit_undeclared):
        assert (result.text, kept[-1].text) == ("the [X] is out ", "the [X] is out ")


@both_ways
@each_act
@each_hook
async def test_an_answer_instead_does_not_bring_back_what_was_hidden(
    hook: str, act: Callable[[Any], Any], way: str
) -> None:
    """What was hidden before a processor gave the answer itself stays hidden; its answer is the last step's text."""
    memory = Memory()
    turn = Turn(hook, act, answer_instead, memory=memory)
    result = (await ask(turn.agent, way, **IDS)).result
    kept = await memory.recall("t", "ada")
    assert (result.status, result.final_text) == ("completed", "Something else.")
    assert "SECRET" not in result.text + str(result.messages) + str(kept)
    assert "rejected words" not in result.text + str(result.messages) + str(kept)


@both_ways
@each_act
async def test_a_signal_after_an_error_does_not_bring_back_what_was_hidden(act: Callable[[Any], Any], way: str) -> None:
    """What was hidden after a model's error stays hidden when a signal then takes what it left out of the answer."""
    tool, _ = counted_tool()
    script: list[Any] = [say("the SECRET is out ") + call_tool("lookup"), fail("gone", status=500), "two"]
    model = FakeModel(script)

    async def again(ctx: Any) -> Any:
        await ctx.send_signal({"type": "reactive", "contents": "go on"})
        return {"retry": True}

    handlers = [
        at("process_api_error", in_second_step(act), id="redactor"), at("process_api_error", again, id="signals"),
    ]  # fmt: skip
    result = (await ask(Agent("parrot", model=model, tools=[tool], error_processors=handlers), way)).result
    assert (result.status, result.final_text) == ("completed", "two")
    assert "SECRET" not in result.text + str(result.messages) + str(list(model.requests[-1].messages))
    assert "go on" in str(list(model.requests[-1].messages))


@both_ways
async def test_a_hidden_tool_result_stays_hidden(way: str) -> None:
    """What a processor hid inside an earlier tool's result is not in the prompt of the next attempt."""

    def act(ctx: Any) -> None:
        message = ctx.message_list.view("response")[0]
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart) and part.state == "result":
                parts = message.parts.replaced(index, part.replace(result={"mail": "[X]", "ok": True}))
                ctx.message_list.replace(message.with_parts(parts), redacted=True)
                return

    tool, _ = counted_tool(answer={"mail": "SECRET", "ok": True})
    model = FakeModel([call_tool("lookup"), "one", "two"])
    guards = [
        at("process_output_step", in_second_step(act), id="redactor"),
        at("process_output_step", in_second_step(send_back), id="judge"),
    ]
    agent = Agent("parrot", model=model, tools=[tool], output_processors=guards, max_processor_retries=1)
    await ask(agent, way)
    assert "SECRET" in str(list(model.requests[1].messages))
    assert "SECRET" not in str(list(model.requests[2].messages))
    assert "'mail': '[X]', 'ok': True" in str(list(model.requests[2].messages))


@both_ways
async def test_what_was_added_to_an_earlier_step_goes_with_the_attempt(way: str) -> None:
    """Only what was hidden stays: text that a processor added in an attempt that was sent back is not there twice."""

    def act(ctx: Any) -> None:
        message = ctx.message_list.view("response")[0]
        first = message.parts[0]
        parts = message.parts.replaced(0, first.replace(text=first.text + " More."))
        ctx.message_list.replace(message.with_parts(parts))

    turn = Turn("process_output_step", act, send_back, max_processor_retries=1)
    result = (await ask(turn.agent, way)).result
    assert result.text == "the SECRET is out two"


@pytest.mark.parametrize("seed", range(60))
def test_whatever_processors_do_nothing_hidden_comes_back(seed: int) -> None:
    """For any answer and any edits of it, what is restored has no word that is not shown any more, and none of the attempt."""
    rng = random.Random(seed)

    def text(tag: str) -> TextPart:
        return TextPart("".join(f"{tag}{rng.randrange(1000)} " for _ in range(rng.randrange(1, 5))))

    old: list[Any] = []
    for step in range(rng.randrange(1, 4)):  # each text ends with a space: ``with_text`` joins them
        old += [StepStartPart()] if step else []
        old += [text("old"), ToolCallPart(f"c{step}", "t", {}, "result", text("old").text)]
    before = Message("assistant", old)
    said: list[Any] = [text("new"), ToolCallPart("c9", "t", {}, "result", text("new").text)]
    now = before.with_parts((*old, StepStartPart(), *said))
    for _ in range(rng.randrange(1, 4)):
        at_ = rng.randrange(len(now.parts))
        part = now.parts[at_]
        do = rng.randrange(4)
        if do == 0:
            now = now.with_text(" ".join(word for word in now.text.split() if rng.random() < 0.7) or "gone")
        elif do == 1 and isinstance(part, TextPart):
            words = [word if rng.random() < 0.5 else "[X]" for word in part.text.split()]
            now = now.with_parts(now.parts.replaced(at_, part.replace(text=" ".join(words))))
        elif do == 2 and isinstance(part, ToolCallPart):
            now = now.with_parts(now.parts.replaced(at_, part.replace(result="[X]")))
        elif len(now.parts) > 1:
            now = now.with_parts((*now.parts[:at_], *now.parts[at_ + 1 :]))
    kept = without_attempt(before, said, now)
    shown = _words(str(kept.parts) if kept is not None else "")
    assert shown & _words(str(before.parts)) <= _words(str(now.parts))
    assert not shown & _words(str(said))


def _words(text: str) -> set[str]:
    return {word.strip("'\",()[]") for word in text.replace("=", " ").split() if word.strip("'\",()[]")[3:].isdigit()}
