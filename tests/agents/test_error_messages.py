"""What an error says: the processor, the hook and the place in the run, and what was expected."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool, list_of, text_only, turn
from tests.agents.test_nested_hooks import nested

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorError
from procession.processors.hooks import Hook
from procession.testing.fake_model import FakeModel
from procession.testing.script import say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
OF_THE_RUN = ("process_input", "process_output_result")


def fall(ctx: Any) -> None:
    """Fail."""
    raise ValueError("private")


def go_on(ctx: Any) -> Any:
    """Change nothing."""
    return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None


async def failure(agent: Agent, way: str, **options: Any) -> ProcessorError:
    """Return the error of a processor that ends a call."""
    seen = await ask(agent, way, **options)
    assert isinstance(seen.error, ProcessorError)
    return seen.error


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("place", ["alone", "nested", "parallel"])
async def test_the_error_of_a_processor_says_where(way: str, hook: str, place: str) -> None:
    """A processor's error names it, its hook and its path in the run, in its fields and in its text; nothing private."""
    guard, idle = at(hook, text_only(fall)), at(hook, go_on, id="idle")
    listed: Any = guard
    if place == "nested":
        listed = nested("checks", [idle, guard], "guard")
    if place == "parallel":
        listed = create_workflow("checks", kind="processor").parallel([idle, guard]).commit()
    lookup, _ = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [listed]}
    error = await failure(Agent("bot", model=FakeModel(turn(hook)), tools=[lookup], **lists), way)
    assert (error.processor_id, error.hook) == ("guard", hook)
    assert error.path is not None
    assert error.path.startswith("" if hook in OF_THE_RUN else "step[0]/")
    assert hook in error.path
    assert error.path.endswith("/processor:guard")
    assert ("checks/" in error.path) == (place != "alone")
    assert str(error) == f"processor 'guard' failed in {hook}: ValueError (at {error.path})"


@both_ways
async def test_the_path_of_a_stream_counts_turns(way: str) -> None:
    """In the stream the path has the turn of the loop, as in other hooks: attempts that were sent back count."""

    def later(ctx: Any) -> Any:
        if ctx.step_number == 1:
            fall(ctx)
        return ctx.chunk

    def first(ctx: Any) -> None:
        if ctx.step_number == 0 and ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    def look(ctx: Any) -> None:
        if ctx.step_number == 1:
            fall(ctx)

    lookup, _ = counted_tool()
    script = [say("no"), *turn("process_output_step")]
    paths: list[str | None] = []
    for hook, act in (("process_output_stream", later), ("process_input_step", look)):
        lists: dict[str, Any] = {"output_processors": [at("process_output_step", first, id="first")]}
        lists[list_of(hook)] = [at(hook, act), *lists.get(list_of(hook), ())]
        agent = Agent("bot", model=FakeModel(script), tools=[lookup], max_processor_retries=1, **lists)
        paths.append((await failure(agent, way)).path)
    assert paths == ["step[2]/process_output_stream/processor:guard", "step[2]/process_input_step/processor:guard"]


@both_ways
async def test_the_path_of_a_stream_after_a_fallback(way: str) -> None:
    """A turn that asks the next model counts, too."""
    models = [FakeModel([ModelError("down")]), FakeModel("x")]
    agent = Agent("bot", model=models, output_processors=[at("process_output_stream", text_only(fall))])
    assert (await failure(agent, way)).path == "step[1]/process_output_stream/processor:guard"


WRONG: list[tuple[Any, str, str]] = [
    ({"structured_output": 5}, "structured_output=int", "pydantic"),
    ({"system_messages": 5}, "system_messages=int", "a list of texts"),
    ({"system_messages": "Be kind."}, "system_messages=str", "a list of texts"),
    ({"system_messages": [5]}, "int", "a list of texts"),
    ({"tool_choice": "zzz"}, "tool_choice=str", '"auto", "none", "required"'),
    ({"tool_choice": 5}, "tool_choice=int", '"auto", "none", "required"'),
    ({"tool_choice": {"foo": 1}}, "tool_choice=dict", '"auto", "none", "required"'),
    ({"tool_choice": {"type": "tool"}}, "tool_choice=dict", '"auto", "none", "required"'),
    ({"foo": 1}, "foo", "tool_choice"),
    ({"messages": [5]}, "int", "list of messages"),
]


@both_ways
@pytest.mark.parametrize("by", ["hook", "prepare_step"])
@pytest.mark.parametrize(("given", "said", "hint"), WRONG)
async def test_what_a_step_cannot_be_made_with(way: str, by: str, given: Any, said: str, hint: str) -> None:
    """What a hook or ``prepare_step`` returns is refused as an option of the call is: by type, with what is expected."""
    model = FakeModel("x")

    def change(ctx: Any) -> Any:
        return given

    made: dict[str, Any] = {"input_processors": [at("process_input_step", change)]} if by == "hook" else {}
    options: dict[str, Any] = {"prepare_step": change} if by == "prepare_step" else {}
    error = await failure(Agent("bot", model=model, **made), way, **options)
    assert (error.processor_id, error.hook) == ("guard" if by == "hook" else "prepare-step", "process_input_step")
    assert said in error.message
    assert hint in str(error)
    assert "zzz" not in str(error)
    assert model.requests == []


@both_ways
@pytest.mark.parametrize("hook", ["process_input", "process_output_step", "process_output_result"])
async def test_system_messages_that_are_none(way: str, hook: str) -> None:
    """System messages that a message hook returns are a list; the error says so."""
    lists: dict[str, Any] = {list_of(hook): [at(hook, lambda ctx: {"messages": None, "system_messages": 5})]}
    error = await failure(Agent("bot", model=FakeModel("x"), **lists), way)
    assert (error.processor_id, error.hook) == ("guard", hook)
    assert f"{hook} returned system_messages=int" in error.message


@both_ways
@pytest.mark.parametrize("returned", [5, "x", {}, [], {"messages": []}])
async def test_process_llm_response_returns_nothing(way: str, returned: Any) -> None:
    """What ``process_llm_response`` returns would go nowhere: it is an error that says how to decide."""
    guard = at("process_llm_response", lambda ctx: returned)
    error = await failure(Agent("bot", model=FakeModel("x"), input_processors=[guard]), way)
    assert f"process_llm_response returned {type(returned).__name__}" in error.message
    assert "return nothing" in str(error)


@both_ways
async def test_process_llm_response_may_return_its_own_list(way: str) -> None:
    """The list that it was given is no change, as everywhere."""
    guard = at("process_llm_response", lambda ctx: ctx.message_list)
    assert (await ask(Agent("bot", model=FakeModel("x"), input_processors=[guard]), way)).result.text == "x"


@both_ways
async def test_one_chunk_for_one_chunk(way: str) -> None:
    """A hook of the stream that returns a list of chunks is refused, and told what it may return."""
    guard = at("process_output_stream", lambda ctx: [ctx.chunk, ctx.chunk])
    error = await failure(Agent("bot", model=FakeModel("x"), output_processors=[guard]), way)
    assert "process_output_stream returned list" in error.message
    assert "another chunk in its place" in str(error)
