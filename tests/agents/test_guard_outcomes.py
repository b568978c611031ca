"""What became of each guard (D36): every finding in ``result.violations``, every guard in ``result.outcomes``."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.agents.suspending import asking, doing, go_on
from tests.agents.test_nested_hooks import nested

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.processor import Processor
from procession.processors.violation import Violation
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
both_places = pytest.mark.parametrize("inside", [False, True], ids=["alone", "nested"])


def guard(id: str = "words", pattern: str = "secret", phase: Any = "all", **options: Any) -> RegexFilter:
    """Return a guard that looks for a word."""
    return RegexFilter(id=id, rules=[{"name": "word", "pattern": pattern}], phase=phase, **options)


def reports(result: Any) -> list[tuple[str, str, str]]:
    """Return what became of each guard, as plain values."""
    return [(one.processor_id, one.hook.removeprefix("process_"), one.outcome) for one in result.outcomes]


@both_places
@both_ways
async def test_what_found_nothing_allowed_it(way: str, inside: bool) -> None:
    """A guard that was asked and found nothing is listed as ``allowed``, and is no violation."""
    own = guard()
    listed = [nested("checks", [own, at("process_output_step", lambda ctx: None, id="idle")], "words")]
    agent = Agent("bot", model=FakeModel("Hello."), output_processors=listed if inside else [own])
    seen = await ask(agent, way)
    assert reports(seen.result) == [
        ("words", "output_stream", "allowed"), ("words", "tool_result", "skipped"), ("words", "output_result", "allowed"),
    ]  # fmt: skip
    assert seen.result.violations == ()


@both_ways
@pytest.mark.parametrize("mode", ["before", "concurrent"])
async def test_what_was_not_asked_is_skipped(way: str, mode: Any) -> None:
    """Behind a block nobody was asked: ``skipped``, never ``allowed``."""
    agent = Agent(
        "bot", model=FakeModel("Hello.", repeat_last=True), guard_mode=mode,
        input_processors=[guard("first", phase="input"), guard("second", "other", phase="input")],
        output_processors=[guard("out", phase="output")],
    )  # fmt: skip
    seen = await ask(agent, way, "a secret")
    assert seen.result.status == "blocked"
    skipped = [each for each in reports(seen.result) if each[2] == "skipped"]
    assert ("out", "output_result", "skipped") in skipped
    assert ("second", "input", "skipped") in skipped  # plain hooks side by side run in order
    assert reports(seen.result)[0] == ("first", "input", "blocked")


@both_ways
async def test_an_arm_that_did_not_run_was_not_asked(way: str) -> None:
    """A guard in a branch that was not taken is ``skipped``."""
    checks = create_workflow("checks", kind="processor")
    checks.branch(
        [(lambda payload: True, guard("taken", phase="input")), (lambda payload: False, guard("left", phase="input"))]
    )
    agent = Agent("bot", model=FakeModel("Hello."), input_processors=[checks.commit()])
    seen = await ask(agent, way)
    assert reports(seen.result) == [("taken", "input", "allowed"), ("left", "input", "skipped")]


@both_ways
@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"strategy": "block"}, "blocked"),
        ({"strategy": "redact"}, "modified"),
        ({"strategy": "filter"}, "modified"),
        ({"strategy": "warn"}, "warned"),
        ({"mode": "monitor"}, "would_block"),
    ],
)
async def test_the_strictest_outcome_of_a_run_is_reported(way: str, options: dict[str, Any], outcome: str) -> None:
    """What a guard came to in two steps is one report for each hook."""
    tool, _ = counted_tool()
    model = FakeModel([say("a secret ") + call_tool("lookup"), "fine"])
    agent = Agent("bot", model=model, tools=[tool], output_processors=[guard(**options)])
    seen = await ask(agent, way)
    assert dict((hook, became) for _, hook, became in reports(seen.result))["output_stream"] == outcome


@both_ways
async def test_processors_that_are_no_guards_have_no_outcome(way: str) -> None:
    """A processor that only rewrites is listed once it reported something, and never as ``allowed``."""
    idle = at("process_input", lambda ctx: None, id="idle")
    warns = at("process_input", lambda ctx: ctx.warn("odd"), id="warns")
    checks = at("process_input", lambda ctx: None, id="checks", check_only=True)
    seen = await ask(Agent("bot", model=FakeModel("x"), input_processors=[idle, warns, checks]), way)
    assert reports(seen.result) == [("checks", "input", "allowed"), ("warns", "input", "warned")]


# -- what was not listed before


@both_places
@both_ways
@pytest.mark.parametrize(
    "hook", ["process_input", "process_output_stream", "process_output_step", "process_output_result"]
)
async def test_an_answer_given_instead_is_listed(hook: str, way: str, inside: bool) -> None:
    """``ctx.replace_response`` leaves one entry, ``modified``, and the callback is told."""
    told: list[Violation] = []

    def give(ctx: Any) -> Any:
        return ctx.replace_response("safe")

    own = at(hook, give, on_violation=told.append)
    listed = (
        nested("checks", [own, at(hook, lambda ctx: getattr(ctx, "chunk", None), id="idle")], "guard")
        if inside
        else own
    )
    lists: dict[str, Any] = {"input_processors" if hook == "process_input" else "output_processors": [listed]}
    seen = await ask(Agent("bot", model=FakeModel("Hello."), **lists), way)
    assert seen.result.final_text == "safe"
    assert [(one.processor_id, one.outcome, one.hook) for one in told] == [("guard", "modified", hook)]
    assert list(seen.result.violations) == told


class Down(Processor):
    """A guard that cannot check."""

    id = "down"
    fails_closed = True
    error: Exception = RuntimeError("private")

    def process_input(self, ctx: Any) -> None:
        """Fail."""
        raise self.error


@both_ways
@pytest.mark.parametrize(("error", "outcome"), [(RuntimeError("private"), "error"), (TimeoutError(), "timeout")])
async def test_a_guard_that_could_not_check_says_so(way: str, error: Exception, outcome: str) -> None:
    """A guard that fails closed stops the run and is listed as ``error`` or ``timeout``, not as a block of what it saw."""
    told: list[Violation] = []
    own = Down(on_violation=told.append)
    own.error = error
    seen = await ask(Agent("bot", model=FakeModel("x"), input_processors=[own]), way)
    assert seen.result.status == "blocked"
    assert seen.tripwire.metadata == {"kind": f"guard_{'timeout' if outcome == 'timeout' else 'failed'}"}
    assert [one.outcome for one in told] == [outcome]
    assert list(seen.result.violations) == told
    assert reports(seen.result) == [("down", "input", outcome)]
    assert "private" not in repr(told)


@both_ways
async def test_a_processor_that_fails_is_told_of(way: str) -> None:
    """Where an exception stops the run, ``on_violation`` has heard of it, without its words."""
    told: list[Violation] = []

    def fail(ctx: Any) -> None:
        raise RuntimeError("private")

    agent = Agent("bot", model=FakeModel("x"), input_processors=[at("process_input", fail, on_violation=told.append)])
    seen = await ask(agent, way)
    assert isinstance(seen.error, ProcessorError)
    assert [(one.outcome, one.message) for one in told] == [("error", "guard failed: RuntimeError")]


@both_ways
async def test_a_step_that_was_sent_back_was_not_blocked(way: str) -> None:
    """A retry that was honoured is ``modified`` and ``sent_back``; one beyond the budget is ``blocked``."""

    def insist(ctx: Any) -> None:
        ctx.abort("too short", retry=True)

    agent = Agent(
        "bot", model=FakeModel(["a", "b"]), output_processors=[at("process_output_step", insist)], max_processor_retries=1,
    )  # fmt: skip
    seen = await ask(agent, way)
    assert [(one.message, one.outcome, one.sent_back) for one in seen.result.violations] == [
        ("too short", "modified", True), ("too short", "blocked", False),
    ]  # fmt: skip

    def once(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("too short", retry=True)

    agent = Agent(
        "bot", model=FakeModel(["a", "b"]), max_processor_retries=1,
        output_processors=[at("process_output_step", once, check_only=True)],
    )  # fmt: skip
    seen = await ask(agent, way)
    assert (seen.result.text, reports(seen.result)) == ("b", [("guard", "output_step", "modified")])


# -- runs that go on, and inner runs


@both_ways
async def test_a_resumed_run_knows_who_was_asked_before(way: str) -> None:
    """A guard that had its say before the run was suspended is not ``skipped`` behind it."""
    tools = [doing("ask", [], asking("?"))]
    model = FakeModel([call_tool("ask", id="a"), "Done."])
    agent = Agent("bot", model=model, tools=tools, input_processors=[guard(phase="input")])
    first = await agent.generate("Hi")
    seen = await go_on(agent, way, first.run_id, {"a": "yes"})
    assert reports(seen.result) == [("words", "input", "allowed")]


@both_ways
async def test_guards_of_inner_agents_are_listed(way: str) -> None:
    """What guards of an agent among the tools came to stands behind those of the outer one."""
    child = Agent("child", model=FakeModel("Found."), input_processors=[guard("inner", phase="input")])
    model = FakeModel([call_tool("agent-child", {"prompt": "Look."}), "Done."])
    agent = Agent("bot", model=model, tools=[child], input_processors=[guard("outer", phase="input")])
    seen = await ask(agent, way)
    assert reports(seen.result) == [("outer", "input", "allowed"), ("inner", "input", "allowed")]


async def test_reports_cost_nothing_until_they_are_read() -> None:
    """``result.outcomes`` is worked out when it is read, compares and prints like the list that it is."""
    result = await Agent("bot", model=FakeModel("x"), input_processors=[guard(phase="input")]).generate("Hi")
    assert len(result.outcomes) == 1
    assert result.outcomes == [result.outcomes[0]]
    assert list(result.outcomes[:1]) == list(result.outcomes)
    assert "allowed" in repr(result.outcomes)
    assert (await Agent("bot", model=FakeModel("x")).generate("Hi")).outcomes == ()
