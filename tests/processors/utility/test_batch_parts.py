"""``BatchParts``: larger pieces, the same text; and a timer that lets go although nothing comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.processors.stream_kit import deltas, made, on_text, push, side_by_side, streamed, texts
from tests.runtime.random_graphs.clocks import BACKENDS, play

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorDefinitionError, ProcessorError
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    Finish,
    SourceChunk,
    StepFinish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from procession.messages.usage import Usage
from procession.models.model import ModelRequest
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.utility.batch_parts import BatchParts, BatchPartsProcessor
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say

both_ways = pytest.mark.parametrize("way", WAYS)
both_loops = pytest.mark.parametrize("backend", BACKENDS)
SECRET = {"name": "secret", "pattern": "sec-[0-9]{4}"}


class Slow:
    """A model that says its words at the seconds at which it is to; the loop's clock jumps from one to the next."""

    id = "slow"

    def __init__(self, *words: tuple[float, str | Chunk | Exception]) -> None:
        self.words = words
        self.requests: list[ModelRequest] = []
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Say the words."""
        self.requests.append(request)
        began = anyio.current_time()
        self.closed = False
        try:
            yield TextStart("a")
            for second, word in self.words:
                await anyio.sleep(max(0, began + second - anyio.current_time()))
                if isinstance(word, Exception):
                    raise word
                yield TextDelta(word, "a") if isinstance(word, str) else word
            yield TextEnd("a")
            yield Finish("stop", Usage(10, 5))
        finally:
            self.closed = True


async def heard(agent: Agent, **options: Any) -> tuple[list[tuple[float, str]], Any]:
    """Return what the reader of a stream is shown of the text, and when, and the result."""
    began = anyio.current_time()
    said: list[tuple[float, str]] = []
    async with agent.stream("Hi", **options) as stream:
        async for chunk in stream.full_stream:
            if isinstance(chunk, TextDelta):
                said.append((round(anyio.current_time() - began, 3), chunk.text))
        return said, await stream.result()


def played(backend: str, make: Callable[[], Agent]) -> tuple[list[tuple[float, str]], Any]:
    """Run an agent in an event loop whose time passes where nothing else is to do."""

    async def main() -> tuple[list[tuple[float, str]], Any]:
        return await heard(make())

    return play(backend, main)


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


@given(
    pieces=st.lists(st.sampled_from(["a", "sec", "-", "12", "34", "sec-1234", ""]), max_size=12), size=st.integers(1, 4)
)
@pytest.mark.parametrize("order", ["guard first", "batch first"])
def test_guards_keep_their_promise(order: str, pieces: list[str], size: int) -> None:
    """Before or behind a guard that redacts, the joined text is what the guard makes of the whole text."""

    async def main() -> list[Chunk]:
        guard, batch = RegexFilter(rules=[SECRET], strategy="redact"), BatchParts(batch_size=size)
        return await streamed(deltas(*pieces), *((guard, batch) if order == "guard first" else (batch, guard)))

    whole = RegexFilter(rules=[SECRET], strategy="redact").guard("".join(pieces))
    assert "".join(texts(anyio.run(main))) == whole


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


@both_loops
def test_time_lets_go_although_nothing_comes(backend: str) -> None:
    """Half a second after the first delta of a batch it goes on, while the model says nothing for ten (08 #61)."""
    model = Slow((1, "a"), (1.2, "b"), (11, "c"), (12, "d"))
    said, result = played(backend, lambda: Agent("p", model=model, output_processors=[BatchParts(max_wait_time=0.5)]))
    assert said == [(1.5, "ab"), (11.5, "c"), (12, "d")]
    assert result.text == "abcd"
    assert model.closed


@both_loops
def test_a_full_batch_does_not_wait(backend: str) -> None:
    """A batch that is full goes on at once, and the time of the next one begins with its own first delta."""
    model = Slow((1, "a"), (1.1, "b"), (1.2, "c"), (9, "d"))
    batch = BatchParts(batch_size=2, max_wait_time=0.5)
    said, _ = played(backend, lambda: Agent("p", model=model, output_processors=[batch]))
    assert said == [(1.1, "ab"), (1.7, "c"), (9, "d")]


@both_loops
def test_what_goes_on_by_itself_passes_those_behind(backend: str) -> None:
    """Processors behind it see it like any other chunk; a guard holds back what may still become a match."""
    model = Slow((1, "my " * 100), (1.1, "sec-1"), (9, "234 ok"))
    behind = [on_text(str.upper, id="upper", later=True), RegexFilter(
        rules=[{"name": "secret", "pattern": "SEC-[0-9]{4}"}], strategy="redact"
    )]  # fmt: skip
    said, result = played(
        backend, lambda: Agent("p", model=model, output_processors=[BatchParts(max_wait_time=0.5), *behind])
    )
    assert said[0][0] == 1.5
    assert "SEC" not in "".join(text for _, text in said)
    assert result.text == "MY " * 100 + "[REDACTED] OK"


@both_loops
def test_two_of_them_each_have_their_time(backend: str) -> None:
    """What the first lets go by itself is held by the second until its own time is up."""
    model = Slow((1, "a"), (20, "b"))
    both = [BatchParts(max_wait_time=0.5), BatchParts(max_wait_time=2, id="second")]
    said, _ = played(backend, lambda: Agent("p", model=model, output_processors=both))
    assert said == [(3.5, "a"), (20, "b")]


def _stop(text: str) -> Callable[[Any], Any]:
    def act(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta) and ctx.chunk.text == text:
            ctx.abort("not this")
        return ctx.chunk

    return act


@both_loops
def test_a_verdict_on_it_stops_the_run_then(backend: str) -> None:
    """A guard behind that blocks what goes on by itself blocks the run, and the model is closed at that moment."""
    model = Slow((1, "a"), (100, "b"))
    began: list[float] = []

    async def main() -> Any:
        began.append(anyio.current_time())
        agent = Agent(
            "p", model=model,
            output_processors=[BatchParts(max_wait_time=0.5), at("process_output_stream", _stop("a"))],
        )  # fmt: skip
        said, result = await heard(agent)
        return said, result, round(anyio.current_time() - began[0], 3)

    said, result, after = play(backend, main)
    assert (said, result.status, result.tripwire.reason, after) == ([], "blocked", "not this", 1.5)
    assert model.closed


@both_loops
def test_a_verdict_on_it_may_send_the_step_back(backend: str) -> None:
    """With ``retry`` the model is asked again, and nothing of the first attempt is in the answer."""
    model = Slow((1, "a"), (100, "b"))

    def once(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta) and ctx.retry_count == 0:
            ctx.abort("again", retry=True)
        return ctx.chunk

    processors = [BatchParts(max_wait_time=0.5), at("process_output_stream", once)]
    said, result = played(
        backend, lambda: Agent("p", model=model, output_processors=processors, max_processor_retries=1)
    )
    assert [text for _, text in said] == ["a", "b"]
    assert (result.text, len(model.requests)) == ("ab", 2)


@both_loops
def test_an_error_of_a_processor_is_no_failure_of_the_model(backend: str) -> None:
    """A processor behind that fails on what goes on by itself stops the run with its error."""

    def fails(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta):
            raise ValueError("private")
        return ctx.chunk

    async def main() -> None:
        with pytest.raises(ProcessorError, match="'guard' failed in process_output_stream"):
            await heard(
                Agent(
                    "p",
                    model=Slow((1, "a"), (100, "b")),
                    output_processors=[BatchParts(max_wait_time=0.5), at("process_output_stream", fails)],
                )  # fmt: skip
            )

    play(backend, main)


@both_loops
def test_an_answer_in_its_place_ends_the_models(backend: str) -> None:
    """A processor that gives the answer itself when it sees what goes on by itself has the last word."""

    def instead(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta) and ctx.chunk.text == "a":
            ctx.replace_response("Ask a person.")
        return ctx.chunk

    model = Slow((1, "a"), (100, "b"))
    processors = [BatchParts(max_wait_time=0.5), at("process_output_stream", instead)]
    _, result = played(backend, lambda: Agent("p", model=model, output_processors=processors))
    assert (result.text, len(model.requests)) == ("Ask a person.", 1)


@both_loops
def test_a_model_that_fails_while_text_is_held(backend: str) -> None:
    """A failed call stays a failed call: it is tried again, and what was held of it is not shown."""
    model = Slow((1, "a"), (1.2, fail("down", status=503)))
    retry = at("process_api_error", lambda ctx: {"retry": True}, id="retry")

    async def main() -> None:
        agent = Agent(
            "p", model=model, output_processors=[BatchParts(max_wait_time=0.5)], error_processors=[retry],
            max_processor_retries=1,
        )  # fmt: skip
        with pytest.raises(ModelError, match="down"):
            await heard(agent)

    play(backend, main)
    assert len(model.requests) == 2


@both_loops
def test_the_timer_ends_with_the_run(backend: str) -> None:
    """Who leaves the stream leaves no timer behind, and an aborted answer is what the reader was shown of it."""
    model = Slow((1, "a"), (100, "b"))

    async def main() -> Any:
        shown: list[str] = []
        async with Agent("p", model=model, output_processors=[BatchParts(max_wait_time=0.5)]).stream("Hi") as stream:
            async for chunk in stream.full_stream:
                if isinstance(chunk, TextDelta):
                    shown.append(chunk.text)
                    break
        return shown, round(anyio.current_time()), await stream.result()

    shown, _, result = play(backend, main)
    assert (shown, result.text, result.status) == (["a"], "a", "aborted")
    assert model.closed


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


@both_loops
def test_what_comes_meanwhile_waits(backend: str) -> None:
    """While what went on by itself is being looked at, no chunk of the model passes: one after the other, in order."""
    inside: list[str] = []
    overlapped: list[str] = []

    async def slowly(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta):
            overlapped.extend(inside)
            inside.append(ctx.chunk.text)
            await anyio.sleep(5)
            inside.remove(ctx.chunk.text)
        return ctx.chunk

    model = Slow((1, "a"), (2, "b"), (2.1, "c"), (3, "d"))
    processors = [BatchParts(max_wait_time=0.5), at("process_output_stream", slowly)]
    said, result = played(backend, lambda: Agent("p", model=model, output_processors=processors))
    assert said == [(6.5, "a"), (11.5, "bcd")]
    assert (result.text, overlapped) == ("abcd", [])


@both_loops
@pytest.mark.parametrize("mode", ["before", "concurrent"])
def test_guards_beside_the_model_hold_it_as_well(backend: str, mode: Any) -> None:
    """What goes on by itself reaches nobody before the guards beside the model call have passed."""

    async def looks(ctx: Any) -> None:
        await anyio.sleep(5)

    guard = at("process_input", looks, id="slow", check_only=True)
    model = Slow((1, "a"), (20, "b"))
    said, result = played(
        backend,
        lambda: Agent(
            "p",
            model=model,
            guard_mode=mode,
            input_processors=[guard],
            output_processors=[BatchParts(max_wait_time=0.5)],
        ),
    )
    assert said == ([(6.5, "a"), (25, "b")] if mode == "before" else [(5, "a"), (20, "b")])
    assert result.text == "ab"


@both_loops
def test_a_run_that_is_cancelled_takes_its_timer_along(backend: str) -> None:
    """Who cancels the reader's task waits for no timer, and the model is closed."""
    model = Slow((1, "a"), (100, "b"))

    async def main() -> float:
        began = anyio.current_time()
        with anyio.move_on_after(3):
            await heard(Agent("p", model=model, output_processors=[BatchParts(max_wait_time=0.5)]))
        return anyio.current_time() - began

    assert play(backend, main) == 3
    assert model.closed


@both_loops
def test_a_run_that_is_aborted_takes_its_timer_along(backend: str) -> None:
    """An abort while text is held: the answer is what the reader was shown, and the model is closed."""
    model = Slow((1, "a"), (2, "b"), (2.1, "c"), (100, "d"))

    async def main() -> Any:
        agent = Agent("p", model=model, output_processors=[BatchParts(batch_size=2, max_wait_time=50)])
        shown: list[str] = []
        signal = AbortSignal()
        async with agent.stream("Hi", abort_signal=signal) as stream, anyio.create_task_group() as group:

            async def abort() -> None:
                await anyio.sleep(2.5)
                signal.abort("enough")

            group.start_soon(abort)
            async for chunk in stream.full_stream:
                if isinstance(chunk, TextDelta):
                    shown.append(chunk.text)
        return shown, await stream.result()

    shown, result = play(backend, main)
    assert (shown, result.text, result.status) == (["ab"], "ab", "aborted")
    assert model.closed
