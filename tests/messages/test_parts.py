"""The persistent sequence of parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import parts

from procession.messages.parts import Part, Parts, TextPart


@given(st.lists(st.lists(parts, max_size=3), max_size=5), st.integers(-16, 16))
def test_segments_read_like_one_sequence(segments: list[list[Part]], index: int) -> None:
    """However the parts were put together, reading and replacing is that of a flat list."""
    made = Parts()
    flat: list[Part] = []
    for segment in segments:
        made = made.extended(segment)
        flat += segment
    assert made == flat
    assert list(reversed(made)) == flat[::-1]
    assert len(made) == len(flat)
    if -len(flat) <= index < len(flat):
        news = TextPart("new")
        replaced = made.replaced(index, news)
        flat[index] = news
        assert replaced == flat
        assert replaced[index] is news
    else:
        with pytest.raises(IndexError):
            made.replaced(index, TextPart("new"))


def test_a_long_run_can_be_edited_at_its_beginning() -> None:
    """A part of the first of very many steps can be replaced, and what stands before the change is shared."""
    made = Parts([TextPart("first")])
    for _ in range(3000):
        made = made.extended([TextPart("more")])
    assert made.replaced(0, TextPart("other"))[0] == TextPart("other")
    assert made.replaced(2999, TextPart("x")).before is not made.before
    assert made.replaced(3000, TextPart("x")).before is made.before
