"""Merging what two have made of one text or value: nothing is lost, and the order of the two decides nothing it need not."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from procession.processors.memory.working.merging import merge_texts, merge_values

LINES = st.lists(st.sampled_from(["", "# User", "- Name:", "- Name: Bob", "- Likes: tea", "x", "y", "z"]), max_size=12)
TEXTS = LINES.map("\n".join)
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def lines(text: str) -> list[str]:
    """Return the lines of a text; an empty one has none."""
    return text.split("\n") if text else []


def added(base: str, made: str) -> Counter[str]:
    """Return the lines that somebody has put in."""
    return Counter(lines(made)) - Counter(lines(base))


# -- texts


@example("\n", "\n\n", "")
@given(TEXTS, TEXTS, TEXTS)
def test_nothing_that_was_added_is_lost(base: str, one: str, other: str) -> None:
    """Each line that a side has added is in the merged text, as often as it has added it."""
    merged = Counter(lines(merge_texts(base, one, other)))
    assert not added(base, one) - merged
    assert not added(base, other) - merged


@given(TEXTS, TEXTS, TEXTS)
def test_the_order_of_two_writers_decides_nothing(base: str, one: str, other: str) -> None:
    """Whoever comes first, the text is the same."""
    assert merge_texts(base, one, other) == merge_texts(base, other, one)


@given(TEXTS, TEXTS)
def test_one_side_alone_is_taken_as_it_is(base: str, made: str) -> None:
    """Where only one side has changed something, or both the same, that is the text."""
    assert merge_texts(base, made, base) == made
    assert merge_texts(base, base, made) == made
    assert merge_texts(base, made, made) == made


@given(TEXTS, TEXTS, TEXTS)
def test_nothing_is_made_up(base: str, one: str, other: str) -> None:
    """Each line of the merged text is one of a side's."""
    assert set(lines(merge_texts(base, one, other))) <= set(lines(one)) | set(lines(other))


@given(st.data(), st.integers(0, 12))
def test_what_was_deleted_stays_deleted(data: st.DataObject, size: int) -> None:
    """A line that one side has deleted, and the other one left as it was, is not there; one that it changed is."""
    base = [f"line {number}" for number in range(size)]
    numbers = st.sets(st.integers(0, max(size - 1, 0)))
    deleted, changed, added_before = data.draw(numbers), data.draw(numbers), data.draw(numbers)
    one = [line for number, line in enumerate(base) if number not in deleted]
    other: list[str] = []
    for number, line in enumerate(base):
        other += [f"new {number}"] * (number in added_before) + [f"{line}!" if number in changed else line]
    expected: list[str] = []
    for number, line in enumerate(base):
        expected += [f"new {number}"] * (number in added_before)
        expected += [f"{line}!"] if number in changed else [line] if number not in deleted else []
    merged = lines(merge_texts("\n".join(base), "\n".join(one), "\n".join(other)))
    assert merged == expected


@pytest.mark.parametrize(
    ("base", "one", "other", "merged"),
    [
        ("- Name:\n- Age:", "- Name: Bob\n- Age:", "- Name:\n- Age: 5", "- Name: Bob\n- Age: 5"),
        ("- Name:\n- Age:", "- Name:\n- Age: 5", "- Name: Bob\n- Age:", "- Name: Bob\n- Age: 5"),
        ("- Name:", "- Name: Bob\n- Age: 5", "- Name: Bob", "- Name: Bob\n- Age: 5"),
        ("# Facts", "# Facts\n- b\n- x", "# Facts\n- a\n- x", "# Facts\n- a\n- b\n- x"),
        ("- Age:", "- Age: 5\n- tea", "- Age:\n- tea", "- Age: 5\n- tea"),
        ("", "# User\n- Name: Bob", "# User\n- Likes: tea", "# User\n- Likes: tea\n- Name: Bob"),
        ("a\nb\nc", "", "a\nB\nc", "B"),
    ],
)
def test_changes_of_both_sides(base: str, one: str, other: str, merged: str) -> None:
    """Changes to different lines stand where they were made; to the same lines in the order of the alphabet, alike once."""
    assert merge_texts(base, one, other) == merged


def test_a_long_text_of_equal_lines_costs_no_more_than_another() -> None:
    """Lines that nothing tells apart are not compared each with each."""
    base = "\n".join(["x", "y"] * 20_000)
    one, other = f"a\n{base}\nb", "\n".join(["y", "x"] * 20_000)
    merged = merge_texts(base, one, other)
    assert not added(base, one) - Counter(lines(merged))


# -- values


def canonical(value: Any) -> str:
    """Return a value as text, for which it does not matter in which order fields stand."""
    return json.dumps(value, sort_keys=True)


def items_of(value: Any) -> Counter[str]:
    """Return the items of a list."""
    return Counter(map(canonical, value))


@given(OBJECTS, OBJECTS)
def test_one_side_of_a_value_alone_is_taken_as_it_is(base: dict[str, Any], made: dict[str, Any]) -> None:
    """Where only one side has changed something, or both the same, that is the value, and nothing was overwritten."""
    for sides in ((made, base), (base, made), (made, made)):
        merged = merge_values(base, *sides)
        assert canonical(merged.value) == canonical(made)
        assert merged.overwritten == 0


@given(OBJECTS, OBJECTS, OBJECTS)
def test_a_field_of_one_side_is_that_sides(base: dict[str, Any], one: dict[str, Any], other: dict[str, Any]) -> None:
    """A field that only one side has changed or deleted is as it has left it."""
    merged = merge_values(base, one, other).value
    nothing = "nothing"
    for name in {*base, *one, *other}:
        before, first, second = (canonical(each[name]) if name in each else nothing for each in (base, one, other))
        got = canonical(merged[name]) if name in merged else nothing
        if second == before:
            assert got == first
        elif first == before:
            assert got == second


@given(st.lists(SCALARS, max_size=5), st.lists(SCALARS, max_size=5), st.lists(SCALARS, max_size=5))
def test_no_item_that_was_added_to_a_list_is_lost(base: list[Any], one: list[Any], other: list[Any]) -> None:
    """Each item that a side has added to a list is in the merged one, whoever comes first."""
    merged = merge_values({"a": base}, {"a": one}, {"a": other}).value["a"]
    assert merge_values({"a": base}, {"a": other}, {"a": one}).value["a"] == merged
    for made in (one, other):
        assert not (items_of(made) - items_of(base)) - items_of(merged)


@given(OBJECTS, OBJECTS, OBJECTS)
def test_without_a_conflict_the_order_does_not_matter(
    base: dict[str, Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Unless a field had to be overwritten, the value is the same whoever comes first."""
    merged, turned = merge_values(base, one, other), merge_values(base, other, one)
    assert merged.overwritten == turned.overwritten
    if not merged.overwritten:
        assert canonical(merged.value) == canonical(turned.value)


def test_the_later_one_of_two_changes_to_one_field_stands() -> None:
    """A field that can only be one thing is what the later one says, and that is counted."""
    merged = merge_values({"name": "B"}, {"name": "Bob", "age": 5}, {"name": "Bill"})
    assert merged.value == {"name": "Bill", "age": 5}
    assert merged.overwritten == 1


def test_a_deleted_field_that_the_other_one_changed_is_there() -> None:
    """What one has deleted and the other one changed is as that one left it, whoever comes first."""
    assert merge_values({"a": 1}, {}, {"a": 2}).value == {"a": 2}
    assert merge_values({"a": 1}, {"a": 2}, {}).value == {"a": 2}
    assert merge_values({"a": 1}, {}, {"a": 1}).value == {}


def test_true_is_not_one() -> None:
    """Values are compared as JSON."""
    assert merge_values({"a": 1}, {"a": True}, {"a": 1}).value == {"a": True}
