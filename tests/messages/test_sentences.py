"""Sentences: the same stretches however a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.messages.text.sentences import Sentences

SIGNS = st.text(alphabet="ab .!?…。！？।؟\n\"')」e\u0301", max_size=120)


def stretches(pieces: list[str], **options: int | bool) -> list[str]:
    """Return the stretches of a text that comes in *pieces*."""
    cut = Sentences(**options)  # type: ignore[arg-type]
    out = [one for piece in pieces for one in cut.feed(piece)]
    rest = cut.finish()
    return [*out, rest] if rest else out


@given(
    text=SIGNS, places=st.lists(st.integers(0, 120), max_size=12), least=st.integers(1, 30), more=st.integers(1, 40),
    ends=st.booleans(),
)  # fmt: skip
def test_no_cut_changes_the_stretches(text: str, places: list[int], least: int, more: int, ends: bool) -> None:
    """Stretches follow from the text alone; joined they are the text; none but the last leaves its bounds."""
    greatest = least + more
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    pieces = [text[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    whole = stretches([text], least=least, greatest=greatest, ends=ends)
    for cut in (pieces, list(text)):
        assert stretches(cut, least=least, greatest=greatest, ends=ends) == whole
    assert "".join(whole) == text
    assert all(len(one) <= greatest for one in whole)
    assert all(len(one) >= min(least, greatest // 2) for one in whole[:-1])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It costs 3.14. Then", "It costs 3.14."),
        ('She said "no!" Then', 'She said "no!"'),
        ("今日は晴れ。明日は雨", "今日は晴れ。"),
        ("彼は「はい。」と言った。次", "彼は「はい。」"),
        ("यह ठीक है। फिर", "यह ठीक है।"),
        ("هل هذا صحيح؟ نعم", "هل هذا صحيح؟"),
        ("Wait… what", "Wait…"),
        ("a line\nanother", "a line\n"),
        ("Really?! Then", "Really?!"),
    ],
)
def test_sentences_end_in_many_languages(text: str, first: str) -> None:
    """The end of a sentence is known by its sign, with what closes it, and by the end of a line."""
    assert stretches(list(text), least=3)[0] == first


def test_a_long_sentence_is_cut_between_words() -> None:
    """Without an end a stretch is cut at white space, and where there is none between two characters (UNI-003)."""
    assert stretches(["word " * 30], least=5, greatest=32)[0] == "word " * 6
    assert stretches(["e\u0301" * 40], least=5, greatest=31)[0] == "e\u0301" * 15
