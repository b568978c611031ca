"""Options that cannot work: refused before anything runs, naming the option, what was given and what to give."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.agents.options import CallOptions
from procession.agents.output import AgentResult
from procession.errors import DefinitionError, InputError, MessageError, ProcessorError
from procession.ids import new_id
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

both_ways = pytest.mark.parametrize("way", WAYS)
IDS = {"thread": "t", "resource": "ada"}
SECRET = "sk-1234"


async def call(agent: Agent, way: str, **options: Any) -> AgentResult:
    """Call *agent* one way or the other with these options and no others."""
    result: AgentResult
    if way == "generate":
        result = await agent.generate("Hi", **options)
    else:
        async with agent.stream("Hi", **options) as stream:
            result = await stream.result()
    return result


class Odd:
    """Something that no option takes, and whose words are nobody's business."""

    def __repr__(self) -> str:
        return SECRET


NOT_GIVEN = frozenset({"context", "input_processors", "output_processors", "error_processors", "tracing_context"})
"""Options that are read, and refused, by whoever uses them; the last one may be anything."""

BAD: list[tuple[str, Any, str]] = [
    *((name, Odd(), f"{name} is Odd") for name in CallOptions.__annotations__ if name not in NOT_GIVEN),
    ("request_context", 5, "request_context is int"),
    ("request_context", [("role", "guest")], "request_context is list"),
    ("model_settings", 5, "model_settings is int"),
    ("provider_options", "fast", "provider_options is str"),
    ("tools", 5, "tools is int"),
    ("tools", SECRET, "tools is str"),
    ("tools", counted_tool()[0], "tools is Tool"),
    ("memory_options", 5, "memory_options is int"),
    ("model", 5, "model is int"),
    ("model", FakeModel, "model is type"),
    ("max_steps", 0, "max_steps=0"),
    ("max_steps", "3", "max_steps is str"),
    ("max_steps", True, "max_steps is bool"),
    ("max_steps", 2.0, "max_steps is float"),
    ("max_processor_retries", "2", "max_processor_retries is str"),
    ("max_processor_retries", -1, "max_processor_retries=-1"),
    ("thread", 1, "thread is int"),
    ("thread", "", "thread is an empty text"),
    ("resource", 2, "resource is int"),
    ("run_id", 5, "run_id is int"),
    ("instructions", 5, "instructions is int"),
    ("system", 5, "system is int"),
    ("tool_choice", "lookup", "tool_choice is str"),
    ("raise_on_tripwire", "no", "raise_on_tripwire is str"),
    ("on_chunk", 5, "on_chunk is int"),
    ("prepare_step", {"model": "x"}, "prepare_step is dict"),
    ("active_tools", "web_search_only", "active_tools is str"),
    ("active_tools", {"lookup": False}, "active_tools is dict"),
    ("active_tools", [counted_tool()[0]], "active_tools has Tool in it"),
]


@both_ways
@pytest.mark.parametrize(("name", "value", "said"), BAD)
async def test_an_option_that_cannot_work_is_refused(way: str, name: str, value: Any, said: str) -> None:
    """A call refuses a bad option with an ``InputError`` that names it and the fix, and asks no model and no store."""
    model, store = FakeModel("x"), InMemoryStore()
    agent = Agent("parrot", model=model, memory=Memory(store))
    with pytest.raises(InputError) as caught:
        await call(agent, way, **{**IDS, name: value})
    assert said in caught.value.message
    assert caught.value.hint
    assert SECRET not in str(caught.value)
    assert model.requests == []
    assert await store.messages("t") == []


BAD_AGENTS: list[tuple[str, Any, str]] = [
    ("id", 5, "id is int"),
    ("model", 5, "model is int"),
    ("model", None, "model is NoneType"),
    ("instructions", 5, "instructions is int"),
    ("tools", 5, "tools is int"),
    ("memory", 5, "memory is int"),
    ("runtime", 5, "runtime is int"),
    ("max_steps", "3", "max_steps is str"),
    ("max_processor_retries", "2", "max_processor_retries is str"),
    ("model_settings", 5, "model_settings is int"),
    ("provider_options", 5, "provider_options is int"),
    ("tool_concurrency", 0, "tool_concurrency=0"),
    ("tool_concurrency", "10", "tool_concurrency is str"),
    ("raise_on_tripwire", "yes", "raise_on_tripwire is str"),
]


@pytest.mark.parametrize(("name", "value", "said"), BAD_AGENTS)
def test_an_agent_that_cannot_work_is_refused(name: str, value: Any, said: str) -> None:
    """An agent refuses such a setting when it is made, with a ``DefinitionError`` that names it and the fix."""
    made: dict[str, Any] = {"id": "parrot", "model": FakeModel("x"), name: value}
    with pytest.raises(DefinitionError) as caught:
        Agent(**made)
    assert said in caught.value.message
    assert caught.value.hint


@both_ways
async def test_an_option_that_is_none_was_not_given(way: str) -> None:
    """``None`` leaves what the agent says, so that nobody's guards go missing by an argument passed on."""
    agent = Agent(
        "parrot", model=FakeModel("x"), input_processors=lambda context: [at("process_input", lambda ctx: ctx.abort())]
    )
    not_given: dict[str, Any] = {
        name: None for name in CallOptions.__annotations__ if name not in ("active_tools", "max_processor_retries")
    }
    assert (await call(agent, way, **not_given)).status == "blocked"


@both_ways
async def test_there_is_something_to_answer(way: str) -> None:
    """A call without any message is refused; ``context`` is one, and a thread may have some."""
    model = FakeModel("x", repeat_last=True)
    agent = Agent("parrot", model=model, instructions="Be brief.", memory=Memory())
    seen = await ask(agent, way, [])
    assert isinstance(seen.error, InputError)
    assert "no message" in seen.error.message
    assert model.requests == []
    assert (await ask(agent, way, [], context="(facts)")).result.text == "x"
    assert (await ask(agent, way, [], **IDS)).result.text == "x"


@both_ways
async def test_active_tools_that_are_none_are_told_of(way: str) -> None:
    """A name of no tool in a call's ``active_tools`` lets nothing in, and a warning says so, once."""
    tool, _ = counted_tool()
    model = FakeModel(["x", "x"])
    agent = Agent(f"parrot-{new_id()}", model=model, tools=[tool])
    with capture_logs() as logs:
        await ask(agent, way, active_tools=["lookip"])
        await ask(agent, way, active_tools=["lookip"])
    assert [request.tools for request in model.requests] == [(), ()]
    (said,) = [log["event"] for log in logs if "active_tools" in log["event"]]
    assert said == f"active_tools of a call of agent {agent.id!r} names no tool of it: lookip; there are lookup"


@both_ways
@pytest.mark.parametrize("names", [["lookup"], ("lookup",), {"lookup"}, {"lookup": 1}.keys()])
async def test_names_of_tools_come_in_any_collection(way: str, names: Any) -> None:
    """``active_tools`` may be any sequence or set of names."""
    tool, calls = counted_tool()
    agent = Agent("parrot", model=FakeModel([call_tool("lookup"), "x"]), tools=[tool])
    await ask(agent, way, active_tools=names)
    assert len(calls) == 1


@both_ways
@pytest.mark.parametrize("by", ["processor", "prepare_step"])
@pytest.mark.parametrize(
    ("names", "said"),
    [("web_search_only", "is str"), ({"search": False}, "is dict"), ([5], "has int in it"), (5, "is int")],
)
async def test_a_hook_cannot_name_tools_by_a_text(way: str, by: str, names: Any, said: str) -> None:
    """``active_tools`` of a hook is checked like a call's: no tool runs because its name is part of a text."""
    tool, calls = counted_tool("search")

    def act(ctx: Any) -> dict[str, Any]:
        return {"active_tools": names}

    options: dict[str, Any] = (
        {"prepare_step": act} if by == "prepare_step" else {"input_processors": [at("process_input_step", act)]}
    )
    model = FakeModel([say("Let me look.") + call_tool("search"), "x"])
    seen = await ask(Agent("parrot", model=model, tools=[tool]), way, **options)
    assert isinstance(seen.error, ProcessorError)
    assert isinstance(seen.error.__cause__, MessageError)
    assert (seen.error.processor_id, seen.error.hook) == (
        "guard" if by == "processor" else "prepare-step",
        "process_input_step",
    )
    assert f"active_tools {said}" in str(seen.error)
    assert "hint" in str(seen.error)
    assert (len(calls), model.requests) == (0, [])
