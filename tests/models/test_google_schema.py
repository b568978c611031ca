"""Schemas in the two forms that Gemini takes."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from procession.errors import InputError
from procession.models.formats.google.schema import json_schema, openapi_schema


class Unit(Enum):
    """A unit of length."""

    KM = "km"
    MILE = "mile"


class Place(BaseModel):
    """Where somebody wants to go."""

    city: str = Field(description="A city.", pattern="^[A-Z]")
    unit: Unit = Field(default=Unit.KM, description="For distances.")
    kind: Literal["town"] = "town"
    note: str | None = None


class Trip(BaseModel):
    """Places one after the other."""

    stops: list[Place]
    home: Place | None = Field(default=None, description="Where it ends.")


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = []


def openapi(schema: Any) -> dict[str, Any]:
    """Return a schema in the subset of OpenAPI."""
    return dict(openapi_schema(schema, name="tool 'x'").schema)


def test_json_schema_keeps_references_and_what_contains_itself() -> None:
    """JSON schema goes as it is, trees too; what the whole of it refers to stands in its place."""
    schema = Node.model_json_schema()
    assert schema["$ref"] == "#/$defs/Node"
    assert json_schema(schema) == {**schema["$defs"]["Node"], "$defs": schema["$defs"]}
    assert json_schema({"$ref": "#/nowhere/x"}) == {"$ref": "#/nowhere/x"}


def test_json_schema_without_what_gemini_does_not_know() -> None:
    """A constant is an enum of one, and a reference stands alone, with what is said beside it around it."""
    made = json_schema(Trip.model_json_schema())
    place = made["$defs"]["Place"]["properties"]
    assert place["kind"] == {"enum": ["town"], "default": "town", "title": "Kind", "type": "string"}
    assert place["unit"] == {"description": "For distances.", "default": "km", "anyOf": [{"$ref": "#/$defs/Unit"}]}
    assert made["properties"]["stops"]["items"] == {"$ref": "#/$defs/Place"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string"}, {"type": "string"}),
        ({"const": True}, {"type": "boolean"}),
        ({"const": None}, {"type": "null"}),
        ({"const": 3}, {"enum": [3]}),
        (
            {"definitions": {"A": {"const": "a"}}, "items": {"$ref": "#/definitions/A"}},
            {"$defs": {"A": {"enum": ["a"]}}, "items": {"$ref": "#/$defs/A"}},
        ),
        ({"properties": {"const": {"type": "string"}}}, {"properties": {"const": {"type": "string"}}}),
        ({"properties": {"$ref": {"const": "a"}}}, {"properties": {"$ref": {"enum": ["a"]}}}),
        ({"enum": [{"const": 1}], "default": {"$ref": "x"}}, {"enum": [{"const": 1}], "default": {"$ref": "x"}}),
        ({"anyOf": [{"const": "a"}, {"type": "null"}]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({"additionalProperties": False, "items": True}, {"additionalProperties": False, "items": True}),
        (None, {}),
    ],
)
def test_json_schema(schema: Any, expected: Any) -> None:
    """Each keyword is sent as Gemini knows it, and names of fields and data are no keywords."""
    assert json_schema(schema) == expected


def test_openapi_inlines_references() -> None:
    """In the subset of OpenAPI a model and what it refers to is one schema, with nullable fields."""
    made = openapi(Trip.model_json_schema())
    place = {
        "type": "OBJECT",
        "title": "Place",
        "description": "Where somebody wants to go.",
        "properties": {
            "city": {"type": "STRING", "title": "City", "description": "A city.", "pattern": "^[A-Z]"},
            "unit": {
                "type": "STRING",
                "title": "Unit",
                "description": "For distances.",
                "default": "km",
                "enum": ["km", "mile"],
                "format": "enum",
            },
            "kind": {"type": "STRING", "title": "Kind", "default": "town", "enum": ["town"], "format": "enum"},
            "note": {"type": "STRING", "title": "Note", "default": None, "nullable": True},
        },
        "required": ["city"],
    }
    assert made["properties"]["stops"] == {"type": "ARRAY", "title": "Stops", "items": place}
    assert made["properties"]["home"] == {**place, "description": "Where it ends.", "default": None, "nullable": True}
    assert made["required"] == ["stops"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ({"type": "null"}, {"type": "NULL"}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
        (
            {"type": ["string", "integer", "null"], "title": "T"},
            {"title": "T", "nullable": True, "anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        ),
        ({"enum": [1, 2]}, {"type": "INTEGER", "enum": ["1", "2"], "format": "enum"}),
        ({"enum": ["a", None]}, {"type": "STRING", "nullable": True, "enum": ["a"], "format": "enum"}),
        ({"const": True}, {"type": "BOOLEAN"}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"type": "STRING", "nullable": True}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            {"nullable": True, "anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        ),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "string"}}, "required": ["b", "c"]},
                ]
            },
            {
                "type": "OBJECT",
                "properties": {"a": {"type": "STRING"}, "b": {"type": "STRING"}},
                "required": ["a", "b"],
            },
        ),
        ({"type": "object"}, {"type": "OBJECT"}),
        ({"type": "array"}, {"type": "ARRAY", "items": {}}),
        (
            {"prefixItems": [{"type": "string"}, {"type": "integer"}], "type": "array"},
            {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
        ),
        ({"type": "string", "format": "uuid"}, {"type": "STRING"}),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        (
            {"$defs": {"a/b": {"type": "string"}}, "items": {"$ref": "#/$defs/a~1b", "title": "T"}},
            {"type": "ARRAY", "items": {"type": "STRING", "title": "T"}},
        ),
    ],
)
def test_openapi(schema: Any, expected: Any) -> None:
    """Each keyword is said in the words of OpenAPI."""
    assert openapi(schema) == expected


def test_openapi_tells_what_it_drops() -> None:
    """What has no place is named, wherever it stands; what restricts nothing, or the closing of an object, is not."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "$comment": "x",
        "properties": {
            "a": {"type": "integer", "exclusiveMinimum": 0},
            "b": {"type": "object", "additionalProperties": {"type": "string"}},
            "c": {"type": "array", "uniqueItems": True, "items": {"not": {"type": "null"}}},
        },
    }
    dropped = openapi_schema(schema, name="x").dropped
    assert dropped == ("additionalProperties", "exclusiveMinimum", "not", "uniqueItems")


def test_openapi_refuses_what_contains_itself() -> None:
    """A tree cannot be said without references: whoever asks is told whose schema it is, and what to do."""
    with pytest.raises(InputError, match="tool 'x'.*contains itself.*Node") as caught:
        openapi(Node.model_json_schema())
    assert "json_schema" in str(caught.value.hint)


@pytest.mark.parametrize(
    "reference", ["#/$defs/nobody", "https://example.org/x", "other.json#/a", 3, "#/$defs/nobody/x"]
)
def test_openapi_refuses_references_that_lead_nowhere(reference: Any) -> None:
    """A reference to what is not there is an error, not a field without a type."""
    with pytest.raises(InputError, match="not in it"):
        openapi({"properties": {"a": {"$ref": reference}}})


def test_openapi_stays_small() -> None:
    """References to references, which double with every level, are refused before they fill the memory."""
    levels = {f"L{n}": {"properties": {k: {"$ref": f"#/$defs/L{n + 1}"} for k in "ab"}} for n in range(40)}
    with pytest.raises(InputError, match="too large"):
        openapi({"$defs": {**levels, "L40": {"type": "string"}}, "$ref": "#/$defs/L0"})


@pytest.mark.parametrize("write", [json_schema, openapi])
def test_depth_ends(write: Any) -> None:
    """A schema that is nested without end is an error of the caller's, and none of Python's."""
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    with pytest.raises(InputError, match="too deep"):
        write(schema)
