"""misfit(): whether all values of one schema are values of another."""

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from procession.workflows.schema_fit import describe_schema, misfit


class Point(BaseModel):
    x: int
    y: int = 0


class Deeper(BaseModel):
    points: list[Point]
    label: str | None = None


class LoosePoint(BaseModel):
    x: int = 0
    y: int = 0


class LooseDeeper(BaseModel):
    points: list[LoosePoint]


class Tree(BaseModel):
    children: list["Tree"] = []


class Colour(Enum):
    red = "red"
    blue = "blue"


class Closed(BaseModel, extra="forbid"):
    x: int


def schema(type: Any) -> Any:
    return TypeAdapter(type).json_schema()


@pytest.mark.parametrize(
    ("taken", "given"),
    [
        (float, int),
        (int | None, int),
        (str | int, int | str),
        (Any, Point),
        (dict[str, float], dict[str, int]),
        (list[float], list[int]),
        (list[int], tuple[int, int]),
        (Literal["a", "b"], Literal["a"]),
        (str, Literal["a"]),
        (str, Colour),
        (Colour, Literal["red"]),
        (Point, Point),
        (Tree, Tree),
        (Deeper, Deeper),
        (dict[str, Any], Point),
    ],
)
def test_what_fits(taken: Any, given: Any) -> None:
    """A narrower type, or the same one, fits."""
    assert misfit(schema(taken), schema(given)) is None


@pytest.mark.parametrize(
    ("taken", "given", "place"),
    [
        (int, float, ""),
        (int, str, ""),
        (int, int | None, ""),
        (int, Any, ""),
        (Literal["a"], Literal["a", "b"], ""),
        (Literal["a"], str, ""),
        (Colour, str, ""),
        (list[int], list[str], "[]"),
        (tuple[int, int], list[int], ""),
        (Point, dict[str, int], "x"),
        (Closed, Point, "y"),
        (Deeper, LooseDeeper, "points[].x"),
    ],
)
def test_what_does_not(taken: Any, given: Any, place: str) -> None:
    """What is wider or of another type does not fit, and the place is named from the outside in."""
    found = misfit(schema(taken), schema(given))
    assert found is not None
    assert found.place == place


def test_bounds() -> None:
    """A bound that is wider, or not there, lets values through that do not fit."""

    class Small(BaseModel):
        n: int = Field(ge=0, le=10)

    class Smaller(BaseModel):
        n: int = Field(ge=1, le=9)

    class Unbounded(BaseModel):
        n: int = 0

    assert misfit(schema(Small), schema(Smaller)) is None
    for wider in (Small, Unbounded):
        found = misfit(schema(Smaller), schema(wider))
        assert found is not None and found.place == "n"


def test_a_pattern_fits_itself_alone() -> None:
    """Whether one pattern includes another is not decided: it is taken for a misfit."""
    assert misfit({"type": "string", "pattern": "a+"}, {"type": "string", "pattern": "a+"}) is None
    assert misfit({"type": "string", "pattern": "a+"}, {"type": "string", "pattern": "a"}) is not None


def test_schemas_in_words() -> None:
    """What fits a schema is said in a few words."""
    assert describe_schema(schema(list[int] | None)) == "array of integer or null"
    assert describe_schema(schema(Literal["a", "b"])) == "'a' or 'b'"
    assert describe_schema(schema(Tree)) == "Tree"
    assert describe_schema({}) == "anything"
