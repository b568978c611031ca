"""
Schemas that a server of tools sends: what of them is safe to check with, and what a model may be shown.

Whoever wrote them may mean harm.  So what checks arguments is a copy with the keywords that the check knows, each of
the type that it must have, and without patterns, of which one can take for ever: the server checks those itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from procession.errors import ToolDefinitionError

__all__ = ["checkable", "shown", "visible"]

_DEEPEST: Final = 40
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_LENGTHS: Final = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
_INNER: Final = frozenset({"items", "additionalProperties"})
_CHOICES: Final = frozenset({"anyOf", "oneOf", "allOf"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions"})
_WORDS: Final = frozenset({"description", "title"})


def checkable(schema: Any) -> Any:
    """
    Return what of a schema arguments can be checked by.

    >>> checkable({"type": "string", "pattern": "(a+)+$", "minLength": "two", "maxLength": 3})
    {'type': 'string', 'maxLength': 3}
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        return True
    kept: dict[str, Any] = {}
    for key, value in cast("Mapping[str, Any]", schema).items():
        if key in _NAMED and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            kept[key] = {name: checkable(one) for name, one in named.items()}
        elif key in _INNER:
            kept[key] = checkable(value)
        elif key in _CHOICES and isinstance(value, list):
            kept[key] = [checkable(one) for one in cast("Iterable[Any]", value)]
        elif key == "const" or _is_rule(key, value):
            kept[key] = value
    return kept


def _is_rule(key: str, value: Any) -> bool:
    if key in _NUMBERS:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if key in _LENGTHS:
        return isinstance(value, int) and not isinstance(value, bool)
    if key == "type":
        return isinstance(value, str) or _are_texts(value)
    if key == "required":
        return _are_texts(value)
    if key == "enum":
        return isinstance(value, list)
    return key == "$ref" and isinstance(value, str) and value.startswith("#")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("Iterable[Any]", value))


def shown(schema: Any, tool: str, depth: int = 0) -> Any:
    """
    Return a schema as a model may be shown it: its words without characters that nobody sees.

    Raises ``ToolDefinitionError`` where it is nested too deep.
    """
    if depth > _DEEPEST:
        raise ToolDefinitionError(
            f"the schema of tool {tool!r} is nested more than {_DEEPEST} levels deep",
            hint="leave the tool out: exclude=",
        )
    if isinstance(schema, Mapping):
        entries = cast("Mapping[str, Any]", schema)
        return {
            key: visible(value) if key in _WORDS and isinstance(value, str) else shown(value, tool, depth + 1)
            for key, value in entries.items()
        }
    if isinstance(schema, list):
        return [shown(value, tool, depth + 1) for value in cast("Iterable[Any]", schema)]
    return schema


def visible(text: str) -> str:
    r"""
    Return a text without what a person who looks at it cannot see: control, format and private characters.

    >>> visible("adds\u200b two\U000e0041 numbers\n")
    'adds two numbers\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs", "Cn"))
