"""One contract for a stopped run: all nine hooks, generate and stream alike."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

import pytest
from tests.agents.kit import COST, HOOKS, WAYS, Seen, ask, at, counted_tool, list_of, spy, text_only, turn

from procession.agents.agent import Agent
from procession.errors import TripwireError
from procession.messages.chunks import TripwireChunk, TripwireInfo
from procession.processors.violation import Violation
from procession.steps.signals import Tripwire
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

MODEL_CALLS = {
    "process_input": 0,
    "process_input_step": 0,
    "process_llm_request": 0,
    "process_output_result": 2,
}
"""How many model calls were made when the hook first fires; one where nothing is said."""
AFTER_THE_TOOL = ("process_tool_result", "process_output_result")

both_ways = pytest.mark.parametrize("way", WAYS)
every_hook = pytest.mark.parametrize("hook", HOOKS)


class Stopped:
    """A run that a guard at one hook stops, with spies round the guard and everything counted."""

    def __init__(self, hook: str, act: Callable[[Any], Any], **options: Any) -> None:
        self.calls: list[str] = []
        self.model = FakeModel(turn(hook))
        tool, self.tool_calls = counted_tool()

        def noted(ctx: Any) -> Any:
            self.calls.append("guard")
            return act(ctx)

        async def noted_later(ctx: Any) -> Any:
            self.calls.append("guard")
            return await act(ctx)

        guard = at(hook, text_only(noted_later if iscoroutinefunction(act) else noted), **options)
        lists: dict[str, Any] = {name: [] for name in ("input_processors", "output_processors", "error_processors")}
        lists[list_of(hook)] = [spy(self.calls, "before"), guard, spy(self.calls, "after")]
        for name, those in lists.items():
            if not those:
                those.append(spy(self.calls, f"in-{name}"))
        self.agent = Agent("parrot", model=self.model, tools=[tool], **lists)

    async def seen(self, way: str) -> Seen:
        """Run it one way or the other."""
        return await ask(self.agent, way)


def stop(ctx: Any) -> None:
    """Stop the run."""
    ctx.abort("not this", metadata={"score": 1}, message="Sorry.")


def stop_and_swallow(ctx: Any) -> None:
    """Stop the run in code that catches everything."""
    try:
        ctx.abort("not this", metadata={"score": 1}, message="Sorry.")
    except BaseException:
        pass


def stop_and_raise_another(ctx: Any) -> None:
    """Stop the run in code that makes an error of everything."""
    try:
        ctx.abort("not this", metadata={"score": 1}, message="Sorry.")
    except BaseException:
        raise ValueError("wrapped") from None


async def stop_later(ctx: Any) -> None:
    """Stop the run in an asynchronous hook that catches everything."""
    stop_and_swallow(ctx)


EXPECTED = TripwireInfo("not this", False, {"score": 1}, "guard", "Sorry.")


@both_ways
@every_hook
async def test_a_tripwire_has_one_outcome(hook: str, way: str) -> None:
    """Whatever hook stops a run: blocked, reason other, no rejected text, and the verdict whole in the result."""
    seen = await Stopped(hook, stop).seen(way)
    result = seen.result
    assert (result.status, result.finish_reason, result.text, result.final_text) == ("blocked", "other", "", "")
    assert result.tripwire == EXPECTED
    assert result.error is None
    assert result.messages == ()


@both_ways
@every_hook
async def test_the_tripwire_chunk_is_the_last_and_only_one(hook: str, way: str) -> None:
    """The reader gets exactly one tripwire chunk, complete, and nothing after it."""
    seen = await Stopped(hook, stop).seen(way)
    assert seen.chunks.types.count("tripwire") == 1
    last = seen.chunks[-1]
    assert isinstance(last, TripwireChunk)
    assert last.tripwire == EXPECTED
    assert (last.run_id, last.source) == (seen.result.run_id, "AGENT")
    assert not {"finish", "error"} & set(seen.chunks.types)


@both_ways
@every_hook
async def test_nothing_runs_after_a_tripwire(hook: str, way: str) -> None:
    """No later processor, no later hook, no later chunk and no further model call comes after the verdict."""
    stopped = Stopped(hook, stop)
    await stopped.seen(way)
    assert stopped.calls[-1] == "guard"
    assert stopped.calls.count("guard") == 1
    assert len(stopped.model.requests) == MODEL_CALLS.get(hook, 1)


@both_ways
@every_hook
async def test_no_tool_of_a_rejected_step_runs(hook: str, way: str) -> None:
    """A tool runs only in a step that was accepted up to there."""
    stopped = Stopped(hook, stop)
    await stopped.seen(way)
    assert len(stopped.tool_calls) == (1 if hook in AFTER_THE_TOOL else 0)


@both_ways
@every_hook
async def test_usage_counts_the_calls_that_were_made(hook: str, way: str) -> None:
    """Usage has every model call that answered, rejected or not; one that was cut off has no count to give."""
    stopped = Stopped(hook, stop)
    seen = await stopped.seen(way)
    answered = len(stopped.model.requests)
    if hook == "process_api_error" or (hook == "process_output_stream" and way == "stream"):
        answered = 0
    assert seen.result.usage.total_tokens == answered * COST


@both_ways
async def test_a_rejected_turn_keeps_its_steps_without_text(way: str) -> None:
    """What ``process_output_result`` rejects keeps the steps' tool calls and usage, and loses every text."""
    result = (await Stopped("process_output_result", stop).seen(way)).result
    assert [step.text for step in result.steps] == ["", ""]
    assert [call.tool_name for call in result.tool_calls] == ["lookup"]
    assert [step.usage.total_tokens for step in result.steps] == [COST, COST]


@both_ways
async def test_accepted_steps_stay(way: str) -> None:
    """A step that was accepted before the verdict stays in the result with its text; the rejected one does not."""

    def second(ctx: Any) -> None:
        if ctx.step_number == 1:
            ctx.abort("not this")

    tool, _ = counted_tool()
    agent = Agent(
        "parrot",
        model=FakeModel([say("Let me see. ") + call_tool("lookup"), "secret"]),
        tools=[tool],
        output_processors=[at("process_output_step", second)],
    )
    result = (await ask(agent, way)).result
    assert result.text == "Let me see. "
    assert [(step.step_number, len(step.tool_results)) for step in result.steps] == [(0, 1)]
    assert result.usage.total_tokens == 2 * COST


@pytest.mark.parametrize("act", [stop_and_swallow, stop_and_raise_another, stop_later])
@both_ways
@every_hook
async def test_an_abort_cannot_be_swallowed(hook: str, way: str, act: Callable[[Any], Any]) -> None:
    """A verdict counts although the hook's own code caught it, whatever it raised or returned instead."""
    seen = await Stopped(hook, act).seen(way)
    assert seen.tripwire == EXPECTED
    assert seen.chunks.types[-1] == "tripwire"
    assert seen.result.text == ""


@both_ways
@every_hook
async def test_a_tripwire_raised_by_hand_is_given_the_processors_id(hook: str, way: str) -> None:
    """``raise Tripwire(...)`` is a verdict like any other, under the id of the processor that raised it."""

    def by_hand(ctx: Any) -> None:
        raise Tripwire(TripwireInfo("by hand"))

    assert (await Stopped(hook, by_hand).seen(way)).tripwire == TripwireInfo("by hand", processor_id="guard")


@both_ways
@every_hook
async def test_on_violation_is_told_once(hook: str, way: str) -> None:
    """The callback hears of a tripwire exactly once, with reason and metadata, and the result lists it."""
    told: list[Violation] = []
    seen = await Stopped(hook, stop, on_violation=told.append).seen(way)
    assert [(one.processor_id, one.message, one.detail, one.outcome) for one in told] == [
        ("guard", "not this", {"score": 1}, "blocked")
    ]
    assert told[0].hook == hook
    assert list(seen.result.violations) == told


def complain(violation: Violation) -> None:
    """Fail in a callback."""
    raise ValueError("the callback is broken")


async def complain_later(violation: Violation) -> None:
    """Fail in an asynchronous callback."""
    raise ValueError("the callback is broken")


@pytest.mark.parametrize("callback", [complain, complain_later])
@both_ways
@every_hook
async def test_on_violation_cannot_change_the_outcome(
    hook: str, way: str, callback: Callable[[Violation], Any]
) -> None:
    """A callback that raises, at once or later, changes nothing about the verdict."""
    seen = await Stopped(hook, stop, on_violation=callback).seen(way)
    assert seen.tripwire == EXPECTED
    assert seen.chunks.types[-1] == "tripwire"


@both_ways
async def test_an_async_callback_is_awaited(way: str) -> None:
    """An asynchronous callback of a plain hook has run by the time the call returns."""
    told: list[str] = []

    async def tell(violation: Violation) -> None:
        told.append(violation.message)

    await Stopped("process_output_step", stop, on_violation=tell).seen(way)
    assert told == ["not this"]


@both_ways
async def test_warnings_are_reported_once_per_hook_call(way: str) -> None:
    """``ctx.warn`` goes on; the callback hears of the first in a hook call, the result lists them all."""
    told: list[Violation] = []

    def warn(ctx: Any) -> None:
        ctx.warn("odd", metadata=1)
        ctx.warn("very odd")

    guard = at("process_output_step", warn, on_violation=told.append)
    seen = await ask(Agent("parrot", model=FakeModel("Hello."), output_processors=[guard]), way)
    assert seen.result.text == "Hello."
    assert [one.message for one in told] == ["odd"]
    assert [(one.message, one.outcome) for one in seen.result.violations] == [("odd", "warned"), ("very odd", "warned")]


async def test_the_default_reason_names_the_processor() -> None:
    """An abort without a reason says which processor it was."""
    agent = Agent("parrot", model=FakeModel("x"), input_processors=[at("process_input", lambda ctx: ctx.abort())])
    assert (await ask(agent)).tripwire.reason == "Tripwire triggered by guard"


@pytest.mark.parametrize("where", ["agent", "call"])
@both_ways
async def test_raise_on_tripwire(where: str, way: str) -> None:
    """A caller who asks for it, for the agent or for one call, gets ``TripwireError`` with what the user is shown."""
    guard = at("process_input", stop)
    agent = Agent("parrot", model=FakeModel("x"), input_processors=[guard], raise_on_tripwire=where == "agent")
    seen = await ask(agent, way, **({"raise_on_tripwire": True} if where == "call" else {}))
    assert isinstance(seen.error, TripwireError)
    assert (str(seen.error), seen.error.tripwire) == ("Sorry.", EXPECTED)


@both_ways
async def test_finish_callbacks_are_not_called_for_a_blocked_run(way: str) -> None:
    """``on_finish`` is for runs that came to their end."""
    finished: list[Any] = []
    agent = Agent("parrot", model=FakeModel("x"), output_processors=[at("process_output_result", stop)])
    await ask(agent, way, on_finish=finished.append)
    assert finished == []
