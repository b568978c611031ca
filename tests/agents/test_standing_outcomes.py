"""An outcome that stands stands: callbacks cannot change it, and ``on_error`` is told exactly what the call raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, Seen, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.agents.output import AgentResult, AgentStep
from procession.errors import (
    DefinitionError,
    InputError,
    ModelError,
    ProcessionError,
    ProcessorError,
    StepError,
    ThreadBusy,
    TripwireError,
)
from procession.messages.chunks import Chunk, Finish, StepFinish
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import tool

both_ways = pytest.mark.parametrize("way", WAYS)


def complain(value: Any) -> None:
    """Raise what no caller should see."""
    raise ValueError("private")


def failures(logs: list[Any]) -> list[tuple[str, str]]:
    """Return which callbacks were logged, with the kind of what they raised."""
    return [(entry["event"], entry["error"]) for entry in logs if entry["event"].endswith(" failed")]


@both_ways
async def test_on_finish_cannot_hide_an_error(way: str) -> None:
    """What ``on_finish`` raises after a model's error is logged: the call raises the model's."""
    with capture_logs() as logs:
        seen = await ask(Agent("guide", model=FakeModel(fail("down"))), way, on_finish=complain)
    assert isinstance(seen.error, ModelError)
    assert seen.chunks.types[-3:] == ["error", "step-finish", "finish"]
    assert failures(logs) == [("on_finish failed", "ValueError")]
    assert "private" not in str(logs)


@both_ways
async def test_on_finish_cannot_undo_a_success(way: str) -> None:
    """What ``on_finish`` raises after a success is logged: the result is the result, ``finish`` the last chunk."""
    told: list[Exception] = []
    with capture_logs() as logs:
        seen = await ask(Agent("guide", model=FakeModel("Hello.")), way, on_finish=complain, on_error=told.append)
    assert (seen.result.status, seen.result.text, told) == ("completed", "Hello.", [])
    assert seen.chunks.types[-1] == "finish"
    assert failures(logs) == [("on_finish failed", "ValueError")]


@both_ways
async def test_on_step_finish_cannot_hide_a_models_error(way: str) -> None:
    """What ``on_step_finish`` raises about the step that failed is logged; there is one ``error`` chunk."""
    told: list[Exception] = []
    with capture_logs() as logs:
        seen = await ask(
            Agent("guide", model=FakeModel(fail("down"))), way, on_step_finish=complain, on_error=told.append
        )
    assert isinstance(seen.error, ModelError)
    assert told == [seen.error]
    assert seen.chunks.types.count("error") == 1
    assert failures(logs) == [("on_step_finish failed", "ValueError")]


@both_ways
@pytest.mark.parametrize("end", [StepFinish, Finish])
async def test_on_chunk_cannot_change_an_error(way: str, end: type[Chunk]) -> None:
    """What ``on_chunk`` raises at the chunks behind a model's error is logged."""

    def at_end(chunk: Chunk) -> None:
        if isinstance(chunk, end):
            complain(chunk)

    agent = Agent("guide", model=FakeModel(fail("down")), on_chunk=at_end)
    with capture_logs() as logs, pytest.raises(ModelError):
        if way == "generate":
            await agent.generate("Hi")
        else:
            async with agent.stream("Hi") as stream:
                await stream.result()
    assert failures(logs) == [("on_chunk failed", "ValueError")]


async def test_on_chunk_cannot_undo_a_success() -> None:
    """What ``on_chunk`` raises at the last chunk is logged: the run has ended."""

    def at_end(chunk: Chunk) -> None:
        if isinstance(chunk, Finish):
            complain(chunk)

    with capture_logs() as logs:
        result = await Agent("guide", model=FakeModel("Hello."), on_chunk=at_end).generate("Hi")
    assert result.status == "completed"
    assert failures(logs) == [("on_chunk failed", "ValueError")]


# -- on_error is told what the call raises


async def broken(context: Any) -> Any:
    """Be a setting of the request that does not fit."""
    return 5


def stop(ctx: Any) -> None:
    """Stop the run."""
    ctx.abort("no")


RAISED: dict[str, tuple[dict[str, Any], dict[str, Any], type[ProcessionError]]] = {
    "model": ({"model": FakeModel(fail("down"), repeat_last=True)}, {}, ModelError),
    "processor": ({"input_processors": [at("process_input", complain)]}, {}, ProcessorError),
    "callback": ({"on_step_finish": complain}, {}, StepError),
    "tripwire": ({"input_processors": [at("process_input", stop)], "raise_on_tripwire": True}, {}, TripwireError),
    "tripwire of a call": (
        {"input_processors": [at("process_input", stop)]},
        {"raise_on_tripwire": True},
        TripwireError,
    ),
    "request function": ({"model": broken}, {}, InputError),
    "unknown option": ({}, {"max_stepz": 3}, DefinitionError),
    "wrong option": ({}, {"max_steps": "3"}, InputError),
}


@both_ways
@pytest.mark.parametrize("given", ["agent", "call"])
@pytest.mark.parametrize("what", RAISED)
async def test_on_error_is_told_what_is_raised(way: str, what: str, given: str) -> None:
    """Whatever the call raises ``on_error`` is told, the same object, once; also what keeps the call from beginning."""
    settings, options, kind = RAISED[what]
    told: list[Exception] = []
    of_agent: dict[str, Any] = {"on_error": told.append} if given == "agent" else {}
    of_call: dict[str, Any] = {"on_error": told.append} if given == "call" else {}
    made: dict[str, Any] = {"model": FakeModel("Hello.", repeat_last=True), **settings, **of_agent}
    agent = Agent("guide", **made)
    seen = await ask(agent, way, **options, **of_call)
    assert isinstance(seen.error, kind)
    assert [error is seen.error for error in told] == [True]


async def test_a_stream_tells_without_being_asked_for_its_result() -> None:
    """``on_error`` of a stream is told at its end, whoever awaits the result, and how often."""
    told: list[Exception] = []
    agent = Agent(
        "guide", model=FakeModel("x"), input_processors=[at("process_input", stop)], raise_on_tripwire=True,
        on_error=told.append,
    )  # fmt: skip
    async with agent.stream("Hi") as stream:
        types = [chunk.type async for chunk in stream]
    assert types == ["tripwire"]
    assert [type(error) for error in told] == [TripwireError]
    for _ in range(2):
        with pytest.raises(TripwireError) as caught:
            await stream.result()
        assert caught.value is told[0]
    assert len(told) == 1


def waiting_agent(told: list[Exception], policy: Any, begun: anyio.Event, go: anyio.Event) -> Agent:
    """Return an agent whose tool waits until it may go on."""

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go.wait()
        return "done"

    model = FakeModel([call_tool("wait"), "one", "two"])
    return Agent("guide", model=model, tools=[wait], thread_policy=policy, on_error=told.append)


@both_ways
async def test_on_error_is_told_that_a_thread_is_busy(way: str) -> None:
    """A call that is refused its thread tells ``on_error``."""
    told: list[Exception] = []
    begun, go = anyio.Event(), anyio.Event()
    agent = waiting_agent(told, "reject", begun, go)
    where: dict[str, Any] = {"thread": "t", "resource": "r"}
    refused = Seen()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: agent.generate("one", **where))
        await begun.wait()
        await refused.through(agent, way, "two", where)
        go.set()
    assert isinstance(refused.error, ThreadBusy)
    assert [error is refused.error for error in told] == [True]


async def test_on_error_of_a_resume() -> None:
    """What keeps a suspended run from going on is told, too."""
    told: list[Exception] = []
    lookup, _ = counted_tool()
    model = FakeModel([say("") + call_tool("lookup", id="c1"), "done"])
    agent = Agent("guide", model=model, tools=[lookup.replace(requires_approval=True)], on_error=told.append)
    run_id = (await agent.generate("Hi")).run_id
    with pytest.raises(InputError) as caught:
        await agent.resume(run_id, {"c1": {"approved": "perhaps"}})
    assert [error is caught.value for error in told] == [True]
    async with agent.resume_stream(run_id, {"c1": {"approved": "perhaps"}}) as stream:
        with pytest.raises(InputError):
            await stream.result()
    assert len(told) == 2
    assert (await agent.approve(run_id)).status == "completed"


@both_ways
async def test_nothing_is_told_where_nothing_is_raised(way: str) -> None:
    """A tripwire that is in the result is no error."""
    told: list[Any] = []
    noted: dict[str, Callable[[Any], None]] = {"on_error": told.append}
    agent = Agent("guide", model=FakeModel("x"), input_processors=[at("process_input", stop)])
    assert (await ask(agent, way, **noted)).result.status == "blocked"
    assert told == []


async def test_the_types_of_what_is_told() -> None:
    """``on_step_finish`` is told the step that failed and ``on_finish`` the result, before the call raises."""
    told: list[Any] = []
    agent = Agent("guide", model=FakeModel(fail("down")), on_step_finish=told.append, on_finish=told.append)
    with pytest.raises(ModelError):
        await agent.generate("Hi")
    assert [type(each) for each in told] == [AgentStep, AgentResult]
