"""The codec: how a value is kept as JSON and read again."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    SecretStr,
    TypeAdapter,
    computed_field,
)
from typing_extensions import TypedDict

from procession.errors import SchemaError, UntypedValue
from procession.messages.chunks import TextDelta
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.usage import Usage
from procession.steps.codec import codec_of
from procession.steps.marks import DEEPEST, marked
from procession.steps.sameness import difference

T = TypeVar("T")
WHERE = "output of step 'x'"


class Color(Enum):
    """Values of two types."""

    RED = "red"
    BLUE = 2


class Level(IntEnum):
    """Numbers that are more than numbers."""

    LOW = 1


class Item(BaseModel):
    """A model."""

    x: int = 1


class Better(Item):
    """A model below it, with a field more."""

    y: int = 2


class Twin(BaseModel):
    """A model that looks like the other."""

    x: int = 1


class Open(BaseModel):
    """A model of which a part says nothing."""

    model_config = ConfigDict(frozen=True, extra="allow")
    data: dict[str, Any] = {}
    ratio: float = 0.0
    raw: bytes = b""


class Aliased(BaseModel):
    """A model that is read by one name and written by another, and computes a field."""

    model_config = ConfigDict(extra="forbid")
    a: int = Field(validation_alias="in", serialization_alias="out")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        """Twice as much."""
        return self.a * 2


class Strict(BaseModel):
    """A model that converts nothing."""

    model_config = ConfigDict(strict=True)
    at: datetime
    ids: tuple[UUID, ...]
    inner: Item


class Hiding(BaseModel):
    """A model that does not show all that it holds."""

    shown: int = 1
    left_out: int = Field(default=1, exclude=True)
    _own: int = PrivateAttr(default=1)


class Account(BaseModel):
    """A model with a secret."""

    password: SecretStr


@dataclass
class Box:
    """A dataclass."""

    a: int
    items: tuple[int, ...] = ()
    item: Item | None = None


class Pair(NamedTuple):
    """A tuple with names."""

    a: int
    b: str


class Row(TypedDict):
    """A dictionary with types."""

    a: int
    at: datetime


def through(annotation: Any, value: Any) -> Any:
    """Return what a journal would give back for a value, in UTF-8, as strict JSON."""
    data = codec_of(annotation).encode(value, where=WHERE)
    text = json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    return codec_of(annotation).decode(json.loads(text), where=WHERE)


def berlin(fold: int) -> datetime:
    """Return a time that is there twice."""
    return datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold)


UNTYPED: list[Any] = [
    None, True, 0, -1, 2**63, -(2**64), 10**4000, 1.0, -0.0, math.inf, -math.inf, math.nan, 1e-320, 1j, complex(-0.0, math.nan),
    "", "ü", "\ud800", "$set", b"\x00\xff", bytearray(b"x"), [], [[]], {}, {"a": [1]}, {1: "a", "1": "b"}, {None: 1},
    {"$tuple": [1]}, {"$kept": 1}, {"$": {"$": 1}}, {"\udfff": 1}, {(1, 2.0): {3}}, (), ((1,), [2]), {1, "a", (2,)},
    frozenset({b"a"}), {"b": 1, "a": 2},
    datetime(2026, 3, 1, 12), datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=timezone(timedelta(hours=2))),
    datetime(2026, 3, 1, tzinfo=timezone(timedelta(seconds=-1, microseconds=3), "odd")), berlin(0), berlin(1),
    datetime.min, datetime.max.replace(tzinfo=UTC), datetime(2026, 3, 1, fold=1), TypeAdapter(datetime).validate_json('"2026-03-01T00:00:00+02:00"'),
    date(2026, 3, 1), time(1, 2, 3, 4), time(1, tzinfo=UTC, fold=1), timedelta(days=-1, microseconds=1), timedelta.max,
    Decimal("1.10"), Decimal("-0"), Decimal("NaN"), Decimal("sNaN"), Decimal("1E+400"), UUID(int=7),
    PurePosixPath("/a"), PureWindowsPath("C:\\a"), Path("a/b"),
    Usage(1, 2), Message("user", (TextPart("hi"),)), [TextDelta("1", "x")], MessageList("hi"),
    Message("user", (TextPart("\ud800"),)), Message("assistant", (ToolCallPart("1", "t", {"a": (1, b"x")}, "result", {1: 2}),)),
]  # fmt: skip


@pytest.mark.parametrize("value", UNTYPED, ids=lambda value: ascii(value)[:40])
@pytest.mark.parametrize("annotation", [None, Any, object, list[T]], ids=str)  # type: ignore[valid-type]
def test_what_says_itself_what_it_is_needs_no_annotation(annotation: Any, value: Any) -> None:
    """Plain data, and the types that Python's own modules add to it, come back equal and of the same types."""
    if annotation not in (None, Any, object):
        value = [value]
    assert difference(value, through(annotation, value)) is None


TYPED: list[tuple[Any, Any]] = [
    (Item, Item(x=3)), (Item | Better, Better()), (Open, Open(data={"at": berlin(1), "$x": (1,)}).model_copy(update={"z": 1})),
    (Open, Open(raw=b"\xff", ratio=math.nan)), (Aliased, Aliased.model_validate({"in": 2})), (Hiding, Hiding(shown=2)),
    (Strict, Strict(at=berlin(0), ids=(UUID(int=1),), inner=Item())), (Box, Box(1, (2,), Item(x=5))), (Pair, Pair(1, "a")),
    (Row, {"a": 1, "at": datetime(2026, 1, 1, tzinfo=UTC)}), (Color, Color.RED), (list[Color], [Color.BLUE]), (Level, Level.LOW),
    (dict[Color, int], {Color.RED: 1}), (dict[int, str], {1: "a"}), (dict[tuple[int, int], str], {(1, 2): "x"}),
    (int | str, "1"), (int | str, 1), (str | int, "1"), (bytes | str, b"a"), (bytes | str, "a"), (datetime | date, date(2026, 1, 1)),
    (datetime | date, datetime(2026, 1, 1)), (Decimal | float, Decimal("1.10")), (Decimal | float, 1.5), (Color | int | str, 2),
    (Level | int, 1), (float | int, 1), (int | bool, True), (Literal["a", 1], 1), (Literal[True, 1], True),
    (set[int], {3, 1}), (frozenset[str], frozenset({"a"})), (deque[int], deque([1, 2])), (OrderedDict[str, int], OrderedDict(a=1)),
    (tuple[int, ...], (1, 2)), (tuple[Any, ...], (1, b"x")), (bytes, b"\xff"), (list[float], [math.inf]), (list[Path], [Path("a")]),
    (str, "\ud800"), (dict[str, str], {"\ud800": "\udfff"}), (dict[str, Item], {"$kept": Item()}), (dict[str, int], {"$kept": 1}),
    (dict, {"a": (1,)}), (dict[str, Any], {"a": {1}}), (list[Any], [b""]), (Message, Message("user", (TextPart("hi"),))),
    (list[Message], [Message("user", ())]), (MessageList, MessageList("hi")), (Usage | None, Usage(1, 2)),
    (Annotated[int, Field(gt=1)], 3), (list[list[int]], [[1], []]), (Item | None, None), (complex, 1 + 2j), (int, 2**80),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "value"), TYPED, ids=lambda value: ascii(value)[:40])
def test_what_an_annotation_says_comes_back_as_it_is(annotation: Any, value: Any) -> None:
    """Models, dataclasses, enums, unions, named tuples: each in its own type, the parts without one by marks."""
    again = through(annotation, value)
    assert difference(value, again) is None
    if not isinstance(value, MessageList) and "nan" not in repr(value):
        assert again == value


class Stamped(BaseModel):
    """A model whose validator is not content with its own work."""

    n: Annotated[int, AfterValidator(lambda n: n + 1)] = 0


REFUSED: list[tuple[Any, Any, str]] = [
    (None, Item(), "output of step 'x' is of type Item, and no annotation says"),
    (None, {"items": [0, {"when": Color.RED}]}, r"output of step 'x'.items\[1\].when is of type Color"),
    (Any, {("a", 1): Box(1)}, r"output of step 'x'\[\('a', 1\)\] is of type Box"),
    (None, {"a": Level.LOW}, "x'.a is of type Level"),
    (None, [OrderedDict(a=1)], r"x'\[0\] is of type OrderedDict"),
    (None, Counter("aa"), "is of type Counter"),
    (None, Pair(1, "a"), "is of type Pair"),
    (None, lambda: 1, "is of type function"),
    (None, {"lock": threading.Lock()}, "x'.lock is of type lock"),
    (None, TextPart("a", provider_metadata={"a": Level.LOW}), "x'.provider_metadata.a is of type Level"),
    (Item, Better(), r"is of type Better, and would come back as Item .*`-> Better`"),
    (list[Item], [Item(), Better()], r"x'\[1\] is of type Better"),
    (Item | Twin, Twin(), "is of type Twin, and would come back as Item .*discriminator"),
    (Better | Item, Item(), "is of type Item, and would come back as Better .*discriminator"),
    (Level | int, Level.LOW, "is of type Level, and would come back as int"),
    (Open, Open(data={"deep": [Item()]}), r"x'.data.deep\[0\] is of type Item, and would come back as dict"),
    (Open, Open(data={"at": Level.LOW}), "x'.data.at is of type Level"),
    (Hiding, Hiding(left_out=2), "x'.left_out is of type int, and would come back with another content"),
    (
        Account,
        Account(password=SecretStr("hush")),
        "x'.password is of type SecretStr.*a secret is not written down",
    ),
    (Account, {"password": SecretStr("hush")}, "is of type dict, and would come back as Account"),
    (Stamped, Stamped(n=1), "x'.n is of type int, and would come back with another content"),
    (Annotated[Any, PlainSerializer(lambda _: "gone")], {1}, "is of type set, and would come back as str"),
    (int, True, "is of type bool, and annotated as int"),
    (float, 1, "is of type int, and annotated as float"),
    (list[float], [1], r"x'\[0\] is of type int"),
    (list[str], [1], "refuses what is written"),
    (str, Literal, "is of type"),
    (deque[int], deque([1], 5), "is of type deque, and would come back with another content"),
]


@pytest.mark.parametrize(("annotation", "value", "says"), REFUSED)
def test_what_would_come_back_as_something_else_is_refused_when_it_is_kept(
    annotation: Any, value: Any, says: str
) -> None:
    """Nothing is written that would be read as another value; the error names the field, and what to do."""
    with pytest.raises(UntypedValue, match=says) as caught:
        codec_of(annotation).encode(value, where=WHERE, path="w/x")
    assert caught.value.path == "w/x"
    assert caught.value.hint
    assert "hush" not in str(caught.value)


def test_a_private_attribute_is_not_lost_silently() -> None:
    """What a model holds beside its fields comes back as it began, so a changed one is refused."""
    hiding = Hiding()
    hiding._own = 2  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(UntypedValue, match=r"x'\._own"):
        codec_of(Hiding).encode(hiding, where=WHERE)


def test_what_holds_itself_is_refused() -> None:
    """A value without an end is no tree, and a tree has a depth that every reader of JSON can follow."""
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 1
    for _ in range(DEEPEST):
        deep = (deep,)
    assert difference(deep, through(None, deep)) is None
    for value in (endless, {"a": endless}, (deep,)):
        with pytest.raises(UntypedValue, match="holds itself, or is nested more than"):
            codec_of(None).encode(value, where=WHERE)


def test_a_value_is_kept_as_it_was_at_the_time() -> None:
    """What is encoded shares nothing with the value, which may go on changing."""
    value = {"a": [1]}
    for annotation in (None, dict, dict[str, list[int]]):
        data = codec_of(annotation).encode(value, where=WHERE)
        assert data == value
        assert data is not value
        assert data["a"] is not value["a"]


UNFIT: list[tuple[Any, Any]] = [
    (Item, {"x": "no"}),
    (Item, {"$kept": {"x": "no"}}),
    (int, "1"),
    (dict, []),
    (None, {"$pickle": "gASVAAA="}),
    (None, {"$set": 1}),
    (None, {"$set": [[]]}),
    (None, {"$path": ["os.PathLike", "a"]}),
    (None, {"$said": {"$type": "Path"}}),
    (None, {"$decimal": "x"}),
    (None, {"$time": {"at": "2026-01-01T00:00:00", "fold": 0, "zone": "../../etc/passwd"}}),
]


@pytest.mark.parametrize(("annotation", "data"), UNFIT)
def test_data_that_does_not_fit_is_refused(annotation: Any, data: Any) -> None:
    """Data of a newer version, of another type or made by hand is no value, and names nothing that is called."""
    with pytest.raises(SchemaError, match="output of step 'x'") as caught:
        codec_of(annotation).decode(data, where=WHERE, path="w/x")
    assert caught.value.path == "w/x"


def test_a_codec_is_made_once() -> None:
    """An annotation has one codec; the order of a union is part of it."""
    assert codec_of(dict[str, int]) is codec_of(dict[str, int])
    assert codec_of(int | str) is not codec_of(str | int)
    assert codec_of(Annotated[int, []]).decode(1, where=WHERE) == 1  # an annotation that cannot be hashed


def test_marks_are_looked_up_in_a_closed_table() -> None:
    """The marks are those of the documentation, so that old journals can be read."""
    assert marked([1, (2,), {3}, b"4", Decimal(5), {6: 7}]) == [
        1, {"$tuple": [2]}, {"$set": [3]}, {"$bytes": "NA=="}, {"$decimal": "5"}, {"$map": [[6, 7]]},
    ]  # fmt: skip


@dataclass
class Snapshot:
    """What a run may hold at the moment when it is put aside."""

    dt: datetime
    b: bytes
    dec: Decimal
    u: UUID
    s: set[int]
    t: tuple[int, ...]
    e: Color
    m: Item
    k: dict[int, str]
    p: PurePosixPath
    more: dict[str, Any]


def test_types_survive_being_kept() -> None:
    """SUS-006: times with their zone, bytes, decimals, ids, sets, tuples, enums, models, keys and paths stay what they are."""
    plain: dict[str, Any] = {
        "dt": datetime(2026, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=2))),
        "b": b"\x00\xff",
        "dec": Decimal("1.10"),
        "u": UUID("12345678-1234-5678-1234-567812345678"),
        "s": {1, 2},
        "t": (1, 2),
        "k": {1: "a"},
        "p": PurePosixPath("/a"),
    }
    again = through(None, plain)
    assert again == plain
    assert difference(plain, again) is None
    assert again["dt"].utcoffset() == timedelta(hours=2)

    typed = Snapshot(**plain, e=Color.RED, m=Item(x=1), more=plain)
    back = through(Snapshot, typed)
    assert back == typed
    assert difference(typed, back) is None
    with pytest.raises(UntypedValue, match=r"\.e is of type Color"):
        codec_of(None).encode({**plain, "e": Color.RED}, where=WHERE)
