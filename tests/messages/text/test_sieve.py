"""Rules sought only where the strings stand that they need."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from procession.messages.text.patterns import Rule
from procession.messages.text.scan import find_spans
from procession.messages.text.sieve import Sieve

RULES = (
    Rule("drop", r"\b(?:ignore|forget|drop)(?: (?:all|any|the|your)){0,3} (?:rules|orders)\b"),
    Rule("drop-mine", r"\bforget my (?:mail|rules)\b", unless=r"please \Z", near=12),
    Rule("far", r"begin.{0,200}end"),
    Rule("endless", r"open(?: |[a-z])*shut"),
    Rule("any-case", r"(?i)Secret [a-z]{2,9}"),
    Rule("prefix", r"rule|rules of|ruler"),
    Rule("no-strings", r"[0-9]{4}-[0-9]{2}"),
    Rule("tail", r"key: ", tail=r"[a-z ]{1,4}"),
)
WORDS = st.sampled_from(
    "ignore forget drop all any the your my mail rules orders please begin end open shut Secret SECRET ruler of "
    "rule 2024-05 12 key: x . , é".split()
)
TEXTS = st.lists(st.one_of(WORDS, st.text("ab ", max_size=150)), max_size=60).map(" ".join)


@given(text=TEXTS)
def test_a_sieve_finds_what_a_search_finds(text: str) -> None:
    """Nothing is lost and nothing found twice, wherever in a text the strings stand."""
    found = sorted((span.start, span.end, span.rule) for span in Sieve(RULES).find(text))
    assert found == sorted((span.start, span.end, span.rule) for span in find_spans(RULES, text))


def test_what_stands_across_cells_is_found() -> None:
    """A match is found wherever it begins, also where it reaches over many cells."""
    for before in range(0, 300, 7):
        text = "x " * (before // 2) + "begin" + "." * 190 + "end"
        assert [span.rule for span in Sieve(RULES).find(text)] == ["far"]
