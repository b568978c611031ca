"""An answer as it comes: readers early and late, back-pressure, and leaving before the end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import COST, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import InputError, ModelError, RunCancelled, RunError, StepError
from procession.messages.chunks import ErrorChunk, Finish, StepFinish, TextDelta, TripwireChunk
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.recorder import record
from procession.testing.script import call_tool, fail, say


async def test_the_chunks_of_a_run() -> None:
    """A stream begins with ``start``, ends with ``finish``, and has each step between ``step-start`` and its end."""
    tool, _ = counted_tool()
    agent = Agent("parrot", model=FakeModel([say("Let ", "me.") + call_tool("lookup"), "Done."]), tools=[tool])
    async with agent.stream("Hi") as stream:
        chunks = await record(stream.full_stream)
        result = await stream.result()
    assert chunks.types == [
        "start",
        "step-start", "text-start", "text-delta", "text-delta", "text-end", "tool-call", "tool-result", "step-finish",
        "step-start", "text-start", "text-delta", "text-end", "step-finish",
        "finish",
    ]  # fmt: skip
    last = chunks.of(Finish)[-1]
    assert (last.reason, last.text, last.run_id) == ("stop", "Done.", result.run_id)
    assert last.usage.total_tokens == result.usage.total_tokens == 2 * COST
    assert [(chunk.reason, chunk.is_continued) for chunk in chunks.of(StepFinish)] == [
        ("tool-calls", True), ("stop", False),
    ]  # fmt: skip


async def test_the_text_alone() -> None:
    """``text_stream`` gives the pieces of text, ``text()`` the accepted whole."""
    async with Agent("parrot", model=FakeModel(say("Hel", "lo."))).stream("Hi") as stream:
        assert [piece async for piece in stream.text_stream] == ["Hel", "lo."]
        assert await stream.text == "Hello."


async def test_a_stream_can_be_iterated() -> None:
    """Iterating a stream is reading its chunks."""
    async with Agent("parrot", model=FakeModel("Hello.")).stream("Hi") as stream:
        assert [chunk.type async for chunk in stream][-1] == "finish"


async def test_a_result_needs_no_reader() -> None:
    """Whoever wants only the result need not read the chunks, however many there are."""
    async with Agent("parrot", model=FakeModel(Reply(["x"] * 500))).stream("Hi") as stream:
        assert len(await stream.text) == 500


async def test_a_late_reader_sees_everything() -> None:
    """A reader who comes when all is over sees what the first one saw."""
    async with Agent("parrot", model=FakeModel(say(*"Hello."))).stream("Hi") as stream:
        first = await record(stream.full_stream)
        await stream.result()
        assert await record(stream.full_stream) == first


async def test_two_readers_see_the_same() -> None:
    """Two readers at the same time see the same chunks in the same order."""
    seen: list[list[str]] = [[], []]
    async with Agent("parrot", model=FakeModel(Reply([str(n) for n in range(300)]))).stream("Hi") as stream:

        async def read(into: list[str]) -> None:
            into.extend([chunk.type async for chunk in stream.full_stream])

        async with anyio.create_task_group() as group:
            for into in seen:
                group.start_soon(read, into)
    assert seen[0] == seen[1]
    assert seen[0].count("text-delta") == 300


async def test_a_reader_may_leave() -> None:
    """A reader that stops reading holds nobody up."""
    async with Agent("parrot", model=FakeModel(Reply(["x"] * 500))).stream("Hi") as stream:
        reader = stream.full_stream
        await reader.__anext__()
        await reader.aclose()
        assert len(await stream.text) == 500


async def test_the_model_waits_for_the_slowest_reader() -> None:
    """A model is not read further ahead than about 64 chunks of what a reader has taken."""
    given = [0]

    def pieces() -> Iterator[str]:
        for _ in range(1000):
            given[0] += 1
            yield "x"

    async with Agent("parrot", model=FakeModel(Reply(pieces()))).stream("Hi") as stream:
        taken = 0
        async for chunk in stream.full_stream:
            if isinstance(chunk, TextDelta):
                taken += 1
                await anyio.lowlevel.checkpoint()
                assert given[0] - taken <= 140
        assert taken == 1000


async def test_without_replay_memory_stays_flat() -> None:
    """With ``replay=False`` chunks that were read are not kept."""

    def pieces() -> Iterator[str]:
        for number in range(3000):
            yield f"{number} "

    def alive() -> int:
        return sum(type(each) is TextDelta for each in gc.get_objects())

    agent = Agent("parrot", model=FakeModel(Reply(pieces())))
    gc.collect()
    before, most = alive(), 0
    async with agent.stream("Hi", replay=False) as stream:
        taken = 0
        async for chunk in stream.full_stream:
            taken += isinstance(chunk, TextDelta)
            if taken % 500 == 0:
                most = max(most, alive() - before)
    assert taken == 3000
    assert most < 300


async def test_leaving_the_block_cancels_the_run() -> None:
    """Leaving before the end stops the run, closes the model's stream and waits for both."""
    model = FakeModel(Reply(["x"] * 5, pause=60))
    async with Agent("parrot", model=model).stream("Hi") as stream, aclosing(stream.full_stream) as reader:
        assert (await reader.__anext__()).type == "start"
    assert model.unfinished == 1


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    """An exception of the block is neither wrapped nor replaced, and the run is cancelled."""
    model = FakeModel(Reply("x", delay=60))
    with pytest.raises(KeyError, match="mine"):
        async with Agent("parrot", model=model).stream("Hi"):
            await anyio.lowlevel.checkpoint()
            raise KeyError("mine")
    assert model.unfinished <= 1


async def test_cancelling_the_reader_cancels_the_run() -> None:
    """A deadline of the caller reaches the model."""
    model = FakeModel(Reply("x", delay=60))
    with anyio.move_on_after(0.01) as scope:
        async with Agent("parrot", model=model).stream("Hi") as stream:
            await stream.result()
    assert scope.cancelled_caught
    assert model.unfinished == 1


async def test_cancelling_generate_closes_the_model() -> None:
    """A deadline round ``generate`` reaches the model, too."""
    model = FakeModel(Reply("x", delay=60))
    with anyio.move_on_after(0.01) as scope:
        await Agent("parrot", model=model).generate("Hi")
    assert scope.cancelled_caught
    assert model.unfinished == 1


async def test_cancelling_a_run_leaves_no_callback_behind() -> None:
    """A callback that waits to be awaited when a run is cancelled is given up without a warning."""

    async def tell(violation: Any) -> None:
        raise AssertionError("nobody waits for it")

    def warn(ctx: Any) -> Any:
        ctx.warn("odd")
        return ctx.chunk

    guard = at("process_output_stream", warn, on_violation=tell)
    model = FakeModel(Reply(["a", "b"], pause=60))
    with anyio.move_on_after(0.01):
        async with Agent("parrot", model=model, output_processors=[guard]).stream("Hi") as stream:
            await stream.result()
    gc.collect()


async def test_a_stream_is_entered_once() -> None:
    """Entering it again is refused: that would ask the model again, with readers that see the first answer."""
    model = FakeModel("Hello.", repeat_last=True)
    stream = Agent("parrot", model=model).stream("Hi")
    async with stream:
        with pytest.raises(RunError, match="entered before"):
            await stream.__aenter__()
        assert await stream.text == "Hello."
    with pytest.raises(RunError, match=r"agent\.stream\(\.\.\.\) makes another"):
        await stream.__aenter__()
    assert (await stream.text, len(model.requests)) == ("Hello.", 1)


async def test_the_result_of_a_stream_that_was_left() -> None:
    """The result of a stream that was left before its end is that of a run that was aborted."""
    async with Agent("parrot", model=FakeModel(Reply("x", delay=60))).stream("Hi") as stream:
        await anyio.lowlevel.checkpoint()
    result = await stream.result()
    assert (result.status, result.finish_reason, result.text) == ("aborted", "aborted", "")
    with pytest.raises(RunCancelled):
        result.raise_for_status()


async def test_reading_after_the_block() -> None:
    """What was kept of a stream can still be read behind its block."""
    async with Agent("parrot", model=FakeModel("Hello.")).stream("Hi") as stream:
        await stream.result()
    assert (await record(stream.full_stream)).text == "Hello."
    assert (await stream.result()).text == "Hello."


async def test_a_stream_is_used_in_a_block() -> None:
    """A stream that was not entered says how it is used."""
    stream = Agent("parrot", model=FakeModel("x")).stream("Hi")
    with pytest.raises(RunError, match="async with"):
        _ = stream.full_stream
    with pytest.raises(RunError, match="async with"):
        await stream.result()


async def test_what_generate_raises_the_result_raises() -> None:
    """The chunks come as far as they go, then the result raises the model's error."""
    error = fail("overloaded", status=503)
    async with Agent("parrot", model=FakeModel(error)).stream("Hi") as stream:
        chunks = await record(stream.full_stream)
        with pytest.raises(ModelError) as caught:
            await stream.result()
    assert caught.value is error
    assert [chunk.error for chunk in chunks.of(ErrorChunk)] == [error]


@pytest.mark.parametrize("ask", ["nothing", "result", "chunks", "on_error", "later"])
async def test_a_failure_that_nobody_asks_for_is_logged(ask: str) -> None:
    """Text alone does not tell that a run failed: where nobody asks for more, a line of the log does, without words."""
    told: list[Any] = []
    options: dict[str, Any] = {"on_error": told.append} if ask == "on_error" else {}
    agent = Agent("parrot", model=FakeModel(fail("private", status=503)))
    with capture_logs() as logs:
        async with agent.stream("Hi", **options) as stream:
            assert [text async for text in stream.text_stream] == []
            if ask == "result":
                with pytest.raises(ModelError):
                    await stream.text
            if ask == "chunks":
                await record(stream.full_stream)
    if ask == "later":
        with pytest.raises(ModelError):
            await stream.result()
    lines = [(log["event"], log["error"]) for log in logs if log["event"].startswith("a stream")]
    unheard = ("a stream failed and nobody asked how it ended: await stream.result() raises why", "ModelError")
    assert lines == ([unheard] if ask in ("nothing", "later") else [])
    assert len(told) == (ask == "on_error")


async def test_a_call_that_cannot_begin() -> None:
    """What is wrong with a call is an error chunk for readers and raised by the result."""
    async with Agent("parrot", model=FakeModel("x")).stream(object()) as stream:
        chunks = await record(stream.full_stream)
        with pytest.raises(InputError):
            await stream.result()
    assert chunks.types == ["error"]


async def test_a_callback_that_raises_is_raised_by_the_result() -> None:
    """An exception in ``on_step_finish`` does not break the block: the result raises it."""

    def complain(result: Any) -> None:
        raise KeyError("mine")

    async with Agent("parrot", model=FakeModel("x")).stream("Hi", on_step_finish=complain) as stream:
        chunks = await record(stream.full_stream)
        with pytest.raises(StepError, match="on_step_finish raised KeyError: 'mine'"):
            await stream.result()
    assert chunks.types[-1] == "error"


async def test_a_tripwire_cuts_the_model_off() -> None:
    """A verdict in the stream closes the model's stream at once."""

    def stop(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta) and ctx.chunk.text == "bad":
            ctx.abort("no")
        return ctx.chunk

    model = FakeModel(Reply(["good ", "bad", "worse"]))
    async with Agent("parrot", model=model, output_processors=[at("process_output_stream", stop)]).stream(
        "Hi"
    ) as stream:
        chunks = await record(stream.full_stream)
    assert chunks.text == "good "
    assert isinstance(chunks[-1], TripwireChunk)
    assert model.unfinished == 1
