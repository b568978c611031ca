"""
The strings inside a value that a tool returned, and its long numbers, which may be those of cards and phones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from procession.messages.shapes import is_dict, is_items
from procession.tools.json_value import json_value

__all__ = ["KEY", "Path", "replace_strings", "shown", "strings_in"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the value down to a string; a key that is meant itself is followed by ``KEY``."""

KEY = "*key*"
"""What ends the path of a key."""


def strings_in(value: Any) -> Iterator[tuple[Path, str]]:
    """
    Yield every string in *value* with its path, keys of mappings and long numbers included.

    >>> list(strings_in({"items": [{"title": "Menu", "phone": 2025550143}]}))[-1]
    (('items', 0, 'phone'), '2025550143')
    """
    return _strings(json_value(value), ())


def _strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif is_dict(value):
        for key, inner in value.items():
            yield (*path, key, KEY), key
            yield from _strings(inner, (*path, key))
    elif is_items(value):
        for index, inner in enumerate(value):
            yield from _strings(inner, (*path, index))
    elif (text := _long_number(value)) is not None:
        yield path, text


def replace_strings(value: Any, change: Callable[[Path, str], str]) -> Any:
    """
    Return *value* with every string put through *change*; what has none that changes stays the same object.

    A long number that changes becomes a string.

    >>> replace_strings({"a": ["x", 1]}, lambda path, text: text.upper() if path else text)
    {'A': ['X', 1]}
    """
    plain = json_value(value)
    made = _replaced(plain, change, ())
    return value if made is plain else made


def _replaced(value: Any, change: Callable[[Path, str], str], path: Path) -> Any:
    if isinstance(value, str):
        text = change(path, value)
        return value if text == value else text
    if is_dict(value):
        made: dict[str, Any] = {}
        same = True
        for key, inner in value.items():
            new_key = _fresh(change((*path, key, KEY), key), made)
            made[new_key] = _replaced(inner, change, (*path, key))
            same = same and new_key == key and made[new_key] is inner
        return value if same else made
    if is_items(value):
        items = [_replaced(inner, change, (*path, index)) for index, inner in enumerate(value)]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    number = _long_number(value)
    if number is not None and (text := change(path, number)) != number:
        return text
    return value


def _long_number(value: Any) -> str | None:
    """
    Return *value* as text where it is a number with seven digits or more, as of a card or a phone.
    """
    if type(value) is int:
        return str(value) if abs(value) >= 10**6 else None
    if type(value) is float:
        text = repr(value).removesuffix(".0")
        return text if len(text) >= 7 else None
    return None


def _fresh(key: str, made: Mapping[Any, Any]) -> str:
    """
    Return *key*, or *key* with a number where two keys became one.
    """
    if key not in made:
        return key
    number = 2
    while f"{key} ({number})" in made:
        number += 1
    return f"{key} ({number})"


def shown(path: Path, hidden: Collection[Path] = ()) -> str:
    """
    Return *path* as people write it, with a star for each key whose own path is among the *hidden* ones.

    >>> shown(("items", 0, "meta", "html"))
    'items[0].meta.html'
    >>> shown(("by-mail", "eva@example.net", "age"), {("by-mail", "eva@example.net")})
    'by-mail.*.age'
    """
    out = ""
    for at, key in enumerate(path):
        if key == KEY:
            continue
        name = "*" if hidden and path[: at + 1] in hidden else key
        out += f"[{name}]" if isinstance(name, int) else f".{name}" if out else name
    return out
