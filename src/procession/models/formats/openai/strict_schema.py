"""
A JSON schema in the form to which OpenAI can hold a model: closed objects without optional fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.models.loose import as_list, as_mapping

__all__ = ["strict_schema"]

_NOT_STRICT = frozenset({
    "allOf", "contains", "default", "dependentRequired", "dependentSchemas", "else", "if", "maxLength", "maxProperties",
    "minLength", "minProperties", "not", "oneOf", "patternProperties", "propertyNames", "then", "unevaluatedItems",
    "unevaluatedProperties", "uniqueItems",
})  # fmt: skip
"""Keywords that are refused, or not kept to, where an answer is held to its schema."""
_NAMED = frozenset({"$defs", "definitions", "properties"})
"""Keywords whose values are schemas by name."""
_OF_DATA = frozenset({"const", "enum", "examples"})


class _Loose(Exception):
    """
    The schema says something that a model cannot be held to.
    """


def strict_schema(schema: Any) -> Mapping[str, Any] | None:
    """
    Return *schema* with every object closed, or ``None`` where a model cannot be held to it: where a field may be left
    out, an object takes any key, or a keyword is one that the server refuses.

    >>> strict_schema({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
    {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city'], 'additionalProperties': False}
    """
    try:
        return _closed(as_mapping(schema)) if as_mapping(schema).get("type") == "object" else None
    except _Loose:
        return None


def _closed(rules: Mapping[str, Any]) -> dict[str, Any]:
    if not _NOT_STRICT.isdisjoint(rules) or ("$ref" in rules and len(rules) > 1):
        raise _Loose
    made: dict[str, Any] = {}
    for key, value in rules.items():
        if key in _OF_DATA:
            made[key] = value
        elif key in _NAMED:
            made[key] = {name: _each(inner) for name, inner in as_mapping(value).items()}
        else:
            made[key] = _each(value)
    if rules.get("type") == "object" or "properties" in rules:
        properties = as_mapping(rules.get("properties"))
        required = {name for name in as_list(rules.get("required")) if isinstance(name, str)}
        if rules.get("additionalProperties", False) is not False or required != set(properties):
            raise _Loose
        if not properties and "additionalProperties" not in rules:  # "any object" would become "no field at all"
            raise _Loose
        made["additionalProperties"] = False
    return made


def _each(value: Any) -> Any:
    if value is True:  # the schema that takes anything
        raise _Loose
    if isinstance(value, Mapping):
        return _closed(as_mapping(value))
    if isinstance(value, (list, tuple)):
        return [_closed(as_mapping(entry)) if isinstance(entry, Mapping) else entry for entry in as_list(value)]
    return value
