"""Reported failures of guards over text: what could not be checked, what is not text, what takes long, what comes in pieces."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask
from tests.processors.asking_kit import Finder
from tests.processors.detect.cpu import cpu_limit
from tests.processors.kit import passed, through
from tests.processors.stream_kit import deltas, made, push, streamed, texts

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, TextPart, ToolCallPart
from procession.messages.text.patterns import Rule
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.payloads import InputPayload
from procession.processors.text_guard import TextGuard
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


def said(text: str) -> InputPayload:
    """Return new input."""
    return InputPayload(MessageList([Message.user(text, id="u")], source="input"))


# -- verdicts that are none


ANSWERS = ["I think it is fine.", "", '{"flagged": "yes"}', '{"categories": null} trailing {"categories": null}']
LENIENT: list[dict[str, Any]] = [{"on_error": "skip"}, {"strategy": "warn"}]
ASKING: list[Any] = [PIIDetector, PromptInjectionDetector]


@pytest.mark.parametrize("kind", ASKING)
@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_is_no_verdict_is_a_failure(kind: Any, answer: str) -> None:
    """MOD-006: prose, nothing, another object, two objects: the guard trips with ``guard_failed``; where it may be left out, and
    by default where it only warns, the text passes with the outcome ``error`` and an entry in the violations."""
    run = await through(said("hello there"), kind(model=FakeModel(answer)))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}
    if kind is PIIDetector:
        with pytest.raises(Tripwire) as tripwire:
            await streamed(deltas("hello there"), PIIDetector(model=FakeModel(answer), stream_by="sentence"))
        assert tripwire.value.info.metadata == {"kind": "guard_failed"}
    for options in LENIENT:
        agent = Agent("a", model=FakeModel("Hi."), input_processors=[kind(model=FakeModel(answer), **options)])
        result = await agent.generate("hello there")
        assert result.status == "completed"
        assert [one.outcome for one in result.violations] == ["error"]
        assert result.outcomes[0].outcome == "error"


@pytest.mark.parametrize("kind", ASKING)
async def test_no_answer_in_time_is_a_timeout(kind: Any) -> None:
    """MOD-006: the guard trips with ``guard_timeout``, or passes with the outcome ``timeout``, never with ``allowed``."""

    class Never:
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            await anyio.sleep_forever()
            raise AssertionError

    run = await through(said("hello"), kind(detector=Never(), timeout=0.01))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_timeout"}
    told: list[Violation] = []
    guard = kind(detector=Never(), timeout=0.01, on_error="skip", on_violation=told.append)
    result = await Agent("a", model=FakeModel("Hi."), input_processors=[guard]).generate("hello")
    assert [one.outcome for one in result.violations] == [one.outcome for one in told] == ["timeout"]
    assert result.outcomes[0].outcome == "timeout"


@pytest.mark.parametrize("kind", ASKING)
async def test_a_fenced_answer_is_a_verdict(kind: Any) -> None:
    """MOD-006: JSON in a Markdown fence is read."""
    fenced = FakeModel('```json\n{"categories": [{"type": "injection", "score": 0.9}]}\n```')
    run = await through(said("hello"), kind(model=fenced, strategy="block"))
    assert run.tripwire is not None
    assert "could not check" not in run.tripwire.reason


def test_the_policy_of_each_guard_is_printed() -> None:
    """MOD-006: ``agent.explain()`` prints strategy, mode, what a failure does, the time limit, and how streams are judged."""
    asking = {"detector": Finder(), "phase": "output"}
    agent = Agent(
        "a", model=FakeModel("Hi."),
        output_processors=[
            PIIDetector(id="one", **asking, stream_by="sentence", verdict_cache=10),  # type: ignore[arg-type]
            PIIDetector(id="two", **asking, strategy="warn", mode="monitor", timeout=2),  # type: ignore[arg-type]
            RegexFilter(id="three", presets=["pii"]),
        ],
    )  # fmt: skip
    one, two, three = (place.options for place in agent.explain().at("process_output_stream"))
    assert one == (
        "strategy=redact", "mode=enforce", "on_error=stop", "timeout=30 s", "blocks where it cannot check",
        "asks Finder, in streams by sentence, verdicts kept between requests of one resource, or of none",
    )  # fmt: skip
    assert two == ("strategy=warn", "mode=monitor", "on_error=skip", "timeout=2 s", "asks Finder, in streams by block")
    assert three == ("strategy=block", "mode=enforce", "on_error=stop", "blocks where it cannot check")


# -- what is no text


@pytest.mark.parametrize("kind", [PIIDetector, PromptInjectionDetector, ModerationProcessor])
@pytest.mark.parametrize("asks", [True, False])
async def test_messages_without_text_crash_nobody(kind: Any, asks: bool) -> None:
    """MOD-009: no content, an empty result, only a picture, only blanks: nobody is asked, nothing crashes, and the picture is
    told to be unread: ``skipped``, never ``allowed``."""
    finder = Finder("", meanwhile=lambda: pytest.fail("was asked"))
    messages = MessageList(
        [
            Message("assistant", (ToolCallPart("a", "f", {}, state="result", result=""),), id="1"),
            Message("user", (FilePart("AA==", "image/png"),), id="2"),
            Message.user("", id="3"),
            Message.user(" \n", id="4"),
            Message("user", (), id="5"),
        ],
        source="input",
    )
    scope = RequestScope()
    guard = kind(detector=finder) if asks else kind(words=["x"]) if kind is ModerationProcessor else kind()
    await passed(InputPayload(messages), guard, scope=scope)
    assert [message.id for message in messages] == ["1", "2", "3", "4", "5"]
    [told] = scope.violations
    assert (told.outcome, told.message) == ("skipped", f"{guard.id}: not scanned: 1 file")
    assert told.detail["files"] == [{"messageId": "2", "partIndex": 0, "mediaType": "image/png"}]


@both_ways
async def test_a_picture_is_not_allowed_but_skipped(way: str) -> None:
    """MOD-009: what became of a guard that could not look at all there was is ``skipped``, and its callback hears nothing; the
    text beside the picture is looked at as ever."""
    told: list[Violation] = []
    guard = PIIDetector(on_violation=told.append, phase="input", redaction="placeholder")
    model = FakeModel("Nice.")
    agent = Agent("a", model=model, input_processors=[guard])
    picture = Message("user", (TextPart("I am eva@example.net"), FilePart("AA==", "image/png")))
    seen = await ask(agent, way, [picture])
    assert [one.outcome for one in seen.result.violations] == ["skipped", "modified"]
    assert [one.outcome for one in told] == ["modified"]
    assert "[EMAIL]" in str(model.requests[0].messages)
    only = Agent("a", model=FakeModel("Nice."), input_processors=[guard])
    seen = await ask(only, way, [Message("user", (FilePart("AA==", "image/png"),))])
    assert [(one.processor_id, one.outcome) for one in seen.result.outcomes] == [("pii-detector", "skipped")]


# -- time


async def test_a_long_run_of_one_letter_is_no_problem() -> None:
    """PII-011: sixty thousand letters in front of an ``@`` are searched in well under a second."""
    with cpu_limit(1):
        assert PIIDetector(detection_types=["email"]).regions("a" * 60_000 + "@") == []


def slow(**options: Any) -> RegexFilter:
    """Return a guard whose rule never comes to an end."""
    return RegexFilter(rules=[Rule("slow", r"(a|aa)+$")], **options)


@pytest.mark.parametrize("strategy", ["block", "redact"])
@both_ways
async def test_a_search_over_its_budget_is_a_timeout(way: str, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PII-011, SEC-001: a guard that blocks or redacts trips with ``guard_timeout`` where a pattern used up its budget."""
    monkeypatch.setattr("procession.messages.text.scan.BUDGET", 0.02)
    for options in ({"phase": "input"}, {"phase": "output"}):
        guard = slow(strategy=strategy, **options)
        agent = Agent("a", model=FakeModel("a" * 40 + "b"), input_processors=[guard], output_processors=[guard])
        seen = await ask(agent, way, "a" * 40 + "b")
        assert seen.tripwire.metadata == {"kind": "guard_timeout"}
        assert "timeout" in [one.outcome for one in seen.result.outcomes]


@pytest.mark.parametrize("options", [{"strategy": "warn"}, {"strategy": "redact", "on_error": "skip"}])
@both_ways
async def test_a_guard_that_may_be_left_out_says_timeout(
    way: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PII-011: the text passes, with the outcome ``timeout`` on the result and told to the callback; never ``allowed``."""
    monkeypatch.setattr("procession.messages.text.scan.BUDGET", 0.02)
    told: list[Violation] = []
    guard = slow(on_violation=told.append, **options)
    text = "a" * 40 + "b"
    agent = Agent("a", model=FakeModel(text), input_processors=[guard], output_processors=[guard])
    seen = await ask(agent, way, text)
    assert seen.result.text == text
    assert {one.outcome for one in seen.result.violations} == {"timeout"} == {one.outcome for one in told}
    by_hook = {one.hook: one.outcome for one in seen.result.outcomes}
    assert by_hook["process_input"] == by_hook["process_output_stream"] == by_hook["process_output_result"] == "timeout"


TEXTS = ("a" * 40 + "b", "1.1.1." * 8000, "123-45-" * 8000, "a@" * 20_000, "x" * 1_000_000)


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"(\w+\s*)*:"])
def test_a_dangerous_pattern_is_warned_about(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-001: a pattern that may take exponential time is warned about where it is given, and refused where no engine could
    stop it."""
    with capture_logs() as logs:
        RegexFilter(id=f"danger {pattern}", rules=[{"name": "slow", "pattern": pattern}])
    assert any("exponential" in entry["event"] and entry["log_level"] == "warning" for entry in logs)
    monkeypatch.setattr("procession.messages.text.patterns._regex_engine", lambda: None)
    with pytest.raises(ValueError, match="exponential"):
        Rule("slow", pattern)


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"(\w+\s*)*:"])
def test_each_call_of_such_a_guard_is_short(pattern: str) -> None:
    """SEC-001: under a second for each of the texts, with a verdict or with none: then it is a timeout, which fails closed."""
    guard = RegexFilter(rules=[{"name": "slow", "pattern": pattern}])
    for text in TEXTS:
        with cpu_limit(1):
            try:
                guard.regions(text)
            except TimeoutError:
                continue


@pytest.mark.parametrize(
    "guard", [PIIDetector(), PromptInjectionDetector(), RegexFilter(presets=["pii", "secrets", "urls"])]
)
@pytest.mark.parametrize("text", TEXTS[:4], ids=["a", "dots", "dashes", "at"])
def test_what_is_built_in_is_short_too(guard: TextGuard, text: str) -> None:
    """SEC-001: each call of a built-in guard takes under a second for each of the texts."""
    with cpu_limit(1):
        guard.regions(text)


# -- what comes in pieces


def test_a_phrase_across_chunks_is_blocked_before_it_is_shown() -> None:
    """MOD-001: the phrase spans chunks none of which has it; the tripwire comes before the sign that completes it, and the
    reader has a prefix of the text before the phrase."""
    chunks = ["the sys", "tem  pro", "mpt", ": be nice"]
    text = "".join(chunks)

    async def shown(pieces: list[str]) -> tuple[str, bool]:
        stream = made(RegexFilter(rules=[{"name": "prompt", "pattern": r"system\s+prompt\s*[:=]"}]))
        out: list[str] = []
        try:
            for piece in pieces:
                out += texts(await push(stream, TextDelta(piece)))
        except Tripwire:
            return "".join(out), True
        return "".join(out), False

    every = [chunks, list(text), [text], *([text[:at], text[at:]] for at in range(1, len(text)))]
    for pieces in every:
        got, tripped = anyio.run(shown, pieces)
        assert tripped
        assert "the ".startswith(got)


@pytest.mark.parametrize("by_words", [True, False])
async def test_a_mark_in_the_next_chunk_belongs_to_the_word(by_words: bool) -> None:
    """UNI-003: a combining mark at the beginning of a chunk makes the banned word; text in which nothing is flagged comes out
    code point by code point as it came."""

    def guard() -> Any:
        if by_words:
            return ModerationProcessor(words=["caf\u00e9"])
        return RegexFilter(rules=[{"name": "word", "pattern": "(?<!\\w)caf\u00e9(?!\\w)"}], fold=True)

    chunks = deltas("the cafe", "\u0301 is open")
    with pytest.raises(Tripwire):
        await streamed(chunks, guard())
    clean = "the cafe\u0301s e\u0301tude \u212b is open"
    for size in (1, 2, 5, 100):
        pieces = [clean[at : at + size] for at in range(0, len(clean), size)]
        assert "".join(texts(await streamed(deltas(*pieces), guard()))) == clean
