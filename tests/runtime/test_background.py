"""The runtime's background: what holds up no answer, and is over when the runtime's block is."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from procession.agents.agent import Agent
from procession.errors import DefinitionError, RunError
from procession.processors.processor import processor
from procession.runtime.runtime import Runtime
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.context import ToolContext
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio

tenant: ContextVar[str] = ContextVar("tenant", default="none")


def leaving(work: Any, **options: Any) -> Agent:
    """Return an agent with a processor that leaves *work* to be done."""

    @processor(hook="process_input")
    def leave(ctx: Any) -> None:
        ctx.background(work, "word")

    return Agent("a", model=FakeModel(["answer"], repeat_last=True), input_processors=[leave], **options)


async def test_without_an_open_runtime_it_is_done_before_the_call_returns() -> None:
    """What a hook leaves is done when ``generate`` returns."""
    done: list[str] = []

    async def work(word: str) -> None:
        await anyio.lowlevel.checkpoint()
        done.append(word)

    await leaving(work).generate("Hi")
    assert done == ["word"]


async def test_with_an_open_runtime_it_holds_up_no_answer() -> None:
    """The call returns while the work goes on; leaving the runtime's block waits for it."""
    gate = anyio.Event()
    done: list[str] = []

    async def work(word: str) -> None:
        await gate.wait()
        done.append(word)

    async with Runtime() as runtime:
        assert (await leaving(work, runtime=runtime).generate("Hi")).text == "answer"
        assert done == []
        gate.set()
    assert done == ["word"]


async def test_tools_leave_work_too() -> None:
    """``ToolContext.background`` does what a hook's does."""
    done: list[str] = []

    @tool
    async def note(ctx: ToolContext) -> str:
        """Note something."""
        ctx.background(done.append, "noted")
        return "ok"

    model = FakeModel([call_tool("note"), "fine"])
    await Agent("a", model=model, tools=[note]).generate("Hi")
    assert done == ["noted"]


@pytest.mark.parametrize("opened", [True, False])
async def test_it_sees_the_requests_context_variables(opened: bool) -> None:
    """CON-003: background work reads what the caller set, be a runtime open or not."""
    seen: list[str] = []

    async def work(word: str) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(tenant.get())
        tenant.set("changed by the work")

    async def request(name: str, runtime: Runtime) -> None:
        tenant.set(name)
        await leaving(work, runtime=runtime).generate("Hi")
        assert tenant.get() == name

    runtime = Runtime()
    async with anyio.create_task_group() as group:
        if opened:
            async with runtime, anyio.create_task_group() as inside:
                for name in ("t1", "t2"):
                    inside.start_soon(request, name, runtime)
        else:
            for name in ("t1", "t2"):
                group.start_soon(request, name, runtime)
    assert sorted(seen) == ["t1", "t2"]


@pytest.mark.parametrize("opened", [True, False])
async def test_its_errors_are_logged_without_their_words(opened: bool) -> None:
    """That it failed changes no answer and is logged by the kind of error only."""

    async def work(word: str) -> None:
        raise ValueError("eva@example.net")

    runtime = Runtime()
    with capture_logs() as logs:
        if opened:
            async with runtime:
                result = await leaving(work, runtime=runtime).generate("Hi")
        else:
            result = await leaving(work, runtime=runtime).generate("Hi")
    assert result.text == "answer"
    assert [log["error"] for log in logs if log["event"] == "background work failed"] == ["ValueError"]
    assert "eva@" not in repr(logs)


async def test_a_full_background_is_a_brake() -> None:
    """Where as much is going on as may, the work is done before the call returns."""
    gate = anyio.Event()
    done: list[str] = []

    async def work(word: str) -> None:
        done.append(word)

    async with Runtime(background_limit=1) as runtime:
        runtime.background(gate.wait)
        await leaving(work, runtime=runtime).generate("Hi")
        assert done == ["word"]
        with pytest.raises(RunError, match="no room in the background: 1 pieces"):
            runtime.background(gate.wait)
        gate.set()


async def test_work_may_leave_work() -> None:
    """What background work leaves in its turn is done too, whatever the limit."""
    done: list[str] = []

    async with Runtime(background_limit=1) as runtime:

        async def first() -> None:
            runtime.background(second)
            done.append("first")

        async def second() -> None:
            done.append("second")

        runtime.background(first)
    assert done == ["first", "second"]


async def test_from_a_worker_thread_it_is_done_before_the_call_returns() -> None:
    """A hook in a worker thread cannot begin tasks; its work is left to the end of the run."""
    done: list[str] = []

    class Blocking:
        id = "blocking"
        blocking = True

        def process_input(self, ctx: Any) -> None:
            ctx.background(done.append, "word")

    async with Runtime() as runtime:
        agent = Agent("a", model=FakeModel(["x"]), input_processors=[Blocking()], runtime=runtime)
        await agent.generate("Hi")
        assert done == ["word"]


async def test_draining_has_an_end() -> None:
    """What is not done after the drain timeout is cancelled, and that is reported."""
    cancelled = False

    async def work() -> None:
        nonlocal cancelled
        try:
            await anyio.sleep_forever()
        except BaseException:
            cancelled = True
            raise

    with capture_logs() as logs:
        async with Runtime(drain=0.01) as runtime:
            runtime.background(work)
    assert cancelled
    assert [(log["cancelled"], log["left"]) for log in logs] == [(1, [])]


async def test_cancelling_the_block_cancels_the_background() -> None:
    """Where the task that holds the runtime is cancelled, nothing of its background is left."""
    ended: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("work")

    with capture_logs(), anyio.move_on_after(0.01):
        async with Runtime() as runtime:
            runtime.background(work)
            await anyio.sleep_forever()
    assert ended == ["work"]


async def test_what_a_runtime_refuses() -> None:
    """Opened twice, used when closed, and background work where none can be: each has a clear error."""
    runtime = Runtime()
    with pytest.raises(RunError, match="the runtime is not open"):
        runtime.background(print)
    async with runtime:
        with pytest.raises(RunError, match="open already"):
            async with runtime:
                pass
    for use in (runtime.__aenter__, lambda: leaving(print, runtime=runtime).generate("Hi")):
        with pytest.raises(RunError, match="the runtime is closed"):
            await use()
    with pytest.raises(RunError, match="the runtime is closed"):
        runtime.background(print)
    wrong: list[dict[str, Any]] = [{"grace": -1}, {"background_limit": 0}, {"drain": -0.5}]
    for options in wrong:
        with pytest.raises(DefinitionError, match=next(iter(options))):
            Runtime(**options)


async def test_a_rest_is_over_when_the_runtime_closes() -> None:
    """Background work that waits before it tries again is told at once that there is no again, and ends by itself."""
    told: list[bool] = []

    @processor(hook="process_input")
    def leave(ctx: Any) -> None:
        async def try_on() -> None:
            told.append(await ctx.scope.background.rest(0))
            told.append(await ctx.scope.background.rest(3600))
            told.append(await ctx.scope.background.rest(3600))

        ctx.background(try_on)

    async with Runtime(drain=3600) as runtime:
        agent = Agent("a", model=FakeModel(["answer"]), input_processors=[leave], runtime=runtime)
        await agent.generate("Hi")
        await anyio.wait_all_tasks_blocked()
    assert told == [True, False, False]
