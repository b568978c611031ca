"""On asyncio, the cancellation of a task that somebody else cancelled is a failure of what waited for that task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import HOOKS, WAYS, Seen, ask, at, counted_tool, list_of, text_only, turn

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorError, RunCancelled, StepError
from procession.messages.chunks import Chunk, TextDelta, ToolError
from procession.models.model import ModelRequest
from procession.processors.hooks import Hook
from procession.steps.abort import AbortSignal
from procession.steps.pool import Pool
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool


@pytest.fixture(scope="module", params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run on asyncio alone: on trio a cancellation never leaves the scope that was cancelled."""
    backend: str = request.param
    return backend


both_ways = pytest.mark.parametrize("way", WAYS)


async def await_a_cancelled_task() -> NoReturn:
    """Wait for a task that somebody cancels."""
    task = asyncio.ensure_future(asyncio.sleep(3600))
    await asyncio.sleep(0)
    task.cancel()
    await task
    raise AssertionError


async def stray(ctx: Any) -> None:
    """Be a hook that does so."""
    await await_a_cancelled_task()


def plain_stray(ctx: Any) -> None:
    """Be a plain hook that is raised such a cancellation."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.cancel()
    future.result()


def fetching(**options: Any) -> Tool[Any]:
    """Return a tool that does so."""

    async def execute(args: Any, ctx: Any) -> None:
        await await_a_cancelled_task()

    return Tool(name="fetch", parameters={"type": "object"}, execute=execute, **options)


@both_ways
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("limit", [None, 60.0])
async def test_of_a_tool(way: str, count: int, limit: float | None) -> None:
    """The model is told that the tool failed, and the run goes on."""
    reply = call_tool("fetch")
    for _ in range(count - 1):
        reply += call_tool("fetch")
    seen = await ask(Agent("a", model=FakeModel([reply, "end"]), tools=[fetching(timeout=limit)]), way)
    assert (seen.result.status, seen.result.text) == ("completed", "end")
    assert [each.error for each in seen.result.tool_results if isinstance(each, ToolError)] == [
        "CancelledError"
    ] * count


@both_ways
async def test_of_what_puts_a_result_into_words(way: str) -> None:
    """It fails the call like any other exception there."""
    tool, _ = counted_tool("fetch")

    async def words(result: Any) -> str:
        await await_a_cancelled_task()

    told = tool.replace(to_model_output=words)
    result = (await ask(Agent("a", model=FakeModel([call_tool("fetch"), "end"]), tools=[told]), way)).result
    assert isinstance(result.tool_results[0], ToolError)
    assert result.text == "end"


@both_ways
async def test_of_two_tools_of_which_one_cancels_its_own_task(way: str) -> None:
    """That is no other's task: it cancels the run."""

    async def execute(args: Any, ctx: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    tool: Tool[Any] = Tool(name="fetch", parameters={"type": "object"}, execute=execute)
    reply = call_tool("fetch") + call_tool("fetch")
    seen = await ask(Agent("a", model=FakeModel([reply, "end"]), tools=[tool]), way)
    assert isinstance(seen.error, RunCancelled)


class Broken:
    """A model that is raised such a cancellation, before its first chunk, behind it, or before it streams."""

    id = "broken"

    def __init__(self, where: str) -> None:
        self.where = where

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer, or fail to."""
        if self.where == "before":
            plain_stray(None)
        return self._stream()

    async def _stream(self) -> AsyncIterator[Chunk]:
        if self.where == "behind":
            yield TextDelta("half")
        await await_a_cancelled_task()


@both_ways
@pytest.mark.parametrize("where", ["before", "first", "behind"])
async def test_of_a_model(way: str, where: str) -> None:
    """It is a model's failure: ``process_api_error`` is asked, and then the next model."""
    asked: list[Any] = []
    handler = at("process_api_error", lambda ctx: asked.append(ctx.error))
    agent = Agent("a", model=[Broken(where), FakeModel("spare")], error_processors=[handler])
    assert (await ask(agent, way)).result.text == "spare"
    seen = await ask(agent, way, model=Broken(where))
    assert isinstance(seen.error, ModelError)
    assert seen.chunks.types[-3:] == ["error", "step-finish", "finish"]
    assert all(isinstance(error.__cause__, asyncio.CancelledError) for error in asked)
    assert len(asked) == 2


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("kind", ["async", "plain", "limited"])
async def test_of_a_hook(way: str, hook: str, kind: str) -> None:
    """It is a failure of the processor, which is named with its hook; a guard fails closed; ``skip`` leaves it out."""
    act = text_only(plain_stray if kind == "plain" else stray)
    limit: dict[str, Any] = {"timeout": 60.0} if kind == "limited" else {}

    async def call(**options: Any) -> Seen:
        tool, _ = counted_tool()
        guard = at(hook, act, id="guard", **limit, **options)
        lists: dict[str, Any] = {list_of(hook): [guard]}
        return await ask(Agent("a", model=FakeModel(turn(hook)), tools=[tool], **lists), way)

    seen = await call()
    assert isinstance(seen.error, ProcessorError)
    assert (seen.error.processor_id, seen.error.hook) == ("guard", hook)
    assert isinstance(seen.error.__cause__, asyncio.CancelledError)
    seen = await call(fails_closed=True)
    assert (seen.result.status, seen.tripwire.metadata) == ("blocked", {"kind": "guard_failed"})
    with capture_logs() as logs:
        seen = await call(on_error="skip")
    assert "processor skipped" in {entry["event"] for entry in logs}
    if hook == Hook.API_ERROR:
        assert isinstance(seen.error, ModelError)
    else:
        assert seen.result.status == "completed"


@pytest.mark.parametrize(
    ("way", "name"),
    [("stream", "on_chunk"), *((way, name) for way in WAYS for name in ("on_step_finish", "on_finish", "on_abort"))],
)
async def test_of_a_callback(way: str, name: str) -> None:
    """It is raised in the callback's name, and only logged where the outcome stands."""
    signal = AbortSignal()
    if name == "on_abort":
        signal.abort()
    with capture_logs() as logs:
        agent = Agent("a", model=FakeModel("x"))
        seen = await ask(agent, way, abort_signal=signal, **{name: stray})
    if name in ("on_abort", "on_finish"):
        assert seen.result.status == ("aborted" if name == "on_abort" else "completed")
        assert f"{name} failed" in [entry["event"] for entry in logs]
    else:
        assert isinstance(seen.error, StepError)
        assert str(seen.error).startswith(f"{name} raised CancelledError")


async def test_of_a_piece_of_a_pool() -> None:
    """It is raised as what it is, and the other pieces are cancelled."""
    ended: list[int] = []

    async def work(index: int) -> None:
        if index == 0:
            await await_a_cancelled_task()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(index)

    with pytest.raises(asyncio.CancelledError):
        await Pool(work, 2).run(5.0)
    assert ended == [1]


@both_ways
async def test_a_cancellation_of_the_run_is_none(way: str) -> None:
    """What was cancelled itself ends as cancelled, whatever it waits for: no processor is named, nothing goes on."""
    model = FakeModel([say("x")])
    with anyio.move_on_after(5), anyio.CancelScope() as scope:

        async def cancel(ctx: Any) -> None:
            scope.cancel()
            await asyncio.ensure_future(asyncio.sleep(3600))

        await ask(Agent("a", model=model, input_processors=[at("process_input", cancel, on_error="skip")]), way)
    assert (scope.cancelled_caught, model.requests) == (True, [])
