"""What JSON can say of a tool's result: plain values stay as they are, everything else becomes one of them."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserString, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from procession.errors import InputError
from procession.messages.usage import Usage
from procession.tools.json_value import json_value


class Colour(Enum):
    """An enum of pairs."""

    RED = ("red", 1)


class Level(IntEnum):
    """An enum of numbers."""

    HIGH = 3


class Word(StrEnum):
    """An enum of texts."""

    YES = "yes"


class Pair(NamedTuple):
    """A tuple with names."""

    left: str
    right: int


class Opaque:
    """Something that only ``str`` knows about."""

    def __repr__(self) -> str:
        return "Opaque(eva)"


class Order(BaseModel):
    """A pydantic model."""

    id: int
    at: date
    key: SecretStr


class Loose(BaseModel):
    """A pydantic model with a field that pydantic has no JSON for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    thing: Opaque


@dataclass
class Customer:
    """A dataclass with a value that cannot be copied."""

    name: str
    things: Any


class Array:
    """What numpy's arrays are like."""

    def tolist(self) -> list[Any]:
        """Return plain numbers."""
        return [1, 2.5]


@pytest.mark.parametrize(
    "value",
    [None, True, "x", "", 5, 2.5, {}, [], {"a": [1, {"b": None}], "c": "x"}, ["a", {"b": [False]}], -(10**20)],
)
def test_what_json_knows_stays_the_same_object(value: Any) -> None:
    """Plain JSON values are handed back as they are."""
    assert json_value(value) is value


BECOMES: list[tuple[Any, Any]] = [
    ((1, "a"), [1, "a"]),
    ({"a": (1,)}, {"a": [1]}),
    ({"b", "a"}, ["a", "b"]),
    (deque(["a"]), ["a"]),
    (range(3), [0, 1, 2]),
    ({"m": "eva"}.values(), ["eva"]),
    ({"m": "eva"}.items(), [["m", "eva"]]),
    (OrderedDict(a=1), {"a": 1}),
    (UserDict(a=(1,)), {"a": [1]}),
    (UserString("eva"), "eva"),
    (b"eva", "eva"),
    (bytearray(b"eva"), "eva"),
    (memoryview(b"eva"), "eva"),
    (Colour.RED, ["red", 1]),
    (Level.HIGH, 3),
    (Word.YES, "yes"),
    (Pair("a", 1), ["a", 1]),
    (Opaque(), "Opaque(eva)"),
    ([Opaque], [str(Opaque)]),
    (ValueError("eva"), "eva"),
    (Order(id=1, at=date(2026, 1, 2), key=SecretStr("x")), {"id": 1, "at": "2026-01-02", "key": "**********"}),
    (Loose(thing=Opaque()), {"thing": "Opaque(eva)"}),
    (Customer("eva", (Opaque(), b"x")), {"name": "eva", "things": ["Opaque(eva)", "x"]}),
    (Array(), [1, 2.5]),
    (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
    (time(3, 4), "03:04:00"),
    (timedelta(hours=1), "1:00:00"),
    (Decimal("1.50"), "1.50"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("a/b"), "a/b"),
    (float("nan"), "nan"),
    (float("-inf"), "-inf"),
    ({1: "a", 2.5: "b", None: "c", b"k": "d", ("x",): "e", Word.YES: "f"},
     {"1": "a", "2.5": "b", "null": "c", "k": "d", "['x']": "e", "yes": "f"}),
    ({False: 1}, {"false": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "plain"), BECOMES)
def test_everything_else_becomes_json(value: Any, plain: Any) -> None:
    """What JSON has no word for becomes the nearest that it has, inside of other values as well."""
    assert json_value(value) == plain
    assert json_value([value]) == [plain]
    assert type(json_value(value)) is type(plain)


def test_our_own_values_become_mappings() -> None:
    """Values of this package are said field by field."""
    assert json_value(Usage(input_tokens=1))["input_tokens"] == 1


class Broken:
    """Something that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def endless() -> list[Any]:
    """Return a list that contains itself."""
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "match"),
    [(b"\xff\xfe", "no text"), (endless(), "levels deep"), ({1: "a", "1": "b"}, "two keys"), ([10**5000], "too long")],
)
def test_what_cannot_be_said_is_refused(value: Any, match: str) -> None:
    """Bytes that are no text, values without end and keys that become one are refused, not guessed at."""
    with pytest.raises(InputError, match=match):
        json_value([value])


def test_what_has_no_words_raises_its_own_error() -> None:
    """An object whose ``str`` fails is not passed on."""
    with pytest.raises(RuntimeError, match="no words"):
        json_value({"a": Broken()})


async def later() -> int:
    """Be awaited."""
    return 1


async def rows() -> Any:
    """Yield."""
    yield "eva"


@pytest.mark.parametrize("make", [rows, lambda: (n for n in (1, 2)), lambda: map(str, (1, 2)), lambda: iter([1])])
def test_what_is_still_to_be_read_is_refused(make: Any) -> None:
    """A generator or another iterator says nothing of what it would give, so it is no result."""
    for value in (make(), {"rows": [make()]}):
        with pytest.raises(InputError, match=r"which nobody has read.*list\(\.\.\.\)"):
            json_value(value)


def test_what_is_still_to_be_awaited_is_refused() -> None:
    """Neither is a coroutine that was forgotten in a result."""
    coroutine = later()
    with pytest.raises(InputError, match="a result holds a coroutine"):
        json_value({"n": coroutine})
    coroutine.close()
