"""
misfit(): whether every value of one JSON schema is one of another, and if not, where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeGuard

from procession.messages.value import Value
from procession.workflows.spec import bare_schema

__all__ = ["Misfit", "describe_schema", "misfit"]

JsonSchema: TypeAlias = Any
"""A mapping of keywords; ``True``, ``None`` and an empty mapping say nothing."""

# Keywords that say nothing about which values fit, or that are looked at by name below.
_HANDLED = frozenset({
    "type", "properties", "required", "additionalProperties", "items", "prefixItems", "default", "$defs",
    "discriminator",
})  # fmt: skip
_LOWEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_HIGHEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Misfit(Value):
    """
    The first place at which a value of one schema may not be one of the other.
    """

    place: str
    """Keys from the outside in, ``order.lines[].price``; empty for the whole."""
    taken: JsonSchema
    given: JsonSchema
    missing: bool = False
    """Whether the value at the place may be missing, rather than be of another type."""


def misfit(taken: JsonSchema, given: JsonSchema) -> Misfit | None:
    """
    Return the first place at which a value of schema *given* may not be one of schema *taken*, or ``None``.

    What cannot be told, such as whether one pattern includes another, is taken for a misfit.

    >>> misfit({"type": "number"}, {"type": "integer"}) is None
    True
    >>> misfit({"type": "object", "required": ["n"]}, {"type": "object"}).place
    'n'
    """
    taken, given = bare_schema(taken), bare_schema(given)
    return _Fitting(_definitions(taken), _definitions(given)).misfit(taken, given, "")


def describe_schema(schema: JsonSchema) -> str:
    """
    Return in a few words what fits *schema*.

    >>> describe_schema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'array of string or null'
    """
    if not _is_schema(schema) or not schema:
        return "anything"
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return " or ".join(dict.fromkeys(describe_schema(each) for each in schema[keyword]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "x-python-type" in schema:
        return str(schema["x-python-type"])
    values = _values(schema)
    if values is not None:
        return " or ".join(repr(value) for value in values)
    kinds = schema.get("type", "anything")
    shown = kinds if isinstance(kinds, str) else " or ".join(kinds)
    if "items" in schema:
        shown += f" of {describe_schema(schema['items'])}"
    notes = [f"{key} {schema[key]}" for key in sorted(_LOWEST | _HIGHEST | {"pattern", "format"}) if key in schema]
    return f"{shown} ({', '.join(notes)})" if notes else shown


class _Fitting:
    def __init__(self, taken: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self.taken = taken
        self.given = given
        self.begun: set[tuple[str, str]] = set()

    def misfit(self, taken: JsonSchema, given: JsonSchema, place: str) -> Misfit | None:
        refs = (_ref(taken), _ref(given))
        if refs != ("", ""):
            if refs in self.begun:  # a type that contains itself fits where the rest of it does
                return None
            self.begun.add(refs)
            taken = self.taken.get(refs[0], taken) if refs[0] else taken
            given = self.given.get(refs[1], given) if refs[1] else given
            return self.misfit(taken, given, place)
        if not _is_schema(taken) or not set(taken) - {"$defs", "default"}:
            return None if taken is not False else Misfit(place, taken, given)
        if not _is_schema(given) or not set(given) - {"$defs", "default"}:
            return Misfit(place, taken, given)
        parts = _alternatives(given)
        if parts is not None:
            found = _first(self.misfit(taken, each, place) for each in parts)
            return found if found is None or found.place != place else Misfit(place, taken, given)
        parts = _alternatives(taken)
        if parts is not None:
            fits = any(self.misfit(each, given, place) is None for each in parts)
            return None if fits else Misfit(place, taken, given)
        return self.plain(taken, given, place)

    def plain(self, taken: Mapping[str, Any], given: Mapping[str, Any], place: str) -> Misfit | None:
        values, wanted = _values(given), _values(taken)
        if wanted is not None:
            fits = values is not None and all(value in wanted for value in values)
            return None if fits else Misfit(place, taken, given)
        if values is not None:
            given = {"type": sorted({_TYPES.get(value.__class__, "object") for value in values}), **given}
        kinds = set(_list(given.get("type")))
        allowed = set(_list(taken.get("type")))
        if allowed and (
            not kinds or not all(kind in allowed or (kind, "number") in _inside(allowed) for kind in kinds)
        ):
            return Misfit(place, taken, given)
        if any(not _as_strict(key, taken[key], given.get(key)) for key in taken.keys() - _HANDLED):
            return Misfit(place, taken, given)
        return self.array(taken, given, place) or self.object(taken, given, place)

    def array(self, taken: Mapping[str, Any], given: Mapping[str, Any], place: str) -> Misfit | None:
        first, second = taken.get("prefixItems"), given.get("prefixItems")
        if first is not None and (second is None or len(first) != len(second)):
            return Misfit(place, taken, given)
        inside: list[tuple[JsonSchema, JsonSchema]] = list(zip(first or (), second or (), strict=False))
        if "items" in taken:
            inside += [(taken["items"], each) for each in (second or ())[len(first or ()) :]]
            if second is None or given.get("maxItems") != len(second):
                inside.append((taken["items"], given.get("items")))
        return _first(self.misfit(each, other, f"{place}[]") for each, other in inside)

    def object(self, taken: Mapping[str, Any], given: Mapping[str, Any], place: str) -> Misfit | None:
        wanted, has = taken.get("properties", {}), given.get("properties", {})
        sure = set(given.get("required", ()))
        for key in taken.get("required", ()):
            if key not in sure:
                return Misfit(_inner(place, key), wanted.get(key), has.get(key), True)
        for key, schema in wanted.items():
            if key in has:
                found = self.misfit(schema, has[key], _inner(place, key))
                if found is not None:
                    return found
        others = taken.get("additionalProperties", True)
        if others is True:
            return None
        for key in has.keys() - wanted.keys():
            found = self.misfit(others, has[key], _inner(place, key))
            if found is not None:
                return found
        given_others = given.get("additionalProperties", True)
        return None if given_others is False else self.misfit(others, given_others, _inner(place, "*"))


def _is_schema(schema: JsonSchema) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(schema, Mapping)


def _definitions(schema: JsonSchema) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema.get("$defs", {}) if _is_schema(schema) else {}
    return found


def _ref(schema: JsonSchema) -> str:
    return str(schema["$ref"]).rpartition("/")[2] if _is_schema(schema) and "$ref" in schema else ""


def _alternatives(schema: Mapping[str, Any]) -> list[Any] | None:
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return list(schema[keyword])
    return None


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if "enum" in schema else None


def _list(value: Any) -> list[Any]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _inside(allowed: set[Any]) -> set[tuple[str, str]]:
    return {("integer", "number")} if "number" in allowed else set()


def _as_strict(key: str, wanted: Any, has: Any) -> bool:
    """
    Return whether what *has* says under *key* lets no value through that *wanted* does not.
    """
    if key in _LOWEST:
        return has is not None and has >= wanted
    if key in _HIGHEST:
        return has is not None and has <= wanted
    return bool(has == wanted)


def _inner(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _first(found: Iterable[Misfit | None]) -> Misfit | None:
    return next((each for each in found if each is not None), None)
