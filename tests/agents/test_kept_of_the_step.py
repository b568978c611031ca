"""What a suspended run keeps of the step it waits in: what processors made of it, and what they found."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.structured_kit import JSON, Codenames, Person
from tests.agents.suspending import asking, doing, go_on, told

from procession.agents.agent import Agent
from procession.errors import InputError
from procession.messages.chunks import ToolCallApproval, ToolCallSuspended
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
ACT = call_tool("act", {"x": 1}, id="c1")
SECRET = "ada@example.com"


async def journal_of(agent: Agent, run_id: str) -> str:
    """Return what the journal holds of a run."""
    row = await agent.runtime.store.row(run_id)
    assert row is not None and row.data is not None
    return row.data


# -- what process_input_step and prepare_step made of the step


@both_ways
async def test_settings_of_the_step_are_made_anew(way: str) -> None:
    """``process_input_step`` and ``prepare_step`` are asked again for the step after the suspended one, as ever."""

    def cold(ctx: Any) -> Any:
        return {"model_settings": {"temperature": ctx.step_number}, "active_tools": ["act"]}

    def last(ctx: Any) -> Any:
        return {"tool_choice": "none"} if ctx.step_number else None

    model = FakeModel([ACT, "Done."])
    tools = [doing("act", [], asking("?")), doing("other", [])]
    agent = Agent("clerk", model=model, tools=tools, input_processors=[at("process_input_step", cold)])
    first = (await ask(agent, way, prepare_step=last)).result
    seen = await go_on(agent, way, first.run_id, {"c1": 1}, prepare_step=last)
    assert seen.result.status == "completed"
    assert [request.settings for request in model.requests] == [{"temperature": 0}, {"temperature": 1}]
    assert [len(request.tools) for request in model.requests] == [1, 0]


@both_ways
async def test_a_tool_of_the_step_alone_is_given_again(way: str) -> None:
    """The agent's own tool of that name does not run in place of the one that was asked about."""
    acted: list[Any] = []
    dry = doing("act", [], lambda args, ctx: f"dry {ctx.suspend('?')}")
    real = doing("act", acted, lambda args, ctx: "really done")

    def dry_run(ctx: Any) -> Any:
        return {"tools": {"act": dry}} if ctx.step_number == 0 else None

    model = FakeModel([ACT, "Done."])
    agent = Agent("clerk", model=model, tools=[real], input_processors=[at("process_input_step", dry_run)])
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": "yes"})
    assert isinstance(seen.error, InputError)
    assert "'act'" in str(seen.error) and "tools=" in str(seen.error)
    assert acted == []
    seen = await go_on(agent, way, first.run_id, {"c1": "yes"}, tools=[dry])
    assert (seen.result.status, told(model.requests[1]), acted) == ("completed", ["dry yes"], [])


@both_ways
async def test_a_tool_of_the_step_alone_may_be_declined(way: str) -> None:
    """A no runs nothing, and needs no tool."""
    real = doing("act", [], lambda args, ctx: "really done")

    def ask_first(ctx: Any) -> Any:
        return {"tools": {"act": real.replace(requires_approval=True)}}

    agent = Agent(
        "clerk", model=FakeModel([ACT, "Done."]), tools=[real], input_processors=[at("process_input_step", ask_first)]
    )
    first = (await ask(agent, way)).result
    assert (await go_on(agent, way, first.run_id, {"c1": {"approved": False}})).result.status == "completed"


@both_ways
async def test_a_step_sent_back_after_a_resume_stays_with_its_model(way: str) -> None:
    """Where the step had come to another model, an attempt after the resume asks that one, too."""
    down, spare = FakeModel([fail("overloaded", status=503), "Never."]), FakeModel([ACT, "Done."])

    def judge(ctx: Any) -> None:
        if not ctx.retry_count or ctx.tool_name == "act":
            ctx.abort("not so", retry=True)

    agent = Agent(
        "clerk",
        model=[down, spare],
        tools=[doing("act", [], asking("?"))],
        output_processors=[at("process_tool_result", judge)],
        max_processor_retries=1,
    )
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": 1})
    assert (seen.result.text, len(down.requests), len(spare.requests)) == ("Done.", 1, 2)


@both_ways
@pytest.mark.parametrize(
    ("asked", "value", "warned"),
    [(None, None, False), (Person, Person(name="Bob", city="Paris"), False), (dict, None, True)],
)
async def test_structured_output_of_the_step(way: str, asked: Any, value: Any, warned: bool) -> None:
    """Where the run ends with the suspended step, its value is what that step was asked for, and none is made up."""
    own = Person if asked is not dict else None
    override = at("process_input_step", lambda ctx: {"structured_output": asked})
    processors = [] if asked is Person else [override]
    agent = Agent(
        "clerk",
        model=FakeModel([say(JSON) + ACT]),
        tools=[doing("act", [], asking("?"))],
        input_processors=processors,
        structured_output=own,
        max_steps=1,
    )
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": 1})
    assert (seen.result.status, seen.result.object) == ("completed", value)
    assert [("not kept" in str(warning)) for warning in seen.result.warnings] == ([True] if warned else [])


@both_ways
@pytest.mark.parametrize("hook", ["process_output_step", "process_llm_response"])
async def test_an_abort_after_a_resume_keeps_what_was_accepted(way: str, hook: str) -> None:
    """What processors had let pass before the suspension has not to be looked at again: the text stays."""
    signal = AbortSignal()

    async def act(args: Any, ctx: ToolContext) -> None:
        ctx.suspend("?")
        signal.abort("enough")
        await anyio.sleep_forever()

    agent = Agent(
        "clerk",
        model=FakeModel([say("Let me see. ") + ACT]),
        tools=[doing("act", [], act)],
        output_processors=[at(hook, lambda ctx: None)],
    )
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": 1}, abort_signal=signal)
    assert (seen.result.status, seen.result.text) == ("aborted", "Let me see. ")
    assert [step.finish_reason for step in seen.result.steps] == ["aborted"]
    assert [chunk.type for chunk in seen.chunks][-2:] == ["abort", "finish"]


# -- what guards found and hid


@both_ways
async def test_what_guards_found_before_is_reported_after(way: str) -> None:
    """Violations of before a suspension are in the result of after it, each once, with those of after."""
    model = FakeModel([say("Heron flies. ") + ACT, "Heron lands."])
    guard = Codenames(strategy="warn")
    agent = Agent("clerk", model=model, tools=[doing("act", [], asking("?"))], output_processors=[guard])
    first = (await ask(agent, way)).result
    assert [one.outcome for one in first.violations] == ["warned"]
    seen = await go_on(agent, way, first.run_id, {"c1": 1})
    assert [(one.processor_id, one.outcome, one.hook, one.step_number) for one in seen.result.violations] == [
        ("codenames", "warned", "process_output_stream", 0),
        ("codenames", "warned", "process_output_stream", 1),
    ]


@both_ways
async def test_what_was_hidden_before_stays_hidden(way: str) -> None:
    """Input, streamed text and results that guards hid are in clear neither in the journal nor after the resume."""
    guard = Codenames(strategy="redact")
    model = FakeModel([say("He", "ron flies. ") + call_tool("look", {}, id="c0") + ACT, "Done."])
    tools = [doing("look", [], lambda args, ctx: "seen Heron"), doing("act", [], asking("Now?"))]
    agent = Agent("clerk", model=model, tools=tools, input_processors=[guard], output_processors=[guard])
    first = (await ask(agent, way, "Watch Heron")).result
    held = await journal_of(agent, first.run_id)
    assert "Heron" not in held and "[CODENAME]" in held
    seen = await go_on(agent, way, first.run_id, {"c1": "Heron it is"})
    everything = repr((model.requests[1].messages, seen.chunks, seen.result.messages, seen.result.steps))
    assert "Heron" not in everything
    assert seen.result.text == "[CODENAME] flies. Done."
    assert {one.outcome for one in seen.result.violations} == {"modified"}
    assert len(seen.result.violations) == 4


@both_ways
async def test_what_was_rejected_is_not_written_down(way: str) -> None:
    """The words of an attempt that was sent back are not in the journal; that there was one is."""

    def judge(ctx: Any) -> None:
        if SECRET in ctx.text:
            ctx.abort("private", retry=True)

    agent = Agent(
        "clerk",
        model=FakeModel([say(f"Write to {SECRET}."), ACT, "Done."]),
        tools=[doing("act", [], asking("?"))],
        output_processors=[at("process_output_step", judge)],
        max_processor_retries=1,
    )
    first = (await ask(agent, way)).result
    assert [step.text for step in first.rejected] == [f"Write to {SECRET}."]
    assert SECRET not in await journal_of(agent, first.run_id)
    seen = await go_on(agent, way, first.run_id, {"c1": 1})
    [rejected] = seen.result.rejected
    assert (rejected.text, rejected.finish_reason, rejected.tripwire and rejected.tripwire.reason) == (
        "", "retry", "private",
    )  # fmt: skip


@both_ways
async def test_arguments_that_guards_hid(way: str) -> None:
    """What a call is approved for is what the guard left of it: so it stands in the question, the journal and the tool."""
    acted: list[Any] = []
    guard = Codenames(strategy="redact", scan_tool_args=True)
    agent = Agent(
        "clerk",
        model=FakeModel([call_tool("act", {"who": "Heron"}, id="c1"), "Done."]),
        tools=[doing("act", acted, requires_approval=True)],
        output_processors=[guard],
    )
    seen = await ask(agent, way)
    assert seen.result.suspended[0].args == {"who": "[CODENAME]"}
    assert [chunk.args for chunk in seen.chunks.of(ToolCallApproval)] == [{"who": "[CODENAME]"}]
    assert "Heron" not in await journal_of(agent, seen.result.run_id)
    await go_on(agent, way, seen.result.run_id, {"c1": {"approved": True}})
    assert acted == [("act", {"who": "[CODENAME]"})]


@both_ways
async def test_what_a_tool_asks_is_guarded_like_its_results(way: str) -> None:
    """What text guards hide in results they hide in questions: neither the reader nor the journal has it in clear."""
    guard = Codenames(strategy="redact")
    payload = {"about": ["Heron", {"run_id": "Heron"}], "price": 5}
    agent = Agent(
        "clerk",
        model=FakeModel([ACT, "Done."]),
        tools=[doing("act", [], asking(payload))],
        output_processors=[guard],
    )
    seen = await ask(agent, way)
    (call,) = seen.result.suspended
    assert call.payload == {"about": ["[CODENAME]", {"run_id": "[CODENAME]"}], "price": 5}
    assert "[CODENAME]" in repr(seen.chunks.of(ToolCallSuspended)[0].suspend_payload)
    assert [one.outcome for one in seen.result.violations] == ["modified", "modified"]
    assert "about Heron" not in await journal_of(agent, seen.result.run_id)
    assert (await go_on(agent, way, seen.result.run_id, {"c1": 1})).result.status == "completed"


@both_ways
async def test_a_question_may_be_blocked(way: str) -> None:
    """A guard that blocks stops the run for what a tool asks: nobody is asked, and nothing is kept."""
    agent = Agent(
        "clerk",
        model=FakeModel([ACT, "Done."]),
        tools=[doing("act", [], asking("Send Heron?"))],
        output_processors=[Codenames(strategy="block")],
    )
    seen = await ask(agent, way)
    assert (seen.result.status, seen.tripwire.processor_id) == ("blocked", "codenames")
    assert not seen.chunks.of(ToolCallSuspended)
    assert await agent.runtime.store.row(seen.result.run_id) is None


async def test_options_that_look_like_credentials_are_not_written_down() -> None:
    """A key in the options of a call is not kept in a file: the option is given again."""
    agent = Agent("clerk", model=FakeModel([ACT, "Done."]), tools=[doing("act", [], asking("?"))])
    options: dict[str, Any] = {"provider_options": {"openai": {"api_key": "sk-1"}, "max_tokens": 5}}
    first = await agent.generate("Hi", model_settings={"max_tokens": 5}, **options)
    held = await journal_of(agent, first.run_id)
    assert "sk-1" not in held
    assert json.loads(held)["options"] == {"model_settings": {"max_tokens": 5}}
    with pytest.raises(InputError, match="begun with provider_options="):
        await agent.resume(first.run_id, {"c1": 1})
    assert (await agent.resume(first.run_id, {"c1": 1}, **options)).status == "completed"


async def test_nothing_of_a_run_that_has_ended_is_in_the_file(tmp_path: Any) -> None:
    """Once the run is over the file holds none of its words, those that were noted while it went on included."""
    file = tmp_path / "runs.db"
    async with SQLiteJournal(file) as journal:
        agent = Agent(
            "clerk",
            model=FakeModel([say("Peculiar words. ") + ACT, "Done."]),
            tools=[doing("act", [], lambda args, ctx: f"odd {ctx.suspend('?')}")],
            runtime=Runtime(journal),
        )
        first = await agent.generate("Hi")
        assert "Peculiar" in await journal_of(agent, first.run_id)
        assert (await agent.resume(first.run_id, {"c1": "answer"})).status == "completed"
    assert b"Peculiar" not in file.read_bytes()


@both_ways
async def test_what_a_sub_agent_found_before_is_reported_once(way: str) -> None:
    """A finding inside a sub-agent that was suspended is told to the outer run once, not again at the resume."""
    guard = Codenames(strategy="warn")
    inner = FakeModel([say("Heron flies. ") + call_tool("act", {}, id="p1"), "Heron lands."])
    child = Agent("child", model=inner, tools=[doing("act", [], asking("?"))], output_processors=[guard])
    agent = Agent(
        "parent", model=FakeModel([call_tool("agent-child", {"prompt": "x"}, id="c1"), "Done."]), tools=[child]
    )
    first = (await ask(agent, way)).result
    assert len(first.violations) == 1
    seen = await go_on(agent, way, first.run_id, {"c1": {"p1": 1}})
    assert [(one.processor_id, one.step_number) for one in seen.result.violations] == [
        ("codenames", 0),
        ("codenames", 1),
    ]


# -- values that cannot be written


@both_ways
async def test_nobody_is_asked_where_the_run_cannot_be_kept(way: str) -> None:
    """A value that cannot be written ends the run before the reader is shown a question that nobody could answer."""

    def mark(ctx: Any) -> Any:
        return [message.with_metadata(thing=object()) for message in ctx.view]

    agent = Agent(
        "clerk",
        model=FakeModel([Reply([]) + ACT]),
        tools=[doing("act", [], requires_approval=True)],
        input_processors=[at("process_input", mark)],
    )
    seen = await ask(agent, way)
    assert "'thing'" in str(seen.error)
    assert not seen.chunks.of(ToolCallApproval)
    assert [chunk.type for chunk in seen.chunks][-1] == "error"
