"""The strings inside what a tool returned: found with their paths, and changed without touching the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from procession.processors.strings import replace_strings, shown, strings_in


class Order(BaseModel):
    """A result of a typed tool."""

    id: int
    note: str


@dataclass
class Customer:
    """Another one."""

    name: str
    orders: list[Order]


class Pair(NamedTuple):
    """A tuple with names."""

    left: str
    right: str


def upper(path: Any, text: str) -> str:
    """Change every string."""
    return text.upper()


def test_typed_results_are_looked_into() -> None:
    """Models, dataclasses, tuples and sets are values like any other; they become what JSON says where they change."""
    customer = Customer("eva", [Order(id=1, note="x")])
    assert [text for _, text in strings_in(customer)] == ["name", "eva", "orders", "id", "note", "x"]
    assert replace_strings(customer, upper) == {"NAME": "EVA", "ORDERS": [{"ID": 1, "NOTE": "X"}]}
    assert replace_strings(Pair("a", "b"), upper) == ["A", "B"]
    assert replace_strings({"a", "b"}, upper) == ["A", "B"]


def test_what_does_not_change_is_the_same_object() -> None:
    """Values without strings that change are handed back as they are."""
    value = {"a": [1, "x", {"b": None}], "c": Order(id=1, note="y"), "d": b"bytes"}
    assert replace_strings(value, lambda path, text: text) is value


def test_keys_that_become_one_stay_two() -> None:
    """Two keys that are hidden behind one placeholder keep both values."""
    hidden = replace_strings({"eva@a.example": 1, "bob@a.example": 2, 3: "x"}, lambda path, text: "[EMAIL]")
    assert hidden == {"[EMAIL]": 1, "[EMAIL] (2)": 2, "[EMAIL] (3)": "[EMAIL]"}


@pytest.mark.parametrize(("path", "text"), [((), ""), (("a", 0, "b"), "a[0].b"), ((1, "k", "*key*"), "[1].k")])
def test_paths_are_shown_as_people_write_them(path: tuple[str | int, ...], text: str) -> None:
    """Indices stand in brackets, keys behind dots."""
    assert shown(path) == text
