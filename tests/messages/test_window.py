"""Read-only windows on shared lists."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.messages.window import Window


@given(st.lists(st.integers(), max_size=8), st.slices(8), st.integers(0, 4))
def test_a_window_reads_like_its_list(items: list[int], cut: slice, start: int) -> None:
    """Length, order, slices and equality are those of the stretch as a list."""
    stop = len(items)
    start = min(start, stop)
    window, expected = Window([*items, 99], start, stop), items[start:stop]
    assert list(window) == expected
    assert list(reversed(window)) == expected[::-1]
    assert len(window) == len(expected)
    assert list(window[cut]) == expected[cut]
    assert window == expected
    assert window == tuple(expected)
    assert [window[at] for at in range(-len(expected), len(expected))] == expected * 2


def test_a_window_is_a_snapshot() -> None:
    """Appending behind the window does not show in it."""
    items = [1, 2]
    window = Window(items, 0, 2)
    items.append(3)
    assert list(window) == [1, 2]
    assert window.shares(items)
    assert window[:1] == [1]


def test_outside_is_an_error() -> None:
    """An index outside the window is refused, although the list behind it goes on."""
    window = Window([1, 2, 3, 4], 1, 3)
    for index in (2, -3):
        with pytest.raises(IndexError):
            window[index]


def test_other_types_are_not_equal() -> None:
    """A window equals windows, lists and tuples only, has a readable form and pickles as a list."""
    window = Window([1, 2], 0, 1)
    assert window != 1
    assert window == Window([0, 1], 1, 2)
    assert repr(window) == "[1]"
    assert pickle.loads(pickle.dumps(window)) == [1]
