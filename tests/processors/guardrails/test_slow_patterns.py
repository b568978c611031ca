"""Patterns that may never end: as a rule they are stopped or refused, wherever the rule is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.processors.detect.cpu import cpu_limit
from tests.processors.kit import through

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.text.patterns import Rule, compile_pattern
from procession.messages.text.scan import find_spans
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.payloads import InputPayload
from procession.processors.text_guard import TextGuard

SLOW = [r"(a+)+$", r"(\w+\s?)*$", r"(?:a|aa)+$", "(?x) ( a+ # one [\n )+ $"]
EXPONENTIAL = [*SLOW, r"(?:ab|a.)*$", r"(?i)(?:ab|Ab)*$"]
TEXT = "a" * 5_000 + "!"


class Custom(TextGuard):
    """A guard whose rules come from its owner."""

    id = "custom"

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.rules = (rule,)


GUARDS: list[Callable[[Rule], TextGuard]] = [lambda rule: RegexFilter(rules=[rule]), Custom]


@pytest.mark.parametrize("make", GUARDS, ids=["regex-filter", "text-guard"])
@pytest.mark.parametrize("pattern", SLOW)
async def test_a_rule_that_takes_too_long_is_stopped(
    pattern: str, make: Callable[[Rule], TextGuard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the guard extra the guard trips where the search of a rule has no end in sight, in every way to give one."""
    pytest.importorskip("regex")
    monkeypatch.setattr("procession.messages.text.scan.BUDGET", 0.02)
    rule = Rule("slow", pattern)
    assert rule.budgeted  # else the next line would not come back
    run = await through(InputPayload(MessageList([Message.user(TEXT)], source="input")), make(rule))
    assert run.tripwire is not None
    assert run.tripwire.metadata["kind"] == "guard_timeout"


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_without_the_engine_such_a_rule_is_refused(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no search can be stopped, a pattern that may take exponential time is no rule at all."""
    monkeypatch.setattr("procession.messages.text.patterns._regex_engine", lambda: None)
    with pytest.raises(ValueError, match=r"'slow' repeats .* exponential time; .* procession\[guard\]"):
        Rule("slow", pattern)
    with pytest.raises(ValueError, match="exponential"):
        compile_pattern("slow", re.compile(pattern))


@pytest.mark.parametrize("pattern", [r"a+b", r"[a-z+*]{1,8}", r"\w+@\w+\.com", r"(?:foo|bar)*x", r"a\)+"])
def test_harmless_patterns_need_no_engine(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided in one way only is searched by the standard library where there is nothing else."""
    monkeypatch.setattr("procession.messages.text.patterns._regex_engine", lambda: None)
    assert isinstance(Rule("fine", pattern).pattern, re.Pattern)


def test_every_rule_without_a_bound_has_a_limit() -> None:
    """Not only what may take exponential time: any repeat without a limit is searched under one."""
    pytest.importorskip("regex")
    assert [Rule("x", pattern).budgeted for pattern in (r"\w*\w*\w*=", r"a.*b", r"a{2,}", r"a.{0,80}b")] == [
        *[True] * 3,
        False,
    ]


def test_a_pattern_that_is_none_is_not_called_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in a pattern is said to be one."""
    monkeypatch.setattr("procession.messages.text.patterns._regex_engine", lambda: None)
    with pytest.raises(re.error):
        Rule("broken", "(a+")


@pytest.mark.parametrize("place", ["tail", "context", "unless"])
def test_words_around_a_match_have_no_limit(place: str) -> None:
    """What is always searched by the standard library is refused if it may take exponential time."""
    options: dict[str, Any] = {place: r"(\w+\s?)+:"}
    with pytest.raises(ValueError, match="exponential time; bound the inner repeat$"):
        Rule("slow", "x", **options)


def test_flags_mean_the_same_in_both_engines() -> None:
    """``re.ASCII`` is not taken for the other engine's flag of the same number."""
    for rule in (Rule("one", r"\w+", flags=re.ASCII), compile_pattern("two", re.compile(r"\w+", re.ASCII))):
        assert [(span.start, span.end) for span in find_spans([rule], "äb")] == [(1, 2)]


def test_the_limit_of_other_tests_works() -> None:
    """A search that would take years is ended by the limit on computing, also inside of the engine."""
    with pytest.raises(pytest.fail.Exception, match="computed for more than"), cpu_limit(0.05):
        re.match(SLOW[0], "a" * 60 + "!")


class Counted:
    """An engine whose patterns may be asked only so often."""

    def __init__(self, most: int) -> None:
        self.left = most

    def compile(self, pattern: str, flags: int) -> Counted:
        """Keep the pattern."""
        self.pattern = re.compile(pattern, flags)
        return self

    def search(self, text: str, at: int, timeout: float) -> re.Match[str] | None:
        """Search, if there is anything left."""
        self.left -= 1
        assert self.left >= 0, "asked again and again"
        return self.pattern.search(text, at)


@pytest.mark.parametrize(("pattern", "found"), [("a*", [(1, 2)]), ("$", []), ("(?=a)", []), ("b?", [(0, 1)])])
def test_an_empty_match_at_the_end_is_the_last(pattern: str, found: list[tuple[int, int]]) -> None:
    """A pattern that matches nothing at all is sought once at each place, and no more behind the end."""
    rule = Rule("empty", pattern, engine=Counted(4))
    assert [(span.start, span.end) for span in find_spans([rule], "ba")] == found
