"""Reported failures of guards: what they found is told to nobody."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, counted_tool
from tests.processors.stream_kit import deltas, streamed

from procession.agents.agent import Agent
from procession.errors import StoreError
from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)

# -- what is told to nobody

SSN = "536-22-8145"
SECRETS = (SSN, SSN.replace("-", ""))


def leaks(*sinks: Any) -> list[str]:
    """Return the sinks in which the raw value stands."""
    return [repr(sink)[:200] for sink in sinks if any(secret in repr(sink) for secret in SECRETS)]


@both_ways
@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "redact"}, {"strategy": "block"}, {"strategy": "filter"},
        {"strategy": "block", "include_detections": True}, {"strategy": "redact", "redaction": "hash"},
    ],
)  # fmt: skip
async def test_a_raw_value_is_in_no_sink(way: str, options: dict[str, Any]) -> None:
    """PII-014: neither logs, storage, chunks, prompts, violations, tripwire and its metadata, nor the result have what was
    found; reports have who found what type, how often and where."""
    store = InMemoryStore()
    told: list[Violation] = []
    model = FakeModel([f"Your number is {SSN}, or {SSN}."], repeat_last=True)
    agent = Agent(
        "a", model=model, memory=Memory(store), max_processor_retries=2,
        input_processors=[PIIDetector(on_violation=told.append, **options), PIIDetector(id="second", strategy="block")],
        output_processors=[PIIDetector(id="out", on_violation=told.append, **options)],
    )  # fmt: skip
    seen: list[Any] = []
    with capture_logs() as logs:
        for text in (f"my ssn is {SSN}", "what is my ssn?"):
            one = await ask(agent, way, text, thread="t", resource="r")
            seen += [
                one.chunks,
                one.result,
                one.result.messages,
                one.result.steps,
                one.result.violations,
                one.result.tripwire,
            ]
    assert not leaks(logs, told, model.requests, await store.messages("t"), *seen)
    assert {one.processor_id for one in told} == {"pii-detector", "out"}
    assert all("ssn" in one.message for one in told)
    changed = [one for one in told if one.outcome == "modified"]
    assert all(found["type"] == "ssn" and found["start"] >= 0 for one in changed for found in one.detail["detections"])


@both_ways
@pytest.mark.parametrize("on_error", ["stop", "skip"])
async def test_a_failure_quotes_nothing(way: str, on_error: Any) -> None:
    """PII-014: a detector, and a store, that quote the text where they fail are quoted by nobody: neither in the tripwire, nor
    in what is told, logged, or raised."""

    class Talking:
        identity = "talking"

        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            raise RuntimeError(f"cannot judge {text}")

        async def get(self, key: str) -> str | None:
            raise StoreError(f"no {SSN}")

        async def set(self, key: str, value: str, *, ttl: float) -> None:
            raise StoreError(f"no {SSN}")

        async def delete(self, key: str) -> bool:
            return False

        async def clear(self, prefix: str = "") -> int:
            return 0

    told: list[Violation] = []
    talking = Talking()
    guards = [
        PIIDetector(
            id=f"{phase} {on_error} {way}", detector=talking, verdict_cache=talking, on_error=on_error, phase=phase,
            on_violation=told.append, detection_types=["name", "ssn"], redaction="placeholder", stream_by="sentence",
        )
        for phase in ("input", "output")
    ]  # fmt: skip
    agent = Agent("a", model=FakeModel(f"It is {SSN}."), input_processors=guards[:1], output_processors=guards[1:])
    with capture_logs() as logs:
        seen = await ask(agent, way, f"my ssn is {SSN}")
    assert logs
    assert not leaks(
        logs, told, seen.error, [one.message for one in told], seen.result.tripwire, seen.result.violations
    )
    assert seen.result.status == ("blocked" if on_error == "stop" else "completed")


@both_ways
async def test_feedback_of_a_retry_quotes_nothing(way: str) -> None:
    """PII-014: what a rejected attempt said is not in the feedback that the model is sent, nor in what was rejected of it."""

    class Again(PIIDetector):
        """Sends the step back, in the guard's own words."""

        def process_output_step(self, ctx: Any) -> None:
            """Send back what has personal data."""
            found = self.regions(ctx.text)
            if found:
                ctx.abort(self.reason([span for region in found for span in region.members]), retry=True)

    model = FakeModel([f"It is {SSN}.", "I will not say."])
    agent = Agent("a", model=model, output_processors=[Again(phase="input")], max_processor_retries=1)
    seen = await ask(agent, way, "What is it?")
    assert seen.result.text == "I will not say."
    feedback = [message for message in model.requests[1].messages if message.role == "system"]
    assert "Types: ssn" in str(feedback)
    assert not leaks(feedback, seen.result.text, seen.result.violations, seen.result.messages)


@both_ways
@pytest.mark.parametrize("strategy", ["redact", "block", "warn", "filter"])
@pytest.mark.parametrize("client", [True, False])
async def test_the_place_of_a_finding_quotes_no_key(way: str, strategy: Any, client: bool) -> None:
    """PII-014: where a key of a tool's result is personal data it stands as a star in the paths of reports and tripwires, its
    own and those of what is under it."""
    value = {"people": {SSN: {"note": f"call {SSN}", "age": 3}}}
    told: list[Violation] = []
    guard = PIIDetector(
        strategy=strategy, detection_types=["ssn"], redaction="placeholder", on_violation=told.append,
        phase="input" if client else "output",
    )  # fmt: skip
    look, _ = counted_tool("look", value)
    model = FakeModel(["ok"] if client else [call_tool("look"), "ok"])
    agent = Agent(
        "a", model=model, tools=[] if client else [look],
        input_processors=[guard] if client else [], output_processors=[] if client else [guard],
    )  # fmt: skip
    answered = Message("assistant", (ToolCallPart("c", "look", {}, "result", value),))
    seen = await ask(agent, way, [Message.user("who?"), answered] if client else "who?")
    assert not leaks(told, seen.result.violations, seen.result.tripwire)
    assert told[0].detail["path"].removeprefix("result.") == "people.*"
    paths = [one.detail["path"].removeprefix("result.") for one in seen.result.violations]
    assert paths == (["people.*"] if strategy == "block" else ["people.*", "people.*.note"])


def test_in_parallel_guards_nothing_leaks_either() -> None:
    """PII-014: of guards side by side each reports its own, and none what was found."""
    group = create_workflow("w", kind="processor").parallel(
        [PIIDetector(id="a", redaction="placeholder"), PIIDetector(id="b", redaction="mask")]
    )
    scope = RequestScope()

    async def main() -> list[Any]:
        return await streamed(deltas(*f"It is {SSN}."), group.commit(), scope=scope)

    out = anyio.run(main)
    assert not leaks(out, scope.violations)
    assert {one.processor_id for one in scope.violations} == {"a", "b"}
    assert all(first != second for first, second in itertools.pairwise(one.processor_id for one in scope.violations))
