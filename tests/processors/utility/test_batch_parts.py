"""``BatchParts``: larger pieces, the same text."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.processors.stream_kit import deltas, made, on_text, push, side_by_side, streamed, texts

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    SourceChunk,
    StepFinish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.utility.batch_parts import BatchParts, BatchPartsProcessor
from procession.steps.signals import Tripwire
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

both_ways = pytest.mark.parametrize("way", WAYS)
PIECES = st.lists(st.sampled_from(["a", "sec", "-", "12", "34", "sec-1234", ""]), max_size=12)
SECRET = {"name": "secret", "pattern": "sec-[0-9]{4}"}


@pytest.mark.parametrize(("way", "batches"), [("stream", [5, 5, 2]), ("generate", [12])])
async def test_deltas_go_on_together(way: str, batches: list[int]) -> None:
    """Five at a time, the rest at the end of the block; the text is the same, also where it comes in one piece."""
    words = [f"w{number} " for number in range(12)]
    seen = await ask(Agent("parrot", model=FakeModel([say(*words)]), output_processors=[BatchParts()]), way)
    assert [len(text.split()) for text in texts(seen.chunks)] == batches
    assert seen.result.text == "".join(words)


async def test_blocks_keep_their_ids() -> None:
    """Text of another block sends on what is held, so that each piece stays in its block and in its place."""
    chunks: list[Chunk] = [
        TextStart("a"), TextDelta("1", "a"), TextStart("b"), TextDelta("2", "b"), TextDelta("3", "a"), TextDelta("4", "a"),
        TextEnd("a"), TextDelta("5", "b"), TextEnd("b"),
    ]  # fmt: skip
    out = await streamed(chunks, BatchParts(emit_on_non_text=False))
    assert [(chunk.id, chunk.text) for chunk in out if isinstance(chunk, TextDelta)] == [
        ("a", "1"), ("b", "2"), ("a", "34"), ("b", "5"),
    ]  # fmt: skip


async def test_what_a_provider_says_beside_text_stays() -> None:
    """Notes of the deltas of a batch are put together."""
    chunks: list[Chunk] = [
        TextDelta("a", provider_metadata={"x": {"n": 1}}),
        TextDelta("b", provider_metadata={"y": {}}),
    ]
    (out,) = await streamed(chunks, BatchParts())
    assert out == TextDelta("ab", provider_metadata={"x": {"n": 1}, "y": {}})


@pytest.mark.parametrize("between", [SourceChunk("s", url="u"), DataChunk("data-x", 1)], ids=["source", "data"])
async def test_other_chunks_send_it_on(between: Chunk) -> None:
    """By default the order stays; without ``emit_on_non_text`` other chunks overtake what is held."""
    chunks: list[Chunk] = [TextDelta("one"), between, TextDelta("two"), TextEnd()]
    out = await streamed(chunks, BatchParts())
    assert [*texts(out)] == ["one", "two"]
    assert out.index(between) == 1
    out = await streamed(chunks, BatchParts(emit_on_non_text=False))
    assert out == [between, TextDelta("onetwo"), TextEnd()]


@both_ways
async def test_text_comes_before_the_tool_that_is_called_after_it(way: str) -> None:
    """What was said before a call is shown before it, and nothing is held at the end of a step."""
    tool, calls = counted_tool()
    model = FakeModel([say("Let ", "me ", "look.") + call_tool("lookup"), say("Fo", "und.")])
    seen = await ask(Agent("parrot", model=model, tools=[tool], output_processors=[BatchParts()]), way)
    kinds = [chunk.type for chunk in seen.chunks if isinstance(chunk, (TextDelta, ToolCall, StepFinish))]
    assert kinds == ["text-delta", "tool-call", "step-finish", "text-delta", "step-finish"]
    assert (seen.result.text, len(calls)) == ("Let me look.Found.", 1)


@given(pieces=PIECES, size=st.integers(1, 4))
@pytest.mark.parametrize("order", ["guard first", "batch first"])
def test_guards_keep_their_promise(order: str, pieces: list[str], size: int) -> None:
    """Before or behind a guard that redacts, the joined text is what the guard makes of the whole text."""

    async def main() -> list[Chunk]:
        guard, batch = RegexFilter(rules=[SECRET], strategy="redact"), BatchParts(batch_size=size)
        return await streamed(deltas(*pieces), *((guard, batch) if order == "guard first" else (batch, guard)))

    whole = RegexFilter(rules=[SECRET], strategy="redact").guard("".join(pieces))
    assert "".join(texts(anyio.run(main))) == whole


@given(pieces=PIECES, size=st.integers(1, 4))
@pytest.mark.parametrize("order", ["guard first", "batch first"])
def test_nothing_of_what_is_blocked_gets_out(order: str, pieces: list[str], size: int) -> None:
    """Before or behind a guard that blocks, a reader has what stands before the match, and no part of it."""
    said: list[Chunk] = []

    async def main() -> None:
        guard, batch = RegexFilter(rules=[SECRET], strategy="block"), BatchParts(batch_size=size)
        stream = made(*((guard, batch) if order == "guard first" else (batch, guard)))
        for chunk in deltas(*pieces):
            said.extend(await push(stream, chunk))
        said.extend(await stream.flush())

    whole = "".join(pieces)
    match = re.search("sec-[0-9]{4}", whole)
    if match is None:
        anyio.run(main)
        assert "".join(texts(said)) == whole
        return
    with pytest.raises(Tripwire):
        anyio.run(main)
    assert whole[: match.start()].startswith("".join(texts(said)))


@both_ways
async def test_what_was_sent_back_is_not_shown_later(way: str) -> None:
    """What is held of an attempt that is rejected goes with it."""
    model = FakeModel([say("no", "no"), say("yes")])

    def never(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextEnd) and ctx.retry_count == 0:
            ctx.abort("again", retry=True)
        return ctx.chunk

    batch = BatchParts(batch_size=50, emit_on_non_text=False)
    agent = Agent(
        "parrot", model=model, max_processor_retries=1,
        output_processors=[at("process_output_stream", never, id="never"), batch],
    )  # fmt: skip
    seen = await ask(agent, way)
    assert texts(seen.chunks) == ["yes"]
    assert seen.result.text == "yes"


async def test_without_a_time_nothing_is_watched() -> None:
    """Neither a processor without a timer nor a run without the processor has a clock."""
    assert made(BatchParts(max_wait_time=1)).has_clock
    assert not made(BatchParts()).has_clock
    stream = made(BatchParts(batch_size=2))
    assert await push(stream, TextDelta("a")) == []
    assert await push(stream, TextDelta("b")) == [TextDelta("ab")]


@pytest.mark.parametrize("construct", ["parallel", "branch"])
def test_a_timer_has_no_place_among_branches(construct: str) -> None:
    """There would be nothing to merge what goes on by itself with: it is refused when the agent is made."""
    from procession.workflows.workflow import create_workflow

    arms = [BatchParts(max_wait_time=1), on_text(str.upper, id="upper")]
    flow: Any = side_by_side(*arms)
    if construct == "branch":
        flow = create_workflow("w", kind="processor").branch([(lambda part: True, arm) for arm in arms])
    with pytest.raises(ProcessorDefinitionError, match="'batch-parts' in .* by the clock"):
        Agent("p", model=FakeModel("x"), output_processors=[flow.commit()])


@pytest.mark.parametrize(
    "options", [{"batch_size": 0}, {"batch_size": True}, {"batch_size": 1.5}, {"max_wait_time": 0},
                {"max_wait_time": -1}, {"max_wait_time": float("inf")}, {"max_wait_time": "1"}],
)  # fmt: skip
def test_options_that_are_none_are_refused(options: dict[str, Any]) -> None:
    """The error names the option and what it may be."""
    with pytest.raises(ProcessorDefinitionError, match=next(iter(options))) as caught:
        BatchPartsProcessor(**options)
    assert caught.value.hint
