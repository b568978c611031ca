"""What several features come to together: held streams, structured output, turns on a thread, abort and resume."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.agents.suspending import doing

from procession.agents.agent import Agent
from procession.errors import InputError, ProcessorError
from procession.models.model import ModelRequest
from procession.models.structured_output import StructuredOutput
from procession.processors.contexts import InputContext
from procession.processors.processor import Processor
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

pytestmark = pytest.mark.anyio


class Named(BaseModel):
    """What answers are made of."""

    name: str


class Beside(Processor):
    """A guard that runs beside the model call and ends as it is told."""

    id = "beside"
    check_only = True

    def __init__(self, end: Callable[[InputContext], Awaitable[None]]) -> None:
        super().__init__()
        self.end = end

    async def process_input(self, ctx: InputContext) -> None:
        """Let the model answer, then end."""
        await anyio.lowlevel.checkpoint()
        await self.end(ctx)


async def block(ctx: InputContext) -> None:
    """Stop the run."""
    ctx.abort("no")


async def fail(ctx: InputContext) -> None:
    """Raise, as a guard with a fault does."""
    raise ZeroDivisionError


def wish(ctx: Any) -> dict[str, Any]:
    """Ask for a value of this step alone."""
    return {"structured_output": Named}


@pytest.mark.parametrize(("end", "last"), [(block, "tripwire"), (fail, "error")])
async def test_a_held_stream_ends_with_its_verdict(end: Callable[[InputContext], Awaitable[None]], last: str) -> None:
    """A guard beside the model that stops the run is heard also where a hook asks for a value."""
    agent = Agent("a", model=FakeModel('{"name": "x"}'), input_processors=[Beside(end)], guard_mode="concurrent")
    async with agent.stream("Hi", prepare_step=wish) as stream:
        types = [chunk.type async for chunk in stream]
        if last == "error":
            with pytest.raises(ProcessorError):
                await stream.result()
    assert types == [last]


async def test_an_abort_while_guards_are_out_is_heard() -> None:
    """An aborted run says so also where guards hold its stream and a hook asks for a value."""
    signal = AbortSignal()

    async def give_up(ctx: InputContext) -> None:
        signal.abort()
        await anyio.sleep_forever()

    agent = Agent("a", model=FakeModel('{"name": "x"}'), input_processors=[Beside(give_up)], guard_mode="concurrent")
    async with agent.stream("Hi", prepare_step=wish, abort_signal=signal) as stream:
        types = [chunk.type async for chunk in stream]
    assert types == ["abort", "finish"]


async def test_an_abort_while_the_value_is_made_keeps_the_answer() -> None:
    """What every hook has seen stays said where the model that makes the value of it is no longer waited for."""
    signal = AbortSignal()

    async def never(request: ModelRequest) -> str:
        signal.abort()
        await anyio.sleep_forever()
        return ""

    wanted = StructuredOutput(Named, model=FakeModel(never))
    agent = Agent("a", model=FakeModel("An answer."))
    with anyio.fail_after(5):
        result = await agent.generate("Hi", structured_output=wanted, abort_signal=signal)
    assert (result.status, result.text, result.object) == ("aborted", "An answer.", None)


async def test_an_abort_ends_the_waiting_for_a_turn() -> None:
    """A call that waits for its turn on a thread ends when it is aborted; the one before it goes on."""
    signal, running = AbortSignal(), anyio.Event()
    ended: list[str] = []

    async def wait(request: ModelRequest) -> str:
        running.set()
        await second_ended.wait()
        return "One."

    second_ended = anyio.Event()
    agent = Agent("a", model=FakeModel([wait, "Two."]))

    async def first() -> None:
        ended.append((await agent.generate("Hi", thread="t", resource="r")).status)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await running.wait()
            group.start_soon(_abort_soon, signal)
            result = await agent.generate("Hi", thread="t", resource="r", abort_signal=signal)
            ended.append(result.status)
            second_ended.set()
    assert ended == ["aborted", "completed"]


async def _abort_soon(signal: AbortSignal) -> None:
    await anyio.wait_all_tasks_blocked()
    signal.abort()


async def test_a_resume_that_lost_its_turn_leaves_the_run_waiting() -> None:
    """A run is still there to be resumed where a resume of it was cut before it had its turn."""
    running, calls = anyio.Event(), list[Any]()

    async def wait(request: ModelRequest) -> str:
        running.set()
        await anyio.sleep_forever()
        return ""

    pay = call_tool("pay", {}, id="c1")
    agent = Agent(
        "a", model=FakeModel([pay, wait, "Third.", "Paid."]), tools=[doing("pay", calls, requires_approval=True)]
    )
    where: dict[str, Any] = {"thread": "t", "resource": "r"}
    run_id = (await agent.generate("Hi", **where)).run_id
    cut: list[str] = []

    async def cut_off(name: str, call: Callable[[], Awaitable[Any]]) -> None:
        assert (await call()).status == "aborted"
        cut.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(cut_off, "slow", lambda: agent.generate("Slow", **where))
            await running.wait()
            group.start_soon(cut_off, "resume", lambda: agent.approve(run_id, resource="r"))
            await anyio.wait_all_tasks_blocked()
            third = await agent.generate("Third", thread_policy="cancel_previous", **where)
            assert third.text == "Third."
    assert (sorted(cut), calls) == (["resume", "slow"], [])
    assert (await agent.approve(run_id, resource="r")).text == "Paid."
    assert len(calls) == 1


async def test_a_run_is_not_given_an_empty_id() -> None:
    """An id that could not be found again is refused."""
    with pytest.raises(InputError, match="run_id is an empty text"):
        await Agent("a", model=FakeModel("Hi.")).generate("Hi", run_id="")
