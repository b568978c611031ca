"""``BatchParts`` with ``max_wait_time``: what goes on by the clock, and that the clock ends with the run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio
import pytest
from tests.agents.kit import at
from tests.processors.stream_kit import on_text
from tests.runtime.random_graphs.clocks import BACKENDS, play

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorError
from procession.messages.chunks import (
    Chunk,
    Finish,
    TextDelta,
    TextEnd,
    TextStart,
)
from procession.messages.usage import Usage
from procession.models.model import ModelRequest
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.utility.batch_parts import BatchParts
from procession.steps.abort import AbortSignal
from procession.testing.script import fail

both_loops = pytest.mark.parametrize("backend", BACKENDS)


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
