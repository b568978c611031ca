"""Several text guards on one stream: one window, the strictest counts, each finding stays its own guard's."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.processors.samples import TEXTS
from tests.processors.streams import context, cuts, stream

from procession.messages.chunks import TextDelta, TextEnd
from procession.messages.text.patterns import Rule
from procession.messages.text.spans import Span, cut_out, resolve
from procession.processors.guard_group import GuardGroup
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.text_guard import TextGuard
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel


class Codes(TextGuard):
    """Hides codes, and what stands right before them."""

    id = "codes"
    rules = (Rule("code", r"[a-z]{0,8} ?[A-Z]{1,3}-?[0-9]{1,6}"),)


class Shouting(TextGuard):
    """Reports capital letters."""

    id = "shouting"

    def find(self, text: str) -> list[Span]:
        """Find rows of capitals."""
        return [Span(*match.span(), "shouting") for match in re.finditer("[A-Z]{4,}", text)]


def together(guards: Sequence[TextGuard], text: str) -> str:
    """Hide what any of *guards* finds in the whole text."""
    spans = [
        span.replace(source=guard.id) for guard in guards for region in guard.regions(text) for span in region.members
    ]
    by_id = {guard.id: guard for guard in guards}
    return cut_out(
        text,
        resolve(spans),
        lambda region: by_id[region.owner.source].replacement(region, text[region.owner.start : region.owner.end]),
    )


TEXTS_WITH_CODES = st.lists(
    TEXTS
    | st.sampled_from(
        ["ABC-123", "order X9", "see AB12 4242 4242 4242 4242", "DE12", "a1", " ", "HELLO", "mail Z1@example.com"]
    ),
    max_size=4,
).map("".join)


@given(cut=cuts(TEXTS_WITH_CODES))
def test_a_group_hides_the_union(cut: tuple[str, list[str]]) -> None:
    """Whatever the cut, the output is the whole text with every guard's findings hidden, overlaps united."""
    text, chunks = cut
    guards = [PIIDetector(redaction="placeholder"), Codes(strategy="redact"), Shouting(strategy="warn")]
    out = stream(GuardGroup(guards), chunks)
    assert out.text == together(guards[:2], text)
    for guard in guards:
        told = any(violation.processor_id == guard.id for violation in out.scope.violations)
        assert told == bool(guard.regions(text))


@given(cut=cuts(TEXTS_WITH_CODES))
def test_a_block_in_a_group_is_as_strict_as_alone(cut: tuple[str, list[str]]) -> None:
    """A blocking guard in a group trips where it would alone, under its own id, and none of its match was sent."""
    text, chunks = cut
    blocking = RegexFilter(rules=[{"name": "card", "pattern": "(?:[0-9]{4} ?){4}"}])
    guards = [Codes(strategy="redact"), blocking]
    out = stream(GuardGroup(guards), chunks)
    regions = blocking.regions(text)
    assert (out.tripwire is not None) == bool(regions)
    if out.tripwire is not None:
        assert out.tripwire.info.processor_id == "regex-filter"
        assert together(guards[:1], text[: regions[0].start + 1]).startswith(out.text[:-1])
        assert not re.search("(?:[0-9]{4} ?){4}", out.text)
    else:
        assert out.text == together(guards[:1], text)


@given(cut=cuts(TEXTS_WITH_CODES))
def test_a_filter_in_a_group_drops_the_block(cut: tuple[str, list[str]]) -> None:
    """A filtering guard drops the whole block, whatever the others would have hidden in it."""
    text, chunks = cut
    guards = [PIIDetector(), Codes(strategy="filter")]
    assert stream(GuardGroup(guards), chunks).text == ("" if guards[1].regions(text) else together(guards[:1], text))


def test_each_guard_is_told_of_its_own_findings() -> None:
    """Violations carry the id of the guard that found something, and its own callback is called, once."""
    told: list[tuple[str, Violation]] = []
    guards = [
        PIIDetector(on_violation=lambda violation: told.append(("pii", violation))),
        Codes(strategy="redact", on_violation=lambda violation: told.append(("codes", violation))),
    ]
    out = stream(GuardGroup(guards), ["mail bob@example.com about ", "AB-12 and", " eva@example.net about AB-13"])
    assert [name for name, _ in told] == ["pii", "codes"]
    assert {violation.processor_id for violation in out.scope.violations} == {"pii-detector", "codes"}
    assert out.text == "mail b*b@*******.com [CODE] and e*a@*******.net [CODE]"


def test_a_block_is_reported_to_the_blocking_guard() -> None:
    """The group hands a verdict on to the guard whose it is."""
    told: list[Violation] = []
    group = GuardGroup([PIIDetector(), RegexFilter(presets=["urls"], on_violation=told.append)])
    violation = Violation("regex-filter", "found")
    group.on_violation(violation)
    assert told == [violation]


def test_what_passed_in_a_group_is_not_looked_at_again() -> None:
    """Every guard of a group knows that the text it let pass was looked at."""
    scope = RequestScope()
    guards = [PIIDetector(), Codes(strategy="redact")]
    group = GuardGroup(guards)
    ctx = context(group, scope)
    ctx.note(TextDelta("mail bob@example.com"))
    first = group.process_output_stream(ctx)
    ctx.chunk = TextEnd()
    sent = "".join(chunk.text for chunk in (first, *group.flush_output_stream(ctx)) if isinstance(chunk, TextDelta))
    assert sent == "mail b*b@*******.com"
    assert scope.state("pii-detector")["passed"] == scope.state("codes")["passed"] != set()


@pytest.mark.anyio
async def test_a_guard_that_asks_a_model_makes_the_group_wait() -> None:
    """With a model among them the guards judge the whole block, and their findings are united all the same."""
    answer = '{"detections": [{"type": "name", "value": "Bob", "confidence": 0.9}]}'
    guards = [PIIDetector(model=FakeModel(answer), redaction="placeholder"), Codes(strategy="redact")]
    group = GuardGroup(guards)
    ctx = context(group)
    for text in ("Hello Bo", "b, see A", "B-12."):
        ctx.note(TextDelta(text))
        assert group.process_output_stream(ctx) is None
    ctx.chunk = TextEnd()
    chunks = await group.flush_output_stream(ctx)
    assert [chunk.text for chunk in chunks] == ["Hello [NAME], [CODE]."]
