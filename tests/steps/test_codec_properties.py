"""Whatever a step may return: kept and read again it is the same, or it is refused when it is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Union
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from procession.errors import UntypedValue
from procession.steps.codec import codec_of
from procession.steps.sameness import difference


class Color(Enum):
    """Values of two types."""

    RED = "red"
    TWO = 2


class Level(IntEnum):
    """Numbers that are more than numbers."""

    LOW = 1


class Item(BaseModel):
    """A model with a part that says nothing."""

    x: int = 1
    more: Any = None


class Other(BaseModel):
    """A model like the other."""

    x: float = 1


@dataclass
class Box:
    """A dataclass around a model."""

    name: str
    item: Item | None = None


class Pair(NamedTuple):
    """A tuple with names."""

    a: int
    b: bytes


Kind = tuple[Any, st.SearchStrategy[Any]]

zones = st.none() | st.sampled_from(
    [timezone.utc, timezone(timedelta(hours=5, minutes=30)), ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")]  # noqa: UP017
)
strings = st.text(st.characters(exclude_categories=()), max_size=5) | st.sampled_from(["$kept", "$set", "NaN", "1"])
hashable: list[Kind] = [
    (int, st.integers()),
    (bool, st.booleans()),
    (str, strings),
    (bytes, st.binary(max_size=4)),
    (type(None), st.none()),
    (date, st.dates()),
    (UUID, st.uuids()),
    (timedelta, st.timedeltas()),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),  # pydantic knows no others
]
plain: list[Kind] = [
    *hashable,
    (float, st.floats()),
    (complex, st.complex_numbers()),
    (bytearray, st.binary(max_size=3).map(bytearray)),
    (time, st.times()),
    (datetime, st.datetimes(timezones=zones) | st.datetimes().map(lambda one: one.replace(fold=1))),
    (PurePosixPath, st.sampled_from(["/a", "b/../c"]).map(PurePosixPath)),
]
enums: list[Kind] = [(Color, st.sampled_from(Color)), (Level, st.just(Level.LOW))]
keys: list[Kind] = [*hashable, *enums]

untyped: st.SearchStrategy[Any] = st.recursive(
    st.one_of([st.decimals(), *(values for _, values in plain)]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of([values for _, values in hashable]), inner, max_size=3),
        st.dictionaries(strings, inner, max_size=3),
        st.frozensets(st.one_of(st.integers(), strings, st.tuples(st.integers())), max_size=3),
        st.sets(st.one_of(st.integers(), strings), max_size=3),
    ),
    max_leaves=8,
)
items = st.builds(Item, x=st.integers(), more=untyped)
leaves: list[Kind] = [
    *plain,
    *enums,
    (Any, untyped),
    (Item, items),
    (Box, st.builds(Box, strings, st.none() | items)),
    (Pair, st.builds(Pair, st.integers(), st.binary(max_size=3))),
]


@st.composite
def kinds(draw: st.DrawFn, unions: bool = False, depth: int = 2) -> Kind:
    """Draw an annotation, and what draws its values."""
    shape = draw(
        st.sampled_from(["leaf", "list", "tuple", "pair", "dict", "set", "none", *(["union"] * 4 if unions else [])])
    )
    if shape == "leaf" or depth == 0:
        return draw(st.sampled_from(leaves))
    if shape in ("set", "dict"):
        key, some = draw(st.sampled_from(keys))
        if shape == "set":
            return frozenset[key], st.frozensets(some, max_size=3)  # type: ignore[valid-type]
        inner, values = draw(kinds(unions, depth - 1))
        return dict[key, inner], st.dictionaries(some, values, max_size=3)  # type: ignore[valid-type]
    inner, values = draw(kinds(unions, depth - 1))
    if shape == "list":
        return list[inner], st.lists(values, max_size=3)  # type: ignore[valid-type]
    if shape == "tuple":
        return tuple[inner, ...], st.lists(values, max_size=3).map(tuple)  # type: ignore[valid-type]
    if shape == "none":
        return Union[inner, None], st.none() | values  # noqa: UP007
    other, others = draw(kinds(unions, depth - 1) | st.sampled_from([(Other, st.builds(Other, x=st.floats()))]))
    if shape == "pair":
        return tuple[inner, other], st.tuples(values, others)  # type: ignore[valid-type]
    return Union[inner, other], values | others  # noqa: UP007


def through(annotation: Any, value: Any) -> Any:
    """Return what a journal would give back for a value, in UTF-8, as strict JSON."""
    data = codec_of(annotation).encode(value, where="it")
    text = json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    return codec_of(annotation).decode(json.loads(text), where="it")


@given(untyped)
@settings(deadline=None)
def test_what_says_itself_what_it_is_is_always_kept(value: Any) -> None:
    """Data of the closed set needs no annotation, however it is nested."""
    assert difference(value, through(None, value)) is None


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_what_is_annotated_is_always_kept(data: st.DataObject) -> None:
    """Without unions an annotation leaves no doubt, and every value of it is kept."""
    annotation, values = data.draw(kinds())
    value = data.draw(values)
    assert difference(value, through(annotation, value)) is None


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_a_union_is_kept_or_refused_when_it_is_written(data: st.DataObject) -> None:
    """Where a union leaves a doubt the value is refused at once; what is written is read again as it was."""
    annotation, values = data.draw(kinds(unions=True))
    value = data.draw(values)
    try:
        again = through(annotation, value)
    except UntypedValue:
        return
    assert difference(value, again) is None


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_a_value_of_another_type_is_kept_or_refused_when_it_is_written(data: st.DataObject) -> None:
    """What does not fit its annotation never comes back as what would."""
    annotation, _ = data.draw(kinds(unions=True))
    value = data.draw(data.draw(kinds(unions=True))[1])
    try:
        again = through(annotation, value)
    except UntypedValue as error:
        assert str(error).startswith("it")
        return
    assert difference(value, again) is None
