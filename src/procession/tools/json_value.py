"""
What JSON can say of a value that a tool returned.

Guards look at the strings of a result, so that all of it that a model could be told must be there as strings, numbers,
lists and mappings: what this leaves over in another shape, nobody would see.
"""

from __future__ import annotations

import math
import operator
from collections import UserString
from collections.abc import Iterable, Mapping, Sequence, Set, ValuesView
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, cast

from procession.errors import InputError
from procession.messages.shapes import is_dict, is_form, is_items, is_unread
from procession.messages.value import Value

__all__ = ["json_value"]

_ATOMS = frozenset({str, bool, type(None)})
_SHORT = 10**18
_LARGEST = 10**4000
"""Python refuses to write out numbers of more than 4300 digits."""
_DEEPEST = 100
"""How deep a result may be nested; one that contains itself would never end."""


def json_value(value: Any) -> Any:
    """
    Return *value* as JSON can say it; what JSON knows already stays the same object.

    Tuples, other sequences, sets and a mapping's values become lists, enums their values, models and dataclasses
    mappings, dates and times text in ISO format, bytes the text that they encode, and all else what ``str`` says of it.

    Raises ``InputError`` for bytes that are no text, for what is nested without end, and for what is still to be read
    or awaited, such as a generator.

    >>> json_value({"at": date(2026, 1, 2), "ids": (1, 2), 3: b"ok"})
    {'at': '2026-01-02', 'ids': [1, 2], '3': 'ok'}
    """
    return value if type(value) in _ATOMS else _json(value, 0)


def _json(value: Any, depth: int) -> Any:
    if type(value) in _ATOMS or (type(value) is int and -_SHORT < value < _SHORT):
        return value
    if depth > _DEEPEST:
        raise InputError(
            f"a result is nested more than {_DEEPEST} levels deep", hint="return less, or what it contains by its id"
        )
    if is_dict(value):
        return _mapping(value, depth)
    if is_items(value):
        items = [item if type(item) in _ATOMS else _json(item, depth + 1) for item in value]
        return value if type(value) is list and all(map(operator.is_, items, value)) else items
    if isinstance(value, Enum):
        return _json(value.value, depth + 1)
    if isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise InputError("a result holds a number that is too long to be written", hint="return it shortened")
        return value if type(value) is int else int(value)
    if isinstance(value, float):
        if not math.isfinite(value):  # JSON has no word for it
            return str(float(value))
        return value if type(value) is float else float(value)
    return _other(value, depth)


def _mapping(value: Mapping[Any, Any], depth: int) -> Any:
    made: dict[str, Any] = {}
    same = type(value) is dict
    for key, inner in value.items():
        name = key if type(key) is str else _key(key, depth)
        if name in made:
            raise InputError(f"a result has two keys that both are {name!r} in JSON", hint="use strings as keys")
        new = made[name] = inner if type(inner) in _ATOMS else _json(inner, depth + 1)
        if new is not inner or name is not key:
            same = False
    return value if same else made


def _key(key: Any, depth: int) -> str:
    key = _json(key, depth + 1)
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return "null" if key is None else "true" if key else "false"
    return str(key)


def _other(value: Any, depth: int) -> Any:
    """
    Return what JSON can say of what it has no word for.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _text(bytes(cast("bytes", value)))
    if isinstance(value, (date, time)):
        return value.isoformat()
    if is_form(value):
        return _mapping(value, depth)
    if isinstance(value, (Sequence, Set, ValuesView)) and not isinstance(value, UserString):
        items = [_json(item, depth + 1) for item in cast("Iterable[Any]", value)]
        return sorted(items, key=str) if isinstance(value, Set) else items  # a set has no order, a prompt has one
    if isinstance(value, Value):
        return _mapping({field: getattr(value, field) for field in type(value).__fields__}, depth)
    if not isinstance(value, type):
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            return _json(_dumped(dump), depth + 1)
        if is_dataclass(value):
            return _mapping({field.name: getattr(value, field.name) for field in fields(value)}, depth)
        to_list = getattr(value, "tolist", None)  # numbers and arrays of numpy
        if callable(to_list):
            return _json(to_list(), depth + 1)
        if is_unread(value):  # what str says of it tells nothing of what it would have given
            raise InputError(
                f"a result holds {_article(type(value).__name__)}, which nobody has read",
                hint="return what it gives: list(...) of it, or await it",
            )
    return str.__str__(str(value))


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _dumped(dump: Any) -> Any:
    try:
        return dump(mode="json")
    except Exception:  # it holds what pydantic has no JSON for
        return dump()


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InputError(
            "a result holds bytes that are no text in UTF-8, which no guard could look into",
            hint="return text, or where the bytes can be found",
        ) from None
