"""Which fragment belongs to which call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from procession.messages.chunks import Chunk, ToolCall, ToolInputDelta, ToolInputStart
from procession.models.formats.openai.chat_calls import ToolCallParts


def part(args: str = "", name: str = "", **fields: Any) -> Mapping[str, Any]:
    """One fragment."""
    return {**fields, "function": {"name": name, "arguments": args}}


def read(*fragments: Mapping[str, Any]) -> tuple[list[Chunk], list[ToolCall]]:
    """Return what was shown on the way, and the calls."""
    parts = ToolCallParts()
    shown = [chunk for fragment in fragments for chunk in parts.add(fragment)]
    chunks, _ = parts.finish(cut=False)
    return shown, [chunk for chunk in chunks if isinstance(chunk, ToolCall)]


def test_empty_fragments_are_nothing() -> None:
    """A fragment without anything in it opens no call."""
    parts = ToolCallParts()
    assert list(parts.add({"index": 0})) == []
    assert list(parts.add({})) == []
    assert not parts


def test_name_after_arguments() -> None:
    """Arguments that come before the name are shown once the name is there."""
    shown, calls = read(part('{"a"', index=0, id="c"), part(":1}", "f", index=0))
    assert shown == [ToolInputStart("c", "f"), ToolInputDelta("c", '{"a"', "f"), ToolInputDelta("c", ":1}", "f")]
    assert calls == [ToolCall("c", "f", {"a": 1})]


def test_id_after_the_first_fragment() -> None:
    """A late id names the call, unless the call was already shown under a name of our own."""
    _, (early,) = read(part('{"a"', index=0), part(":1}", "f", index=0, id="c"))
    assert early.tool_call_id == "c"
    shown, (late,) = read(part("", "f", index=0), part("{}", index=0, id="c"))
    assert isinstance(shown[0], ToolInputStart)
    assert late.tool_call_id == shown[0].tool_call_id != "c"


def test_fragments_that_name_their_call_again() -> None:
    """Without an index the id leads a fragment to its call, also past a later one."""
    _, calls = read(part("", "f", id="a"), part("", "g", id="b"), part('{"x":1}', id="a"), part("{}", id="b"))
    assert calls == [ToolCall("a", "f", {"x": 1}), ToolCall("b", "g", {})]


def test_index_that_is_none() -> None:
    """An index that is no number counts as missing."""
    _, calls = read(part("{}", "f", id="a", index="0"), part("{}", "g", id="b", index=True))
    assert [call.tool_name for call in calls] == ["f", "g"]


def test_reading_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that repeats the name with every piece, and has no ids, does not have all of it read for each."""
    read_so_far: list[int] = []
    real = json.loads

    def counted(text: str, **options: Any) -> Any:
        read_so_far.append(len(text))
        return real(text, **options)

    monkeypatch.setattr(json, "loads", counted)
    pieces = ['{"text": "', *(["{}"] * 5_000), '"}']
    _, calls = read(*(part(piece, "f", index=0) for piece in pieces))
    assert [call.args for call in calls] == [{"text": "{}" * 5_000}]
    assert sum(read_so_far) < 4 * sum(map(len, pieces)) + 100 * 400
