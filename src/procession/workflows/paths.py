"""
Paths: where in a value something stands: ``user.name``, ``items[0].id``, ``items.0.id``, ``headers["x-id"]``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, TypeAlias, cast

from procession.errors import DefinitionError
from procession.messages.shapes import is_form, is_items

__all__ = ["MISSING", "Path", "at", "parse_path"]

MISSING: Any = object()

Path: TypeAlias = tuple[str, ...]
"""Keys, fields and indexes; empty for the value itself."""

_PART = re.compile(r"""\.?([^.\[\]"'\s][^.\[\]"']*)|\[(-?\d+)\]|\["([^"]+)"\]|\['([^']+)'\]""")


def parse_path(text: str) -> Path:
    """
    Return the parts of a path; an empty text is the path of the value itself.

    Raises ``DefinitionError`` where *text* is none.

    >>> parse_path("items[0].name")
    ('items', '0', 'name')
    """
    parts: list[str] = []
    end = 0
    while end < len(text):
        found = _PART.match(text, end)
        joined = text[end] == "[" or (text[end] == ".") is (end > 0)
        if found is None or not joined or text.endswith((".", " ")):
            raise DefinitionError(
                f"{text!r} is no path", hint='write it as user.name, items[0].id or headers["x-id"], without spaces'
            )
        parts.append(next(part for part in found.groups() if part is not None))
        end = found.end()
    return tuple(parts)


def at(value: Any, path: Path) -> Any:
    """
    Return what stands at *path* in *value*, or ``MISSING``.

    A part is a key of a mapping, an index of a list or a tuple, or a field of a model, a dataclass or another object
    with attributes; nothing is called.

    >>> at({"items": [{"id": 7}]}, ("items", "0", "id"))
    7
    """
    for part in path:
        value = _part(value, part)
        if value is MISSING:
            return MISSING
    return value


def _part(value: Any, part: str) -> Any:
    if is_form(value):
        if part in value:
            return value[part]
        return value.get(int(part), MISSING) if _is_index(part) else MISSING
    if is_items(value) and _is_index(part):
        index = int(part)
        return value[index] if -len(value) <= index < len(value) else MISSING
    return getattr(cast("object", value), part, MISSING) if part in _fields(value) else MISSING


def _is_index(part: str) -> bool:
    return part.removeprefix("-").isdecimal()


def _fields(value: object) -> Collection[str]:
    """
    Return the names of what *value* holds.
    """
    kind: Any = type(value)
    for name in ("model_fields", "__dataclass_fields__", "__fields__", "_fields"):
        names: Any = getattr(kind, name, None)
        if is_form(names) or is_items(names):
            return cast("Collection[str]", names)
    return vars(value) if hasattr(value, "__dict__") else ()
