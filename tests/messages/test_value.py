"""
Values: what a constructor makes cannot be changed, and is what its class says.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from procession.messages.value import Value

T = TypeVar("T")


class Point(Value):
    """
    Two numbers.
    """

    axes: ClassVar[int] = 2
    x: int
    y: int = 0


class Point3(Point, kw_only=True):
    """
    One more.
    """

    z: int = 0


class Box(Value, Generic[T]):
    """
    Holds something, and looks at it when it is made.
    """

    held: T
    seen: ClassVar[list[Any]] = []

    def __post_init__(self) -> None:
        self.seen.append((type(self), self.held))


class Named(Point):
    """
    Has a constructor of its own.
    """

    name: str = ""

    def __init__(self, name: str) -> None:
        super().__init__(len(name))
        object.__setattr__(self, "name", name)


@pytest.mark.parametrize(
    "made", [Named("b"), Point(1), Point(1).replace(y=2), Point3(x=1), pickle.loads(pickle.dumps(Point(1)))]
)
def test_a_value_cannot_be_changed_however_it_was_made(made: Any) -> None:
    """Neither what a constructor made, nor a copy, nor what was unpickled takes another value for a field."""
    before = repr(made)
    with pytest.raises(AttributeError, match="is a value and cannot be changed"):
        made.x = 5
    with pytest.raises(AttributeError, match="is a value and cannot be changed"):
        del made.x
    with pytest.raises(AttributeError):
        made.w = 5
    assert repr(made) == before


def test_a_value_is_of_its_class() -> None:
    """The class of what is made is the one that was called, of a copy that of the original."""
    assert type(Point(1)) is Point and type(Point3(x=1)) is Point3 and type(Point3(x=1).replace(z=4)) is Point3
    assert type(copy.deepcopy(Point3(x=1))) is Point3
    assert Point3(x=1, z=4) == Point3(x=1).replace(z=4) and Point(1) != Point3(x=1)
    assert isinstance(Point3(x=1), Point) and Point.axes == 2


def test_a_class_below_another_may_have_a_constructor_of_its_own() -> None:
    """It sets what it will, and the rest is as it is by default; its copies and its equality are those of a value."""
    made = Named("abc")
    assert (made.x, made.y, made.name, type(made)) == (3, 0, "abc", Named)
    assert made == Named("abc") != Named("abd") and made.replace(y=2).y == 2 and type(made.replace(y=2)) is Named
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_class_below_one_with_a_constructor_is_made_of_its_fields() -> None:
    """A class without a constructor of its own has one of its fields, whatever the classes above have."""

    class Renamed(Named):
        """Has nothing of its own."""

    made = Renamed(1, name="abc")
    assert (made.x, made.y, made.name, type(made)) == (1, 0, "abc", Renamed)
    assert (Point(1).x, Point3(x=1, z=2).z) == (1, 2)


def test_a_value_is_whole_when_it_looks_at_itself() -> None:
    """``__post_init__`` sees every field, on an instance of the class itself; a generic class makes values, too."""
    Box.seen.clear()
    assert Box("parcel").held == Box[str]("parcel").held == "parcel"
    assert Box.seen == [(Box, "parcel")] * 2


def test_a_constructor_names_what_is_missing_and_what_is_unknown() -> None:
    """A field that was left out, and one that there is not, are named by the class's own constructor."""
    with pytest.raises(TypeError, match=r"Point\.__new__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        Point(1, w=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        Point3(1, 2, 3)  # type: ignore[call-arg]


def test_a_class_may_have_a_constructor_of_its_own() -> None:
    """A value whose class sets the fields itself is compared, copied and guarded like any other."""

    class Circle(Value):
        radius: int
        area: int

        def __init__(self, *, radius: int) -> None:
            object.__setattr__(self, "radius", radius)
            object.__setattr__(self, "area", 3 * radius * radius)

    made = Circle(radius=2)
    assert made == Circle(radius=2)
    assert made.replace(area=12) == made
    with pytest.raises(AttributeError):
        made.radius = 3  # type: ignore[misc]
