"""A turn in which processors left nothing that a user said does not reach the model (D8)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.messages.parts import FilePart
from procession.processors.guardrails.pii import PIIDetector
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
both_hooks = pytest.mark.parametrize("hook", ["process_input", "process_input_step"])


def remove(ctx: Any) -> None:
    """Take out what came with the call."""
    ctx.message_list.remove([message.id for message in ctx.message_list.view("input")])


def blank(ctx: Any) -> None:
    """Leave of every message but white space."""
    for message in ctx.message_list.view("input"):
        ctx.message_list.replace(message.with_text(" "))


@both_ways
@both_hooks
@pytest.mark.parametrize("act", [remove, blank])
async def test_the_model_is_not_asked_about_nothing(act: Any, hook: str, way: str) -> None:
    """Where a processor removed or emptied all that the user said, the run trips with ``nothing_left``, naming it."""
    model = FakeModel("x")
    seen = await ask(Agent("parrot", model=model, input_processors=[at(hook, act)]), way)
    assert (seen.result.status, seen.tripwire.metadata) == ("blocked", {"kind": "nothing_left"})
    assert (seen.tripwire.processor_id, seen.chunks.types[-1]) == ("guard", "tripwire")
    assert model.requests == []


@both_ways
async def test_a_later_step_is_looked_at_too(way: str) -> None:
    """Before each model call it is asked anew whether there is something to answer; accepted steps stay."""
    model = FakeModel([call_tool("lookup"), "x"])
    tool, _ = counted_tool()
    guard = at("process_input_step", lambda ctx: remove(ctx) if ctx.step_number else None)
    seen = await ask(Agent("parrot", model=model, tools=[tool], input_processors=[guard]), way)
    assert seen.tripwire.metadata == {"kind": "nothing_left"}
    assert (len(model.requests), len(seen.result.steps)) == (1, 1)


@both_ways
async def test_a_redaction_that_leaves_no_word(way: str) -> None:
    """A guard that takes out everything the user said stops the turn, and is named."""
    model = FakeModel("x")
    guards = [PIIDetector(redaction="remove"), at("process_input", lambda ctx: None, id="other")]
    seen = await ask(Agent("parrot", model=model, input_processors=guards), way, "eva@example.net")
    assert seen.tripwire.metadata == {"kind": "nothing_left"}
    assert seen.tripwire.processor_id == "pii-detector"
    assert model.requests == []


@both_ways
@both_hooks
async def test_what_is_left_is_answered(hook: str, way: str) -> None:
    """One message, or one file, that is left is enough; so is one that a processor put there in its place."""

    def drop_first(ctx: Any) -> None:
        ctx.message_list.remove([ctx.message_list.view("input")[0].id])

    def put_another(ctx: Any) -> None:
        drop_first(ctx)
        ctx.message_list.add("Instead.")

    def only_the_file(ctx: Any) -> None:
        ctx.message_list.replace(ctx.message_list.view("input")[0].with_text(""))

    picture = Message("user", [*Message.user("See:").parts, FilePart("https://example.net/a.png", "image/png")])
    for act, messages in (
        (drop_first, [Message.user("one"), Message.user("two")]), (put_another, "one"), (only_the_file, [picture]),
    ):  # fmt: skip
        model = FakeModel("x")
        seen = await ask(Agent("parrot", model=model, input_processors=[at(hook, act)]), way, messages)
        assert (seen.result.status, len(model.requests)) == ("completed", 1)


@both_ways
@both_hooks
async def test_a_turn_that_began_without_words_goes_on(hook: str, way: str) -> None:
    """What the caller himself left empty is the caller's choice: no processor took anything away."""

    def note(ctx: Any) -> None:
        ctx.message_list.replace(ctx.message_list.view("input")[0].with_metadata(seen=True))

    model = FakeModel("x")
    seen = await ask(Agent("parrot", model=model, input_processors=[at(hook, note)]), way, [Message.user("")])
    assert (seen.result.status, len(model.requests)) == ("completed", 1)


@both_ways
@both_hooks
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "nested"])
async def test_the_processor_that_left_nothing_is_named(inside: bool, hook: str, way: str) -> None:
    """Among several plain processors the one is named after which nothing was left; later changes are not its own."""

    def add(ctx: Any) -> None:
        ctx.message_list.add_system("more")
        ctx.message_list.add([Message("assistant", "Well?")], "input")

    processors = [at(hook, add, id="first"), at(hook, remove, id="culprit"), at(hook, add, id="last")]
    listed = [create_workflow("checks", kind="processor").parallel(processors).commit()] if inside else processors
    seen = await ask(Agent("parrot", model=FakeModel("x"), input_processors=listed), way)
    assert (seen.tripwire.metadata, seen.tripwire.processor_id) == ({"kind": "nothing_left"}, "culprit")


@both_ways
async def test_what_was_said_again_is_nobodys_loss(way: str) -> None:
    """A processor whose loss another one made good is not named for what a third one took."""

    def say_again(ctx: Any) -> None:
        ctx.message_list.add([Message.user("Hi again")], "input")

    steps = [
        at("process_input_step", remove, id="a"),
        at("process_input_step", say_again, id="b"),
        at("process_input_step", remove, id="c"),
    ]
    seen = await ask(Agent("parrot", model=FakeModel("x"), input_processors=steps), way)
    assert seen.tripwire.processor_id == "c"
