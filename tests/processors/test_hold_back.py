"""Stream safety (D18): whatever way a text is cut, what comes out, joined, is what the whole text gives."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.samples import FOUND, TEXTS
from tests.processors.streams import cuts, stream

from procession.messages.text.patterns import Rule, compile_pattern
from procession.messages.text.scan import FindLane, RuleLane, find_spans
from procession.messages.text.spans import Span
from procession.processors.guardrails.masks import Redaction
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.hold_back import HoldBack, Watch
from procession.processors.text_guard import TextGuard
from procession.processors.utility.unicode import UnicodeNormalizer


class Words(TextGuard):
    """A guard with a find of its own."""

    id = "words"
    strategy = "redact"

    def find(self, text: str) -> list[Span]:
        """Find a word, in any case, and long rows of one letter."""
        return [Span(*match.span(), "word") for match in re.finditer(r"(?i)secret(?! santa)|a{3,}", text)]


PATTERNS = (
    {"name": "code", "pattern": r"ABC-\d+", "replacement": "<code>"},
    {"name": "ends", "pattern": r"(?<=x)y+$|\bz\b", "replacement": "<end>"},
    {"name": "pair", "pattern": r"(?s)<b>.*?</b>", "replacement": "<pair>"},
    {"name": "ahead", "pattern": r"foo(?=bar\d)|foo(?!\w)", "replacement": "<foo>"},
    {"name": "twice", "pattern": r"(\w)\1\1", "replacement": "<$1>"},
    {"name": "any", "pattern": r"qu.{0,5}k", "replacement": "<any>"},
)
GUARDS = {
    "pii mask": PIIDetector(),
    "pii placeholder": PIIDetector(redaction="placeholder", threshold=0.5),
    "pii hash": PIIDetector(redaction="hash"),
    "pii remove": PIIDetector(redaction="remove"),
    "presets": RegexFilter(presets=["pii", "secrets", "urls"], strategy="redact", stream_carryover_size=1),
    "patterns": RegexFilter(rules=PATTERNS, strategy="redact", stream_carryover_size=1),
    "carryover": RegexFilter(rules=PATTERNS, strategy="redact"),
    "own find": Words(),
}
PATTERN_TEXTS = st.lists(
    st.sampled_from(
        [
            "ABC-1",
            "ABC",
            "-12",
            "xyy",
            "xy",
            "z",
            " z ",
            "<b>",
            "</b>",
            "<",
            "foo",
            "bar1",
            "bar",
            "foo ",
            "aaa",
            "aa",
            "quick",
            "qu",
            "\n",
            " ",
            "secret",
            "sec",
            "ret",
            " santa",
            "A",
        ]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize("name", GUARDS)
@given(cut=cuts(TEXTS | PATTERN_TEXTS))
def test_redaction_does_not_depend_on_the_cut(name: str, cut: tuple[str, list[str]]) -> None:
    """The joined output of a redacting guard equals the guard of the whole text."""
    text, chunks = cut
    assert stream(GUARDS[name], chunks).text == GUARDS[name].guard(text)


@pytest.mark.parametrize("found", FOUND)
def test_every_finding_is_hidden_at_every_cut(found: str) -> None:
    """For each thing that is found, all cuts into two pieces and into single characters give the same."""
    guard = GUARDS["pii placeholder"]
    text = f"It is {found} I think."
    whole = guard.guard(text)
    assert whole != text
    assert stream(guard, text).text == whole
    for place in range(len(text) + 1):
        assert stream(guard, [text[:place], text[place:]]).text == whole


@given(cut=cuts(TEXTS | PATTERN_TEXTS))
@pytest.mark.parametrize(
    "guard",
    [PIIDetector(strategy="block"), RegexFilter(rules=PATTERNS), RegexFilter(presets=["pii", "secrets"])],
    ids=["pii", "patterns", "presets"],
)
def test_blocking_shows_a_prefix_without_any_part_of_a_match(guard: TextGuard, cut: tuple[str, list[str]]) -> None:
    """With block the stream is cut off exactly where the whole text has a match, and no part of it was sent."""
    text, chunks = cut
    out = stream(guard, chunks)
    regions = guard.regions(text)
    assert (out.tripwire is not None) == bool(regions)
    assert text.startswith(out.text)
    assert len(out.text) <= regions[0].start if regions else out.text == text


@given(cut=cuts(TEXTS))
def test_warnings_do_not_hold_anything_back(cut: tuple[str, list[str]]) -> None:
    """A guard that only warns lets every chunk through at once, and finds what the whole text has."""
    text, chunks = cut
    guard = PIIDetector(strategy="warn")
    out = stream(guard, chunks)
    assert out.pieces == chunks
    found = [one["start"] for violation in out.scope.violations for one in violation.detail["detections"]]
    assert found == [span.start for region in guard.regions(text) for span in region.members]


@given(cut=cuts(TEXTS))
def test_filtering_drops_the_whole_block(cut: tuple[str, list[str]]) -> None:
    """With filter a block with a finding does not come out at all, another one comes out whole."""
    text, chunks = cut
    guard = PIIDetector(strategy="filter")
    assert stream(guard, chunks).text == ("" if guard.regions(text) else text)


@given(cut=cuts(TEXTS), trim=st.booleans(), safe=st.booleans(), strip=st.booleans(), collapse=st.booleans())
def test_normalisation_does_not_depend_on_the_cut(
    cut: tuple[str, list[str]], trim: bool, safe: bool, strip: bool, collapse: bool
) -> None:
    """The normaliser gives the same for every cut, also within combining sequences and between joiners."""
    text, chunks = cut
    normaliser = UnicodeNormalizer(
        trim=trim, strip_control_chars=strip, collapse_whitespace=collapse, profile="safe" if safe else "classic"
    )
    assert stream(normaliser, chunks).text == normaliser.normalised(text)


@given(words=st.lists(st.sampled_from((*FOUND, "and", "word.", "4", "-", "\n")), max_size=8))
@pytest.mark.parametrize("how", ["mask", "hash", "remove", "placeholder"])
def test_redacting_twice_changes_nothing(how: Redaction, words: list[str]) -> None:
    """What was redacted is not found again."""
    guard = PIIDetector(redaction=how)
    once = guard.guard(", ".join(words))
    assert guard.guard(once) == once


@given(cut=cuts(PATTERN_TEXTS))
@pytest.mark.parametrize("rule", [compile_pattern(str(one["name"]), one["pattern"]) for one in PATTERNS], ids=str)
def test_a_lane_finds_what_finditer_finds(rule: Rule, cut: tuple[str, list[str]]) -> None:
    """The spans of a rule are those of a search through the whole text, whatever the cut."""
    text, chunks = cut
    lane = RuleLane([rule])
    found = [span for chunk in chunks for span in lane.feed(chunk)] + lane.feed("", final=True)
    wanted = [match.span() for match in re.compile(rule.pattern.pattern).finditer(text) if match.end() > match.start()]
    assert [(span.start, span.end) for span in found] == wanted
    assert [(span.start, span.end) for span in find_spans([rule], text)] == wanted


def test_ordinary_prose_is_held_back_a_little() -> None:
    """Plain words flow: what a guard over personal data holds back stays within the window."""
    text = "plain words without personal data, and a sentence after it. " * 20
    for size in (3, 7, 34):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        out = stream(GUARDS["pii mask"], chunks)
        assert out.text == text
        assert out.longest_hold <= 128
        assert len(out.pieces) >= len(text) // 48


def test_a_pattern_that_steps_over_everything_waits_only_once_it_has_begun() -> None:
    """A pattern without a bound holds text back from where it could begin, not before."""
    out = stream(GUARDS["patterns"], ["nothing here. ", "and <b> from", " here on", " it waits</b> done"])
    assert out.pieces[0].startswith("nothing here")
    assert out.text == "nothing here. and <pair> done"


def test_a_long_secret_costs_time_that_grows_with_its_length() -> None:
    """A key of 400,000 characters in small chunks is looked at piece by piece, not again and again."""
    lines = "\n".join("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2" for _ in range(6000))
    text = f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----\nthat was it"
    out = stream(PIIDetector(redaction="placeholder"), [text[at : at + 4] for at in range(0, len(text), 4)])
    assert out.text == "[API-KEY]\nthat was it"


def test_the_machine_takes_in_each_character_once() -> None:
    """The lanes of a machine are fed every character exactly once, however much is held."""
    fed: list[str] = []

    class Counting(FindLane):
        def feed(self, text: str, *, final: bool = False) -> list[Span]:
            fed.append(text)
            return super().feed(text, final=final)

    def anything(span: Span, text: str) -> bool:
        return True

    held = HoldBack([Watch("one", Counting(lambda text: [], None), anything)])
    for _ in range(5000):
        held.feed("abcd")
    held.finish()
    assert "".join(fed) == "abcd" * 5000
    assert len(fed) < 600


@settings(max_examples=30)
@given(cut=cuts(st.lists(st.sampled_from(["a", "b", "secret", " santa", "aaaa", " "]), max_size=80).map("".join)))
def test_a_window_is_enough_for_what_fits_into_it(cut: tuple[str, list[str]]) -> None:
    """A find of one's own with a small window gives the same as the whole text, if its matches fit into it."""
    text, chunks = cut
    guard = Words()
    guard.window = 16
    assert stream(guard, chunks).text == guard.guard(text)
