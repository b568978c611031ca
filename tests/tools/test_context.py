"""What a tool is given beside its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from procession.errors import InputError
from procession.messages.chunks import Chunk, DataChunk, ToolOutput
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.tools.context import ToolContext


async def test_writer_sends_data() -> None:
    """Data of the application is sent as chunks, from a chunk or from its fields."""
    sent: list[Chunk] = []
    writer = ToolContext(emit=sent.append).writer
    await writer.custom(DataChunk("data-a", 1))
    await writer.custom({"type": "data-b", "data": {"pct": 50}, "transient": True, "id": "x"})
    assert sent == [DataChunk("data-a", 1), DataChunk("data-b", {"pct": 50}, "x", True)]


@pytest.mark.parametrize(
    ("chunk", "told"),
    [
        ({"type": "progress", "data": 1}, "data-"),
        ({"data": 1}, "data-"),
        (DataChunk("other", 1), "data-"),
        ({"type": "data-a", "payload": 1}, "no field 'payload'"),
    ],
)
async def test_chunks_that_are_no_data(chunk: Any, told: str) -> None:
    """A chunk that would be mistaken for one of the stream's own is refused, also where nobody listens."""
    with pytest.raises(InputError, match=told):
        await ToolContext().writer.custom(chunk)


async def test_writer_sends_values() -> None:
    """A value is sent as output of the call that wrote it, through a port that may be async."""
    sent: list[Chunk] = []

    async def emit(chunk: Chunk) -> None:
        sent.append(chunk)

    context = ToolContext(tool_call_id="c", tool_name="f", scope=RequestScope(emit=emit))
    await context.writer.write({"line": 1})
    assert sent == [ToolOutput("c", "f", {"line": 1})]


async def test_nobody_listens() -> None:
    """Where nobody reads the stream, what a tool writes is dropped."""
    await ToolContext().writer.write("x")
    await ToolContext().writer.custom({"type": "data-a", "data": 1})


def test_context_shows_the_request() -> None:
    """The context shows the request's values and the run that it belongs to."""
    scope = RequestScope(run_id="r", request_context=RequestContext({"tenant": "acme"}))
    context = ToolContext(scope=scope)
    assert (context.request_context["tenant"], context.run_id, context.attempt) == ("acme", "r", 1)
    assert ToolContext(run_id="q").scope.run_id == "q"
