"""Reported failures of guards against personal data, each cited by its id, and held by ours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.text.spans import Span, cut_out, resolve
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.payloads import InputPayload
from procession.runtime.runtime import Runtime
from procession.testing.fake_model import FakeModel, Reply
from procession.workflows.workflow import create_workflow

METHODS = ("mask", "hash", "placeholder", "remove", "reversible")


async def test_what_is_split_over_chunks_is_never_shown() -> None:
    """PII-001: the joined output has placeholders, and at no time has the reader seen the half of a value."""
    model = FakeModel(Reply(text=["Contact bob@", "example.com now. SSN 536-22-", "8145 ok"]))
    guard = PIIDetector(detection_types=["email", "ssn"], redaction="placeholder")
    shown = ""
    async with Agent("a", model=model, output_processors=[guard]).stream("go") as stream:
        async for chunk in stream.full_stream:
            shown += chunk.text if isinstance(chunk, TextDelta) else ""
            assert "bob@" not in shown
            assert "536-22-" not in shown
    assert shown == "Contact [EMAIL] now. SSN [SSN] ok"


def test_findings_that_overlap_leave_nothing_over() -> None:
    """PII-003: two findings that overlap are one stretch; what stands outside of both is as it was."""
    text = "Card 4151 3217 6243 3448.com, please check."
    spans = [Span(5, 24, "CREDIT_CARD", score=1.0), Span(20, 28, "URL", score=0.5)]
    assert cut_out(text, resolve(spans), lambda region: f"[{region.owner.type}]") == "Card [CREDIT_CARD], please check."
    assert PIIDetector(redaction="placeholder").guard("see https://example.com/eva@example.net ok") == "see [URL] ok"


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=6))
def test_outside_of_findings_nothing_changes(found: list[tuple[int, int]]) -> None:
    """PII-003: the characters outside of the union of the spans are unchanged, and in their order."""
    text = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    spans = [Span(start, start + size, "x") for start, size in found]
    left = [character for at, character in enumerate(text) if not any(span.start <= at < span.end for span in spans)]
    assert cut_out(text, resolve(spans), lambda region: "") == "".join(left)


def test_time_stamps_are_no_cards() -> None:
    """PII-005: rows of digits that pass the check by chance stay: no issuer has them. The table is in the docs."""
    text = "ts=1767225600009 order 90000123456718 build 1767225600017"
    assert PIIDetector(detection_types=["credit-card"]).guard(text) == text
    assert PIIDetector().guard(text) == text


def test_card_families_and_separators() -> None:
    """PII-006: two-series Mastercard, 19 digits, American Express in groups, and no-break spaces."""
    text = "2221000123456781 / 6200 0012 3456 7890 128 / 3700-001234-56784 / 4242\u00a00000\u00a01111\u00a02224"
    guard = PIIDetector(detection_types=["credit-card"], redaction="placeholder")
    assert guard.guard(text) == "[CREDIT-CARD] / [CREDIT-CARD] / [CREDIT-CARD] / [CREDIT-CARD]"


def test_folding_case_moves_nothing() -> None:
    """UNI-004: letters that grow when their case is folded do not shift what is hidden."""
    guard = PIIDetector(detection_types=["email"], redaction="placeholder", names=["straSSe gasse"])
    assert guard.guard("İİİ straße bob@example.com ok") == "İİİ straße [EMAIL] ok"
    assert guard.guard("ßßİ BOB@EXAMPLE.COM, bob@example.com ﬁn") == "ßßİ [EMAIL], [EMAIL] ﬁn"


@pytest.mark.parametrize("side_by_side", [False, True])
async def test_two_guards_do_not_hide_each_others_placeholders(side_by_side: bool) -> None:
    """PII-020: one after the other or side by side, what one has hidden the other leaves alone."""
    mail, phone = (PIIDetector(id=kind, detection_types=[kind], redaction="placeholder") for kind in ("email", "phone"))
    both = PIIDetector(id="both", detection_types=["email", "phone"], redaction="placeholder")
    flow = create_workflow("guards")
    flow = flow.parallel([mail, phone]) if side_by_side else flow.then(mail).then(both)
    text = "eva@example.net 415-555-0132"
    payload = InputPayload(MessageList([Message.user(text, id="m")], source="input"))
    out: Any = await Runtime().create_run(flow.commit()).start(payload)
    assert out.unwrap().message_list.view()[0].text == "[EMAIL] [PHONE]"


VALUES = [
    "eva@example.net", "415-555-0132", "536-22-8145", "4242 4242 4242 4242", "GB33 BUKB 2020 1555 5555 55", "12345678Z",
    "the password is hunter2!x", "203.0.113.9", "https://example.com/a?b=c", "AB123456C", "born 12.05.1990", "Mara",
    "550e8400-e29b-41d4-a716-446655440000", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "sk-proj-A1b2C3d4E5f6G7h8I9j0",
    "Tel. 030 23125 417", "eva [at] example [dot] net", "ssn 536 22 8145", "user eva, password tin-whistle-4460", "and", ".",
]  # fmt: skip
APART = [
    "born",
    "12.05.1990",
    "call",
    "2025550143",
    "ssn",
    "card",
    "geb.",
    "token:",
    "user",
    "pan",
    "536228145",
    "DNI",
    "1",
]


def twice_is_once(method: Any, words: list[str], blank: str) -> bool:
    """Return whether what was hidden comes out unchanged when it is looked at again."""
    guard = PIIDetector(redaction=method, names=["Mara"])
    once = guard.guard(blank.join(words))
    return guard.guard(once) == once


@pytest.mark.parametrize("method", METHODS)
@example(words=["the password is hunter2!x", "415-555-0132"], blank=".\n\n")
@given(words=st.lists(st.sampled_from(VALUES), max_size=8), blank=st.sampled_from([". Then ", "; ", ".\n\n"]))
def test_what_is_hidden_is_not_hidden_again(method: Any, words: list[str], blank: str) -> None:
    """PII-020: redact(redact(x)) == redact(x), for every method."""
    assert twice_is_once(method, words, blank)


@pytest.mark.parametrize("method", ["hash", "placeholder", "reversible"])
@given(words=st.lists(st.sampled_from([*VALUES, *APART]), max_size=8), blank=st.sampled_from([" ", "\n", ", "]))
def test_words_do_not_speak_past_a_placeholder(method: Any, words: list[str], blank: str) -> None:
    """PII-020: a word that says what comes next says nothing of what comes behind something that was hidden."""
    assert twice_is_once(method, words, blank)
