"""Normalising: the profile, what detectors see, and the way back to the original."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.processors.samples import TEXTS

from procession.messages.text.normalise import SAFE, Folder, Normaliser, Profile, fold, is_emoji, normalise
from procession.messages.text.offsets import Offsets
from procession.messages.text.segments import IDENTITY, begins_segment, last_segment, nfkc, segments

EVERY_TEXT = TEXTS | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｈｅｌｌｏ", "Hello"),
        ("ﬁne ①", "fine 1"),
        ("a\u0007b\tc\nd\re", "ab\tc\nde"),
        ("I\u200bg\u200cn\u2060o\ufeffre", "Ignore"),
        ("a\u202eb\u2066c\u200ed", "abcd"),
        ("hi\U000e0041\U000e007f!", "hi!"),
        ("👩\u200d💻 a\u200db", "👩\u200d💻 ab"),
        ("👁\ufe0f\u200d🗨\ufe0f", "👁\ufe0f\u200d🗨\ufe0f"),
        ("a  b   c", "a b c"),
        ("  a ", " a "),
        ("a \n  b", "a \n b"),
        ("a\u00a0\u00a0b", "a b"),
        ("e\u0301", "é"),
        ("a \u200b b", "a b"),
        ("한글", "한글"),
    ],
)
def test_the_safe_profile(text: str, expected: str) -> None:
    """NFKC, then control characters, invisible ones and runs of spaces; nothing is trimmed."""
    assert normalise(text).text == expected


PROFILES = [
    SAFE,
    Profile(strip_invisible=False, collapse="whitespace", trim=True),
    Profile(keep_control="\t\n\r", collapse="whitespace", preserve_emojis=False),
    Profile(strip_control=False, collapse="none"),
    Profile(keep_control="\r", collapse="whitespace"),
]
PARTED = st.lists(
    st.sampled_from(
        list("ae  \r\n\t\u0301\u0323\u0338\u200b\u200d\ufeff\x07\x85\u00b4\ufe0f←↔©👩\u1100\u1161\u11a8\ufa6c𝐀")
    )
).map("".join)
"""Texts in which what composes is kept apart."""


@given(text=EVERY_TEXT | PARTED, profile=st.sampled_from(PROFILES))
@example(text="a\u200b\u0301", profile=SAFE)
@example(text="←\u200d\u0338", profile=SAFE)
@example(text="a\ufa6c\u0301", profile=PROFILES[2])
def test_normalising_is_done_once(text: str, profile: Profile) -> None:
    """What is normalised stays as it is, also where what was left out kept apart what composes."""
    once = normalise(text, profile).text
    assert unicodedata.is_normalized("NFKC", once) or "\u200d" in once
    assert normalise(once, profile).text == once


@given(text=EVERY_TEXT | PARTED, profile=st.sampled_from(PROFILES), size=st.integers(1, 5))
@example(text="a\u200b\u0301", profile=SAFE, size=1)
def test_normalising_does_not_depend_on_the_cut(text: str, profile: Profile, size: int) -> None:
    """A text in pieces is normalised as the whole one is, with or without the way back."""
    offsets = Offsets()
    for one in (Normaliser(profile), Normaliser(profile, offsets)):
        pieces = [one.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(pieces) + one.finish() == normalise(text, profile).text
    whole = normalise(text, profile)
    for index in range(len(whole.text)):
        assert offsets.span(index, index + 1) == whole.span(index, index + 1)


def test_the_way_back_spans_what_was_left_out() -> None:
    """What was composed comes from the letter, the mark, and what had kept them apart."""
    seen = normalise("xa\u200b\u0301y")
    assert (seen.text, seen.span(1, 2), seen.span(2, 3)) == ("xáy", (1, 4), (4, 5))


def test_nothing_that_is_left_out_comes_of_anything_else() -> None:
    """No other character is normalised to one that is left out, and all that come before an emoji begin a segment."""
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code)
        usual = unicodedata.normalize("NFKC", character)
        if usual != character:
            assert not any(normalise(f"a{one}b", SAFE).text == "ab" for one in usual)
            assert len({one > "\uffff" for one in usual}) == 1
        if is_emoji(usual[0]):
            assert begins_segment(character)


@given(
    text=EVERY_TEXT, profile=st.sampled_from([SAFE, Profile(strip_invisible=False, collapse="whitespace", trim=True)])
)
def test_offsets_lead_back(text: str, profile: Profile) -> None:
    """Every character of the view comes from a stretch of the text, and the stretches are in order."""
    for seen in (normalise(text, profile), fold(text)):
        last = 0
        for index in range(len(seen.text)):
            start, end = seen.span(index, index + 1)
            assert 0 <= start < end <= len(text)
            assert start >= last
            last = start
        if seen.text:
            start, end = seen.span(0, len(seen.text))
            assert fold(text[start:end]).text == fold(text).text or seen.text != fold(text).text


@given(text=EVERY_TEXT, size=st.integers(1, 5))
def test_folding_does_not_depend_on_the_cut(text: str, size: int) -> None:
    """The view of a text in pieces, and its offsets, are those of the whole text."""
    offsets, folder = Offsets(), Folder()
    pieces = [folder.feed(text[at : at + size], offsets) for at in range(0, len(text), size)]
    view = "".join(pieces) + folder.feed("", offsets, final=True)
    whole = fold(text)
    assert view == whole.text
    for index in range(len(view)):
        assert offsets.span(index, index + 1) == whole.span(index, index + 1)


@given(text=EVERY_TEXT)
def test_segments_normalise_on_their_own(text: str) -> None:
    """NFKC of a text is NFKC of its segments, one after the other."""
    pieces = [text[start:end] for start, end, _ in segments(text)]
    assert "".join(pieces) == text
    assert "".join(unicodedata.normalize("NFKC", piece) for piece in pieces) == unicodedata.normalize("NFKC", text)


def test_every_character_that_composes_is_known() -> None:
    """No character that composes with the one before counts as the beginning of a segment."""
    wrong: list[str] = []
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code)
        parts = unicodedata.normalize("NFD", character)
        if len(parts) >= 2 and unicodedata.normalize("NFC", parts) == character:
            wrong += [one for one in parts[1:] if begins_segment(one) and unicodedata.normalize("NFC", parts) != parts]
    assert wrong == []


def test_the_fast_path_holds_only_what_stays() -> None:
    """Characters that are passed over in runs begin a segment and are what a detector sees."""
    for code in range(0x20, 0x3100):
        character = chr(code)
        if IDENTITY.fullmatch(character):
            assert begins_segment(character)
            assert fold(character).text == character
    assert all(fold(chr(code)).text == chr(code) for code in range(0xAC00, 0xD7A4, 97))


def test_what_detectors_see() -> None:
    """Digits of all scripts, dashes and invisible characters are one thing each."""
    assert fold("٠١٢３۴").text == "01234"
    assert fold("1\u20132\u22123\uff0d4").text == "1-2-3-4"
    assert fold("b\u00ado\u200bb\u2060@x").text == "bob@x"
    seen = fold("call\u200b ５５５")
    assert seen.span(5, 8) == (6, 9)
    assert last_segment("cafe\u0301") == 3


def test_a_held_joiner_is_decided_by_what_follows() -> None:
    """A joiner waits for the next character, and is dropped at the end."""
    one = Normaliser()
    assert one.feed("👩\u200d") + one.feed("x") + one.finish() == "👩x"
    two = Normaliser()
    assert two.feed("👩\u200d") + two.feed("💻") + two.finish() == "👩\u200d💻"
    assert is_emoji("👩")


MARKS = st.text(
    "e\u0301\u0316\u0323\u0338\u0345\u0344\u05b0\u3099\u1100\u1161\u11a8\uac00\u1e69\u09c7\u09be",
    min_size=31,
    max_size=80,
)


@given(MARKS)
def test_many_marks_are_normalised_as_few_are(text: str) -> None:
    """However many marks follow a letter, and in whatever order, what is made of them is what Unicode says."""
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("marks", ["\u0301", "\u0301\u0316", "\u1161"])
def test_a_letter_with_very_many_marks_costs_no_more_than_another(marks: str) -> None:
    """Nor does it where they come one by one: nobody can hold up whoever shares the process with a text of marks alone."""
    text = "e" + marks * 60_000
    whole = normalise(text).text
    one, folder, offsets = Normaliser(), Folder(), Offsets()
    assert "".join([*map(one.feed, text), one.finish()]) == whole
    seen = [folder.feed(character, offsets) for character in text]
    assert "".join([*seen, folder.feed("", offsets, final=True)]) == fold(text).text
