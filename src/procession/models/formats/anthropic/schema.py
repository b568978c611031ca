"""
A JSON schema in the form to which Anthropic can hold a model: closed objects, and few keywords.

What has no place there is told in the description, so that the model knows of it; the answer is checked against the
schema as it was anyway.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from procession.models.loose import as_list, as_mapping, as_text

__all__ = ["held_schema"]

_KEPT = frozenset({"$ref", "const", "default", "description", "enum", "required", "title", "type"})
_SCHEMAS = frozenset({"allOf", "anyOf"})
_NAMED = frozenset({"$defs", "definitions", "properties"})
_FORMATS = frozenset({
    "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid",
})  # fmt: skip


class _Open(Exception):
    """
    The schema takes what a closed object cannot.
    """


def held_schema(schema: Any) -> Mapping[str, Any] | None:
    """
    Return *schema* with every object closed and what Anthropic knows no keyword for in words, or ``None`` where a
    model cannot be held to it: where an object takes any key, a schema contains itself, or says nothing of a value.

    >>> held_schema({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}})["properties"]
    {'age': {'type': 'integer', 'description': '{"minimum": 0}'}}
    """
    try:
        _check_references(as_mapping(schema))
        return _held(schema)
    except (_Open, RecursionError):
        return None


def _check_references(schema: Mapping[str, Any]) -> None:
    from graphlib import CycleError, TopologicalSorter  # here, as few need it

    graph = {
        f"#/{place}/{name}": _references(inner)
        for place in ("$defs", "definitions")
        for name, inner in as_mapping(schema.get(place)).items()
    }
    graph["#"] = _references(schema)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        raise _Open from None


def _references(schema: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(schema, Mapping):
        for key, value in as_mapping(schema).items():
            found |= {value} if key == "$ref" and isinstance(value, str) else _references(value)
    for entry in as_list(schema):
        found |= _references(entry)
    return found


def _held(schema: Any) -> dict[str, Any]:
    rules = as_mapping(schema)
    if not any(key in rules for key in ("type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf")):
        raise _Open
    made: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for key, value in rules.items():
        if key in _KEPT:
            if key == "enum" and any(isinstance(entry, (Mapping, list)) for entry in as_list(value)):
                raise _Open
            made[key] = value
        elif key in _NAMED:
            made[key] = {name: _held(inner) for name, inner in as_mapping(value).items()}
        elif key in _SCHEMAS or key == "oneOf":
            made["anyOf" if key == "oneOf" else key] = [_held(inner) for inner in as_list(value)]
        elif key == "items":
            made[key] = _held(value)
        elif (key == "format" and value in _FORMATS) or (key == "minItems" and value in (0, 1)):
            made[key] = value
        elif key != "additionalProperties" and not key.startswith("$"):
            told[key] = value
    if "object" in (rules.get("type"), *as_list(rules.get("type"))) or "properties" in rules:
        if rules.get("additionalProperties", False) is not False:
            raise _Open
        if "properties" not in rules and "additionalProperties" not in rules:  # "any object" would become an empty one
            raise _Open
        made["additionalProperties"] = False
    if told:
        words = json.dumps(told, ensure_ascii=False, default=str)
        made["description"] = f"{as_text(made.get('description'))}\n\n{words}".strip()
    return made
