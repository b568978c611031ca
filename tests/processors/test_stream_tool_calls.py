"""Tool calls that come while a text block is open: held text goes before them, and nothing of a match comes out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.stream_kit import Holder, deltas, made, push, streamed, texts
from tests.processors.test_stream_promises import Model, pii, told

from procession.messages.chunks import (
    Chunk,
    Finish,
    SourceChunk,
    StepFinish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputStart,
    ToolResult,
)
from procession.messages.parts import TextPart, ToolCallPart
from procession.steps.signals import Tripwire
from procession.tools.tool import Tool

CALL = ToolCall("c-1", "look", {})
ENDS: dict[str, list[Chunk]] = {
    "text-end": [TextEnd("0"), Finish("tool-calls")],
    "finish": [Finish("stop")],
    "step-finish": [StepFinish("stop")],
    "nothing": [],
}


def shape(chunks: list[Chunk]) -> list[str]:
    """Return the order of text and tool chunks, text that follows text as one."""
    found: list[str] = []
    for chunk in chunks:
        if isinstance(chunk, TextDelta) and found and found[-1].startswith("text "):
            found[-1] += chunk.text
        elif isinstance(chunk, TextDelta):
            found.append(f"text {chunk.text}")
        else:
            found.append(chunk.type)
    return found


@pytest.mark.parametrize("end", ENDS)
async def test_held_text_goes_before_the_call(end: str) -> None:
    """A model that does not end its text before it calls a tool has its text in front of the call all the same."""
    out = await streamed([*deltas("mail eva@exam", "ple.net"), CALL, *ENDS[end]], pii())
    assert shape(out)[:1] == ["text mail [EMAIL]"]
    assert [chunk.type for chunk in out].count("tool-call") == 1
    assert [each for each in shape(out) if each in ("tool-call", "finish", "step-finish")] == [
        "tool-call", *(each.type for each in ENDS[end] if each.control),
    ]  # fmt: skip


async def test_text_behind_the_call_is_looked_at_as_one() -> None:
    """A match that a tool call parts is hidden; its text is one block, which stands in front of the call."""
    chunks = [*deltas("to eva@exam"), CALL, *deltas("ple.net now"), TextEnd("text"), Finish("stop")]
    assert shape(await streamed(chunks, pii())) == ["text to [EMAIL] now", "text-end", "tool-call", "finish"]
    stream = made(pii(strategy="block"))
    out: list[Chunk] = []
    with pytest.raises(Tripwire):
        for chunk in chunks:
            out += await push(stream, chunk)
    assert "".join(texts(out)) in "to " and CALL not in out


async def test_what_comes_behind_a_call_keeps_its_order() -> None:
    """What the model sends behind a call that waits comes behind it: its result, other calls, other blocks."""
    result = ToolResult("c-1", "look", {}, "found")
    second = ToolCall("c-2", "look", {})
    source = SourceChunk(id="s", url="https://a.example")
    behind: list[Chunk] = [
        result, source, ToolInputStart("c-2", "look"), second, TextStart("1"), TextDelta("b@example.net", "1"), TextEnd("1"),
    ]  # fmt: skip
    out = await streamed([*deltas("a eva@exam"), CALL, *behind, *deltas("ple.net"), Finish("stop")], pii())
    assert shape(out) == [
        "text a [EMAIL]", "tool-call", "tool-result", "source", "tool-call-input-streaming-start", "tool-call",
        "text-start", "text [EMAIL]", "text-end", "finish",
    ]  # fmt: skip


async def test_a_call_waits_for_nothing_where_no_text_is_open() -> None:
    """A call behind the end of the text, or before any text, goes on at once; so does each behind a plain chain."""
    stream = made(pii())
    assert await push(stream, CALL) == [CALL]
    for chunk in (TextStart(), *deltas("hello"), TextEnd()):
        await push(stream, chunk)
    assert (await push(stream, CALL))[-2:] == [TextEnd(), CALL]  # the end of a block waits for the next chunk only


async def test_a_call_of_a_rejected_attempt_is_gone() -> None:
    """A call that waited when the attempt was sent back does not come out with the next one."""
    stream = made(Holder(id="h"))
    for chunk in (*deltas("no"), CALL):
        assert await push(stream, chunk) == []
    stream.discard()
    assert texts([*(await push(stream, deltas("yes")[0])), *(await stream.flush())]) == ["[yes]"]
    assert await stream.flush() == []


async def test_the_answer_has_the_text_before_the_call() -> None:
    """Reader, messages and the next prompt have the text, then the call, which runs once."""
    model = Model([*deltas("mail eva@exam", "ple.net"), CALL, Finish("tool-calls")], [*deltas("Done."), Finish("stop")])
    ran: list[Any] = []
    out, result = await told(model, pii(), tools={"look": _tool(ran)}, max_steps=2)
    assert len(ran) == 1
    types = [chunk.type for chunk in out]
    assert "text-delta" in types[: types.index("tool-call")]
    assert "text-delta" not in types[types.index("tool-call") : types.index("step-finish")]
    kinds = [type(part) for part in result.messages[0].parts if isinstance(part, (TextPart, ToolCallPart))]
    assert kinds == [TextPart, ToolCallPart, TextPart]
    assert result.text == "mail [EMAIL]Done."


def _tool(ran: list[Any]) -> Tool[Any]:
    def execute(args: Any, ctx: Any) -> str:
        ran.append(args)
        return "found"

    return Tool(name="look", parameters={"type": "object"}, execute=execute)
