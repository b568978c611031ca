"""What a step holds besides its text: files, sources and results, in the result and in hooks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.chunks import Chunk, FileChunk, Finish, SourceChunk, TextDelta, TextEnd, TextStart
from procession.messages.parts import FilePart, SourcePart
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

both_ways = pytest.mark.parametrize("way", WAYS)
FILE = FilePart("aGk=", "text/plain")
SOURCE = SourcePart("s1", "url", "https://a.example", "A page")


class Draws(FakeModel):
    """A model that gives a file and a source beside its text."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Answer."""
        yield TextStart()
        yield TextDelta("Here.")
        yield TextEnd()
        yield SourceChunk("s1", "url", "https://a.example", "A page")
        yield FileChunk("aGk=", "text/plain")
        yield Finish("stop")


@both_ways
async def test_files_and_sources_of_a_step(way: str) -> None:
    """A step has the files and sources that its model gave, in hooks and in the result."""
    seen: list[Any] = []
    look = at(
        "process_output_result", lambda ctx: seen.append((ctx.result.steps[0].files, ctx.result.steps[0].sources))
    )
    (step,) = (await ask(Agent("bot", model=Draws([]), output_processors=[look]), way)).result.steps
    assert (step.files, step.sources) == ((FILE,), (SOURCE,))
    assert seen == [((FILE,), (SOURCE,))]


@both_ways
async def test_a_file_that_a_processor_takes_out(way: str) -> None:
    """A file that a processor takes out of the answer is in no step either."""

    def take_out(ctx: Any) -> None:
        for message in ctx.messages:
            message.content.parts = [part for part in message.content.parts if part.type != "file"]

    agent = Agent("bot", model=Draws([]), output_processors=[at("process_output_step", take_out)])
    (step,) = (await ask(agent, way)).result.steps
    assert (step.files, step.sources, step.text) == ((), (SOURCE,), "Here.")


@both_ways
async def test_the_results_of_a_step_are_a_tuple(way: str) -> None:
    """A step's tool results are a tuple, with tools and without."""
    tool, _ = counted_tool()
    result = (await ask(Agent("bot", model=FakeModel([call_tool("lookup"), "Done."]), tools=[tool]), way)).result
    assert [type(step.tool_results) for step in result.steps] == [tuple, tuple]
    assert [len(step.tool_results) for step in result.steps] == [1, 0]
