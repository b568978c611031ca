"""What a single call may say differently from the agent."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say

both_ways = pytest.mark.parametrize("way", WAYS)
IDS = {"thread": "t", "resource": "ada"}


def system_of(request: ModelRequest) -> list[str]:
    """Return the system messages of a request."""
    return [message.text for message in request.messages if message.role == "system"]


def noting(calls: list[str], id: str, hook: str = "process_input") -> Any:
    """Return a processor that notes its id."""
    return at(hook, lambda ctx: calls.append(id), id=id)


@both_ways
async def test_another_model(way: str) -> None:
    """A call may name another model."""
    agent = Agent("parrot", model=FakeModel("own"))
    assert (await ask(agent, way, model=FakeModel("other"))).result.text == "other"


@both_ways
async def test_instructions_and_system_messages(way: str) -> None:
    """``instructions`` takes the place of the agent's, ``system`` adds to them."""
    model = FakeModel("x", repeat_last=True)
    agent = Agent("parrot", model=model, instructions="Be brief.")
    await ask(agent, way)
    await ask(agent, way, instructions="Be kind.")
    await ask(agent, way, system="Today is Monday.")
    await ask(agent, way, instructions="")
    assert [system_of(request) for request in model.requests] == [
        ["Be brief."], ["Be kind."], ["Be brief.", "Today is Monday."], [],
    ]  # fmt: skip


@both_ways
async def test_context_is_seen_and_not_kept(way: str) -> None:
    """``context`` messages reach the model and are neither input nor stored."""
    store = InMemoryStore()
    model = FakeModel("x")
    agent = Agent("parrot", model=model, memory=Memory(store))
    await ask(agent, way, context=[{"role": "user", "content": "(facts)"}], **IDS)
    assert [message.text for message in model.requests[0].messages] == ["(facts)", "Hi"]
    assert [message.text for message in await store.messages("t")] == ["Hi", "x"]


@both_ways
async def test_settings_are_merged_key_by_key(way: str) -> None:
    """Settings of a call go over the agent's; ``None`` takes a key out."""
    model = FakeModel("x")
    agent = Agent(
        "parrot", model=model, model_settings={"temperature": 0, "top_p": 1, "seed": 7},
        provider_options={"openai": {"store": True}},
    )  # fmt: skip
    await ask(
        agent, way, model_settings={"temperature": 1, "seed": None}, provider_options={"custom": {"a": 1}}
    )  # fmt: skip
    request = model.requests[0]
    assert request.settings == {"temperature": 1, "top_p": 1}
    assert request.provider_options == {"openai": {"store": True}, "custom": {"a": 1}}


@both_ways
async def test_further_tools(way: str) -> None:
    """A call adds tools; one of the same name takes the agent's place."""
    own, own_calls = counted_tool("lookup")
    theirs, their_calls = counted_tool("lookup")
    more, more_calls = counted_tool("more")
    model = FakeModel([call_tool("lookup") + call_tool("more"), "done"])
    await ask(Agent("parrot", model=model, tools=[own]), way, tools=[theirs, more])
    assert (len(own_calls), len(their_calls), len(more_calls)) == (0, 1, 1)


@both_ways
async def test_which_tools_are_sent(way: str) -> None:
    """``active_tools`` says which tools are sent, ``tool_choice`` none sends none."""
    tools = [counted_tool(name)[0] for name in ("a", "b")]
    model = FakeModel("x", repeat_last=True)
    agent = Agent("parrot", model=model, tools=tools)
    await ask(agent, way)
    await ask(agent, way, active_tools=["b"])
    await ask(agent, way, tool_choice="none")
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["a", "b"], ["b"], []]
    assert model.requests[2].tool_choice == "none"


@both_ways
async def test_max_steps(way: str) -> None:
    """A call may have more or fewer steps than the agent."""
    tool, _ = counted_tool()
    agent = Agent("parrot", model=FakeModel(call_tool("lookup"), repeat_last=True), tools=[tool], max_steps=2)
    assert len((await ask(agent, way)).result.steps) == 2
    assert len((await ask(agent, way, max_steps=3)).result.steps) == 3


@both_ways
@pytest.mark.parametrize("given", [True, False])
async def test_lists_of_a_call_replace_the_agents(way: str, given: bool) -> None:
    """A list of a call takes the place of the agent's list of that name, also an empty one; memory stays."""
    calls: list[str] = []
    store = InMemoryStore()
    agent = Agent(
        "parrot", model=FakeModel("x"), memory=Memory(store),
        input_processors=[noting(calls, "own")], output_processors=[noting(calls, "out", "process_output_step")],
    )  # fmt: skip
    await ask(agent, way, input_processors=[noting(calls, "call")] if given else [], **IDS)
    assert calls == (["call", "out"] if given else ["out"])
    assert len(await store.messages("t")) == 2


@both_ways
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_lists_may_depend_on_the_request(way: str, kind: str) -> None:
    """A list may be a function, plain or async, of the request's values."""
    calls: list[str] = []

    def choose(context: Any) -> list[Any]:
        return [noting(calls, "strict")] if context.get("tenant") == "acme" else []

    async def choose_later(context: Any) -> list[Any]:
        return choose(context)

    agent = Agent(
        "parrot", model=FakeModel("x", repeat_last=True), input_processors=choose if kind == "plain" else choose_later
    )
    await ask(agent, way, request_context={"tenant": "acme"})
    await ask(agent, way, request_context={"tenant": "other"})
    await ask(agent, way)
    assert calls == ["strict"]


@both_ways
async def test_a_call_may_give_such_a_function(way: str) -> None:
    """A call may give a function of the request's values in place of a list."""
    calls: list[str] = []

    def choose(context: Any) -> list[Any]:
        return [noting(calls, context.get("id"))]

    agent = Agent("parrot", model=FakeModel("x"))
    await ask(agent, way, input_processors=choose, request_context={"id": "a"})
    assert calls == ["a"]


@both_ways
@pytest.mark.parametrize(
    "returned", [None, "guard", [object()], [at("process_input", print), at("process_input", print)]]
)
async def test_lists_that_depend_on_the_request_are_checked_then(way: str, returned: Any) -> None:
    """What such a function returns is checked when it is known, and nothing runs unguarded."""
    model = FakeModel("x")
    seen = await ask(Agent("parrot", model=model, input_processors=lambda context: returned), way)
    assert isinstance(seen.error, ProcessorDefinitionError)
    assert "input_processors" in str(seen.error)
    assert model.requests == []


@both_ways
async def test_prepare_step_comes_after_the_processors(way: str) -> None:
    """``prepare_step`` is called like ``process_input_step`` and sees what the processors left."""
    seen: list[Any] = []

    def prepare(ctx: Any) -> dict[str, Any]:
        seen.append(dict(ctx.model_settings))
        return {"model_settings": {"temperature": 1}}

    def first(ctx: Any) -> dict[str, Any]:
        return {"model_settings": {"temperature": 0, "top_p": 1}}

    model = FakeModel("x")
    agent = Agent("parrot", model=model, input_processors=[at("process_input_step", first)])
    await ask(agent, way, prepare_step=prepare)
    assert seen == [{"temperature": 0, "top_p": 1}]
    assert model.requests[0].settings == {"temperature": 1, "top_p": 1}


@both_ways
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_callbacks(way: str, kind: str) -> None:
    """``on_step_finish`` is told each step, ``on_finish`` the result; both may be async."""
    told: list[Any] = []

    def tell(what: Any) -> None:
        told.append(what)

    async def tell_later(what: Any) -> None:
        told.append(what)

    callback = tell if kind == "plain" else tell_later
    tool, _ = counted_tool()
    agent = Agent("parrot", model=FakeModel([say("a") + call_tool("lookup"), "b"]), tools=[tool])
    seen = await ask(agent, way, on_step_finish=callback, on_finish=callback)
    assert told == [*seen.result.steps, seen.result]


@both_ways
async def test_on_error_is_told_what_failed(way: str) -> None:
    """``on_error`` is told the error that the call raises."""
    told: list[Any] = []
    error = fail("overloaded", status=503)
    seen = await ask(Agent("parrot", model=FakeModel(error)), way, on_error=told.append)
    assert told == [error] == [seen.error]


@both_ways
async def test_the_model_knows_whether_somebody_reads(way: str) -> None:
    """The model is asked to stream only where the answer is read as it comes."""
    model = FakeModel("x")
    await ask(Agent("parrot", model=model), way)
    assert model.requests[0].streaming is (way == "stream")


@both_ways
@pytest.mark.parametrize(
    "messages",
    ["Hi", {"role": "user", "content": "Hi"}, [{"role": "user", "content": "Hi"}], ["Hi"]],
)
async def test_forms_of_input(way: str, messages: Any) -> None:
    """A text, a message or several of them may be asked."""
    model = FakeModel("x")
    await ask(Agent("parrot", model=model), way, messages)
    assert [(message.role, message.text) for message in model.requests[0].messages] == [("user", "Hi")]
