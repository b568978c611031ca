"""Chunks on their way through a list of processors."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.processors.kit import at
from tests.processors.stream_kit import Holder, deltas, made, on_text, push, streamed, texts

from procession.errors import ModelError, ProcessorDefinitionError, ProcessorError, StepError
from procession.messages.chunks import (
    AbortChunk,
    Chunk,
    DataChunk,
    ErrorChunk,
    Finish,
    ReasoningDelta,
    Start,
    StepFinish,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    TripwireChunk,
    TripwireInfo,
)
from procession.processors.processor import Processor
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.nodes import Pick
from procession.workflows.workflow import create_workflow

CONTROL: list[Chunk] = [
    Start("r", "m"),
    StepStart(),
    StepFinish("stop"),
    Finish("stop"),
    ErrorChunk(ModelError("no")),
    AbortChunk(),
    TripwireChunk(TripwireInfo("no"), "r"),
]
KINDS = [{}, {"later": True}, {"timeout": 5.0, "later": True}, {"uses_stream_parts": True}]

kinds = pytest.mark.parametrize("options", KINDS, ids=["plain", "async", "timeout", "parts"])


@kinds
async def test_a_chunk_passes_one_after_the_other(options: dict[str, Any]) -> None:
    """Each processor is given what the one before it left, whatever kinds of hooks they have."""
    first = on_text(lambda text: text + "1", id="a")
    second = on_text(lambda text: text + "2", id="b", **options)
    assert texts(await streamed(deltas("a", "b"), first, second, on_text(str.upper, id="c"))) == ["A12", "B12"]


@kinds
async def test_a_chunk_may_be_dropped(options: dict[str, Any]) -> None:
    """A dropped chunk reaches no later processor."""
    seen: list[str] = []
    drop = on_text(lambda text: None if text == "b" else text, id="a", **options)

    def note(text: str) -> str:
        seen.append(text)
        return text

    assert texts(await streamed(deltas("a", "b", "c"), drop, on_text(note, id="b"))) == ["a", "c"] == seen


@kinds
@pytest.mark.parametrize("chunk", CONTROL, ids=lambda chunk: chunk.type)
async def test_control_chunks_cannot_be_dropped(options: dict[str, Any], chunk: Chunk) -> None:
    """A chunk that carries the stream's structure stays, whatever a processor makes of it."""
    for made_of_it in (None, TextDelta("x")):
        later = options.get("later", False)

        async def act_later(ctx: Any, out: Any = made_of_it) -> Any:
            return out

        def act(ctx: Any, out: Any = made_of_it) -> Any:
            return out

        rest = {name: value for name, value in options.items() if name != "later"}
        processor = at("process_output_stream", act_later if later else act, **rest)
        assert await streamed([chunk], processor) == [chunk]


async def test_a_control_chunk_may_be_changed() -> None:
    """A control chunk may become another one of its kind."""

    def mark(ctx: Any) -> Any:
        return ctx.chunk.replace(text="seen")

    assert await streamed([StepFinish("stop")], at("process_output_stream", mark)) == [StepFinish("stop", text="seen")]


async def test_processors_see_every_kind_of_chunk() -> None:
    """Text, reasoning, tool calls and borders all pass the processors."""
    chunks: list[Chunk] = [
        StepStart(),
        TextStart(),
        TextDelta("a"),
        TextEnd(),
        ReasoningDelta("b"),
        ToolCall("c", "f", {}),
    ]
    seen: list[str] = []

    def note(ctx: Any) -> Any:
        seen.append(ctx.chunk.type)
        return ctx.chunk

    assert await streamed(chunks, at("process_output_stream", note)) == chunks
    assert seen == [chunk.type for chunk in chunks]


# -- data


@kinds
async def test_data_is_for_those_who_opted_in(options: dict[str, Any]) -> None:
    """A ``data-*`` chunk is given to processors with ``process_data_parts`` and passes the others."""

    def stamp(ctx: Any) -> Any:
        return DataChunk(ctx.chunk.type, ctx.processor_id)

    blind = on_text(str.upper, id="a", **options)
    seeing = at("process_output_stream", stamp, id="b", process_data_parts=True)
    data = DataChunk("data-x", 1)
    assert await streamed([data], blind, seeing, on_text(str.upper, id="c")) == [DataChunk("data-x", "b")]
    assert await streamed([data], blind) == [data]


@pytest.mark.parametrize("later", [False, True])
async def test_data_does_not_come_back_to_its_sender(later: bool) -> None:
    """What a processor wrote passes the others that opted in, before and behind it, and not itself."""
    seen: list[str] = []

    def note(ctx: Any) -> Any:
        seen.append(ctx.processor_id)
        return ctx.chunk

    async def note_later(ctx: Any) -> Any:
        return note(ctx)

    stream = made(
        *(at("process_output_stream", note_later if later else note, id=id, process_data_parts=True) for id in "abc")
    )
    await push(stream, DataChunk("data-x", 1), sender="b")
    assert seen == ["a", "c"]


async def test_data_may_be_dropped() -> None:
    """A processor that opted in may drop data."""
    drop = at("process_output_stream", lambda ctx: None, process_data_parts=True)
    assert await streamed([DataChunk("data-x", 1)], drop) == []


# -- what is held back


async def test_held_text_goes_before_what_ends_its_block() -> None:
    """Text that a processor holds is let go before the chunk that ends its block, and passes the ones behind it."""
    chunks = [TextStart(), *deltas("a", "b"), TextEnd(), ToolCall("c", "f", {})]
    out = await streamed(chunks, Holder(id="held"), on_text(str.upper))
    assert out == [TextStart(), TextDelta("[AB]"), TextEnd(), ToolCall("c", "f", {})]


async def test_held_text_goes_at_the_end() -> None:
    """What is still held when the answer is over is let go."""
    assert texts(await streamed(deltas("a", "b"), Holder(id="held"))) == ["[ab]"]


async def test_two_holders_let_go_in_order() -> None:
    """What the first lets go is held by the second, and let go in its turn."""
    chunks = [*deltas("a", "b"), TextEnd(), *deltas("c")]
    out = await streamed(chunks, Holder(id="one"), Holder(id="two"))
    assert out == [TextDelta("[[ab]]"), TextEnd(), TextDelta("[[c]]")]


async def test_two_blocks_are_apart() -> None:
    """Text of another block makes the first one go."""
    out = await streamed([TextDelta("a", "1"), TextDelta("b", "2")], Holder(id="held"))
    assert texts(out) == ["[a]", "[b]"]


async def test_what_is_held_goes_with_a_rejected_attempt() -> None:
    """When an attempt is sent back, what processors hold of it is dropped."""
    stream = made(Holder(id="held"))
    await push(stream, TextDelta("secret"))
    stream.discard()
    assert await stream.flush() == []
    assert await push(stream, TextEnd()) == [TextEnd()]


async def test_letting_go_may_wait() -> None:
    """A processor may await something before it lets go."""

    class Slow(Holder):
        async def flush_output_stream(self, ctx: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return super().flush_output_stream(ctx)

    assert texts(await streamed(deltas("a", "b"), Slow(id="held"))) == ["[ab]"]


async def test_a_verdict_while_letting_go_counts() -> None:
    """A processor may stop the run when it looks at what it held."""

    class Strict(Holder):
        def flush_output_stream(self, ctx: Any) -> Any:
            ctx.abort("no")

    with pytest.raises(Tripwire):
        await streamed([*deltas("a"), TextEnd()], Strict(id="held"))


# -- failures and verdicts


@kinds
async def test_a_verdict_ends_the_stream(options: dict[str, Any]) -> None:
    """A verdict is raised with the processor's id, also where the hook swallowed it."""
    later = options.get("later", False)
    rest = {name: value for name, value in options.items() if name != "later"}

    def stop(ctx: Any) -> Any:
        try:
            ctx.abort("no")
        except BaseException:
            return ctx.chunk

    async def stop_later(ctx: Any) -> Any:
        return stop(ctx)

    with pytest.raises(Tripwire) as caught:
        await streamed(deltas("a"), at("process_output_stream", stop_later if later else stop, **rest))
    assert caught.value.info == TripwireInfo("no", processor_id="guard")


async def test_a_failure_keeps_what_was_hidden() -> None:
    """A processor that fails stops the run; one that skips leaves what the processors before it made of the chunk."""

    def broken(text: str) -> str:
        raise ValueError

    hide = on_text(lambda text: text.replace("secret", "***"), id="a")
    with pytest.raises(ProcessorError) as caught:
        await streamed(deltas("a secret"), hide, on_text(broken, id="b"))
    assert (caught.value.processor_id, caught.value.hook) == ("b", "process_output_stream")
    assert texts(await streamed(deltas("a secret"), hide, on_text(broken, id="b", on_error="skip"))) == ["a ***"]


async def test_findings_are_told_once_per_step() -> None:
    """``on_violation`` hears of the first finding in a step's stream, the result of all."""
    told: list[Any] = []
    scope = RequestScope()

    def warn(ctx: Any) -> Any:
        ctx.warn("odd")
        return ctx.chunk

    stream = made(at("process_output_stream", warn, on_violation=told.append), scope=scope)
    for step in (0, 1):
        stream.begin(step_number=step, steps=(), retry_count=0)
        for chunk in deltas("a", "b"):
            await push(stream, chunk)
    assert (len(told), len(scope.violations)) == (2, 4)
    assert [one.step_number for one in told] == [0, 1]


async def test_processors_are_told_the_step() -> None:
    """Step number, steps and retry count are those of the attempt that the chunk belongs to."""
    seen: list[Any] = []

    def note(ctx: Any) -> Any:
        seen.append((ctx.step_number, list(ctx.steps), ctx.retry_count))
        return ctx.chunk

    stream = made(at("process_output_stream", note))
    stream.begin(step_number=2, steps=("one", "two"), retry_count=1)
    await push(stream, TextDelta("a"))
    assert seen == [(2, ["one", "two"], 1)]


# -- workflows


async def test_a_nested_workflow_is_part_of_the_chain() -> None:
    """The processors of a workflow in the list stand in its place."""
    inner = create_workflow("inner", kind="processor").then(on_text(str.upper, id="a")).commit()
    outer = create_workflow("outer", kind="processor").then(inner).then(on_text(lambda text: text + "!", id="b"))
    assert texts(await streamed(deltas("a"), outer)) == ["A!"]


async def test_a_processor_may_be_kept_out_of_the_stream() -> None:
    """With ``on=`` a processor takes part only in the phases that are named."""

    class Two(Processor):
        id = "two"

        def process_output_stream(self, ctx: Any) -> Any:
            return None

        def process_output_step(self, ctx: Any) -> None: ...

    workflow = create_workflow("w", kind="processor").then(Two(), on=["process_output_step"]).then(on_text(str.upper))
    assert texts(await streamed(deltas("a"), workflow)) == ["A"]


async def test_a_plain_map_sees_each_chunk() -> None:
    """A map in a list is given the payload with the chunk, and may return one with another chunk."""

    def shout(payload: Any) -> Any:
        if payload.chunk.type != "text-delta":
            return None
        payload.chunk = TextDelta(payload.chunk.text.upper())
        return payload

    workflow = create_workflow("w", kind="processor").then(on_text(lambda text: text + "!")).map(shout)
    assert await streamed([TextDelta("a"), TextEnd()], workflow) == [TextDelta("A!"), TextEnd()]


async def test_a_map_that_raises_is_an_error_of_the_map() -> None:
    """An exception in a map stops the run and names the map."""

    def broken(payload: Any) -> Any:
        raise KeyError("x")

    workflow = create_workflow("w", kind="processor").then(on_text(str.upper)).map(broken, id="choose")
    with pytest.raises(StepError, match="map 'choose' raised KeyError"):
        await streamed(deltas("a"), workflow)


@pytest.mark.parametrize("node", ["loop", "sleep", "foreach"])
def test_what_has_no_place_in_a_stream(node: str) -> None:
    """Loops, ``foreach`` and sleep are refused beside a processor of chunks, with what to do."""
    workflow = create_workflow("w", kind="processor").then(on_text(str.upper))
    if node == "loop":
        workflow.do_until(on_text(str.lower, id="b"), lambda payload: True)
    elif node == "sleep":
        workflow.sleep(1)
    else:
        workflow.foreach(on_text(str.lower, id="b"))
    with pytest.raises(ProcessorDefinitionError, match=f"has a {node}") as caught:
        made(workflow)
    assert "no place in a stream" in str(caught.value.hint)


def test_a_pick_needs_branches() -> None:
    """Picking an arm where there are none is refused."""
    workflow = create_workflow("w", kind="processor").then(on_text(str.upper)).map(Pick("processor:guard"))
    with pytest.raises(ProcessorDefinitionError, match="picks 'processor:guard' where there are no branches"):
        made(workflow)


def test_plain_chains_are_not_awaited() -> None:
    """A chain of plain processors can be called in place; one that waits for anything cannot."""
    assert made(on_text(str.upper)).fast is not None
    assert made(on_text(str.upper, later=True)).fast is None
    assert made(Holder(id="held")).fast is None
