"""Type flow: what fits what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict

from procession.workflows.fits import fits
from procession.workflows.typeflow import Outputs, function_types, item_type, list_of, name_of

T = TypeVar("T")
UserId = NewType("UserId", int)


class Base(BaseModel):
    x: int = 0


class Derived(Base):
    pass


class Other(BaseModel):
    pass


class Reader(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Plain:
    pass


class Unrelated:
    pass


class Speaks(Protocol):
    def speak(self) -> None: ...


class Row(TypedDict):
    x: int


FITS: list[tuple[Any, Any]] = [
    (int, int), (None, str), (str, None), (Any, str), (int, object), (T, str), (bool, int), (int, float),
    (str, int), (int, int | None), (int | str, str), (Derived, Base), (Base, Derived), (dict, Base), (Base, Reader),
    (list[int], list[int]), (list[int], Sequence[int]), (list[int], Iterable[Any]), (list, list[int]),
    (tuple[int, ...], list[int]), (dict[str, int], Mapping[str, int]), (Annotated[int, "x"], int), (UserId, int),
    (Literal["a"], str), (str, Literal["a"]), (Literal["a", "b"], Literal["b"]), (Plain, Speaks), (Row, dict[str, Any]),
    (str, datetime), (str, Path), (Outputs({"a": int}), dict[str, int]), (Outputs({}), Mapping[str, Any]),
    (Outputs({}), Base),
]  # fmt: skip

NEVER: list[tuple[Any, Any]] = [
    (int, str), (str, dict), (dict, str), (list[int], list[str]), (int, str | None), (int | None, str), (Base, Other),
    (Base, dict), (int, Base), (Plain, Unrelated), (Literal[1], str), (Literal["a"], Literal["b"]), (None.__class__, str),
    (dict[str, int], dict[str, list[int]]), (list[int], int), (Outputs({"a": int}), str), (Outputs({}), list[int]),
    (UserId, str), (Annotated[int, "x"], str),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), FITS)
def test_what_may_fit_fits(given: Any, wanted: Any) -> None:
    """A type that is the other's, may be at run time, or can be converted, fits."""
    assert fits(given, wanted)


@pytest.mark.parametrize(("given", "wanted"), NEVER)
def test_what_cannot_fit_does_not(given: Any, wanted: Any) -> None:
    """A type of which no value can be the other's does not fit."""
    assert not fits(given, wanted)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (list[int], (True, int)),
        (list, (True, None)),
        (tuple[int, ...], (True, int)),
        (tuple[int, str], (True, None)),
        (Sequence[int], (True, int)),
        (list[int] | None, (True, int)),
        (None, (True, None)),
        (int | str, (False, None)),
        (str, (False, None)),
        (Outputs({}), (False, None)),
        (Annotated[list[str], "x"], (True, str)),
    ],
)
def test_items_of_lists(given: Any, expected: tuple[bool, Any]) -> None:
    """A type says whether it can be a list, and of what."""
    assert item_type(given) == expected


def test_functions_say_what_they_take_and_give() -> None:
    """A function's annotations are its types; where it has none, or they cannot be read, nothing is known."""

    def full(value: int) -> str:
        return str(value)

    def unreadable(value: int) -> str:
        return ""

    unreadable.__annotations__["value"] = "Nothing"

    assert function_types(full) == (int, str)
    assert function_types(unreadable) == (None, None)
    assert function_types(str.upper) == (None, None)


def test_types_are_shown_as_they_are_written() -> None:
    """Names are short where there is a name, and whole where it matters."""
    assert [name_of(each) for each in (int, list[int], int | None, Outputs({"a": int, "b": None}))] == [
        "int",
        "list[int]",
        "int | None",
        "a mapping of a, b",
    ]
    assert (list_of(int), list_of(None)) == (list[int], list)
