"""Guards that fail, that stand side by side, or that take too long: each keeps its own verdicts, mode and limits."""

from __future__ import annotations

import gc
import time
import warnings
from typing import Any

import anyio
import pytest
from tests.processors.kit import at, passed

from procession.agents.agent import Agent
from procession.messages.chunks import Chunk, TextDelta
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.language import LanguageDetector
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.payloads import InputPayload, ToolResultPayload
from procession.processors.text_guard import TextGuard
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

TEXT = "Zoe lives at Elm street"


class Word:
    """A detector of one word, which counts how often it is asked and waits for the *gate*, if there is one."""

    def __init__(self, kind: str, word: str, gate: anyio.Event | None = None) -> None:
        self.kind = kind
        self.word = word
        self.gate = gate
        self.asked = 0

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Find the word."""
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        at = text.find(self.word)
        if at < 0:
            return Verdict()
        return Verdict({self.kind: 1.0}, (Span(at, at + len(self.word), self.kind),))


class Down(TextGuard):
    """A guard whose search fails."""

    id = "down"

    def find(self, text: str) -> list[Span]:
        """Fail."""
        raise RuntimeError("cannot search")


def asking(id: str, detector: Any, **options: Any) -> PIIDetector:
    """Return a guard that only asks *detector*."""
    options.setdefault("redaction", "placeholder")
    return PIIDetector(id=id, detector=detector, detection_types=[detector.kind], **options)


def said(text: str) -> InputPayload:
    """Return new input."""
    return InputPayload(MessageList([Message.user(text, id="u")], source="input"))


async def answered(*processors: Any, text: str = TEXT) -> tuple[str, Any]:
    """Return what a reader of the stream was sent of an answer, and the result."""
    sent: list[Chunk] = []
    agent = Agent("x", model=FakeModel([text]), output_processors=list(processors))
    async with agent.stream("hi") as stream:
        async for chunk in stream:
            sent.append(chunk)
        result = await stream.result()
    return "".join(chunk.text for chunk in sent if isinstance(chunk, TextDelta)), result


def side_by_side(*guards: Any) -> Any:
    """Return a workflow in which guards share one stream."""
    return create_workflow("guards", kind="processor").parallel(list(guards)).commit()


# -- what a guard was told is its own


async def test_guards_side_by_side_ask_their_own_detectors() -> None:
    """Two guards on one stream each ask their own detector about the same text, and what either finds is hidden."""
    names, streets = Word("name", "Zoe"), Word("address", "Elm")
    text, result = await answered(side_by_side(asking("a", names), asking("b", streets)))
    assert text == result.text == "[NAME] lives at [ADDRESS] street"
    assert (names.asked, streets.asked) == (1, 1)


async def test_guards_of_one_id_do_not_share_verdicts() -> None:
    """Guards that share an id across the lists share their state, but not what different detectors said of a text."""
    names, streets = Word("name", "Zoe"), Word("address", "Elm")
    agent = Agent(
        "x", model=FakeModel([TEXT]), input_processors=[asking("g", names, strategy="warn")],
        output_processors=[asking("g", streets)],
    )  # fmt: skip
    assert (await agent.generate(TEXT)).text == "Zoe lives at [ADDRESS] street"


async def test_one_detector_is_asked_once_about_a_text() -> None:
    """Guards of one id that ask the same detector ask it once per text and request."""
    names = Word("name", "Zoe")
    agent = Agent(
        "x", model=FakeModel([TEXT]), input_processors=[asking("g", names, strategy="warn")],
        output_processors=[asking("g", names)],
    )  # fmt: skip
    assert (await agent.generate(TEXT)).text == "[NAME] lives at Elm street"
    assert names.asked == 1


async def test_language_verdicts_belong_to_their_detector() -> None:
    """Two language detectors of one id ask their own detectors about the same message."""
    scope = RequestScope()
    first, second = Word("de", "Zoe"), Word("fr", "Zoe")
    for detector in (first, second):
        await passed(said(TEXT), LanguageDetector(detector=detector), scope=scope)
    assert (first.asked, second.asked) == (1, 1)


async def test_a_guard_in_a_group_reads_its_own_state() -> None:
    """What a guard keeps in ``ctx.state`` is its own, also where it stands beside others on one stream."""

    class Counting(TextGuard):
        id = "counting"

        def find(self, text: str) -> list[Span]:
            at = text.find("Zoe")
            return [Span(at, at + 3, "name")] if at >= 0 else []

        def settle(self, ctx: Any, pieces: Any, where: Any) -> bool:
            ctx.state["seen"] = True
            seen.append(ctx.state is ctx.scope.state("counting"))
            return super().settle(ctx, pieces, where)

    seen: list[bool] = []
    text, _ = await answered(side_by_side(PIIDetector(), Counting(strategy="redact")))
    assert text == "[NAME] lives at Elm street"
    assert seen == [True]


# -- failures in a group


@pytest.mark.parametrize("other", [{}, {"mode": "monitor"}, {"strategy": "warn"}])
@pytest.mark.parametrize(
    "failing", [{"mode": "monitor"}, {"strategy": "warn"}, {"strategy": "redact", "on_error": "skip"}]
)
async def test_a_guard_that_may_fail_is_left_out_of_its_group(other: Any, failing: Any) -> None:
    """A guard that is skipped where it fails alone is skipped beside others too; they go on guarding."""
    mail = "mail eva@example.net"
    text, result = await answered(side_by_side(Down(**failing), PIIDetector(**other)), text=mail)
    assert result.status == "completed"
    assert text == ("mail e*a@*******.net" if not other else mail)
    outcomes = {(violation.processor_id, violation.outcome) for violation in result.violations}
    assert ("down", "error") in outcomes
    assert any(id == "pii-detector" for id, _ in outcomes)


@pytest.mark.parametrize(
    "failing", [{"strategy": "redact"}, {"strategy": "block"}, {"mode": "monitor", "on_error": "stop"}]
)
@pytest.mark.parametrize("other", [{}, {"mode": "monitor"}])
async def test_a_guard_that_must_not_fail_stops_its_group(failing: Any, other: Any) -> None:
    """A guard that stops the run where it fails alone does so beside others, under its own id, told once."""
    told: list[Violation] = []
    text, result = await answered(side_by_side(Down(**failing, on_violation=told.append), PIIDetector(**other)))
    assert (result.status, text if "mode" not in failing else "") == ("blocked", "")
    assert result.tripwire.processor_id == "down"
    assert result.tripwire.metadata == {"kind": "guard_failed"}
    assert [violation.processor_id for violation in told] == ["down"]
    assert [violation.outcome for violation in result.violations] == ["error"]


class Unreachable:
    """A detector that cannot be reached."""

    kind = "name"

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Fail."""
        raise ConnectionError("no route")


async def test_a_failing_detector_in_a_group_counts_as_its_guard_says() -> None:
    """A monitor's detector that fails is noted and left out, an enforcing guard's stops the run."""
    text, result = await answered(
        side_by_side(asking("m", Unreachable(), mode="monitor"), asking("s", Word("name", "Zoe")))
    )
    assert (text, result.status) == ("[NAME] lives at Elm street", "completed")
    assert {(each.processor_id, each.outcome) for each in result.violations} == {("m", "error"), ("s", "modified")}
    text, result = await answered(side_by_side(asking("s", Unreachable()), PIIDetector(id="p")))
    assert (text, result.status, result.tripwire.metadata) == ("", "blocked", {"kind": "guard_failed"})


# -- time limits


@pytest.mark.parametrize("beside", [(), (PIIDetector(id="p"),)])
async def test_a_plain_guard_has_a_time_limit_in_streams(beside: Any) -> None:
    """A plain guard that takes too long over a chunk trips: what it said comes too late."""

    class Slow(TextGuard):
        id = "slow"

        def find(self, text: str) -> list[Span]:
            time.sleep(0.03)
            return []

    text, result = await answered(side_by_side(Slow(timeout=0.01), *beside) if beside else Slow(timeout=0.01))
    assert (text, result.tripwire.metadata) == ("", {"kind": "guard_timeout"})
    assert result.tripwire.processor_id == "slow"


class Stubborn:
    """A detector that swallows being cancelled, and then finds nothing."""

    kind = "name"

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Wait until cancelled."""
        try:
            await anyio.sleep_forever()
        except BaseException:
            pass
        return Verdict()


@pytest.mark.parametrize("beside", [(), (PIIDetector(id="p"),)])
async def test_a_detector_that_swallows_its_time_limit_has_not_checked(beside: Any) -> None:
    """What a detector says after its time is no verdict, alone and beside other guards."""
    guard = asking("g", Stubborn(), timeout=0.01)
    text, result = await answered(side_by_side(guard, *beside) if beside else guard)
    assert (text, result.tripwire.metadata) == ("", {"kind": "guard_timeout"})


# -- monitors


async def test_monitors_watch_beside_the_run() -> None:
    """Monitors that wait for each other, and for a step after them, all come to their end within the run."""
    gates = [anyio.Event() for _ in range(3)]
    monitors = [asking(f"m{index}", Word("name", "Zoe", gate), mode="monitor") for index, gate in enumerate(gates)]

    def release(ctx: Any) -> None:
        gates[2].set()

    class Chain(Word):
        """Lets the next one go once it has been let go itself."""

        def __init__(self, own: anyio.Event, following: anyio.Event) -> None:
            super().__init__("name", "Zoe", own)
            self.following = following

        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            """Find the word and go on."""
            out = await super().detect(text, scope=scope)
            self.following.set()
            return out

    monitors[2].detector = Chain(gates[2], gates[1])
    monitors[1].detector = Chain(gates[1], gates[0])
    scope = RequestScope()
    with anyio.fail_after(5):
        await passed(said(TEXT), *monitors, at("process_input", release), scope=scope)
    assert sorted(each.processor_id for each in scope.violations) == ["m0", "m1", "m2"]
    assert {each.outcome for each in scope.violations} == {"would_block"}


async def test_a_monitor_has_begun_before_the_run_goes_on() -> None:
    """A run can wait for something that a monitor does: it is really beside the run."""
    begun = anyio.Event()

    class Noting(Word):
        """Says when it is asked."""

        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            """Find the word."""
            begun.set()
            return await super().detect(text, scope=scope)

    async def wait(ctx: Any) -> None:
        with anyio.fail_after(5):
            await begun.wait()

    await passed(said(TEXT), asking("m", Noting("name", "Zoe"), mode="monitor"), at("process_input", wait))


@pytest.mark.parametrize("language", [False, True])
async def test_a_cancelled_run_gives_its_monitors_up(language: bool) -> None:
    """Where a run is cancelled its monitors are too, and nothing is left that was never awaited."""
    ended: list[str] = []
    begun = anyio.Event()

    class Endless:
        kind = "name"

        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("monitor")
            raise AssertionError

    async def stuck(ctx: Any) -> None:
        await begun.wait()
        scope.cancel()
        await anyio.sleep_forever()

    monitor = (
        LanguageDetector(detector=Endless(), mode="monitor") if language else asking("m", Endless(), mode="monitor")
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with anyio.CancelScope() as scope:
            await passed(said(TEXT), monitor, at("process_input", stuck))
        while not ended:
            await anyio.lowlevel.checkpoint()
        gc.collect()
    assert scope.cancelled_caught
    assert [str(each.message) for each in caught] == []


async def test_a_monitor_looks_at_what_a_tool_returned_then() -> None:
    """What processors after a monitor make of a tool's result is not what it reports on."""
    scope = RequestScope()
    payload = ToolResultPayload(MessageList(), tool_name="t", tool_call_id="1", result={"who": "it was Zoe"})
    after = at("process_tool_result", lambda ctx: {"result": "nothing to be seen"})
    await passed(payload, asking("m", Word("name", "Zoe"), mode="monitor"), after, scope=scope)
    assert [violation.outcome for violation in scope.violations] == ["would_block"]


async def test_an_asynchronous_callback_of_a_monitor_is_awaited() -> None:
    """What a monitor's ``on_violation`` leaves to be awaited is awaited before the run ends."""
    told: list[str] = []

    async def tell(violation: Violation) -> None:
        await anyio.lowlevel.checkpoint()
        told.append(violation.outcome)

    await passed(said(TEXT), asking("m", Word("name", "Zoe"), mode="monitor", on_violation=tell))
    assert told == ["would_block"]


async def test_a_monitor_in_a_group_does_not_hold_the_stream() -> None:
    """A monitor that asks somebody, beside guards on one stream, keeps no block waiting and reports in its own name."""
    gate = anyio.Event()

    def release(ctx: Any) -> None:
        gate.set()

    told: list[Violation] = []
    monitor = asking("m", Word("name", "Zoe", gate), mode="monitor", on_violation=told.append)
    with anyio.fail_after(5):
        text, result = await answered(
            side_by_side(monitor, asking("s", Word("address", "Elm"))),
            at("process_output_result", release, id="release"),
        )
    assert (text, result.status) == ("Zoe lives at [ADDRESS] street", "completed")
    assert [(each.processor_id, each.outcome) for each in told] == [("m", "would_block")]
