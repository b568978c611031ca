"""
The check of arguments against a plain JSON schema, for tools that were not made from a Python function.

It knows the keywords in which tools are described: ``type enum const properties required additionalProperties items
minItems maxItems minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum anyOf oneOf allOf`` and
``$ref`` within the schema.  Other keywords allow everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from procession.messages.shapes import is_form

__all__ = ["accepts", "faults_of"]

_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, (list, tuple)),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: _is_number(value) and value == value // 1,
    "number": lambda value: _is_number(value),
}
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("at least", lambda value, bound: value >= bound),
    "maximum": ("at most", lambda value, bound: value <= bound),
    "exclusiveMinimum": ("more than", lambda value, bound: value > bound),
    "exclusiveMaximum": ("less than", lambda value, bound: value < bound),
}
_PLAIN: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}
_SAYS_NOTHING = frozenset({"type", "description", "title", "default", "examples", "format"})
_OF_FLAT_OBJECTS = frozenset({"properties", "required", "additionalProperties", "$schema"})
_accepting: dict[int, tuple[Mapping[str, Any], Callable[[Any], bool]]] = {}
_DEEPEST = 64
"""How far a schema may refer to itself without end."""
_MOST = 100_000
"""How many places of schemas are looked at for one value: those with choices that refer to themselves have no end of them."""


def faults_of(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """
    Return what is wrong with *value*, each fault with the place where it is; nothing where it fits *schema*.

    >>> city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    >>> faults_of({"city": 5}, city), faults_of({}, city), faults_of({"city": "Paris"}, city)
    (['city: should be a string'], ['city: is missing'], [])
    """
    look = _Look(schema)
    faults = list(_faults(value, schema, look, "", 0))
    return faults if look.left else ["the schema has too many choices to check the value by it"]


class _Look:
    """
    What one check knows besides the value and its schema.
    """

    __slots__ = ("left", "root")

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.left = _MOST
        """How many places may still be looked at."""


def accepts(value: Any, schema: Mapping[str, Any]) -> bool:
    """
    Return whether *value* surely fits *schema*: the quick answer for flat objects; ``False`` means look closer.
    """
    known = _accepting.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_accepting) > 1024:
            _accepting.clear()
        known = _accepting[id(schema)] = (schema, _acceptance(schema))
    return known[1](value)


def _acceptance(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if schema.get("type") != "object" or set(schema) - _SAYS_NOTHING - _OF_FLAT_OBJECTS:
        return lambda value: False
    kinds: dict[str, tuple[type, ...]] = {
        name: _PLAIN[rules["type"]]
        for name, rules in properties.items()
        if is_form(rules) and isinstance(rules.get("type"), str) and not set(rules) - _SAYS_NOTHING
    }
    required = tuple(schema.get("required", ()))

    def fits(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        for name in required:
            if name not in value:
                return False
        for name, entry in value.items():
            kind = kinds.get(name)
            if kind is None or entry.__class__ not in kind:
                return False
        return True

    return fits


def _faults(value: Any, schema: Any, look: _Look, place: str, depth: int) -> Iterator[str]:
    if schema is False:
        yield _at(place, "is not allowed")
    if not isinstance(schema, Mapping) or depth > _DEEPEST or not look.left:
        return
    look.left -= 1
    rules = cast("Mapping[str, Any]", schema)
    if "$ref" in rules:
        yield from _faults(value, _resolved(rules["$ref"], look.root), look, place, depth + 1)
    kinds = rules.get("type")
    if kinds is not None:
        names: list[str] = [kinds] if isinstance(kinds, str) else list(kinds)
        if not any(_IS.get(name, _anything)(value) for name in names):
            yield _at(place, f"should be {' or '.join(_article(name) for name in names)}")
            return
    if "enum" in rules and not any(_same(value, allowed) for allowed in rules["enum"]):
        yield _at(place, f"should be one of {', '.join(map(repr, rules['enum']))}")
    if "const" in rules and not _same(value, rules["const"]):
        yield _at(place, f"should be {rules['const']!r}")
    if isinstance(value, str):
        yield from _text_faults(value, rules, place)
    elif _is_number(value):
        for keyword, (words, holds) in _BOUNDS.items():
            if keyword in rules and not holds(value, rules[keyword]):
                yield _at(place, f"should be {words} {rules[keyword]}")
    elif isinstance(value, Mapping):
        yield from _object_faults(cast("Mapping[str, Any]", value), rules, look, place, depth)
    elif isinstance(value, (list, tuple)):
        yield from _array_faults(cast("list[Any]", value), rules, look, place, depth)
    for every in rules.get("allOf", ()):
        yield from _faults(value, every, look, place, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        choices = [list(_faults(value, choice, look, place, depth + 1)) for choice in rules.get(keyword, ())]
        if choices and all(choices):
            yield from min(choices, key=len)


def _text_faults(value: str, rules: Mapping[str, Any], place: str) -> Iterator[str]:
    yield from _length_faults(len(value), rules, "Length", "characters", place)
    if "pattern" in rules and re.search(rules["pattern"], value) is None:
        yield _at(place, f"should match {rules['pattern']}")


def _object_faults(
    value: Mapping[str, Any], rules: Mapping[str, Any], look: _Look, place: str, depth: int
) -> Iterator[str]:
    properties: Mapping[str, Any] = rules.get("properties", {})
    for name in rules.get("required", ()):
        if name not in value:
            yield _at(_inside(place, name), "is missing")
    others = rules.get("additionalProperties", True)
    for name, entry in value.items():
        if name in properties:
            yield from _faults(entry, properties[name], look, _inside(place, name), depth + 1)
        elif others is False:
            known = f": there are {', '.join(properties)}" if properties else ""
            yield _at(_inside(place, name), f"is no argument{known}" if not place else "is not allowed")
        else:
            yield from _faults(entry, others, look, _inside(place, name), depth + 1)


def _array_faults(value: list[Any], rules: Mapping[str, Any], look: _Look, place: str, depth: int) -> Iterator[str]:
    yield from _length_faults(len(value), rules, "Items", "items", place)
    for index, entry in enumerate(value):
        yield from _faults(entry, rules.get("items", True), look, _inside(place, str(index)), depth + 1)


def _length_faults(length: int, rules: Mapping[str, Any], what: str, unit: str, place: str) -> Iterator[str]:
    if length < rules.get(f"min{what}", 0):
        yield _at(place, f"should have at least {rules[f'min{what}']} {unit}")
    if length > rules.get(f"max{what}", length):
        yield _at(place, f"should have at most {rules[f'max{what}']} {unit}")


def _resolved(reference: Any, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for key in str(reference).removeprefix("#").strip("/").split("/"):
        if key:
            found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
    return found


def _same(value: Any, allowed: Any) -> bool:
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)  # True == 1 in Python only


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _anything(value: Any) -> bool:
    return True


def _article(name: str) -> str:
    return "null" if name == "null" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _at(place: str, fault: str) -> str:
    return f"{place}: {fault}" if place else fault
