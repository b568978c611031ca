"""Spans: overlapping findings become one region, and nothing of a finding is left over."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from procession.messages.text.spans import Span, covers, cut_out, resolve


def a_span(start: int, size: int, type: str, score: float) -> Span:
    """Return a span of *size* characters."""
    return Span(start, start + size, type, type, score)


SPANS = st.lists(
    st.builds(a_span, st.integers(0, 30), st.integers(1, 12), st.sampled_from(["a", "b"]), st.floats(0, 1)), max_size=8
)


@given(spans=SPANS)
def test_regions_are_the_union(spans: list[Span]) -> None:
    """Regions are disjoint, in order, cover exactly what the spans cover, and each span is in one."""
    regions = resolve(spans)
    covered = {place for span in spans for place in range(span.start, span.end)}
    assert {place for region in regions for place in range(region.start, region.end)} == covered
    assert all(before.end <= after.start for before, after in itertools.pairwise(regions))
    assert sum(len(region.members) for region in regions) == len(spans)


@given(spans=SPANS)
def test_the_longest_owns(spans: list[Span]) -> None:
    """No member of a region is longer than its owner, nor as long and surer."""
    for region in resolve(spans):
        best = (region.owner.end - region.owner.start, region.owner.score)
        assert all((span.end - span.start, span.score) <= best for span in region.members)


@given(spans=SPANS)
def test_text_outside_is_unchanged(spans: list[Span]) -> None:
    """Whatever is hidden, the characters between the regions are those of the text."""
    text = "".join(chr(97 + place % 26) for place in range(50))
    out = cut_out(text, resolve(spans), lambda region: "#")
    kept = "".join(letter for place, letter in enumerate(text) if not covers(spans, place, place + 1))
    assert out.replace("#", "") == kept


def test_a_card_with_an_ending_is_one_region() -> None:
    """Two detections that overlap partly leave nothing of either behind."""
    text = "Card 4151 3217 6243 3448.com, please check."
    regions = resolve([Span(5, 24, "CREDIT_CARD", score=1.0), Span(20, 28, "URL", score=0.5)])
    assert cut_out(text, regions, lambda region: f"[{region.owner.type}]") == "Card [CREDIT_CARD], please check."
    assert [span.moved(3).start for span in regions[0].members] == [8, 23]
