"""Schemas to which Anthropic can hold a model, and the models that it can hold to one."""

from __future__ import annotations

from typing import Any

import pytest

from procession.models.formats.anthropic.models import knows_output_format
from procession.models.formats.anthropic.schema import held_schema

PERSON = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "description": "In years."}}}


@pytest.mark.parametrize(
    ("schema", "held"),
    [
        (
            PERSON,
            {
                "type": "object",
                "properties": {"age": {"type": "integer", "description": 'In years.\n\n{"minimum": 0}'}},
                "additionalProperties": False,
            },
        ),
        (
            {"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}, {"type": "string", "format": "odd"}]},
            {
                "anyOf": [
                    {"type": "null"},
                    {"type": "string", "format": "date"},
                    {"type": "string", "description": '{"format": "odd"}'},
                ]
            },
        ),
        (
            {"$schema": "s", "$defs": {"a": {"enum": [1, "b"]}}, "type": "array", "items": {"$ref": "#/$defs/a"}},
            {"$defs": {"a": {"enum": [1, "b"]}}, "type": "array", "items": {"$ref": "#/$defs/a"}},
        ),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, ...),
        ({"type": ["string", "null"], "default": None}, ...),
        ({}, None),
        (True, None),
        ({"type": "object"}, None),
        ({"type": "object", "additionalProperties": True, "properties": {}}, None),
        ({"type": "array", "items": True}, None),
        ({"enum": [{"a": 1}]}, None),
        ({"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, None),
        ({"type": "array", "items": {"$ref": "#"}}, None),
    ],
)
def test_schemas(schema: Any, held: Any) -> None:
    """A schema is closed, and what Anthropic has no keyword for is told in words; what takes any key is not held."""
    assert held_schema(schema) == (schema if held is ... else held)


@pytest.mark.parametrize(
    ("model", "knows"),
    [
        ("claude-opus-5-5", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-1", True),
        ("claude-opus-4-20250514", False),
        ("claude-sonnet-4-0", False),
        ("claude-3-5-haiku-latest", False),
        ("other", True),
    ],
)
def test_who_knows_schemas(model: str, knows: bool) -> None:
    """Models since Opus 4.1 can be held to a schema."""
    assert knows_output_format(model) is knows
