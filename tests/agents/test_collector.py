"""The processed chunks of one model call, put together to the parts of a message."""

from __future__ import annotations

import pytest

from procession.agents.collector import Collector
from procession.messages.chunks import (
    Chunk,
    FileChunk,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from procession.messages.parts import DataPart, FilePart, Part, ReasoningPart, SourcePart, TextPart, ToolCallPart


def collected(*chunks: Chunk) -> list[Part]:
    """Return the parts that *chunks* make."""
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    return collector.parts()


@pytest.mark.parametrize(
    ("chunks", "parts"),
    [
        ((), []),
        ((TextStart(), TextDelta("a"), TextDelta("b"), TextEnd()), [TextPart("ab")]),
        ((TextDelta("a", "1"), TextDelta("b", "2")), [TextPart("a"), TextPart("b")]),
        ((TextDelta(""),), []),
        ((TextDelta("a"), ToolCall("c", "f", {}), TextDelta("b")), [TextPart("a"), ToolCallPart("c", "f", {}), TextPart("b")]),
        (
            (ReasoningStart(), ReasoningDelta("hm"), ReasoningDelta("m", signature="s"), ReasoningEnd(), TextDelta("a")),
            [ReasoningPart("hmm", "s"), TextPart("a")],
        ),
        ((ReasoningDelta("hm"), ReasoningEnd(signature="end")), [ReasoningPart("hm", "end")]),
        ((ReasoningDelta("", redacted="xyz"),), [ReasoningPart("", None, "xyz")]),
        (
            (ReasoningDelta("", "r", redacted="a"), ReasoningDelta("", "r", redacted="b"), ReasoningDelta("hm", "r")),
            [ReasoningPart("", None, "a"), ReasoningPart("", None, "b"), ReasoningPart("hm")],
        ),
        ((FileChunk("QQ==", "image/png"),), [FilePart("QQ==", "image/png")]),
        ((SourceChunk("s", url="http://x"),), [SourcePart("s", "url", "http://x")]),
    ],
)  # fmt: skip
def test_parts(chunks: tuple[Chunk, ...], parts: list[Part]) -> None:
    """Chunks of one block become one part, and parts stand in the order of their chunks."""
    assert collected(*chunks) == parts


@pytest.mark.parametrize(
    ("chunks", "parts"),
    [
        (
            (ReasoningStart("r", {"p": {"a": 1}}), ReasoningDelta("hm", "r"), ReasoningEnd("r", "s", {"p": {"b": 2}})),
            [ReasoningPart("hm", "s", None, {"p": {"a": 1, "b": 2}})],
        ),
        ((ReasoningStart("r", {"p": {"a": 1}}), ReasoningEnd("r")), [ReasoningPart("", None, None, {"p": {"a": 1}})]),
        (
            (ReasoningDelta("", "r", None, "xyz", {"p": {}}), ReasoningEnd("r", None, {"p": {"a": 1}}), TextDelta("t")),
            [ReasoningPart("", None, "xyz", {"p": {"a": 1}}), TextPart("t")],
        ),
        (
            (TextStart("t"), TextDelta("a", "t"), TextEnd("t", {"p": {"a": 1}}), TextDelta("b", "t")),
            [TextPart("a", {"p": {"a": 1}}), TextPart("b")],
        ),
        (
            (TextDelta("a"), TextStart("t", {"p": {"a": 1}}), TextDelta("b", "t"), TextDelta("c", "t"), TextEnd("t")),
            [TextPart("a"), TextPart("bc", {"p": {"a": 1}})],
        ),
        ((TextStart("t", {"p": {}}), TextEnd("t", {"p": {}}), TextDelta("a", "u")), [TextPart("a")]),
        ((ReasoningStart("r"), ReasoningEnd("r", "s"), ReasoningDelta("hm", "q")), [ReasoningPart("hm")]),
    ],
)
def test_what_a_provider_notes_is_kept_with_its_block(chunks: tuple[Chunk, ...], parts: list[Part]) -> None:
    """What a provider says at the beginning, in and at the end of a block is kept with the part, and with no other."""
    assert collected(*chunks) == parts


def test_text_and_tool_calls() -> None:
    """The text and the tool calls of the whole call are there beside the parts."""
    collector = Collector()
    for chunk in (TextDelta("a", "1"), ToolCall("c", "f", {}), TextDelta("b", "2")):
        collector.add(chunk)
    collector.parts()
    assert collector.text == "ab"
    assert [call.tool_call_id for call in collector.tool_calls] == ["c"]


def test_data_parts_a_block() -> None:
    """Data of the application stands where it came, between two pieces of text."""
    collector = Collector()
    collector.add(TextDelta("a"))
    collector.add_data(DataPart("data-x", 1))
    collector.add(TextDelta("b"))
    assert collector.parts() == [TextPart("a"), DataPart("data-x", 1), TextPart("b")]


def test_parts_are_taken_once() -> None:
    """What was taken does not come again."""
    collector = Collector()
    collector.add(TextDelta("a"))
    assert collector.parts() == [TextPart("a")]
    collector.add(TextDelta("b"))
    assert collector.parts() == [TextPart("b")]
