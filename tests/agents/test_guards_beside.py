"""Guards beside the model call: which they are, what they see, and what else may end a run meanwhile."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.agents.guards_kit import GUARD_DOES, RacedModel, RacingGuard, raced
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.agents.suspending import doing, go_on

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.messages.chunks import TextDelta
from procession.models.model import ModelRequest
from procession.processors.contexts import InputContext
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

pytestmark = pytest.mark.anyio
NOBODY = ModelRequest(messages=())


def types(chunks: Any) -> list[str]:
    """Return the types of chunks."""
    return [chunk.type for chunk in chunks]


def test_the_agent_says_which_guard_runs_where() -> None:
    """Mutating guards run before, checking ones beside; the agent, its picture and its words say which."""
    agent = Agent(
        "bot",
        model=FakeModel("Hi"),
        input_processors=[
            RegexFilter(id="mask", strategy="redact", presets=["pii"]),
            RegexFilter(id="stop", strategy="block", presets=["secrets"]),
            RegexFilter(id="watch", strategy="warn", presets=["urls"]),
            at("process_input", lambda ctx: None, id="unknown"),
            at("process_input_step", lambda ctx: None, id="step"),
        ],
        guard_mode="concurrent",
    )
    assert agent.guards_before == ("processor:mask", "processor:unknown")
    assert agent.guards_beside == ("processor:stop", "processor:watch")
    assert "processor:stop" in repr(agent)
    drawn = agent.workflow.draw("json")
    assert "bot-guards-beside" in drawn or "processor:watch" in drawn
    assert Agent("bot", model=FakeModel("Hi")).guards_beside == ()


@pytest.mark.parametrize("way", WAYS)
async def test_guards_beside_see_what_the_others_left(way: str) -> None:
    """A guard beside the model looks at the messages as all that may change them left them, also those behind it."""
    texts: list[str] = []

    def shout(ctx: InputContext) -> None:
        ctx.messages[-1].text = ctx.messages[-1].text.upper()

    look = at("process_input", lambda ctx: texts.append(ctx.view[-1].text), id="look", check_only=True)
    agent = Agent("bot", model=FakeModel("ok"), input_processors=[look, at("process_input", shout, id="shout")])
    assert (await ask(agent, way, "hi", guard_mode="concurrent")).result.text == "ok"
    assert texts == ["HI"]


@pytest.mark.parametrize("mode", ["before", "concurrent"])
@pytest.mark.parametrize("way", WAYS)
async def test_what_only_checks_and_changes_messages_fails(way: str, mode: str) -> None:
    """A processor that says it only checks and changes messages fails by name, in either mode."""

    def lie(ctx: InputContext) -> None:
        ctx.messages[-1].text = "changed"

    agent = Agent("bot", model=FakeModel("ok"), input_processors=[at("process_input", lie, id="liar", check_only=True)])
    seen = await ask(agent, way, guard_mode=mode)
    assert isinstance(seen.error, ProcessorError)
    assert "'liar' says check_only and changed messages in process_input" in str(seen.error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_does", ["answers first", "still streaming"])
async def test_a_guard_beside_may_give_the_answer(model_does: str, way: str) -> None:
    """``replace_response`` beside the model takes the place of its answer; nothing of that gets out."""
    agent, model, _ = raced("replaces", model_does)
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert seen.result.text == "instead"
    assert types(seen.chunks) == [
        "start", "step-start", "text-start", "text-delta", "text-end", "step-finish", "finish",
    ]  # fmt: skip
    assert [chunk.text for chunk in seen.chunks if isinstance(chunk, TextDelta)] == ["instead"]
    assert model.cancelled is (model_does == "still streaming")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("hook", ["process_input", "process_input_step", "process_llm_request"])
@pytest.mark.parametrize("guard_does", ["passes", "blocks"])
async def test_an_answer_of_another_processor_waits_for_the_guards(guard_does: str, hook: str, way: str) -> None:
    """Where a processor gives the answer before the model is asked, the guards decide on it first."""
    guard = RacingGuard(guard_does, anyio.lowlevel.checkpoint)
    instead = at(hook, lambda ctx: ctx.replace_response("mine"), id="instead")
    model = FakeModel("never")
    agent = Agent("bot", model=model, input_processors=[guard, instead], guard_mode="concurrent")
    seen = await ask(agent, way)
    assert guard.calls == 1 and not model.requests
    if guard_does == "blocks":
        assert types(seen.chunks) == ["tripwire"] and seen.result.text == ""
    else:
        assert seen.result.text == "mine" and types(seen.chunks)[-1] == "finish"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("guard_does", ["passes", "blocks"])
async def test_a_cached_answer_waits_for_the_guards(guard_does: str, way: str) -> None:
    """A response that a processor gives in place of the call is held like the model's."""
    cached = {"response": {"chunks": [chunk async for chunk in FakeModel("cached").stream(NOBODY)]}}
    guard = RacingGuard(guard_does, anyio.lowlevel.checkpoint)
    cache = at("process_llm_request", lambda ctx: cached, id="cache")
    agent = Agent("bot", model=FakeModel("never"), input_processors=[guard, cache], guard_mode="concurrent")
    seen = await ask(agent, way)
    if guard_does == "blocks":
        assert types(seen.chunks) == ["tripwire"]
    else:
        assert seen.result.text == "cached"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("retry", [False, True])
@pytest.mark.parametrize("guard_does", GUARD_DOES)
async def test_a_verdict_on_the_stream_comes_second(guard_does: str, retry: bool, way: str) -> None:
    """A block of a guard decides before one of the stream; a stop in the stream before a guard's failure."""
    tripped = anyio.Event()

    def trip(ctx: Any) -> Any:
        if ctx.chunk.type == "text-delta" and not tripped.is_set():
            tripped.set()
            ctx.abort("bad answer", retry=retry)
        return ctx.chunk

    model = FakeModel([say("one"), say("two")])
    guard = RacingGuard(guard_does, tripped.wait)
    guard.when = lambda: _after(tripped)
    agent = Agent(
        "bot",
        model=model,
        input_processors=[guard],
        output_processors=[at("process_output_stream", trip, id="stream")],
        guard_mode="concurrent",
        max_processor_retries=1,
    )
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert guard.calls == 1
    if guard_does == "blocks":
        assert seen.tripwire.processor_id == "guard" and types(seen.chunks) == ["tripwire"]
    elif guard_does == "fails" and retry:
        assert isinstance(seen.error, ProcessorError) and types(seen.chunks) == ["error"]
    elif guard_does == "fails":
        assert seen.tripwire.processor_id == "stream" and types(seen.chunks) == ["tripwire"]
    elif retry:
        assert seen.result.text == "two" and len(seen.result.rejected) == 1
    else:
        assert seen.tripwire.processor_id == "stream"


async def _after(event: anyio.Event) -> None:
    await event.wait()
    await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize("way", WAYS)
async def test_a_wish_to_try_again_is_a_stop(way: str) -> None:
    """``retry=True`` of an input guard beside the model is a stop, as it is before it (D14)."""
    again = at("process_input", lambda ctx: ctx.abort("no", retry=True), id="again", check_only=True)
    model = FakeModel(["one", "two"])
    agent = Agent("bot", model=model, input_processors=[again], guard_mode="concurrent", max_processor_retries=3)
    seen = await ask(agent, way)
    assert seen.tripwire.processor_id == "again" and types(seen.chunks) == ["tripwire"]


@pytest.mark.parametrize("way", WAYS)
async def test_warnings_are_told_and_change_nothing(way: str) -> None:
    """What a guard beside only warns of is among the violations, and ``on_violation`` hears of it."""
    told: list[Any] = []
    guard = RegexFilter(id="watch", strategy="warn", presets=["urls"], on_violation=told.append)
    agent = Agent("bot", model=FakeModel("ok"), input_processors=[guard], guard_mode="concurrent")
    seen = await ask(agent, way, "see https://example.net/x")
    assert seen.result.text == "ok"
    assert [one.outcome for one in seen.result.violations] == ["warned"] and len(told) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_guard_that_blocks_in_a_nested_workflow(way: str) -> None:
    """A workflow all of whose processors only check runs beside the model as a whole; one that does not runs before."""
    from procession.workflows.workflow import create_workflow

    def entry(id: str, other_checks: bool) -> Any:
        stop = RegexFilter(id=f"{id}-stop", strategy="block", presets=["secrets"])
        other = at("process_input", lambda ctx: None, id=f"{id}-other", check_only=other_checks)
        return (
            create_workflow(id)
            .parallel([stop.as_step(), other.as_step()])
            .map(lambda outputs: outputs[f"processor:{id}-stop"])
            .commit()
        )

    agent = Agent(
        "bot", model=FakeModel("ok"), input_processors=[entry("a", True), entry("b", False)], guard_mode="concurrent"
    )
    assert (agent.guards_before, agent.guards_beside) == (("b",), ("a",))
    assert (await ask(agent, way, "hello")).result.text == "ok"


@pytest.mark.parametrize("way", WAYS)
async def test_data_that_a_guard_writes_comes_once_it_has_passed(way: str) -> None:
    """What guards beside write goes through the stream's processors after the answer, and not at all where one blocks."""

    async def write(ctx: InputContext) -> None:
        await ctx.writer.custom({"type": "data-note", "data": 1})
        if ctx.view[-1].text == "bad":
            ctx.abort("no")

    agent = Agent(
        "bot",
        model=FakeModel(["ok", "ok"]),
        input_processors=[at("process_input", write, id="writer", check_only=True)],
        guard_mode="concurrent",
    )
    seen = await ask(agent, way, "good")
    assert types(seen.chunks).count("data-note") == 1
    assert types((await ask(agent, way, "bad")).chunks) == ["tripwire"]


async def test_cancelling_the_run_cancels_guards_and_model() -> None:
    """A run that is given up leaves neither guard nor model behind."""
    model = RacedModel("still streaming")
    guard = RacingGuard("passes", anyio.Event().wait)
    agent = Agent("bot", model=model, input_processors=[guard], guard_mode="concurrent")
    async with agent.stream("Hi"):
        await model.spoke.wait()
    assert model.cancelled and guard.cancelled


@pytest.mark.parametrize("way", WAYS)
async def test_without_a_checking_guard_it_is_the_ordinary_loop(way: str) -> None:
    """Where nothing only checks, the loop is the one of the other mode, node for node."""
    tool, calls = counted_tool("lookup")
    model = FakeModel([call_tool("lookup"), say("done")])
    listed = [at("process_input", lambda ctx: None, id="unknown")]
    agent = Agent("bot", model=model, tools=[tool], input_processors=listed, guard_mode="concurrent")
    other = Agent("bot", model=model, tools=[tool], input_processors=listed)
    assert agent.workflow.draw() == other.workflow.draw()
    assert (await ask(agent, way)).result.text == "done" and len(calls) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_call_may_choose_the_mode(way: str) -> None:
    """``guard_mode`` of a call goes before the agent's, in both directions."""
    model = RacedModel("still streaming")
    guard = RacingGuard("passes", model.spoke.wait, then=model.goes_on.set)
    agent = Agent("bot", model=model, input_processors=[guard])
    with anyio.fail_after(10):
        assert (await ask(agent, way, guard_mode="concurrent")).result.text == "one two"
    quick = RacingGuard("blocks", anyio.lowlevel.checkpoint)
    untouched = FakeModel("never")
    agent = Agent("bot", model=untouched, input_processors=[quick], guard_mode="concurrent")
    assert (await ask(agent, way, guard_mode="before")).tripwire.processor_id == "guard"
    assert not untouched.requests


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_is_closed_while_the_stream_is_being_looked_at(way: str) -> None:
    """A guard blocks while a processor of the stream is thinking: both end, and the model's stream is closed."""
    model = RacedModel()
    thinking = anyio.Event()

    async def think(ctx: Any) -> Any:
        thinking.set()
        await anyio.sleep_forever()

    agent = Agent(
        "bot",
        model=model,
        input_processors=[RacingGuard("blocks", thinking.wait)],
        output_processors=[at("process_output_stream", think, id="thinker")],
        guard_mode="concurrent",
    )
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert types(seen.chunks) == ["tripwire"] and model.over.is_set()


@pytest.mark.parametrize("way", WAYS)
async def test_a_guard_that_hangs_meets_its_timeout(way: str) -> None:
    """A guard beside the model that gives no verdict in time trips with ``guard_timeout`` (D17)."""
    hanging = RacingGuard("passes", anyio.sleep_forever)
    hanging.timeout, hanging.fails_closed = 0.01, True
    agent = Agent("bot", model=FakeModel("ok"), input_processors=[hanging], guard_mode="concurrent")
    seen = await ask(agent, way)
    assert types(seen.chunks) == ["tripwire"]
    assert seen.tripwire.metadata == {"kind": "guard_timeout"}


@pytest.mark.parametrize("way", WAYS)
async def test_a_resumed_run_runs_no_guard_again(way: str) -> None:
    """Guards beside the first model call have passed once a tool may suspend: resumed, the run asks none again."""

    def act(args: Any, ctx: Any) -> Any:
        return ctx.suspend({"question": "Go on?"})

    guard = RacingGuard("passes", anyio.lowlevel.checkpoint)
    agent = Agent(
        "bot",
        model=FakeModel([call_tool("act", id="c1"), say("done")]),
        tools=[doing("act", [], act)],
        input_processors=[guard],
        guard_mode="concurrent",
    )
    asked = await ask(agent, way)
    assert asked.result.status == "suspended" and guard.calls == 1
    resumed = await go_on(agent, way, asked.result.run_id, {"c1": "yes"})
    assert resumed.result.final_text == "done" and guard.calls == 1
