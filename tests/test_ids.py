"""
Identifiers: version 7 UUIDs that sort by when they were made.
"""

from __future__ import annotations

import time
from uuid import RFC_4122, UUID

import pytest

from procession import ids
from procession.ids import new_id, replace_ids


def test_ids_are_uuids_of_version_7_with_the_time_in_them() -> None:
    """Each is a UUID of that version and variant, whose first 48 bits are milliseconds since 1970."""
    before = time.time_ns() // 1_000_000
    made = [UUID(new_id()) for _ in range(10)]
    after = time.time_ns() // 1_000_000
    assert {(each.version, each.variant) for each in made} == {(7, RFC_4122)}
    assert all(before <= each.int >> 80 <= after for each in made)


def test_ids_sort_in_the_order_in_which_they_were_made() -> None:
    """None is made twice, within a millisecond or across many."""
    made: list[str] = []
    end = time.monotonic_ns() + 5_000_000
    while time.monotonic_ns() < end:
        made += [new_id() for _ in range(10)]
    assert made == sorted(set(made))


@pytest.mark.parametrize("tail", [0, (1 << 36) - 2, (1 << 50) - 2, (1 << 62) - 4])
def test_the_counter_is_carried_through_the_whole_identifier(monkeypatch: pytest.MonkeyPatch, tail: int) -> None:
    """Where the lower part of the counter begins again the upper part has changed, in the same millisecond, too."""
    numbers = iter(range(tail, tail + 4))
    monkeypatch.setattr(ids, "_counter", numbers.__next__)
    monkeypatch.setattr(ids, "_time_ns", lambda: 1_700_000_000_123_456_789)
    made = [new_id() for _ in range(4)]
    assert made == sorted(set(made))
    assert {UUID(each).version for each in made} == {7}
    assert {UUID(each).int >> 80 for each in made} == {1_700_000_000_123}


def test_a_clock_that_goes_back_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time in an identifier is that of the clock, also where that was set back."""
    for stamp in (2_000_000_000_000, 1_000_000_000_000, 2_000_000_000_000):
        monkeypatch.setattr(ids, "_time_ns", lambda stamp=stamp: stamp * 1_000_000)
        assert UUID(new_id()).int >> 80 == stamp


def test_identifiers_can_be_replaced_for_a_while() -> None:
    """Within the block the given function makes them, after it the library's own."""
    with replace_ids(iter(["a", "b"]).__next__):
        assert [new_id(), new_id()] == ["a", "b"]
    assert UUID(new_id()).version == 7
