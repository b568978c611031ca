"""Fits: no false alarm, checked against pydantic itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import lru_cache
from typing import Annotated, Any, Generic, Literal, NewType, NotRequired, TypeVar, Union

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from procession.workflows.fits import fits, misfit
from procession.workflows.typeflow import Either, Outputs

T = TypeVar("T")
UserId = NewType("UserId", int)


class Point(BaseModel):
    x: int


class Point3(Point):
    z: int = 0


class Named(BaseModel):
    name: str


class Aliased(BaseModel):
    name: str = Field(alias="n")


class EitherName(BaseModel):
    name: str = Field(validation_alias=AliasChoices("n", "name"))


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int


class Lenient(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)
    name: str


class Holder(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)
    row: NameRow


class Reader(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    x: int


class Anything(BaseModel):
    x: int

    @model_validator(mode="before")
    @classmethod
    def read(cls, value: Any) -> Any:
        return {"x": 1}


class Cleaned(BaseModel):
    name: str

    @field_validator("name", mode="before")
    @classmethod
    def clean(cls, value: Any) -> Any:
        return str(value)


class Names(RootModel[list[str]]):
    pass


class Box(BaseModel, Generic[T]):
    value: T


class NameRow(TypedDict):
    name: str


class Row(TypedDict):
    x: int
    name: NotRequired[str]


class Node(TypedDict):
    x: int
    next: NotRequired[Node]


class Chain(BaseModel):
    x: int
    next: Chain | None = None


@dataclass
class Pair:
    x: int
    y: str = ""


class Plain:
    pass


class Plainer(Plain):
    pass


class Knowing:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler(int)


class Color(Enum):
    RED = "red"
    ONE = 1


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


Holder.model_rebuild()

number, word = st.sampled_from([0, 1, 7]), st.sampled_from(["a", "1", "red", "2026-01-01"])
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: number,
    str: word,
    float: st.sampled_from([0.5, 1.0]),
    bool: st.booleans(),
    bytes: st.sampled_from([b"a", b"1"]),
    type(None): st.none(),
    Decimal: st.sampled_from([Decimal(1), Decimal("1.5")]),
    date: st.just(date(2026, 1, 1)),
    datetime: st.just(datetime(2026, 1, 1)),
    timedelta: st.just(timedelta(seconds=1)),
    Color: st.sampled_from(list(Color)),
    Number: st.sampled_from(list(Number)),
    Word: st.sampled_from(list(Word)),
    Literal["a", 1]: st.sampled_from(["a", 1]),
    Literal["red"]: st.just("red"),
    Literal[True]: st.just(True),
    UserId: number,
    Annotated[int, Field(ge=0)]: number,
    Annotated[str, BeforeValidator(str)]: word,
    Annotated[str, Field(coerce_numbers_to_str=True)]: word,
    Point: st.builds(Point, x=number),
    Point3: st.builds(Point3, x=number, z=number),
    Named: st.builds(Named, name=word),
    Aliased: st.builds(Aliased, n=word),
    EitherName: st.builds(EitherName, n=word),
    Strict: st.builds(Strict, x=number),
    Lenient: st.builds(Lenient, name=word),
    Holder: st.builds(Holder, row=st.fixed_dictionaries({"name": word})),
    Reader: st.builds(Reader, x=number),
    Anything: st.builds(Anything, x=number),
    Cleaned: st.builds(Cleaned, name=word),
    Names: st.builds(Names, st.lists(word, min_size=1)),
    Box[int]: st.builds(Box[int], value=number),
    Box[str]: st.builds(Box[str], value=word),
    NameRow: st.fixed_dictionaries({"name": word}),
    Row: st.fixed_dictionaries({"x": number}, optional={"name": word}),
    Node: st.fixed_dictionaries({"x": number}, optional={"next": st.fixed_dictionaries({"x": number})}),
    Chain: st.builds(Chain, x=number),
    Pair: st.builds(Pair, x=number, y=word),
}


SINGLE = list(VALUES)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Return values of a type; lists and mappings are never empty, as those fit whatever their items are."""
    return VALUES[annotation]


def of(kind: Any, *arguments: Any) -> Any:
    """Return a type with arguments that only a run knows."""
    return kind[arguments]


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return types that are made of others, and remember how their values are made."""

    def remember(annotation: Any, made: st.SearchStrategy[Any]) -> Any:
        VALUES.setdefault(annotation, made)
        return annotation

    def some(item: Any) -> st.SearchStrategy[Any]:
        return st.lists(values(item), min_size=1, max_size=2)

    hashable = st.sampled_from([int, str, float, bool, Color])
    keys = st.sampled_from(["x", "name"])
    return st.one_of(
        inner.map(lambda item: remember(of(list, item), some(item))),
        inner.map(lambda item: remember(of(Sequence, item), some(item))),
        inner.map(lambda item: remember(of(tuple, item, ...), some(item).map(tuple))),
        hashable.map(lambda item: remember(of(set, item), some(item).map(set))),
        inner.map(lambda item: remember(of(dict, str, item), st.dictionaries(keys, values(item), min_size=1))),
        inner.map(lambda item: remember(of(Mapping, str, item), st.dictionaries(keys, values(item), min_size=1))),
        st.tuples(inner, inner).map(lambda two: remember(of(Union, *two), values(two[0]) | values(two[1]))),
        st.tuples(inner, inner).map(lambda two: remember(of(tuple, *two), st.tuples(*map(values, two)))),
    )


kinds = st.recursive(st.sampled_from(SINGLE), combined, max_leaves=4)


adapter = lru_cache(TypeAdapter)


def accepts(annotation: Any, value: Any) -> bool:
    """Say whether pydantic takes a value."""
    try:
        adapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


@settings(
    max_examples=300,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(have=kinds, want=kinds, data=st.data())
def test_what_is_said_not_to_fit_never_does(have: Any, want: Any, data: st.DataObject) -> None:
    """Where two annotations are said not to fit, pydantic takes no value of the one for the other."""
    if not fits(have, want):
        for _ in range(3):
            value = data.draw(values(have))
            assert not accepts(want, value), (have, want, value)


@pytest.mark.parametrize("want", SINGLE, ids=str)
@settings(max_examples=2, deadline=None, database=None, phases=[Phase.generate])
@given(data=st.data())
def test_single_types_never_alarm_falsely(want: Any, data: st.DataObject) -> None:
    """The same for each pair of the types that others are made of."""
    for have in [each for each in SINGLE if not fits(each, want)]:
        value = data.draw(values(have))
        assert not accepts(want, value), (have, want, value)


@pytest.mark.parametrize(
    ("have", "want", "reason"),
    [
        (NameRow, Point, "'x' is missing"),
        (NameRow, Row, "'x' is missing"),
        (NameRow, Strict, "'x' is missing"),
        (Row, Named, None),
        (Row, NameRow, None),
        (Row, Strict, None),
        (NameRow, dict[str, int], None),
        (Node, dict[str, list[int]], "'x' is int, not list[int]"),
        (NameRow, Pair, "'x' is missing"),
        (dict[str, list[int]], Point, "'x' is list[int], not int"),
        (dict[str, str], Point, None),
        (dict[str, list[int]], Pair, "'x' is list[int], not int"),
        (Point, Named, ""),
        (Point, Pair, ""),
        (Point, dict, ""),
        (Point, NameRow, ""),
        (list[int], NameRow, ""),
        (list[NameRow], list[Point], ""),
        (str, Point, ""),
        (int, Holder, ""),
        (Outputs({"x": str}), Point, None),
        (Outputs({"x": list[int]}), Point, "'x' is list[int], not int"),
        (Outputs({"x": int, "y": str}), Strict, "'y' is no field of it"),
        (Outputs({"x": int, "y": str}, optional=["y"]), Strict, None),
        (Outputs({"x": int}, optional=["x"]), Point, None),
        (Outputs({"x": Outputs({"name": int})}), dict[str, NameRow], "'x' is a mapping of name, not NameRow: 'name' is int, not str"),
        (Outputs({"n": int}), Aliased, "'n' is int, not str"),
        (Outputs({"n": int}), EitherName, None),
        (Outputs({"name": int}), Lenient, None),
        (Outputs({"row": NameRow}), Holder, None),
        (Outputs({"x": int}), list[int], ""),
        (Outputs({"x": int}), Plain, ""),
        (Either(Outputs({"x": str}), int), int, None),
        (Either(Outputs({"x": str}), int), bytes, ""),
        (int, Plain, ""),
        (Plain, Plainer, None),
        (int, Knowing, None),
        (Box[int], Box[str], None),
        (int, Annotated[str, BeforeValidator(str)], None),
        (tuple[int, ...], list[Point], ""),
        (tuple[Reader, NameRow], Reader, None),
        (str, Anything, None),
        (str, Names, None),
    ],
)  # fmt: skip
def test_fields_are_compared_one_by_one(have: Any, want: Any, reason: str | None) -> None:
    """Models, typed dictionaries and dataclasses are compared by their fields, and the reason names the field."""
    assert misfit(have, want) == reason
