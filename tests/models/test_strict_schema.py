"""Which schemas a model can be held to."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from procession.models.formats.openai.strict_schema import strict_schema


class Inner(BaseModel):
    """A part of another model; its one field has the name of a keyword."""

    default: int


class Outer(BaseModel):
    """A model with everything that can be held to."""

    name: str
    kind: str | None
    inner: list[Inner]


def test_pydantic_model_is_closed() -> None:
    """A pydantic model without defaults is held to: every object in it is closed, also behind a reference."""
    found = strict_schema(Outer.model_json_schema())
    assert found is not None
    assert found["additionalProperties"] is False
    assert found["$defs"]["Inner"]["additionalProperties"] is False
    assert found["$defs"]["Inner"]["properties"]["default"]["type"] == "integer"


def test_given_schema_is_left_alone() -> None:
    """The schema that is given is not changed."""
    schema = Outer.model_json_schema()
    strict_schema(schema)
    assert schema == Outer.model_json_schema()


class WithDefault(BaseModel):
    """A field may be left out."""

    name: str = "x"


class WithLength(BaseModel):
    """A keyword that the server refuses."""

    name: str = Field(min_length=2)


@pytest.mark.parametrize(
    "schema",
    [
        WithDefault.model_json_schema(),
        WithLength.model_json_schema(),
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
    ],
)
def test_what_cannot_be_held_to(schema: Any) -> None:
    """Optional fields, open objects, roots that are no objects and refused keywords: the schema is only a wish."""
    assert strict_schema(schema) is None
