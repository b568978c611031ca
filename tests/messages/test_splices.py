"""Changes of a text, found and put together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import texts

from procession.messages.splices import (
    Dispute,
    Splice,
    Spliced,
    apply_splices,
    diff_text,
    hidden_text,
    merge_splices,
)

BASE = "abcdefghijklmnopqrstuvwxyz"
spans = st.tuples(st.integers(0, 26), st.integers(1, 6)).map(lambda one: (min(one[0], 25), min(one[0] + one[1], 26)))


def merged(old: str, *splices: Splice, first_wins: bool = False) -> str:
    """Return the text after a merge of splices, each of a branch of its own."""
    branches = [Spliced(at, f"branch{at}", splice) for at, splice in enumerate(splices)]
    return apply_splices(old, merge_splices(old, branches, first_wins=first_wins)[0])


@given(texts, texts)
def test_diff_applies(old: str, new: str) -> None:
    """The splices found between two texts turn the one into the other."""
    assert apply_splices(old, diff_text(old, new)) == new


@given(st.text(max_size=40), st.text(max_size=40))
def test_diff_applies_to_any_text(old: str, new: str) -> None:
    """So do those between texts without words."""
    assert apply_splices(old, diff_text(old, new)) == new


def test_diff_of_long_texts_is_one_splice() -> None:
    """A long middle is not compared word by word."""
    old, new = "one " + "a " * 700 + "end", "one " + "b " * 700 + "end"
    assert len(diff_text(old, new)) == 1


@given(st.lists(spans, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_redactions_stay_hidden(hidden: list[tuple[int, int]], random: object) -> None:
    """Whatever a redaction covers is gone after the merge, in any order of the branches."""
    splices = [Splice(start, end, f"[{at}]", "redact") for at, (start, end) in enumerate(hidden)]
    random.shuffle(splices)  # type: ignore[attr-defined]
    text = merged(BASE, *splices)
    for start, end in hidden:
        assert not set(BASE[start:end]) & set(text)
    shown = {letter for at, letter in enumerate(BASE) if not any(start <= at < end for start, end in hidden)}
    assert shown <= set(text)


@given(st.lists(spans, min_size=1, max_size=3), st.lists(spans, max_size=3), st.booleans())
def test_a_rewrite_brings_nothing_back(
    hidden: list[tuple[int, int]], rewritten: list[tuple[int, int]], rewrites_first: bool
) -> None:
    """Whatever a redaction covers is gone although another branch kept it inside a longer rewrite."""
    redactions = [Splice(start, end, "#", "redact") for start, end in hidden]
    rewrites = [Splice(start, end, BASE[start:end].upper()) for start, end in rewritten]
    ordered = [*rewrites, *redactions] if rewrites_first else [*redactions, *rewrites]
    text = merged(BASE, *ordered, first_wins=True)
    for start, end in hidden:
        assert not set(BASE[start:end]) & set(text)
        for again, stop in rewritten:
            if start < stop and again < end:
                assert not set(BASE[again:stop].upper()) & set(text)


@given(st.lists(spans, max_size=6))
def test_disjoint_rewrites_apply_like_a_sequence(places: list[tuple[int, int]]) -> None:
    """Rewrites that do not touch give the same text merged as one after the other."""
    splices: list[Splice] = []
    for start, end in sorted(places):
        if not splices or start >= splices[-1].end:
            splices.append(Splice(start, end, BASE[start:end].upper() + "!"))
    expected = BASE
    for splice in reversed(splices):
        expected = apply_splices(expected, [splice])
    assert merged(BASE, *splices) == expected


def test_overlapping_redactions_are_one() -> None:
    """Of overlapping redactions the first one's replacement stands for the union."""
    assert merged(BASE, Splice(2, 6, "<A>", "redact"), Splice(4, 9, "<B>", "redact")) == "ab<A>" + BASE[9:]


def test_the_outer_redaction_stands() -> None:
    """Of nested redactions the outer one's replacement stands, whichever came first."""
    assert merged(BASE, Splice(4, 5, "<A>", "redact"), Splice(2, 6, "<B>", "redact")) == "ab<B>" + BASE[6:]


def test_a_mask_shows_nothing_that_another_branch_hid() -> None:
    """Four digits that a mask leaves readable are gone where another branch hid the whole number."""
    card = "pay 4111111111111111 now"
    mask = Splice(4, 20, "************1111", "redact")
    assert merged(card, mask) == "pay ************1111 now"
    assert "1111" not in merged(card, mask, Splice(4, 20, "[CARD]", "redact"))
    assert "1111" not in merged(card, Splice(14, 24, "#", "redact"), mask)


def test_a_replacement_that_quotes_the_secret_does_not_stand() -> None:
    """A replacement that shows what another branch hid gives way to one that does not."""
    text = merged("my secret word", Splice(3, 14, "[secret]", "redact"), Splice(3, 9, "[X]", "redact"))
    assert text == "my [X]"
    text = merged("my secret word", Splice(3, 14, "<secret>", "redact"), Splice(0, 9, "[my secret word]", "redact"))
    assert "secret" not in text


def test_nested_rewrites_are_no_conflict() -> None:
    """The outer one of nested rewrites holds, and the inner one is reported as dropped."""
    outer, inner = Splice(2, 9, "OUTER"), Splice(4, 6, "in")
    held, dropped = merge_splices(BASE, [Spliced(0, "a", inner), Spliced(1, "b", outer)])
    assert held == [outer]
    assert [one.branch for one in dropped] == ["a"]


def test_overlapping_deletions_are_one() -> None:
    """Two branches that only delete agree."""
    assert merged(BASE, Splice(2, 6, ""), Splice(4, 9, "")) == "ab" + BASE[9:]


@pytest.mark.parametrize(
    ("first", "second"),
    [(Splice(2, 6, "x"), Splice(2, 6, "y")), (Splice(2, 6, "x"), Splice(4, 9, "y"))],
)
def test_different_rewrites_of_one_stretch_are_a_dispute(first: Splice, second: Splice) -> None:
    """Rewrites that differ are refused, naming both branches; the first one holds where that is the rule."""
    with pytest.raises(Dispute) as caught:
        merged(BASE, first, second)
    assert caught.value.branches == ("branch0", "branch1")
    assert merged(BASE, first, second, first_wins=True) == "abx" + BASE[6:]


def test_insertions_at_one_place_are_rewrites_of_it() -> None:
    """Equal insertions of two branches are one, and different ones a dispute; beside a rewrite an insertion holds."""
    assert merged("ab", Splice(1, 1, "1"), Splice(1, 1, "1")) == "a1b"
    with pytest.raises(Dispute):
        merged("ab", Splice(1, 1, "2"), Splice(1, 1, "1"))
    assert merged("ab", Splice(1, 1, "2"), Splice(1, 1, "1"), first_wins=True) == "a2b"
    assert merged("abc", Splice(1, 2, "B"), Splice(1, 1, "+")) == "a+Bc"


def test_hidden_text_leaves_out_what_is_still_shown() -> None:
    """The ends that a replacement repeats are not hidden."""
    assert hidden_text("call bob@x.io", Splice(5, 13, "b**@x.io", "redact")) == (6, 8)
