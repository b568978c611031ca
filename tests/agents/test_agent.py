"""The agent itself: what it refuses, how it is called, and how it stands in a workflow."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError, ModelError, ProcessorDefinitionError
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
async def test_an_answer(way: str) -> None:
    """An agent answers with text, reason, usage, steps and messages."""
    result = (await ask(Agent("parrot", model=FakeModel(say("Hel", "lo."))), way)).result
    assert (result.status, result.text, result.final_text, result.finish_reason) == (
        "completed", "Hello.", "Hello.", "stop",
    )  # fmt: skip
    assert result.usage.total_tokens == COST
    assert [(step.step_number, step.text) for step in result.steps] == [(0, "Hello.")]
    assert [(message.role, message.text) for message in result.messages] == [("assistant", "Hello.")]
    assert (result.error, result.tripwire, result.rejected, result.violations) == (None, None, (), ())
    assert result.raise_for_status() is result


def test_an_answer_without_a_loop() -> None:
    """``generate_sync`` does what ``generate`` does, from plain code."""
    assert Agent("parrot", model=FakeModel("Hello.")).generate_sync("Hi").text == "Hello."


@both_ways
async def test_text_is_that_of_all_steps(way: str) -> None:
    """``text`` joins the steps, ``final_text`` is the last one's; tool calls and results are those of all steps."""
    tool, _ = counted_tool()
    agent = Agent("parrot", model=FakeModel([say("One ") + call_tool("lookup"), "two."]), tools=[tool])
    result = (await ask(agent, way)).result
    assert (result.text, result.final_text) == ("One two.", "two.")
    assert [call.tool_name for call in result.tool_calls] == ["lookup"]
    assert [answer.tool_call_id for answer in result.tool_results] == ["call-1"]


@both_ways
@pytest.mark.parametrize(("limit", "text"), [(1, "a"), (2, "aa"), (None, "aaaaa")])
async def test_steps_are_limited(way: str, limit: int | None, text: str) -> None:
    """A run has at most ``max_steps`` steps, five where nothing is said; the last one's tools run."""
    tool, calls = counted_tool()
    model = FakeModel(say("a") + call_tool("lookup"), repeat_last=True)
    limits: dict[str, Any] = {"max_steps": limit} if limit else {}
    agent = Agent("parrot", model=model, tools=[tool], **limits)
    result = (await ask(agent, way)).result
    assert (result.text, result.finish_reason, len(calls)) == (text, "tool-calls", len(text))


def no_processor(ctx: Any) -> None:
    """Say no hook."""


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"id": ""}, "needs an id"),
    ({"max_steps": 0}, "max_steps=0"),
    ({"tools": ["lookup"]}, "is no tool"),
    ({"tools": [counted_tool()[0], counted_tool()[0]]}, "two tools are called 'lookup'"),
    ({"input_processors": [no_processor]}, r"input_processors\[0\]"),
    ({"output_processors": [at("process_input", print), object()]}, r"output_processors\[1\]"),
    ({"error_processors": "guard"}, "error_processors is str"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_work_is_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    """A definition that cannot work is refused when it is made, naming what is wrong."""
    with pytest.raises(DefinitionError, match=message):
        made: dict[str, Any] = {"id": "parrot", "model": FakeModel("x"), **arguments}
        Agent(**made)


def test_two_processors_of_one_id_are_refused() -> None:
    """Two different processors of one id in one list would share their state, so they are refused."""
    processors = [at("process_input", print), at("process_input_step", print)]
    with pytest.raises(ProcessorDefinitionError, match="'guard'"):
        Agent("parrot", model=FakeModel("x"), input_processors=processors)


@both_ways
async def test_an_unknown_option_is_refused(way: str) -> None:
    """A call refuses an option that it does not know, and names those that it does."""
    seen = await ask(Agent("parrot", model=FakeModel("x")), way, max_stepz=3)
    assert isinstance(seen.error, DefinitionError)
    assert "max_stepz" in str(seen.error)
    assert "max_steps" in (seen.error.hint or "")


@both_ways
@pytest.mark.parametrize("options", [{"thread": "t"}, {"resource": "ada"}])
async def test_a_thread_has_an_owner(way: str, options: dict[str, Any]) -> None:
    """With a memory a call names both the thread and whose it is, or neither."""
    seen = await ask(Agent("parrot", model=FakeModel("x"), memory=Memory()), way, **options)
    assert isinstance(seen.error, InputError)
    assert "both thread= and resource=" in str(seen.error)


@both_ways
async def test_an_agent_serves_many_calls(way: str) -> None:
    """Calls share nothing but the definition."""
    agent = Agent("parrot", model=FakeModel(["one", "two"]))
    first, second = await ask(agent, way, "first"), await ask(agent, way, "second")
    assert (first.result.text, second.result.text) == ("one", "two")
    assert first.result.run_id != second.result.run_id


def test_it_says_what_it_is() -> None:
    """An agent shows its id and its model."""
    assert repr(Agent("parrot", model=FakeModel("x", id="gpt"))) == "Agent('parrot', model='gpt')"


# -- in a workflow


async def test_an_agent_is_a_step() -> None:
    """In a workflow an agent takes a prompt and gives its text; what it cost is charged to the request."""
    agent = Agent("parrot", model=FakeModel("Hello."))
    workflow = create_workflow("talk", str).then(agent).map(str.upper).commit()
    run = Runtime().create_run(workflow)
    result = await run.start("Hi")
    assert result.unwrap() == "HELLO."
    assert run.scope.usage.total_tokens == COST


async def test_agents_run_in_parallel() -> None:
    """Two agents may stand in two branches, each under its id."""
    agents = [Agent("one", model=FakeModel("1")), Agent("two", model=FakeModel("2"))]
    workflow = create_workflow("talk", str).parallel(agents).commit()
    assert (await Runtime().run(workflow, "Hi")).unwrap() == {"one": "1", "two": "2"}


async def test_a_blocked_agent_blocks_the_run() -> None:
    """A tripwire of an agent in a workflow stops the workflow with the same verdict."""
    agent = Agent(
        "parrot", model=FakeModel("x"), input_processors=[at("process_input", lambda ctx: ctx.abort("no"))]
    )  # fmt: skip
    result = await Runtime().run(create_workflow("talk", str).then(agent).commit(), "Hi")
    assert result.status == "blocked"
    assert result.tripwire is not None
    assert (result.tripwire.reason, result.tripwire.processor_id) == ("no", "guard")


async def test_a_failing_agent_fails_the_run() -> None:
    """A model's error in a workflow is the workflow's."""
    agent = Agent("parrot", model=FakeModel(fail("overloaded", status=503)))
    result = await Runtime().run(create_workflow("talk", str).then(agent).commit(), "Hi")
    assert result.status == "failed"
    assert isinstance(result.error, ModelError)


async def test_violations_of_an_agent_in_a_workflow_are_the_requests() -> None:
    """What guards of an agent found is listed with the request that it belongs to."""
    agent = Agent("parrot", model=FakeModel("x"), input_processors=[at("process_input", lambda ctx: ctx.warn("odd"))])
    run = Runtime().create_run(create_workflow("talk", str).then(agent).commit())
    await run.start("Hi")
    assert [one.message for one in run.scope.violations] == ["odd"]


async def test_the_requests_values_reach_the_agents_hooks() -> None:
    """An agent in a workflow sees the values of the workflow's request."""
    seen: list[Any] = []
    look = at("process_input", lambda ctx: seen.append(ctx.request_context.get("tenant")))
    agent = Agent("parrot", model=FakeModel("x"), input_processors=[look])
    workflow = create_workflow("talk", str).then(agent).commit()
    await Runtime().run(workflow, "Hi", request_context=RequestContext({"tenant": "acme"}))
    assert seen == ["acme"]
