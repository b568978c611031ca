"""What lower rooms may ask of the loop is there while the run goes on, and not after that."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from procession.agents.agent import Agent
from procession.processors.context import StreamWriter
from procession.processors.contexts import InputContext
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.steps.abort import AbortSignal
from procession.storage.memory_store import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio


class Payload:
    """Something large that belongs to one request."""


class Keeper(Processor):
    """Keeps its writer for longer than the run goes on."""

    writer: StreamWriter | None = None

    def process_input(self, ctx: InputContext) -> None:
        """Keep it."""
        self.writer = ctx.writer


@tool
def add(a: int) -> str:
    """Add one."""
    return str(a + 1)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Nothing is collected that still refers to itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _agent(**options: Any) -> Agent:
    return Agent("a", model=FakeModel([call_tool("add", {"a": 1}), "Done."]), tools=[add], **options)


async def test_what_a_run_was_made_of_is_gone_when_it_has_ended(no_collector: None) -> None:
    """Nothing of a run waits for the garbage collector: a thousand runs at once would fill the memory meanwhile."""
    payload = Payload()
    kept = weakref.ref(payload)
    result = await _agent().generate("Hi", request_context={"payload": payload})
    del payload
    assert result.text == "Done."
    assert kept() is None


async def test_an_abort_signal_keeps_no_run_alive(no_collector: None) -> None:
    """A signal that outlives the run, which it may have aborted, does not hold on to it."""
    signal = AbortSignal()
    payload = Payload()
    kept = weakref.ref(payload)
    await _agent().generate("Hi", request_context={"payload": payload}, abort_signal=signal)
    del payload
    assert kept() is None


async def test_what_a_stream_was_made_of_is_gone_when_it_has_ended(no_collector: None) -> None:
    """The same of a run that is read as it comes."""
    payload = Payload()
    kept = weakref.ref(payload)
    async with _agent().stream("Hi", request_context={"payload": payload}) as stream:
        del payload
        assert [piece async for piece in stream.text_stream] == ["Done."]
        assert kept() is not None
    del stream
    assert kept() is None


async def test_what_a_memory_noted_of_a_run_is_gone_when_it_has_ended(no_collector: None) -> None:
    """The same of a run that wrote into its working memory, and gave its thread a title."""
    payload = Payload()
    kept = weakref.ref(payload)
    memory = Memory(InMemoryStore(), working_memory=True, generate_title=True)
    model = FakeModel([call_tool("updateWorkingMemory", {"memory": "x"}), "Done.", "A title"])
    agent = Agent("a", model=model, memory=memory)
    await agent.generate("Hi", thread="t", resource="ada", request_context={"payload": payload})
    del payload
    thread = await memory.thread("t", "ada")
    assert thread is not None
    assert thread.title == "A title"
    assert await memory.working_memory(resource="ada") == "x"
    assert kept() is None


async def test_what_is_written_after_the_end_reaches_nobody() -> None:
    """Work that goes on after the run may still write: it is dropped, and no reader that joins late sees it."""
    keeper = Keeper(id="keeper")
    async with _agent(input_processors=[keeper]).stream("Hi") as stream:
        await stream.result()
        seen = [chunk async for chunk in stream.full_stream]
        assert keeper.writer is not None
        await keeper.writer.custom({"type": "data-late", "data": 1})
        assert [chunk async for chunk in stream.full_stream] == seen
