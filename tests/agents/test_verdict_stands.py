"""A verdict, and how a run ended, stand whatever goes wrong afterwards: in the model, in a callback of the caller's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, text_only

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.errors import ModelError, ProcessorError, StepError
from procession.messages.chunks import Chunk, Finish, TextDelta
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.testing.fake_model import FakeModel
from procession.testing.recorder import record
from procession.testing.script import fail, say

IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}

both_ways = pytest.mark.parametrize("way", WAYS)


class Breaking:
    """A model that says something and then fails, or fails to close its stream."""

    id = "breaking"

    def __init__(self, failure: Exception, *, closing: bool = False) -> None:
        self.failure = failure
        self.closing = closing
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer the first call badly, and the later ones well."""
        self.requests.append(request)
        if len(self.requests) > 1:
            yield TextDelta("good")
            yield Finish("stop")
            return
        try:
            yield TextDelta("bad")
            yield TextDelta(" words")
            if not self.closing:
                raise self.failure
        finally:
            if self.closing:
                raise self.failure


def no_bad(**options: Any) -> Any:
    """Return a guard that takes no bad text in a stream."""

    def act(ctx: Any) -> None:
        if "bad" in ctx.chunk.text:
            ctx.abort("not this", **options)

    return at("process_output_stream", text_only(act))


failures = pytest.mark.parametrize("failure", [ModelError("broken"), RuntimeError("socket")])


@both_ways
@pytest.mark.parametrize("closing", [False, True])
@failures
async def test_a_model_that_fails_after_the_verdict_changes_nothing(
    failure: Exception, closing: bool, way: str
) -> None:
    """What a guard stopped stays stopped although the rest of the answer cannot be read, or not be closed."""
    model = Breaking(failure, closing=closing)
    seen = await ask(Agent("parrot", model=model, output_processors=[no_bad()]), way)
    assert (seen.result.status, seen.tripwire.reason, seen.result.text) == ("blocked", "not this", "")
    assert seen.chunks.types[-1] == "tripwire"


@both_ways
@failures
async def test_a_retry_stands_although_the_model_fails_after_it(failure: Exception, way: str) -> None:
    """An attempt that was sent back is made again, as an attempt that was rejected and not as one that failed."""
    model = Breaking(failure)
    agent = Agent("parrot", model=model, output_processors=[no_bad(retry=True)], max_processor_retries=1)
    result = (await ask(agent, way)).result
    assert (result.status, result.text, len(model.requests)) == ("completed", "good", 2)
    assert [step.tripwire.reason for step in result.rejected if step.tripwire] == ["not this"]


@both_ways
@failures
async def test_an_answer_instead_stands_although_the_model_fails_after_it(failure: Exception, way: str) -> None:
    """The answer that a processor gave is the run's, whatever becomes of the rest of the model's."""

    def act(ctx: Any) -> None:
        ctx.replace_response("Something else.")

    agent = Agent(
        "parrot", model=Breaking(failure), output_processors=[at("process_output_stream", text_only(act))]
    )  # fmt: skip
    result = (await ask(agent, way)).result
    assert (result.status, result.text) == ("completed", "Something else.")


class Complaining:
    """A caller's ``on_chunk`` that raises at chunks of one type, at once or when awaited."""

    def __init__(self, kind: str, later: bool = False) -> None:
        self.kind = kind
        self.later = later
        self.seen: list[str] = []

    def __call__(self, chunk: Chunk) -> Any:
        """Take a chunk."""
        self.seen.append(chunk.type)
        if chunk.type == self.kind:
            if self.later:
                return self._complain()
            raise ValueError("the screen is gone")
        return None

    async def _complain(self) -> None:
        raise ValueError("the screen is gone")


async def asked(agent: Agent, way: str, on_chunk: Complaining, **options: Any) -> tuple[AgentResult, list[str]]:
    """Call *agent* with *on_chunk*; return the result and the types of the chunks that a reader sees."""
    if way == "generate":
        return await agent.generate("Hi", on_chunk=on_chunk, **options), on_chunk.seen
    async with agent.stream("Hi", on_chunk=on_chunk, **options) as stream:
        chunks = await record(stream.full_stream)
        return await stream.result(), list(chunks.types)


@both_ways
@pytest.mark.parametrize("later", [False, True])
async def test_a_callback_cannot_undo_a_verdict(later: bool, way: str) -> None:
    """``on_chunk`` that raises at the tripwire: the result is blocked all the same, and what is to be kept is kept."""
    memory = Memory(persist_on_tripwire="input")
    agent = Agent("parrot", model=FakeModel("bad"), memory=memory, output_processors=[no_bad()])
    on_chunk = Complaining("tripwire", later)
    result, chunks = await asked(agent, way, on_chunk, **IDS)
    assert result.status == "blocked"
    assert result.tripwire is not None and result.tripwire.reason == "not this"
    assert (on_chunk.seen[-1], chunks[-1]) == ("tripwire", "tripwire")
    assert [message.text for message in await memory.recall("t", "ada")] == ["Hi"]


@both_ways
async def test_a_callback_does_not_hide_why_a_run_failed(way: str) -> None:
    """``on_chunk`` that raises at the error chunk: the caller is told of the processor that failed."""

    def broken(ctx: Any) -> None:
        raise RuntimeError("x")

    agent = Agent("parrot", model=FakeModel("x"), output_processors=[at("process_output_step", broken)])
    with pytest.raises(ProcessorError):
        await asked(agent, way, Complaining("error"))


@both_ways
async def test_a_callback_does_not_hide_that_the_model_failed(way: str) -> None:
    """``on_chunk`` that raises at the error chunk of a model's failure: it is the model's error that is raised."""
    agent = Agent("parrot", model=FakeModel([fail("overloaded", status=503)]))
    with pytest.raises(ModelError, match="overloaded"):
        await asked(agent, way, Complaining("error"))


@both_ways
async def test_a_callback_that_raises_where_nothing_else_happened_fails_the_call(way: str) -> None:
    """``on_chunk`` that raises while a run goes well is told to the caller, up to the end of the last step."""
    agent = Agent("parrot", model=FakeModel([say("fine")]))
    with pytest.raises(StepError, match="on_chunk raised ValueError"):
        await asked(agent, way, Complaining("step-finish"))
