"""What guards make of what nested streams tell beside their text, and of arms that a map does not pick."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.processors.stream_kit import on_text, push, side_by_side, streamed
from tests.processors.test_every_guard_streams import Names

from procession.errors import MergeConflict
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    ErrorChunk,
    Finish,
    ObjectDelta,
    ObjectResult,
    StepFinish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolCallApproval,
    ToolCallSuspended,
    ToolError,
    ToolInputDelta,
    ToolOutput,
    ToolOutputDenied,
    ToolResult,
    TripwireChunk,
    TripwireInfo,
)
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.nested_path import Calls, opened, wrapped
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

ONE: Calls = (("c1", "agent-one"),)
MAIL = "ann@acme.org"
CALL = ("t1", "look", {"q": MAIL})
BESIDE: tuple[Chunk, ...] = (
    ToolResult(*CALL, {"who": [MAIL], MAIL: 1}),
    ToolError(*CALL, f"no {MAIL}"),
    ToolOutputDenied(*CALL, f"not {MAIL}"),
    ToolCallSuspended(*CALL, {"ask": MAIL}),
    ToolCallApproval(*CALL),
    ToolOutput("t1", "look", {"found": MAIL}),
    ObjectResult({"mail": MAIL}),
    StepFinish("retry", retry_reason=f"says {MAIL}", retry_metadata={"text": MAIL}),
    Finish("stop", text=f"It is {MAIL}."),
    TripwireChunk(TripwireInfo(f"says {MAIL}", metadata={"found": MAIL}, message=f"not {MAIL}"), "r"),
    ErrorChunk(ValueError(f"bad {MAIL}")),
)
"""Chunks in which an address stands that is no part of a text block."""
ARGS_SHOWN = (ToolResult, ToolError, ToolOutputDenied, ToolCallSuspended, ToolCallApproval)


RULES = ({"name": "code", "pattern": "ABC-[0-9]+"},)
WAYS = ("plain", "asking", "group", "asking group")


def guard_of(way: str, **options: Any) -> Any:
    """Return a detector of addresses: alone, with somebody to ask, or beside another guard."""
    detector: Any = Names() if "asking" in way else None
    guard = PIIDetector(detector=detector, **options)
    if "group" not in way:
        return guard
    other = RegexFilter(rules=RULES, strategy="redact")
    return create_workflow("w", kind="processor").parallel([guard, other])


every_way = pytest.mark.parametrize("way", WAYS)
every_chunk = pytest.mark.parametrize("chunk", BESIDE, ids=lambda chunk: chunk.type)


def shown(out: list[Chunk]) -> list[Chunk]:
    """Return what is in the wrapping."""
    return [opened(chunk)[1] for chunk in out]


@every_way
@every_chunk
async def test_what_stands_beside_text_is_redacted(way: str, chunk: Chunk) -> None:
    """A chunk keeps its kind and its shape; arguments of calls are left alone, as the answer's own are."""
    scope = RequestScope()
    guard = guard_of(way, redaction="placeholder")
    (out,) = shown(await streamed([wrapped(ONE, chunk)], guard, scope=scope))
    assert type(out) is type(chunk)
    told = repr(out.replace(args=None) if isinstance(out, ARGS_SHOWN) else out)
    assert MAIL not in told
    if isinstance(chunk, ToolCallApproval):
        assert out is chunk
        assert not scope.violations
    else:
        assert "[EMAIL]" in (str(out.error) if isinstance(out, ErrorChunk) else told)
        assert scope.violations
    if isinstance(chunk, ToolResult):
        assert isinstance(out, ToolResult)
        assert out.result == {"who": ["[EMAIL]"], "[EMAIL]": 1}
        assert out.args == {"q": MAIL}


@every_way
@every_chunk
async def test_arguments_are_looked_at_where_the_guard_is_told_to(way: str, chunk: Chunk) -> None:
    """With ``scan_tool_args`` no chunk of a nested call shows what is hidden in its arguments."""
    (out,) = shown(await streamed([wrapped(ONE, chunk)], guard_of(way, redaction="placeholder", scan_tool_args=True)))
    assert MAIL not in repr(out)


@every_way
@every_chunk
@pytest.mark.parametrize("deep", [ONE, (*ONE, ("t2", "agent-two"))])
async def test_what_stands_beside_text_is_blocked(way: str, chunk: Chunk, deep: Calls) -> None:
    """The verdict is the guard's."""
    guard = guard_of(way, strategy="block", scan_tool_args=True)
    with pytest.raises(Tripwire) as raised:
        await streamed([wrapped(deep, chunk)], guard)
    assert raised.value.info.processor_id == "pii-detector"


@every_chunk
@pytest.mark.parametrize("options", [{"strategy": "warn"}, {"strategy": "block", "mode": "monitor"}])
async def test_a_guard_that_changes_nothing_reports(chunk: Chunk, options: Any) -> None:
    """The same chunk comes out, and a finding is told."""
    scope = RequestScope()
    guard = PIIDetector(**options)
    sent = wrapped(ONE, chunk)
    assert await streamed([sent], guard, scope=scope) == [sent]
    assert {one.processor_id for one in scope.violations} == (
        set() if isinstance(chunk, ToolCallApproval) else {"pii-detector"}
    )


@every_way
async def test_a_detector_is_asked_about_nested_values(way: str) -> None:
    """What only the detector knows is hidden in values, too."""
    if "asking" not in way:
        return
    (out,) = shown(await streamed([wrapped(ONE, ToolError(*CALL, "ask Eva Holm"))], guard_of(way)))
    assert isinstance(out, ToolError)
    assert "Eva" not in out.error


async def test_objects_that_are_not_complete_and_arguments_that_stream_go_by_only_where_nothing_changes() -> None:
    """A guard cannot look at half of one; calls are treated as the answer's own."""
    parts = [wrapped(ONE, ObjectDelta({"mail": "ann@"})), wrapped(ONE, ToolInputDelta("t1", "{"))]
    assert shown(await streamed(parts, PIIDetector())) == [ToolInputDelta("t1", "{")]
    assert await streamed(parts, PIIDetector(scan_tool_args=True)) == []
    assert await streamed(parts, PIIDetector(strategy="warn")) == parts
    call = wrapped(ONE, ToolCall("t1", "look", {"q": MAIL}))
    assert await streamed([call], PIIDetector()) == [call]
    (out,) = shown(await streamed([call], PIIDetector(redaction="placeholder", scan_tool_args=True)))
    assert isinstance(out, ToolCall)
    assert out.args == {"q": "[EMAIL]"}


async def test_what_was_looked_at_in_pieces_is_not_reported_again() -> None:
    """The chunk that ends the stream tells a text that the guard has let pass."""
    scope = RequestScope()
    said = f"Write to {MAIL}."
    chunks = [
        TextDelta(said[:12]),
        TextDelta(said[12:]),
        TextEnd(),
        StepFinish("stop", text=said),
        Finish("stop", text=said),
    ]
    out = shown(await streamed([wrapped(ONE, chunk) for chunk in chunks], PIIDetector(strategy="warn"), scope=scope))
    assert out == chunks
    assert len(scope.violations) == 1


async def test_a_call_waits_for_the_text_before_it() -> None:
    """A nested call comes behind the whole text that was said before, also where nobody said that it was over."""
    sent = [
        TextStart(),
        TextDelta("Ask ann"),
        ToolCall("t1", "look", {}),
        DataChunk("data-x", 1),
        ToolResult("t1", "look", {}, "ok"),
    ]
    out = shown(await streamed([wrapped(ONE, chunk) for chunk in sent], PIIDetector()))
    assert "".join(chunk.text for chunk in out[: len(out) - 3] if isinstance(chunk, TextDelta)) == "Ask ann"
    assert [type(chunk) for chunk in out[-3:]] == [ToolCall, DataChunk, ToolResult]


async def test_a_map_cannot_bring_back_nested_text_that_an_arm_redacts() -> None:
    """What holds for the answer's own text holds in branches: the map is refused, nothing of the text goes on (D25)."""
    arms = side_by_side(PIIDetector(redaction="placeholder"), on_text(str.upper, id="upper"))
    workflow = arms.map(lambda outputs: outputs["processor:upper"])
    sent = [TextDelta("Write to ann@"), TextDelta("acme.org now"), TextEnd()]
    with pytest.raises(MergeConflict):
        await streamed([wrapped(ONE, chunk) for chunk in sent], workflow)
    harmless = [TextDelta("Nothing "), TextDelta("here"), TextEnd()]
    out = shown(await streamed([wrapped(ONE, chunk) for chunk in harmless], workflow))
    assert "".join(chunk.text for chunk in out if isinstance(chunk, TextDelta)) == "Nothing here"


async def test_streams_that_alternate_have_a_state_of_their_own_in_an_arm() -> None:
    """Two nested streams with one block id each do not mix in a branch that a map picks."""
    arms = side_by_side(PIIDetector(redaction="placeholder"), on_text(str.upper, id="upper"))
    workflow = arms.map(lambda outputs: outputs["processor:pii-detector"])
    two: Calls = (("c2", "agent-two"),)
    pieces = [(ONE, "ann@ac"), (two, "bob@b"), (ONE, "me.org"), (two, "cd.org")]
    ends = [wrapped(calls, StepFinish("stop")) for calls in (ONE, two)]
    out = await streamed([*(wrapped(calls, TextDelta(text)) for calls, text in pieces), *ends], workflow)
    for calls in (ONE, two):
        inside = [inner for where, inner in map(opened, out) if where == calls]
        assert "".join(chunk.text for chunk in inside if isinstance(chunk, TextDelta)) == "[EMAIL]"
        assert isinstance(inside[-1], StepFinish)
        assert inside[-1].text == "[EMAIL]"


async def test_tools_that_write_at_the_same_time_wait_for_each_other() -> None:
    """A hook that waits has the chunk in hand that it was given, whoever writes meanwhile."""
    from tests.processors.kit import at
    from tests.processors.stream_kit import made

    mixed: list[bool] = []

    async def hook(ctx: Any) -> Any:
        chunk = ctx.chunk
        await anyio.lowlevel.checkpoint()
        mixed.append(ctx.chunk is not chunk)
        return chunk

    stream = made(at("process_output_stream", hook, process_data_parts=True))

    async def write(id: str) -> None:
        for number in range(5):
            await stream.push_written(wrapped(((id, "agent"),), TextDelta(str(number))))
            await stream.push_written(DataChunk("data-x", number))

    async with anyio.create_task_group() as group:
        group.start_soon(write, "a")
        group.start_soon(write, "b")
    assert mixed == [False] * 20
    assert await push(stream, TextDelta("own")) == [TextDelta("own")]
