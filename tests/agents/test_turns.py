"""Two calls on one thread: they queue, are refused, or take the place of those before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.agents.turns import LINES, ThreadPolicy
from procession.errors import DefinitionError, InputError, ModelError, RunCancelled, ThreadBusy
from procession.messages.chunks import ErrorChunk
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio

REASON = "a later call on thread 't' took the place of this one"
ON: dict[str, Any] = {"thread": "t", "resource": "r"}


@pytest.fixture(autouse=True)
async def _nothing_is_held() -> AsyncIterator[None]:
    """Whatever happened, no thread stays taken."""
    yield
    assert not LINES


class Gate(Processor):
    """Holds up each request until it is let through, and notes who comes and goes."""

    id = "gate"

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []
        self.gates: dict[str, anyio.Event] = {}

    async def process_input(self, ctx: Any) -> None:
        """Wait for ``let``."""
        name = ctx.view[-1].text
        self.order.append(f"{name} begins")
        try:
            await self.gates.setdefault(name, anyio.Event()).wait()
        except BaseException:
            self.order.append(f"{name} is cancelled")
            raise
        self.order.append(f"{name} ends")

    def let(self, *names: str) -> None:
        """Let requests through."""
        for name in names:
            self.gates.setdefault(name, anyio.Event()).set()

    async def begun(self, name: str) -> None:
        """Wait until a request is there."""
        while f"{name} begins" not in self.order:
            await anyio.lowlevel.checkpoint()


def agent_with(gate: Gate, **options: Any) -> Agent:
    """Return an agent that passes through *gate*."""
    return Agent("a", model=FakeModel(["ok"], repeat_last=True), input_processors=[gate], **options)


async def turns() -> None:
    """Let every task have a few turns."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


async def test_calls_on_one_thread_queue() -> None:
    """By default one call runs after the other, in the order in which they came."""
    gate = Gate()
    agent = agent_with(gate)
    async with anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(partial(agent.generate, name, **ON))
            await turns()
        assert gate.order == ["one begins"]
        gate.let("three", "two", "one")
    assert gate.order == [f"{name} {what}" for name in ("one", "two", "three") for what in ("begins", "ends")]


async def test_the_next_call_sees_what_the_one_before_saved() -> None:
    """What queueing is for: the history of a call has the answer of the one before, and its own words stand behind it."""
    seen: list[list[str]] = []

    def answer(request: Any) -> str:
        seen.append([message.text for message in request.messages])
        return f"to {seen[-1][-1]}"

    store = InMemoryStore()
    agent = Agent("a", model=FakeModel([answer], repeat_last=True), memory=Memory(store))
    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(partial(agent.generate, [f"{number}a", f"{number}b"], **ON))
    whole: list[str] = []
    for prompt in seen:
        whose = prompt[-1][0]
        whole += [f"{whose}a", f"{whose}b"]
        assert prompt == whole
        whole.append(f"to {whose}b")
    assert [message.text for message in await store.messages("t")] == whole


async def test_other_threads_do_not_wait() -> None:
    """Another thread, the same thread of somebody else, and calls without one go on at once."""
    gate = Gate()
    agent = agent_with(gate)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: agent.generate("held", **ON))
        await gate.begun("held")
        gate.let("free")
        await agent.generate("free", thread="u", resource="r")
        await agent.generate("free", thread="t", resource="s")
        await agent.generate("free")
        gate.let("held")


async def test_a_waiting_call_can_be_cancelled() -> None:
    """Who gives up waiting is out of the line, and those behind it go on."""
    gate = Gate()
    agent = agent_with(gate)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: agent.generate("one", **ON))
        await gate.begun("one")
        with anyio.move_on_after(0.01) as limit:
            await agent.generate("two", **ON)
        assert limit.cancelled_caught
        gate.let("one", "three")
        await agent.generate("three", **ON)
    assert "two begins" not in gate.order


async def test_a_busy_thread_can_be_refused() -> None:
    """``reject`` raises ``ThreadBusy`` before anything runs, in a stream as well."""
    gate = Gate()
    agent = agent_with(gate, thread_policy="reject")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: agent.generate("one", **ON))
        await gate.begun("one")
        with pytest.raises(ThreadBusy, match="another call is running") as caught:
            await agent.generate("two", **ON)
        assert caught.value.thread == "t"
        async with agent.stream("two", **ON) as stream:
            chunks = [chunk async for chunk in stream]
            with pytest.raises(ThreadBusy):
                await stream.result()
        assert len(chunks) == 1 and isinstance(chunks[0], ErrorChunk)
        gate.let("one", "three")
        await agent.generate("three", thread_policy="queue", **ON)
    assert gate.order == ["one begins", "one ends", "three begins", "three ends"]


async def test_a_later_call_can_take_the_place_of_those_before() -> None:
    """``cancel_previous`` aborts the running call and the waiting ones, waits for their end, and runs."""
    gate = Gate()
    agent = agent_with(gate)
    aborted: list[str] = []

    async def call(name: str) -> None:
        result = await agent.generate(name, **ON)
        assert (result.status, result.abort_reason) == ("aborted", REASON)
        with pytest.raises(RunCancelled, match="a later call"):
            result.raise_for_status()
        aborted.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(call, "one")
        await gate.begun("one")
        group.start_soon(call, "two")
        await turns()
        gate.let("three")
        result = await agent.generate("three", thread_policy="cancel_previous", **ON)
        assert result.text == "ok"
    assert sorted(aborted) == ["one", "two"]
    assert gate.order == ["one begins", "one is cancelled", "three begins", "three ends"]


async def test_who_does_not_stop_is_not_waited_for_for_ever() -> None:
    """After the grace period the later call runs, whether or not the one before has stopped."""
    released = anyio.Event()
    begun = anyio.Event()

    class Stubborn(Processor):
        id = "stubborn"

        async def process_input(self, ctx: Any) -> None:
            if ctx.view[-1].text == "one":
                begun.set()
                with anyio.CancelScope(shield=True):
                    await released.wait()

    model = FakeModel(["ok"], repeat_last=True)
    agent = Agent("a", model=model, input_processors=[Stubborn()], runtime=Runtime(grace=0.01))

    async def first() -> None:
        assert (await agent.generate("one", **ON)).status == "aborted"

    with capture_logs() as logs:
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await begun.wait()
            assert (await agent.generate("two", thread_policy="cancel_previous", **ON)).text == "ok"
            released.set()
    assert any("did not stop in time" in log["event"] for log in logs)


async def test_agents_share_the_turns_of_their_runtime() -> None:
    """Two agents of one runtime queue behind each other; agents with runtimes of their own do not."""
    gate = Gate()
    runtime = Runtime()
    one, other, stranger = agent_with(gate, runtime=runtime), agent_with(gate, runtime=runtime), agent_with(gate)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: one.generate("one", **ON))
        await gate.begun("one")
        group.start_soon(lambda: other.generate("two", **ON))
        gate.let("stranger")
        await stranger.generate("stranger", **ON)
        await turns()
        assert "two begins" not in gate.order
        gate.let("one", "two")
    assert gate.order[-2:] == ["two begins", "two ends"]


@pytest.mark.parametrize("policy", ["queue", "reject", "cancel_previous"])
async def test_a_call_from_within_the_run_is_part_of_it(policy: ThreadPolicy) -> None:
    """A tool that asks an agent on the same thread waits for nobody: it would wait for itself."""
    runtime = Runtime()
    inner = Agent("inner", model=FakeModel(["inside"]), runtime=runtime)

    @tool
    async def ask_inner() -> str:
        """Ask the other agent."""
        answer: AgentResult = await inner.generate("Hi", thread_policy=policy, **ON)
        return answer.text

    model = FakeModel([call_tool("ask_inner"), say("outside")])
    outer = Agent("outer", model=model, tools=[ask_inner], runtime=runtime)
    result = await outer.generate("Hi", **ON)
    assert result.text == "outside"
    assert [getattr(each, "result", None) for each in result.tool_results] == ["inside"]


async def test_nothing_is_held_after_an_error_or_an_early_end() -> None:
    """A model that fails, a stream that is left and a call that is cancelled each let go of the thread."""
    agent = Agent("a", model=FakeModel([fail("down", status=400)]))
    with pytest.raises(ModelError):
        await agent.generate("Hi", **ON)
    assert not LINES
    gate = Gate()
    agent = agent_with(gate)
    async with agent.stream("one", **ON):
        await gate.begun("one")
    assert not LINES
    with anyio.move_on_after(0.01):
        await agent.generate("two", **ON)
    assert not LINES


async def test_background_work_takes_a_turn_of_its_own() -> None:
    """What a run left in the background is no part of it once it is over."""
    gate = Gate()
    order = gate.order

    class Leaves(Processor):
        id = "leaves"

        def process_output_result(self, ctx: Any) -> None:
            if ctx.request_context.get("leave"):
                ctx.background(late)

    async with Runtime() as runtime:
        model = FakeModel(["ok"], repeat_last=True)
        agent = Agent("a", model=model, input_processors=[gate], output_processors=[Leaves()], runtime=runtime)
        over = anyio.Event()

        async def late() -> None:
            await over.wait()
            await agent.generate("late", **ON)

        gate.let("one", "late")
        await agent.generate("one", request_context={"leave": True}, **ON)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: agent.generate("two", **ON))
            await gate.begun("two")
            over.set()
            await turns()
            assert "late begins" not in order
            gate.let("two")
    assert order[-2:] == ["late begins", "late ends"]


async def test_a_policy_that_does_not_exist() -> None:
    """What else is given is refused, naming the three."""
    with pytest.raises(DefinitionError, match="cancel_previous"):
        Agent("a", model=FakeModel([]), thread_policy="wait")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cancel_previous"):
        await Agent("a", model=FakeModel([])).generate("Hi", thread_policy="wait", **ON)  # type: ignore[call-overload]
