"""Arguments against a plain JSON schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.tools.json_schema import faults_of

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "good", "bad", "fault"),
    [
        ({"type": "string"}, "x", 5, "should be a string"),
        ({"type": ["string", "null"]}, None, 5, "should be a string or null"),
        ({"type": "integer"}, 5.0, 5.5, "should be an integer"),
        ({"type": "number"}, 5.5, True, "should be a number"),
        ({"type": "boolean"}, False, 0, "should be a boolean"),
        ({"type": "array", "items": {"type": "string"}}, ["a"], ["a", 1], "1: should be a string"),
        ({"type": "array", "minItems": 1, "maxItems": 2}, [1], [], "should have at least 1 items"),
        ({"enum": ["a", 1]}, 1, True, "should be one of 'a', 1"),
        ({"const": "a"}, "a", "b", "should be 'a'"),
        ({"minimum": 1, "exclusiveMaximum": 3}, 2, 3, "should be less than 3"),
        ({"minLength": 2, "pattern": "^a"}, "ab", "a", "should have at least 2 characters"),
        ({"pattern": "^a"}, "ab", "b", "should match ^a"),
        ({"maxLength": 2}, "ab", "abc", "should have at most 2 characters"),
        ({"required": ["a"]}, {"a": 1}, {}, "a: is missing"),
        ({"properties": {}, "additionalProperties": False}, {}, {"a": 1}, "a: is no argument"),
        ({"additionalProperties": {"type": "string"}}, {"a": "x"}, {"a": 1}, "a: should be a string"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, 5, "should be a string"),
        ({"allOf": [{"type": "string"}, {"maxLength": 1}]}, "a", "ab", "should have at most 1 characters"),
        ({"properties": {"a": False}}, {"b": 1}, {"a": 1}, "a: is not allowed"),
        (
            {"$defs": {"node": NODE}, **NODE},
            {"next": {"value": 1}},
            {"next": {"next": {"value": ""}}},
            "next.next.value",
        ),
    ],
)
def test_keywords(schema: dict[str, Any], good: Any, bad: Any, fault: str) -> None:
    """Each keyword lets through what fits, and names the place and the rule of what does not."""
    assert faults_of(good, schema) == []
    (found,) = faults_of(bad, schema)
    assert fault in found


def test_all_faults_are_found() -> None:
    """All that is wrong is told at once."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}
    assert faults_of({"a": 1}, schema) == ["b: is missing", "a: should be a string"]


def test_unknown_keywords_allow_everything() -> None:
    """A keyword that is not known is no reason to refuse."""
    assert faults_of("x", {"format": "email", "$ref": "#/$defs/none", "type": "whatever"}) == []


def test_schema_that_refers_to_itself() -> None:
    """A schema that refers to itself without end is not followed without end."""
    assert faults_of({}, {"$ref": "#"}) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_is_checked(value: Any) -> None:
    """Any value fits the schema that allows everything, and is compared with one that does not."""
    assert faults_of(value, {}) == []
    faults_of(value, {"type": "integer", "minimum": 1})
    faults_of(value, {"type": "object", "additionalProperties": {"type": "number", "maximum": 2}})
