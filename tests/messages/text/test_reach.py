"""How far a pattern sees, read from the pattern: the ground on which streams are released."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.processors.samples import TEXTS

from procession.messages.text.needs import needs_of
from procession.messages.text.patterns import Rule, compile_pattern
from procession.messages.text.reach import BLIND, UNBOUNDED, reach_of
from procession.processors.detect.injection_rules import INJECTION_RULES
from procession.processors.detect.injection_scripts import OTHER_SCRIPTS
from procession.processors.detect.pii import pii_rules
from procession.processors.detect.presets import PRESETS

PATTERNS = (
    r"ABC-\d+",
    r"(?s)<b>.*?</b>",
    r"foo(?=bar\d)|foo(?!\w)",
    r"(\w)\1\1",
    r"(?<=x)y+$",
    r"\bz\b",
    r"a{2,3}b?c",
    r"(?i)straße|k+|\u0130x",
    r"(?:ab|c)(?:d(?!e)|ef)*",
    r"[^a]{2}b",
    r"x(?>y+)z",
    r"x++y",
    r"(?P<q>['\"]).{0,4}(?P=q)",
    r"(a)?(?(1)b|c)",
    r"(?m)^a|b$",
    r"\Aab|ab\Z",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(
    text=st.text(alphabet="abcdefoxyz <>/ABC-1'\"kKßs\n", max_size=24),
    more=st.text(alphabet="abco1xyz <>/\n-'k", max_size=8),
)
def test_what_is_decided_stays_decided(pattern: str, text: str, more: str) -> None:
    """Whatever comes after, a match begins before the undecided place in the longer text iff it does in the shorter."""
    compiled = re.compile(pattern)
    decided = reach_of(pattern).undecided(text)
    assert 0 <= decided <= len(text)
    for start in range(decided):
        now, later = compiled.match(text, start), compiled.match(text + more, start)
        assert (now and now.span()) == (later and later.span())


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=st.text(alphabet="abcdefoxyz <>/ABC-1'\"kKßs\n", max_size=30))
def test_every_match_has_what_it_needs(pattern: str, text: str) -> None:
    """Where a pattern matches, its head matches, its literals are there, and its rare character is near."""
    compiled = re.compile(pattern)
    needs = reach_of(pattern).needs
    for start in range(len(text) + 1):
        match = compiled.match(text, start)
        if match is None or not match[0]:
            continue
        seen = text.lower() if needs.any_case else text
        assert needs.head is None or needs.head.match(text, start)
        assert all(any(literal in seen for literal in group) for group in needs.literals)
        if needs.anchor is not None:
            anchor = needs.anchor.search(text, start)
            assert anchor is not None
            assert anchor.start() <= start + needs.anchor_at


@pytest.mark.parametrize("rule", [*pii_rules(), *(rule for preset in PRESETS.values() for rule in preset)], ids=str)
@given(text=TEXTS)
def test_built_in_rules_have_what_they_need(rule: Rule, text: str) -> None:
    """The shortcuts of the built-in rules leave out no match."""
    needs = rule.reach.needs
    for match in rule.pattern.finditer(text):
        assert needs.head is None or needs.head.match(text, match.start())
        anchor = needs.anchor.search(text, match.start()) if needs.anchor is not None else None
        assert needs.anchor is None or (anchor is not None and anchor.start() <= match.start() + needs.anchor_at)


@pytest.mark.parametrize("rule", [*pii_rules(), *(rule for preset in PRESETS.values() for rule in preset)], ids=str)
def test_built_in_rules_are_bounded(rule: Rule) -> None:
    """No built-in rule looks further than a few hundred characters, to either side, nor takes exponential time."""
    assert rule.reach.width < 1024
    assert rule.left < 128
    assert not rule.reach.risky
    assert rule.tail_width < 256


def test_injection_rules_are_bounded() -> None:
    """The rules for attacks look at whole sentences, but at no more, and repeat nothing without a limit."""
    rules = (*INJECTION_RULES, *OTHER_SCRIPTS)
    assert [rule.name for rule in rules if rule.reach.risky or not rule.reach.bounded] == []


@pytest.mark.parametrize(
    ("pattern", "width"),
    [("abc", 3), ("a{2,5}", 5), (r"ab\b", 3), ("ab$", 4), (r"ab\Z", 3), ("a(?=bc)", 3), ("a|bcd", 3), (r"(ab)\1", 4)],
)
def test_widths(pattern: str, width: int) -> None:
    """The width counts what is looked at, the end of the text and assertions included."""
    assert reach_of(pattern).width == width


def test_what_cannot_be_read_is_unbounded() -> None:
    """Syntax of the other engine is never taken for something that it is not."""
    for pattern in (r"(?:foo){e<=1}", r"\X+", r"a(?R)?b", r"(?V1)[a--b]", r"("):
        assert reach_of(pattern) is BLIND
    assert reach_of(r"\p{L}{2}").width == 2
    assert reach_of(r"\p{L}+").width == UNBOUNDED


def test_patterns_of_exponential_time_are_known() -> None:
    """A repeat without a limit around something of changing length is told apart from a harmless one."""
    assert reach_of("(a|aa)+$").risky
    assert reach_of(r"(\w+\s*)*:").risky
    assert not reach_of(r"(?:ab)+c\d*").risky


@pytest.mark.parametrize("pattern", [*PATTERNS, r"(?i)[a-z]\w+k", r"\w\s\w"])
@given(
    text=st.text(alphabet="abck\u212a\u0130i \u0301\x1c\u00df\u1e9es\u017f-1'", max_size=16),
    more=st.text(alphabet="ak\u0301 1", max_size=4),
)
def test_the_other_engine_may_see_more_letters(pattern: str, text: str, more: str) -> None:
    """What is read of a pattern for the engine with time limits holds for that engine, not for the standard one."""
    pytest.importorskip("regex")
    rule = compile_pattern("one", pattern)
    decided = rule.reach.undecided(text)
    for start in range(decided):
        now, later = rule.pattern.match(text, start), rule.pattern.match(text + more, start)
        assert (now and now.span()) == (later and later.span())
        head = rule.reach.needs.head
        assert now is None or not now[0] or head is None or head.match(text, start)


def test_without_the_engine_such_patterns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no search can be stopped, a pattern that may never end is not accepted."""
    monkeypatch.setattr("procession.messages.text.patterns._regex_engine", lambda: None)
    with pytest.raises(ValueError, match="exponential"):
        compile_pattern("slow", "(a|aa)+$")
    assert compile_pattern("fine", "a+b").pattern.search("aab")


def test_needs_of_a_pattern() -> None:
    """Strings, rare characters and the beginning are read as people would."""
    parsed = __import__("re._parser", fromlist=["parse"]).parse(r"(?:sk|rk)_live_[0-9]{4}")
    needs = needs_of(parsed, 0)
    assert needs.literals[0] == ("_live_",)
    assert needs.anchor is not None
    assert needs.head is not None
    assert needs.head.match("rk_live_1234")
