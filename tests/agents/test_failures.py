"""A processor whose code fails: closed by default, left out where it says so, a verdict where it is a guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.agents.kit import HOOKS, WAYS, Seen, ask, at, counted_tool, list_of, spy, text_only, turn

from procession.agents.agent import Agent
from procession.errors import ProcessorError, StepError
from procession.messages.chunks import ErrorChunk, TextDelta
from procession.processors.processor import Processor
from procession.processors.violation import Violation
from procession.testing.fake_model import FakeModel

both_ways = pytest.mark.parametrize("way", WAYS)
every_hook = pytest.mark.parametrize("hook", HOOKS)


def broken(ctx: Any) -> None:
    """Fail."""
    raise ValueError("no such key")


async def broken_later(ctx: Any) -> None:
    """Fail in an asynchronous hook."""
    raise ValueError("no such key")


async def stuck(ctx: Any) -> None:
    """Never come back."""
    await anyio.sleep_forever()


async def run_with(processor: Processor, hook: str, way: str, calls: list[str] | None = None) -> Seen:
    """Run a turn in which *hook* takes place with *processor* in its list, a spy behind it."""
    tool, _ = counted_tool()
    lists: dict[str, Any] = {list_of(hook): [processor, spy(calls if calls is not None else [])]}
    return await ask(Agent("parrot", model=FakeModel(turn(hook)), tools=[tool], **lists), way)


@pytest.mark.parametrize("act", [broken, broken_later])
@both_ways
@every_hook
async def test_an_exception_stops_the_run(hook: str, way: str, act: Callable[[Any], Any]) -> None:
    """An exception in a hook is raised as ``ProcessorError`` that names processor and hook, its cause kept."""
    calls: list[str] = []
    seen = await run_with(at(hook, text_only(act)), hook, way, calls)
    assert isinstance(seen.error, ProcessorError)
    assert (seen.error.processor_id, seen.error.hook) == ("guard", hook)
    assert isinstance(seen.error.__cause__, ValueError)
    assert seen.error.message == f"processor 'guard' failed in {hook}: ValueError"
    assert "no such key" in str(seen.error.__cause__)
    if hook != "process_output_stream":
        assert f"spy.{hook}" not in calls


@both_ways
@every_hook
async def test_the_error_chunk_is_the_last(hook: str, way: str) -> None:
    """A reader gets the error as the last chunk, once."""
    seen = await run_with(at(hook, text_only(broken)), hook, way)
    assert seen.chunks.types.count("error") == 1
    last = seen.chunks[-1]
    assert isinstance(last, ErrorChunk)
    assert last.error is seen.error
    assert "finish" not in seen.chunks.types


@both_ways
@every_hook
async def test_a_processor_that_skips_is_left_out(hook: str, way: str) -> None:
    """With ``on_error="skip"`` the run goes on without the processor, and the result says that it did not look."""
    calls: list[str] = []
    told: list[Violation] = []
    seen = await run_with(at(hook, text_only(broken), on_error="skip", on_violation=told.append), hook, way, calls)
    assert {(one.processor_id, one.outcome, one.hook) for one in told} == {("guard", "error", hook)}
    assert f"spy.{hook}" in calls
    assert not isinstance(seen.error, ProcessorError)


@both_ways
async def test_skipping_keeps_what_came_before(way: str) -> None:
    """A processor that fails half-way leaves the previous one's output, and nothing of its own edits."""

    def redact(ctx: Any) -> None:
        ctx.messages[-1].text = "call [PHONE]"

    def half(ctx: Any) -> None:
        ctx.message_list.replace(ctx.view[-1].with_text("half done"))
        raise ValueError

    model = FakeModel("ok")
    agent = Agent(
        "parrot", model=model,
        input_processors=[at("process_input", redact, id="a"), at("process_input", half, id="b", on_error="skip")],
    )  # fmt: skip
    await ask(agent, way, "call 555")
    assert model.requests[0].messages[-1].text == "call [PHONE]"


@both_ways
async def test_skipping_in_a_stream_keeps_the_previous_chunk(way: str) -> None:
    """A chunk that a failing processor was given goes on as the one before it left it."""

    def hide(ctx: Any) -> Any:
        return TextDelta(ctx.chunk.text.replace("secret", "***"))

    agent = Agent(
        "parrot", model=FakeModel("a secret"),
        output_processors=[
            at("process_output_stream", text_only(hide), id="a"),
            at("process_output_stream", text_only(broken), id="b", on_error="skip"),
        ],
    )  # fmt: skip
    seen = await ask(agent, way)
    assert (seen.result.text, seen.chunks.text) == ("a ***", "a ***")


@both_ways
@every_hook
async def test_a_timeout_is_a_failure(hook: str, way: str) -> None:
    """A hook that takes longer than its ``timeout`` fails like one that raises."""
    seen = await run_with(at(hook, text_only(stuck), timeout=0.01), hook, way)
    assert isinstance(seen.error, ProcessorError)
    assert (seen.error.processor_id, seen.error.hook) == ("guard", hook)
    assert "0.01 s" in seen.error.message


@both_ways
@every_hook
@pytest.mark.parametrize(("act", "kind"), [(broken_later, "guard_failed"), (stuck, "guard_timeout")])
async def test_a_guard_that_cannot_check_trips(hook: str, way: str, act: Callable[[Any], Any], kind: str) -> None:
    """What ``fails_closed`` trips where it fails or times out, so that a caller tells *blocked* from *not checked*."""
    seen = await run_with(at(hook, text_only(act), fails_closed=True, timeout=0.05), hook, way)
    assert seen.result.status == "blocked"
    assert seen.tripwire.metadata == {"kind": kind}
    assert seen.tripwire.processor_id == "guard"
    assert seen.chunks.types[-1] == "tripwire"


@both_ways
async def test_a_guard_that_cannot_check_tells_nothing_private(way: str) -> None:
    """The tripwire of a guard that failed names the kind of exception, not what it said."""
    seen = await run_with(at("process_input", broken, fails_closed=True), "process_input", way)
    assert seen.tripwire.reason == "guard could not check: ValueError"


@both_ways
async def test_a_skipped_timeout_is_reported_as_one(way: str) -> None:
    """A processor that was left out because it took too long is reported as ``timeout``."""
    processor = at("process_input", stuck, timeout=0.01, on_error="skip")
    seen = await run_with(processor, "process_input", way)
    assert [one.outcome for one in seen.result.violations] == ["timeout"]


@both_ways
async def test_a_skipping_processor_may_still_stop_the_run(way: str) -> None:
    """``on_error="skip"`` is about failures: a verdict counts."""
    seen = await run_with(at("process_input", lambda ctx: ctx.abort("no"), on_error="skip"), "process_input", way)
    assert seen.tripwire.reason == "no"


@both_ways
@every_hook
async def test_a_plain_hook_that_returns_an_awaitable_is_an_error(hook: str, way: str) -> None:
    """A plain function round an asynchronous one is refused when it is called, with the fix, and nothing is lost."""
    seen = await run_with(at(hook, lambda ctx: broken_later(ctx)), hook, way)
    assert isinstance(seen.error, ProcessorError)
    assert "async def" in str(seen.error)


@both_ways
@pytest.mark.parametrize("returned", ["text", {"type": "text-delta"}, 1])
async def test_a_stream_hook_returns_a_chunk_or_nothing(way: str, returned: Any) -> None:
    """What is no chunk never reaches the reader: it is an error of the processor that returned it."""
    seen = await run_with(at("process_output_stream", lambda ctx: returned), "process_output_stream", way)
    assert isinstance(seen.error, ProcessorError)
    assert f"returned {type(returned).__name__}" in str(seen.error)


@both_ways
async def test_a_callback_that_raises_is_no_model_error(way: str) -> None:
    """An exception in ``on_chunk`` fails the run as what it is; no model call is made again for it."""

    def complain(chunk: Any) -> None:
        if chunk.type == "text-delta":
            raise KeyError("x")

    model = FakeModel(["Hello.", "again"])
    agent = Agent("parrot", model=model, error_processors=[at("process_api_error", lambda ctx: {"retry": True})])
    with pytest.raises(StepError, match="on_chunk raised KeyError"):
        if way == "generate":
            await agent.generate("Hi", on_chunk=complain)
        else:
            async with agent.stream("Hi", on_chunk=complain) as stream:
                await stream.result()
    assert len(model.requests) == 1


@both_ways
async def test_nothing_wrong_is_told_of_a_clean_run(way: str) -> None:
    """A run in which nothing failed has no violations and no error."""
    seen = await run_with(at("process_input", lambda ctx: None), "process_input", way)
    assert (seen.result.violations, seen.result.error, seen.result.tripwire) == ((), None, None)
