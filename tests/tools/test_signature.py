"""From a function to what a model is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from procession.errors import ToolArgumentsError, ToolDefinitionError
from procession.tools.context import ToolContext
from procession.tools.signature import read_signature

if TYPE_CHECKING:
    from decimal import Decimal


class Place(BaseModel):
    city: str
    country: str = "FR"


def test_parameters_become_a_schema() -> None:
    """Annotations, defaults and descriptions are in the schema, and nothing that only Python cares about."""

    def book(
        place: Place,
        nights: Annotated[int, Field(ge=1, description="How many.")] = 1,
        kind: Literal["room", "flat"] = "room",
        notes: list[str] | None = None,
    ) -> str:
        """Book it."""
        return ""

    schema = read_signature(book, "book").parameters
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert list(properties) == ["place", "nights", "kind", "notes"]
    assert properties["nights"] == {"default": 1, "description": "How many.", "minimum": 1, "type": "integer"}
    assert properties["kind"] == {"default": "room", "enum": ["room", "flat"], "type": "string"}
    assert properties["place"] == {"$ref": "#/$defs/Place"}
    assert "title" not in schema


def test_arguments_are_converted() -> None:
    """Arguments become what the annotations say, and what was not given is left to the function."""

    def book(place: Place, nights: int = 1) -> None: ...

    given = read_signature(book, "book").check({"place": {"city": "Paris"}, "nights": "2"})
    assert given == {"place": Place(city="Paris"), "nights": 2}
    assert "nights" not in read_signature(book, "book").check({"place": {"city": "Paris"}})


def test_faults_are_told_one_by_one() -> None:
    """Each fault names its argument and says what is wrong, in words for the model."""

    def book(place: Place, nights: int) -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        read_signature(book, "book").check({"place": {"city": 5}, "night": 1})
    assert caught.value.faults == (
        "place.city: Input should be a valid string",
        "nights: is missing",
        "night: is no argument: there are place, nights",
    )
    assert caught.value.tool_name == "book"


def test_names_that_mean_something_elsewhere() -> None:
    """A parameter may be called whatever Python allows."""

    def odd(model_config: str, schema: int, json: bool, self_: str, _private: str = "") -> None: ...

    signature = read_signature(odd, "odd")
    given = {"model_config": "a", "schema": 1, "json": True, "self_": "b", "_private": "c"}
    assert signature.check(given) == given
    assert list(signature.parameters["properties"]) == list(given)


def test_context_is_left_out() -> None:
    """The parameter that takes the context is found anywhere, and is none of the model's business."""

    def first(ctx: ToolContext, a: int) -> None: ...
    def last(a: int, context: ToolContext | None = None) -> None: ...
    def bare(ctx, a: int) -> None: ...  # type: ignore[no-untyped-def]

    functions: list[Any] = [first, last, bare]
    found = [read_signature(function, "f") for function in functions]
    assert [signature.context for signature in found] == ["ctx", "context", "ctx"]
    assert all(list(signature.parameters["properties"]) == ["a"] for signature in found)


def test_no_parameters() -> None:
    """A function without parameters has an empty object for a schema."""

    def now() -> str:
        return ""

    signature = read_signature(now, "now")
    assert signature.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert signature.check({}) == {}


def test_any_further_arguments() -> None:
    """A function that takes further arguments by name takes those that the model thinks of."""

    def loose(a: int, **more: Any) -> None: ...

    signature = read_signature(loose, "loose")
    assert signature.check({"a": 1, "b": "x"}) == {"a": 1, "b": "x"}
    assert signature.parameters["additionalProperties"] is True


GOOGLE = """
Book a night.

Somewhere nice.

Args:
    place (str): Where,
        exactly.
    nights: How many: one or more.
    **more: Whatever.

Returns:
    place: not a parameter.
"""
REST = """
Book a night.

Somewhere nice.

:param place: Where,
    exactly.
:param int nights: How many: one or more.
:returns: nothing
"""


@pytest.mark.parametrize("text", [GOOGLE, REST])
def test_docstrings(text: str) -> None:
    """Description and parameters are read from the docstring, in either of the usual forms."""

    def book(place: str, nights: int = 1) -> None: ...

    book.__doc__ = text
    signature = read_signature(book, "book")
    assert signature.description == "Book a night.\n\nSomewhere nice."
    assert {name: entry["description"] for name, entry in signature.parameters["properties"].items()} == {
        "place": "Where, exactly.",
        "nights": "How many: one or more.",
    }


def positional(a: int, /) -> None: ...
def starred(*a: int) -> None: ...
def unknown(a: Decimal) -> None: ...
def strange(a: TestStrange) -> None: ...


class TestStrange:
    """A class that JSON cannot say."""

    __test__ = False

    def method(self, a: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (positional, "by name"),
        (starred, "by name"),
        (unknown, "TYPE_CHECKING"),
        (strange, "annotate"),
        (TestStrange.method, "bound method"),
    ],
)
def test_functions_that_cannot_be_tools(function: Any, told: str) -> None:
    """A function whose parameters a model cannot give is refused when the tool is made, with what to do."""
    with pytest.raises(ToolDefinitionError, match="'f'") as caught:
        read_signature(function, "f")
    assert told in str(caught.value)
