"""What a processor may decide (D36) in each of the nine hooks: alone and in nested workflows, both ways to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool, list_of, turn
from tests.agents.test_nested_hooks import nested

from procession.agents.agent import Agent
from procession.errors import TripwireError
from procession.messages.chunks import Finish
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.hooks import Hook
from procession.processors.processor import Processor
from procession.processors.violation import Violation
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)
every_hook = pytest.mark.parametrize("hook", HOOKS)
both_places = pytest.mark.parametrize("inside", [False, True], ids=["alone", "nested"])


def go_on(ctx: Any) -> Any:
    """Return what changes nothing; a failed call is made again."""
    if ctx.hook is Hook.API_ERROR:
        return {"retry": True}
    return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None


def first_time(act: Callable[[Any], Any]) -> Any:
    """Return a hook that does *act* the first time it can: in a stream at the first piece of text."""
    done: list[bool] = []

    def once(ctx: Any) -> Any:
        if not done and (ctx.hook is not Hook.OUTPUT_STREAM or ctx.chunk.type == "text-delta"):
            done.append(True)
            act(ctx)
        return go_on(ctx)

    return once


def agent_of(hook: str, guard: Processor, inside: bool, **settings: Any) -> tuple[Agent, FakeModel, list[Any]]:
    """Return an agent with *guard*, its model, and the calls of its tool."""
    tool, calls = counted_tool()
    model = FakeModel(turn(hook))
    listed = nested("checks", [guard, at(hook, go_on, id="idle")], "guard") if inside else guard
    lists: dict[str, Any] = {list_of(hook): [listed]}
    return Agent("bot", model=model, tools=[tool], **lists, **settings), model, calls


@both_places
@both_ways
@every_hook
async def test_a_warning_goes_on(hook: str, way: str, inside: bool) -> None:
    """``ctx.warn`` is listed with its hook, told to a callback that was set later, and costs no call and no tool."""
    told: list[Violation] = []
    guard = at(hook, first_time(lambda ctx: ctx.warn("odd", metadata={"score": 1})))
    agent, model, calls = agent_of(hook, guard, inside)
    guard.on_violation = told.append
    seen = await ask(agent, way)
    assert seen.result.status == "completed"
    assert seen.result.text == ("done" if hook == "process_api_error" else "secret textdone")
    assert [(one.processor_id, one.outcome, one.hook, one.detail) for one in told] == [
        ("guard", "warned", hook, {"score": 1})
    ]
    assert list(seen.result.violations) == told
    assert (len(model.requests), len(calls)) == (2, 0 if hook == "process_api_error" else 1)


@both_places
@both_ways
@every_hook
async def test_a_block_says_what_the_user_is_shown(hook: str, way: str, inside: bool) -> None:
    """``ctx.abort(message=...)`` stops with words for the user; the callback hears of it once, listed once."""
    told: list[Violation] = []
    stop = first_time(lambda ctx: ctx.abort("no", metadata={"score": 1}, message="Sorry."))
    guard = at(hook, stop)
    agent, _, _ = agent_of(hook, guard, inside)
    guard.on_violation = told.append
    seen = await ask(agent, way)
    assert (seen.tripwire.reason, seen.tripwire.message, seen.tripwire.processor_id) == ("no", "Sorry.", "guard")
    assert (seen.result.status, seen.result.text) == ("blocked", "")
    assert [(one.outcome, one.message, one.hook) for one in told] == [("blocked", "no", hook)]
    assert list(seen.result.violations) == told


@both_places
@both_ways
@every_hook
async def test_a_tripwire_may_be_raised(hook: str, way: str, inside: bool) -> None:
    """``raise_on_tripwire`` turns the tripwire of any hook into an exception, for one call or for all."""
    for settings, options in (({"raise_on_tripwire": True}, {}), ({}, {"raise_on_tripwire": True})):
        agent, _, _ = agent_of(
            hook, at(hook, first_time(lambda ctx: ctx.abort("no", message="Sorry."))), inside, **settings
        )
        seen = await ask(agent, way, **options)
        assert isinstance(seen.error, TripwireError)
        assert (str(seen.error), seen.error.tripwire.processor_id) == ("Sorry.", "guard")


@both_places
@both_ways
@every_hook
async def test_a_response_may_be_replaced(hook: str, way: str, inside: bool) -> None:
    """``ctx.replace_response`` gives the final answer: no further model call, and no tool of the step in hand."""
    agent, model, calls = agent_of(hook, at(hook, first_time(lambda ctx: ctx.replace_response("safe"))), inside)
    seen = await ask(agent, way)
    assert (seen.result.status, seen.result.final_text) == ("completed", "safe")
    before = {"process_input": 0, "process_input_step": 0, "process_llm_request": 0, "process_output_result": 2}
    assert len(model.requests) == before.get(hook, 1)
    ran = hook in ("process_tool_result", "process_output_result")
    assert len(calls) == int(ran)
    end = seen.chunks.of(Finish)[-1]
    assert end.text == "safe"
    assert ("safe" in seen.chunks.text) == (hook != "process_output_result")  # where the answer has been read already


@both_ways
@pytest.mark.parametrize("hook", ["process_input", "process_output_stream", "process_tool_result"])
@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"strategy": "block"}, "blocked"),
        ({"strategy": "redact"}, "modified"),
        ({"strategy": "warn"}, "warned"),
        ({"strategy": "block", "mode": "monitor"}, "would_block"),
        ({"strategy": "redact", "mode": "monitor"}, "would_block"),
        ({"strategy": "block", "pattern": "never there"}, None),
    ],
)
async def test_outcomes_of_a_guard(hook: str, options: dict[str, Any], outcome: str | None, way: str) -> None:
    """What became of what a guard looked at is told by one word; what was allowed is listed nowhere."""
    rule = {"name": "word", "pattern": options.get("pattern", "secret")}
    settings = {name: value for name, value in options.items() if name != "pattern"}
    guard = RegexFilter(rules=[rule], phase="input" if hook == "process_input" else "output", **settings)
    tool, _ = counted_tool(answer="a secret" if hook == "process_tool_result" else "fine")
    script = turn(hook, text="a secret" if hook == "process_output_stream" else "let me see")
    lists: dict[str, Any] = {list_of(hook): [guard]}
    asked = "a secret" if hook == "process_input" else "Hi"
    seen = await ask(Agent("bot", model=FakeModel(script), tools=[tool], **lists), way, asked)
    got = [(one.outcome, one.hook) for one in seen.result.violations]
    assert got == ([(outcome, hook)] if outcome is not None else [])
    assert (seen.result.tripwire is not None) == (outcome == "blocked")
    assert "secret" not in repr(seen.result.violations)


@both_places
@both_ways
@every_hook
@pytest.mark.parametrize(("raised", "outcome"), [(ValueError("private"), "error"), (TimeoutError(), "timeout")])
async def test_a_failure_that_is_left_out_is_told(
    hook: str, way: str, inside: bool, raised: Exception, outcome: str
) -> None:
    """A processor with ``on_error="skip"`` that fails or is late is listed as such, and told without private words."""
    told: list[Violation] = []

    def fail_once(ctx: Any) -> None:
        raise raised

    agent, _, _ = agent_of(hook, at(hook, first_time(fail_once), on_error="skip", on_violation=told.append), inside)
    seen = await ask(agent, way)
    if hook != "process_api_error":  # where nobody asked for another call
        assert seen.result.text == "secret textdone"
    assert [(one.outcome, one.hook) for one in told] == [(outcome, hook)]
    assert "private" not in repr(told)
