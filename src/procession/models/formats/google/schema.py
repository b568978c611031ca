"""
A JSON schema in one of the two forms that Gemini takes: nearly as it is, or in the older subset of OpenAPI.

``responseJsonSchema`` and ``parametersJsonSchema`` take JSON schema with references; keywords that they do not know
they pass over.  ``responseSchema`` and ``parameters`` take a few keywords of OpenAPI and refuse a request with others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.errors import InputError
from procession.messages.value import Value
from procession.models.loose import as_list, as_mapping, as_text

__all__ = ["OpenAPISchema", "json_schema", "openapi_schema"]

_NAMED = frozenset({"$defs", "definitions", "properties", "patternProperties", "dependentSchemas"})
"""Keywords whose values are schemas by name."""
_DATA = frozenset({"const", "default", "enum", "example", "examples", "required", "type"})
"""Keywords whose values are no schemas."""
_TYPES: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def json_schema(schema: Any) -> dict[str, Any]:
    """
    Return *schema* as ``responseJsonSchema`` takes it, which knows no ``const``, and no ``$ref`` with others beside it.

    What the whole schema refers to stands in its place: an object is expected there.

    >>> json_schema({"type": "object", "properties": {"unit": {"const": "km"}}})
    {'type': 'object', 'properties': {'unit': {'enum': ['km']}}}

    Raises ``InputError`` where it is nested too deeply.
    """
    try:
        return _plain(_opened(as_mapping(schema)))
    except RecursionError:
        raise _too_large() from None


def _opened(root: Mapping[str, Any]) -> Mapping[str, Any]:
    place, _, name = as_text(root.get("$ref")).removeprefix("#/").partition("/")
    target = as_mapping(as_mapping(root.get(place)).get(name))
    return {**target, **{key: value for key, value in root.items() if key != "$ref"}} if target else root


def _plain(rules: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in rules.items():
        if key == "$schema":
            continue
        if key == "const":
            if isinstance(value, bool) or value is None:
                made.setdefault("type", _TYPES[type(value)])  # an enum has texts and numbers
            else:
                made["enum"] = [value]
        elif key == "$ref":
            made[key] = as_text(value).replace("#/definitions/", "#/$defs/", 1)
        elif key in _DATA:
            made[key] = value
        elif key in _NAMED:
            named = {name: _each(inner) for name, inner in as_mapping(value).items()}
            made["$defs" if key == "definitions" else key] = named
        else:
            made[key] = _each(value)
    if "$ref" in made and "anyOf" not in made and any(not key.startswith("$") for key in made):
        made["anyOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _each(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain(as_mapping(value))
    if isinstance(value, (list, tuple)):
        return [_each(entry) for entry in as_list(value)]
    return value


class OpenAPISchema(Value):
    """
    A schema in the subset of OpenAPI, and the keywords that had to go, by name.
    """

    schema: Mapping[str, Any]
    dropped: tuple[str, ...] = ()


def openapi_schema(schema: Any, *, name: str) -> OpenAPISchema:
    """
    Return *schema* as ``responseSchema`` takes it: references are inlined, ``const`` is an ``enum``, ``null`` is
    ``nullable``, ``oneOf`` is ``anyOf``, and what has no place is dropped.

    *name* says whose schema it is, for errors.

    >>> openapi_schema({"type": ["integer", "null"], "exclusiveMinimum": 0}, name="x")
    OpenAPISchema(schema={'type': 'INTEGER', 'nullable': True}, dropped=('exclusiveMinimum',))

    Raises ``InputError`` for a schema that contains itself, for a reference that leads nowhere, and for one that is
    too large once its references are inlined.
    """
    writer = _OpenAPIWriter(as_mapping(schema), name)
    try:
        made = writer.write(as_mapping(schema), ())
    except RecursionError:
        raise _too_large() from None
    return OpenAPISchema(made, tuple(sorted(writer.dropped)))


_KEPT = frozenset({
    "default", "description", "example", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
    "minProperties", "minimum", "nullable", "pattern", "propertyOrdering", "title",
})  # fmt: skip
_READ = frozenset({
    "$comment", "$defs", "$id", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const", "definitions",
    "enum", "examples", "format", "items", "oneOf", "prefixItems", "properties", "required", "type",
})  # fmt: skip
"""Keywords that are dealt with one by one, or that restrict nothing."""
_FORMATS = frozenset({"date-time", "double", "enum", "float", "int32", "int64"})
_LARGEST = 5_000
"""Schemas within a schema: references to references grow with every level."""


class _OpenAPIWriter:
    def __init__(self, root: Mapping[str, Any], name: str) -> None:
        self.dropped: set[str] = set()
        self._root = root
        self._name = name
        self._written = 0

    def write(self, rules: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        """
        Return *rules* in the subset; *within* are the references that led here.
        """
        self._written += 1
        if self._written > _LARGEST:
            raise _too_large()
        reference = rules.get("$ref")
        if reference is not None:
            beside = {key: value for key, value in rules.items() if key != "$ref"}
            return self.write({**self._target(reference, within), **beside}, (*within, str(reference)))
        made = {key: value for key, value in rules.items() if key in _KEPT}
        self.dropped.update(key for key in rules if key not in _KEPT and key not in _READ)
        if rules.get("additionalProperties", False) is not False:
            self.dropped.add("additionalProperties")
        if rules.get("format") in _FORMATS:
            made["format"] = rules["format"]
        for entry in as_list(rules.get("allOf")):
            _join(made, self.write(as_mapping(entry), within))
        self._write_type(made, rules, within)
        self._write_choice(made, rules, within)
        return made

    def _write_type(self, made: dict[str, Any], rules: Mapping[str, Any], within: tuple[str, ...]) -> None:
        given = rules.get("type")
        types = [given] if isinstance(given, str) else [as_text(kind) for kind in as_list(given)]
        choices = [rules["const"]] if "const" in rules else list(as_list(rules.get("enum")))
        if choices and not types:
            types = sorted({_TYPES.get(type(choice), "") for choice in choices})
        if "null" in types and (len(types) > 1 or None in choices):
            made["nullable"] = True
        kinds = [kind for kind in types if kind != "null"]
        if len(kinds) > 1:
            made["anyOf"] = [self.write({**_without(rules, _KEPT), "type": kind}, within) for kind in kinds]
            return
        kind = kinds[0] if kinds else "null" if types else ""
        if kind:
            made["type"] = kind.upper()
        if choices and kind not in ("boolean", "null"):
            made["enum"] = [str(choice) for choice in choices if choice is not None]
            made["format"] = "enum"
        if kind == "object" or "properties" in rules:
            self._write_object(made, rules, within)
        if kind == "array" or "items" in rules:
            self._write_array(made, rules, within)

    def _write_object(self, made: dict[str, Any], rules: Mapping[str, Any], within: tuple[str, ...]) -> None:
        made["type"] = "OBJECT"
        fields = {
            name: self.write(as_mapping(one), within) for name, one in as_mapping(rules.get("properties")).items()
        }
        required = [name for name in as_list(rules.get("required")) if isinstance(name, str)]
        _join(made, {"properties": fields, "required": required})

    def _write_array(self, made: dict[str, Any], rules: Mapping[str, Any], within: tuple[str, ...]) -> None:
        made["type"] = "ARRAY"
        places = [self.write(as_mapping(one), within) for one in as_list(rules.get("prefixItems"))]
        if places:
            self.dropped.add("prefixItems")
        items = as_mapping(rules.get("items"))
        if items or not places:
            places.append(self.write(items, within))
        made["items"] = places[0] if len(places) == 1 else {"anyOf": places}

    def _write_choice(self, made: dict[str, Any], rules: Mapping[str, Any], within: tuple[str, ...]) -> None:
        found = [self.write(as_mapping(one), within) for key in ("anyOf", "oneOf") for one in as_list(rules.get(key))]
        others = [one for one in found if one.get("type") != "NULL"]
        if len(others) < len(found):
            made["nullable"] = True
        if len(others) == 1:
            for key, value in others[0].items():
                made.setdefault(key, value)  # what is said of the field goes before what is said of its type
        elif others:
            made["anyOf"] = others

    def _target(self, reference: Any, within: tuple[str, ...]) -> Mapping[str, Any]:
        if reference in within:
            raise InputError(
                f"{self._name}: its schema contains itself ({reference}), which Gemini's OpenAPI schemas cannot say",
                hint='send JSON schemas (schemas="json_schema"), or limit the depth of the type',
            )
        found: Any = self._root
        path = as_text(reference)
        for step in path.removeprefix("#").split("/")[1:]:
            found = as_mapping(found).get(step.replace("~1", "/").replace("~0", "~"))
        if not path.startswith("#") or not isinstance(found, Mapping):
            raise InputError(
                f"{self._name}: its schema refers to {reference!r}, which is not in it",
                hint="put what is referred to under $defs",
            )
        return as_mapping(found)


def _join(made: dict[str, Any], more: Mapping[str, Any]) -> None:
    """
    Add what *more* says: fields come together, anything else is replaced.
    """
    fields = {**as_mapping(made.get("properties")), **as_mapping(more.get("properties"))}
    required = [*as_list(made.get("required")), *as_list(more.get("required"))]
    made.update(more)
    if fields:
        made["properties"] = fields
        made["required"] = [name for name in dict.fromkeys(required) if name in fields]
    if not made.get("properties"):
        made.pop("properties", None)
    if not made.get("required"):
        made.pop("required", None)


def _without(rules: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in rules.items() if key not in keys}


def _too_large() -> InputError:
    return InputError("the schema is too large or too deep for Gemini", hint="make its types simpler")
