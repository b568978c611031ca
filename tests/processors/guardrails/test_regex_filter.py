"""RegexFilter: a user's patterns and the presets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.processors.kit import passed, through
from tests.processors.streams import stream

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.payloads import InputPayload
from procession.steps.scope import RequestScope

CODE = {"name": "code", "pattern": r"ABC-\d+", "replacement": "<code>"}


def given(text: str) -> InputPayload:
    """Return a payload with *text* as new input."""
    return InputPayload(MessageList([Message.user(text, id="m")], source="input"))


async def test_a_block_lists_what_matched_where() -> None:
    """The tripwire names the rules and places; the matches themselves are hidden."""
    run = await through(given("mail bob@example.com or call 555-123-4567"), RegexFilter(presets=["pii"]))
    assert run.tripwire is not None
    assert run.tripwire.reason == "Regex filter: blocked content matching patterns: email, phone"
    assert run.tripwire.metadata == {
        "processorId": "regex-filter",
        "matches": [
            {"rule": "email", "match": "[REDACTED_MATCH]", "index": 5},
            {"rule": "phone", "match": "[REDACTED_MATCH]", "index": 29},
        ],
        "strategy": "block",
    }


async def test_redactions_are_reported_with_their_places() -> None:
    """Four findings side by side are four disjoint redactions; values are told only when asked for."""
    scope = RequestScope()
    guard = RegexFilter(presets=["pii"], strategy="redact", include_redacted_values=True)
    out = await passed(given("a@b.co 123-45-6789 4111 1111 1111 1111 +1 (555) 123-4567"), guard, scope=scope)
    assert out.message_list.view()[0].text == "[EMAIL] [SSN] [CREDIT_CARD] [PHONE]"
    detail = scope.violations[0].detail
    assert (detail["messageId"], detail["partIndex"]) == ("m", 0)
    assert [(one["rule"], one["index"], one["value"]) for one in detail["redactions"]] == [
        ("email", 0, "a@b.co"),
        ("ssn", 7, "123-45-6789"),
        ("credit-card", 19, "4111 1111 1111 1111"),
        ("phone", 39, "+1 (555) 123-4567"),
    ]
    scope = RequestScope()
    await passed(given("a@b.co"), RegexFilter(presets=["pii"], strategy="redact"), scope=scope)
    assert "a@b.co" not in repr(scope.violations)


async def test_overlapping_rules_are_named() -> None:
    """Where rules overlap the longest match owns the place, and the report lists all of them."""
    scope = RequestScope()
    rules = [
        {"name": "long", "pattern": "abcdef", "replacement": "<long>"},
        {"name": "late", "pattern": "efgh", "replacement": "<late>"},
    ]
    out = await passed(given("xx abcdefgh yy"), RegexFilter(rules=rules, strategy="redact"), scope=scope)
    assert out.message_list.view()[0].text == "xx <long> yy"
    assert scope.violations[0].detail["redactions"][0]["overlappingRules"] == ["long", "late"]


def test_replacements_may_refer_to_groups() -> None:
    """``$1``, ``$<name>``, ``$&`` and ``$$`` stand for what they do in replacements elsewhere; unknown ones stay."""
    guard = RegexFilter(
        rules=[{"name": "x", "pattern": r"(?P<who>\w+)@(\d+)", "replacement": "$2 $<who> $& $$ $9"}], strategy="redact"
    )
    assert guard.guard("bob@12") == "12 bob bob@12 $ $9"


def test_the_carryover_is_a_least() -> None:
    """Under redact so many characters are held back at least; with 1 what the rules need."""
    text = ["the code is AB", "C-123 and more text", " end"]
    assert stream(RegexFilter(rules=[CODE], strategy="redact"), text).pieces == ["the code is <code> and more text end"]
    assert (
        stream(RegexFilter(rules=[CODE], strategy="redact", stream_carryover_size=1), text).pieces[0] == "the code is "
    )
    assert stream(RegexFilter(rules=[CODE], strategy="redact"), ["x" * 200]).pieces == ["x" * 72, "x" * 128]


def test_patterns_may_be_compiled_and_flagged() -> None:
    """A compiled pattern keeps its flags; flags can be given too."""
    assert (
        RegexFilter(rules=[{"name": "a", "pattern": re.compile("ab", re.IGNORECASE)}], strategy="redact").guard("AB")
        == "[REDACTED]"
    )
    assert (
        RegexFilter(rules=[{"pattern": "ab", "flags": re.IGNORECASE}], strategy="redact").guard("xAB") == "x[REDACTED]"
    )


def test_patterns_of_the_other_engine_work() -> None:
    """With the guard extra Unicode properties may be used, and hold back no more than they must."""
    pytest.importorskip("regex")
    guard = RegexFilter(
        rules=[{"name": "cyrillic", "pattern": r"\p{Cyrillic}{2,8}", "replacement": "#"}],
        strategy="redact",
        stream_carryover_size=1,
    )
    assert stream(guard, list("see привет ok")).text == "see # ok"


def test_a_pattern_without_a_bound_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    """Who gives a pattern that holds streams back is told so once, and how to bound it."""
    RegexFilter(rules=[{"name": "greedy", "pattern": "(?s)a.*b"}], id="unbounded-once")
    assert "bound its repeats" in capsys.readouterr().out
    RegexFilter(rules=[{"name": "greedy", "pattern": "(?s)a.{0,80}b"}], id="bounded")
    RegexFilter(rules=[CODE], id="line-bounded")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "neither rules nor presets"),
        ({"presets": ["pi"]}, "presets='pi'"),
        ({"rules": [{"name": "x"}]}, "has no pattern"),
        ({"rules": [{"pattern": "x", "replace": "y"}]}, "'replace'"),
        ({"rules": [{"name": "broken", "pattern": "("}]}, "'broken' is no regular expression"),
        ({"rules": [CODE], "stream_carryover_size": 0}, "stream_carryover_size=0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        RegexFilter(**options)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["ABC-\u200b123", "ＡBC-123", "A\u00adBC-1\u206023"])
def test_folded_patterns_see_what_people_see(text: str) -> None:
    """With ``fold`` a match is found through invisible characters and look-alikes, and hidden as a whole."""
    plain = RegexFilter(rules=[CODE], strategy="redact")
    folded = RegexFilter(rules=[CODE], strategy="redact", fold=True)
    assert folded.guard(f"see {text}.") == "see <code>."
    assert plain.guard(f"see {text}.") == f"see {text}."
    assert stream(folded, list(f"see {text}.")).text == "see <code>."
