"""Aborting a run at any moment: what is kept, what is told, and that nothing goes on."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool, list_of, text_only, turn
from tests.models.wire import DONE, WireAnswer, delta, serving

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.errors import ProcessorError, RunCancelled
from procession.messages.chunks import Finish, TextDelta
from procession.models.openai_chat import OpenAIChatModel
from procession.processors.hooks import Hook
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


def breaking_off(signal: AbortSignal, *pieces: str) -> Reply:
    """Return a reply that says *pieces*, and at whose next piece the signal is set."""

    def text() -> Any:
        yield from pieces
        signal.abort("enough")
        yield "never seen"

    return Reply(text())


async def stuck(ctx: Any) -> None:
    """Never come to an end."""
    await anyio.sleep_forever()


def aborting(signal: AbortSignal) -> Callable[[Any], Any]:
    """Return a hook that sets the signal and then waits for ever."""

    async def act(ctx: Any) -> None:
        signal.abort("enough")
        await stuck(ctx)

    return act


@both_ways
async def test_aborted_before_it_began(way: str) -> None:
    """A call whose signal is set already asks nobody and saves nothing: ``abort`` and ``finish`` are all that comes."""
    signal, model, store, calls = AbortSignal(), FakeModel("x"), InMemoryStore(), list[str]()
    signal.abort("the user left")
    agent = Agent("guide", model=model, memory=Memory(store), input_processors=[at("process_input", calls.append)])
    seen = await ask(agent, way, abort_signal=signal, **IDS)
    result = seen.result
    assert (result.status, result.finish_reason, result.text, result.steps) == ("aborted", "aborted", "", ())
    assert (result.tripwire, result.error) == (None, None)
    assert seen.chunks.types == ["abort", "finish"]
    assert (model.requests, calls, await store.messages("t")) == ([], [], [])


async def test_aborted_while_the_model_answers() -> None:
    """What was delivered is the result, a step of its own, and is saved; the model's stream is closed."""
    signal, store = AbortSignal(), InMemoryStore()
    model = FakeModel([breaking_off(signal, "Hel", "lo")])
    agent = Agent("guide", model=model, memory=Memory(store))
    told: list[AgentResult] = []
    seen = await ask(agent, "stream", abort_signal=signal, on_abort=told.append, on_finish=told.append, **IDS)
    result = seen.result
    assert (result.status, result.finish_reason, result.text) == ("aborted", "aborted", "Hello")
    assert [(step.finish_reason, step.text) for step in result.steps] == [("aborted", "Hello")]
    assert seen.chunks.types[-2:] == ["abort", "finish"]
    assert seen.chunks.types.count("abort") == seen.chunks.types.count("finish") == 1
    finish = seen.chunks[-1]
    assert isinstance(finish, Finish)
    assert (finish.reason, finish.text) == ("aborted", "Hello")
    assert [message.text for message in await store.messages("t")] == ["Hi", "Hello"]
    assert (told, model.unfinished) == ([result, result], 1)


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_aborted_in_a_hook(way: str, hook: str) -> None:
    """A run may be aborted in each hook; no further hook is called but ``process_output_result``, and no tool runs."""
    signal, later = AbortSignal(), list[str]()
    tool, calls = counted_tool()

    class Last(Processor):
        id = "last"

        def process_output_result(self, ctx: Any) -> None:
            later.append(ctx.hook.value)

        def process_input_step(self, ctx: Any) -> None:
            later.append(ctx.hook.value)

    runtime = Runtime(grace=0.05)
    lists: dict[str, Any] = {"output_processors": [Last()]}
    stopper = at(hook, text_only(aborting(signal)), id="stopper")
    lists[list_of(hook)] = [*lists.get(list_of(hook), []), stopper]
    agent = Agent("guide", model=FakeModel(turn(hook)), tools=[tool], runtime=runtime, **lists)
    if hook == Hook.OUTPUT_RESULT:
        agent = Agent("guide", model=FakeModel("x"), runtime=runtime, output_processors=[stopper])
    with capture_logs():
        result = (await ask(agent, way, abort_signal=signal)).result
    assert (result.status, result.finish_reason, result.tripwire) == ("aborted", "aborted", None)
    expected = [] if hook in (Hook.INPUT, Hook.OUTPUT_RESULT) else ["process_output_result"]
    assert later == expected
    assert len(calls) == (1 if hook == Hook.TOOL_RESULT else 0)
    assert "secret text" not in result.text or hook == Hook.TOOL_RESULT


@both_ways
async def test_what_process_output_step_had_still_to_look_at_is_dropped(way: str) -> None:
    """An answer that a processor in ``process_output_step`` has not let pass is neither in the result nor saved."""
    signal, store = AbortSignal(), InMemoryStore()
    agent = Agent(
        "guide",
        model=FakeModel([breaking_off(signal, "Hel", "lo")]),
        memory=Memory(store),
        output_processors=[at("process_output_step", lambda ctx: None)],
    )
    result = (await ask(agent, way, abort_signal=signal, **IDS)).result
    assert (result.status, result.text, result.steps) == ("aborted", "", ())
    assert [message.text for message in await store.messages("t")] == ["Hi"]


@both_ways
@pytest.mark.parametrize("count", [1, 3])
async def test_aborted_while_tools_run(way: str, count: int) -> None:
    """Running tools are cancelled and awaited; the step's text stays, and its calls are closed as undone."""
    signal, ended, store = AbortSignal(), list[str](), InMemoryStore()

    async def execute(args: Any, ctx: Any) -> None:
        signals.append(ctx.abort_signal)
        if len(begun) == count - 1:
            signal.abort()
        begun.append(ctx.tool_call_id)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(ctx.tool_call_id)

    begun: list[str] = []
    signals: list[AbortSignal] = []
    tool: Tool[Any] = Tool(name="slow", parameters={"type": "object"}, execute=execute)
    reply = say("Wait. ")
    for _ in range(count):
        reply += call_tool("slow")
    model = FakeModel([reply, "Hello again."])
    agent = Agent("guide", model=model, tools=[tool], memory=Memory(store))
    result = (await ask(agent, way, abort_signal=signal, **IDS)).result
    assert (result.status, result.text, sorted(ended)) == ("aborted", "Wait. ", sorted(begun))
    assert len(begun) == count
    assert all(each.aborted for each in signals)
    assert "aborted before the tool had answered" in str(result.messages[0].parts[-1])
    assert (await ask(agent, way, **IDS)).result.text == "Hello again."


@both_ways
async def test_a_verdict_on_what_an_aborted_run_said_counts(way: str) -> None:
    """A tripwire in ``process_output_result`` wins: the run is blocked, and its text neither told nor saved."""
    signal, store = AbortSignal(), InMemoryStore()
    agent = Agent(
        "guide",
        model=FakeModel([breaking_off(signal, "sec", "ret")]),
        memory=Memory(store),
        output_processors=[at("process_output_result", lambda ctx: ctx.abort("no"))],
    )
    told: list[Any] = []
    seen = await ask(agent, way, abort_signal=signal, on_abort=told.append, **IDS)
    assert (seen.result.status, seen.result.text, seen.result.finish_reason) == ("blocked", "", "other")
    assert (seen.chunks.types[-1], told, await store.messages("t")) == ("tripwire", [], [])


@both_ways
async def test_a_look_that_takes_too_long_keeps_nothing(way: str) -> None:
    """What ``process_output_result`` could not look at within the grace period is dropped and not saved."""
    signal, store = AbortSignal(), InMemoryStore()
    agent = Agent(
        "guide",
        model=FakeModel([breaking_off(signal, "Hel", "lo")]),
        memory=Memory(store),
        runtime=Runtime(grace=0.01),
        output_processors=[at("process_output_result", stuck)],
    )
    with capture_logs() as logs:
        result = (await ask(agent, way, abort_signal=signal, **IDS)).result
    assert (result.status, result.text, await store.messages("t")) == ("aborted", "", [])
    assert any("took too long" in entry["event"] for entry in logs)


@both_ways
async def test_a_failure_in_the_last_look_is_an_error(way: str) -> None:
    """A processor that fails over an aborted run's answer fails the call (D17)."""
    signal = AbortSignal()

    def broken(ctx: Any) -> None:
        raise ValueError

    agent = Agent(
        "guide",
        model=FakeModel([breaking_off(signal, "x")]),
        output_processors=[at("process_output_result", broken)],
    )
    with pytest.raises(ProcessorError):
        _ = (await ask(agent, way, abort_signal=signal)).result


@both_ways
async def test_an_abort_after_the_end_changes_nothing(way: str) -> None:
    """A signal that is set too late, or given to several calls, touches only what still runs."""
    signal = AbortSignal()
    agent = Agent("guide", model=FakeModel(["one", "two"]))
    assert (await ask(agent, way, abort_signal=signal)).result.status == "completed"
    signal.abort()
    assert (await ask(agent, way, abort_signal=signal)).result.status == "aborted"
    assert (await ask(agent, way)).result.text == "one two"[4:]


@both_ways
async def test_on_abort_cannot_change_the_end(way: str) -> None:
    """What ``on_abort`` raises is logged without its words, and so is what ``on_chunk`` raises at the last chunks."""
    signal = AbortSignal()
    signal.abort()

    def complain(value: Any) -> None:
        raise ValueError("private")

    with capture_logs() as logs:
        result = await Agent("guide", model=FakeModel("x")).generate(
            "Hi", abort_signal=signal, on_abort=complain, on_chunk=complain
        )
    assert result.status == "aborted"
    assert [entry["event"] for entry in logs] == ["on_chunk failed", "on_chunk failed", "on_abort failed"]
    assert "private" not in str(logs)
    with pytest.raises(RunCancelled):
        result.raise_for_status()


async def test_leaving_a_stream_early_aborts_the_run() -> None:
    """Whoever leaves the block early aborts the run: the same end, the same result, the same memory."""
    store, told = InMemoryStore(), list[AgentResult]()
    model = FakeModel([Reply(("Hel", "lo", " there"), pause=0.01)])
    agent = Agent("guide", model=model, memory=Memory(store))
    async with agent.stream("Hi", on_abort=told.append, **IDS) as stream:
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                break
    result = await stream.result()
    assert (result.status, result.text, told, model.unfinished) == ("aborted", "Hel", [result], 1)
    assert [message.text for message in await store.messages("t")] == ["Hi", "Hel"]


async def test_a_stream_that_is_left_ends_within_the_grace_period() -> None:
    """A run that does not come to its end once its stream is left is cancelled after the grace period."""
    agent = Agent(
        "guide",
        model=FakeModel(Reply("x", delay=60)),
        runtime=Runtime(grace=0.01),
        output_processors=[at("process_output_result", stuck)],
    )
    with capture_logs():
        async with agent.stream("Hi") as stream:
            await anyio.wait_all_tasks_blocked()
    assert (await stream.result()).status == "aborted"


class Swallows(Processor):
    """A processor that lets no exception of any kind through."""

    id = "swallows"

    def __init__(self, told: list[Any]) -> None:
        super().__init__(id="swallows")
        self.on_violation = told.append

    async def process_output_stream(self, ctx: Any) -> Any:
        try:
            if ctx.chunk.type == "text-delta":
                await anyio.sleep_forever()
        except BaseException:
            pass
        return ctx.chunk


@pytest.mark.parametrize("way", ["task", "scope"])
async def test_cancelling_the_caller_reaches_the_caller(way: str, anyio_backend: str) -> None:
    """CAN-005: cancelling is no verdict of a guard, and no processor can swallow it; ``on_abort`` is told."""
    violations, told, raised = list[Any](), list[AgentResult](), list[str]()
    model = FakeModel(["a", "b"])
    agent = Agent("guide", model=model, output_processors=[Swallows(violations)], on_abort=told.append)
    begun = anyio.Event()

    async def call() -> None:
        try:
            begun.set()
            await agent.generate("Hi")
            raised.append("nothing")
        except anyio.get_cancelled_exc_class():
            raised.append("cancelled")
            raise

    if way == "task" and anyio_backend == "asyncio":
        task = asyncio.create_task(call())
        await anyio.wait_all_tasks_blocked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert begun.is_set()
    if raised == ["nothing"]:  # on trio a call that never waits again has an answer before it can be cancelled
        assert anyio_backend == "trio"
        return
    assert (raised, violations, len(model.requests)) == (["cancelled"], [], 1)
    ends = [(result.status, result.finish_reason, result.tripwire, result.violations) for result in told]
    assert ends == [("aborted", "aborted", None, ())]


async def test_cancelling_the_reader_of_a_stream(anyio_backend: str) -> None:
    """CAN-005: cancelled while it reads, a caller is told so, and the run is over, whatever a processor swallows."""
    violations, told = list[Any](), list[AgentResult]()
    agent = Agent("guide", model=FakeModel(["a", "b"]), output_processors=[Swallows(violations)], on_abort=told.append)
    stream = agent.stream("Hi")
    with anyio.CancelScope() as scope:
        async with stream:
            async for chunk in stream:
                if chunk.type == "text-start":
                    scope.cancel()
            await anyio.lowlevel.checkpoint()  # what a processor has swallowed may have ended the stream first
    assert scope.cancelled_caught
    result = await stream.result()
    assert (result.status, result.finish_reason, result.tripwire) == ("aborted", "aborted", None)
    assert (violations, told, result.violations) == ([], [result], ())


def endless(hold: anyio.Event) -> WireAnswer:
    """Return an answer of a server that begins to speak and then holds."""
    return WireAnswer((delta(role="assistant", content="Hel"), hold, delta(content="lo", finish="stop"), DONE))


@pytest.mark.parametrize("way", ["aclose", "break", "cancel", "signal"])
async def test_the_connection_is_closed_at_once(way: str) -> None:
    """CAN-001: whoever stops reading closes the provider's connection at once, and leaves no task or warning behind."""
    hold, signal = anyio.Event(), AbortSignal()
    async with serving(endless(hold)) as server:
        agent = Agent("guide", model=OpenAIChatModel("m", base_url=server.base_url))
        stream = agent.stream("Hi", abort_signal=signal)
        with anyio.CancelScope() as scope:
            async with stream:
                reader = stream.text_stream
                assert await anext(reader) == "Hel"
                if way == "aclose":
                    await reader.aclose()
                elif way == "cancel":
                    scope.cancel()
                    await anyio.sleep_forever()
                elif way == "signal":
                    signal.abort()
                    assert (await stream.result()).text == "Hel"
                del reader
                gc.collect()
        with anyio.fail_after(5):
            await server.gone.wait()
        assert (await stream.result()).status == "aborted"


async def test_a_first_chunk_that_comes_too_late() -> None:
    """CAN-003: a time limit round the first chunk ends the wait alone; the stream closes cleanly, and the agent serves on."""
    hold = anyio.Event()
    late = WireAnswer((hold, delta(content="late", finish="stop"), DONE))
    ready = WireAnswer((delta(content="Hello.", finish="stop"), DONE))
    async with serving(late) as slow, serving(ready) as quick:
        agent = Agent("guide", model=OpenAIChatModel("m", base_url=quick.base_url))
        async with agent.stream("Hi", model=OpenAIChatModel("m", base_url=slow.base_url)) as stream:
            reader = stream.text_stream
            with pytest.raises(TimeoutError), anyio.fail_after(0.01):
                await anext(reader)
        assert (await stream.result()).status == "aborted"
        assert (await agent.generate("Hi")).text == "Hello."
